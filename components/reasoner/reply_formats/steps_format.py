"""The format for small models: each call asks one narrow question about the passages.

The passages come first in the prompt. So the server's cache can keep them for the next call.
"""

from collections.abc import Sequence
from typing import Any

from prefrag.components.generators.json_reply import MAX_REPLY_CHARACTERS
from prefrag.components.reasoner.reply_formats.fields import FINISH, Tool, one_answer, plain_query, shorten
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat
from prefrag.components.reasoner.reply_formats.text_format import TextFormat
from prefrag.components.state.state import Action, State, Step

# The two further questions that a step can ask about the same passages: for a query, and for an answer. Each replaces
# the last line of the prompt. So the server only has to read these words.
ASK_QUERY = (
    "The passages do not state the answer yet. Write one short search query for the missing fact, with a name from the "
    "passages instead of a description. Write only the query."
)
MUST_ANSWER = "Answer in a few words, copied from these passages."
# A reply may have at most this many tokens, which is enough for an answer in a few words. Without this limit, a small
# model that does not stop would write for a minute.
_MAX_TOKENS = 160


class StepsFormat(ReplyFormat):
    """The model answers in a few words, or writes NOT FOUND. In a further call, it may be asked for one query.

    The prompt has no transcript. The reply has no thought, and no evaluation of the model's own answer. The passages
    come first in the prompt, so that a server's cache keeps them for the further calls of a step. The server is asked
    for the log probabilities of the answer's tokens: they help code to decide whether the answer is given. This format
    is not in the papers.
    """

    prompt = "reasoner_steps"
    cites = False
    asks_narrowly = True

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Return the parameters that ask for log probabilities, and for a short reply.

        :param tools: The tools, which this format does not use.
        :param state: The state of the run, which this format does not use.
        :param must_answer: Makes no difference in this format.
        :returns: OpenAI-style parameters.
        """
        return {"logprobs": True, "max_tokens": _MAX_TOKENS}

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read an answer.

        :param text: The reply, such as "1969" or "NOT FOUND". If the model has used the text format, its final answer
            is read.
        :param tools: The tools, by whose names a search in the text format is recognised.
        :param must_answer: Makes no difference in this format.
        :returns: The answer. ``UNREADABLE`` if the reply is empty, or a search in the text format.
        """
        text = text[:MAX_REPLY_CHARACTERS]
        step = TextFormat().read(text, tools, must_answer=False)
        if step.action is Action.ANSWER:
            return Step(Action.ANSWER, reply=shorten(step.answer), answer=step.answer)

        is_only_name = FINISH.fullmatch(text.strip(" :")) is not None
        answer = ""
        if step.action is not Action.SEARCH and not is_only_name:
            answer = one_answer(text)
        if not answer:
            return Step(Action.UNREADABLE, reply=shorten(text))
        return Step(Action.ANSWER, reply=shorten(answer), answer=answer)

    def finished(self, text: str) -> str:
        """Return the lines of a reply that were finished before the reply was cut off.

        :param text: The reply.
        :returns: All lines but the last. Empty if there is only one line.
        """
        finished_lines, _, _ = text.rpartition("\n")
        return finished_lines

    @staticmethod
    def read_query(text: str) -> str:
        """Read the query in the reply to :data:`ASK_QUERY`.

        :param text: The reply.
        :returns: Its first line, without quotes and Markdown.
        """
        first_line, _, _ = text.strip().partition("\n")
        return plain_query(first_line)
