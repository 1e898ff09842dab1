"""The format for small models: one narrow question per call, over passages that come first in the prompt."""

from collections.abc import Sequence
from typing import Any

from prefrag.components.generators.json_reply import MAX_REPLY_CHARACTERS
from prefrag.components.reasoner.reply_formats.fields import FINISH, Tool, one_answer, plain_query, shorten
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat
from prefrag.components.reasoner.reply_formats.text_format import TextFormat
from prefrag.components.state.state import Action, State, Step

# The further questions of a step, over the same passages. The last line of the prompt is replaced, so that a server
# reads only these words anew.
ASK_QUERY = (
    "The passages do not state the answer yet. Write one short search query for the missing fact, with a name from the "
    "passages instead of a description. Write only the query."
)
MUST_ANSWER = "Answer in a few words, copied from these passages."
# Enough for an answer in a few words. A small model that does not stop would otherwise write for a minute.
_MAX_TOKENS = 160


class StepsFormat(ReplyFormat):
    """The model answers or writes NOT FOUND; in a further call over the same passages, it writes one query.

    There is no transcript, no thought and no evaluation of its own. The passages come first, so that a server's cache
    holds them for the further calls of a step. The log probabilities of the answer are asked for, as one of the signs
    by which code decides whether it is given. Not in the papers.
    """

    prompt = "reasoner_steps"
    cites = False
    asks_narrowly = True

    def generation_kwargs(self, tools: Sequence[Tool], state: State, must_answer: bool) -> dict[str, Any]:
        """Ask for log probabilities, and for a short reply."""
        return {"logprobs": True, "max_tokens": _MAX_TOKENS}

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read an answer. If a model replies in the text format although not asked to, its final answer is read."""
        text = text[:MAX_REPLY_CHARACTERS]
        step = TextFormat().read(text, tools, must_answer=False)
        if step.action is Action.ANSWER:
            return Step(Action.ANSWER, reply=shorten(step.answer), answer=step.answer)
        answer = "" if step.action is Action.SEARCH or FINISH.fullmatch(text.strip(" :")) else one_answer(text)
        return Step(Action.ANSWER if answer else Action.UNREADABLE, reply=shorten(answer or text), answer=answer)

    def finished(self, text: str) -> str:
        """Return the lines of a reply that were finished before it was cut off."""
        return text.rpartition("\n")[0]

    @staticmethod
    def read_query(text: str) -> str:
        """Read the query in the reply to :data:`ASK_QUERY`: its first line."""
        return plain_query(text.strip().partition("\n")[0])
