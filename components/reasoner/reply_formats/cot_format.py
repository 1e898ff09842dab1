"""The format of a chain of thought (IRCoT).

A chain of thought is a series of sentences that leads to the answer. Each reply of the model adds one sentence. This
sentence is also the query of the next search.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from haystack.dataclasses import ChatMessage

from prefrag.components.generators.json_reply import MAX_REPLY_CHARACTERS
from prefrag.components.generators.model_call import is_cut_off
from prefrag.components.generators.token_probabilities import token_probabilities
from prefrag.components.reasoner.reply_formats.fields import Tool, one_answer, plain, plain_query, shorten
from prefrag.components.reasoner.reply_formats.reply_format import ReplyFormat
from prefrag.components.state.state import Action, Step

# An introduction is searched for in this number of characters at the beginning of a reply.
_INTRODUCTION_CHARACTERS = 100
# A sentence with the words "answer is" ends the chain, as in the prompts and the code of the IRCoT paper. In "So the
# answer is: 1969", the text behind the match is the answer.
_ANSWER = re.compile(r"\banswer is\b[ \t]*[:\uff1a]?[ \t]*", re.IGNORECASE)
# An introduction before the sentence, one or several of these:
# - politeness: "Sure! ";
# - an announcement with a colon: "Next sentence: ", "Here is the next sentence: ", "Step 2: ";
# - the number or sign of a list: "1. ", "- ".
_INTRODUCTION = re.compile(
    r"(?:\s*(?:sure|certainly|of course|okay|ok)\s?[!.:]\s+"
    r"|[\s>#*_-]*(?:here(?:['\u2019]s|\s+is)\s+)?"
    r"(?:(?:(?:the|a)\s+)?(?:next|new)\s+sentence(?:\s+is)?|sentence(?:\s+\d{1,2})?|step\s+\d{1,2})[\s*_]*[:\uff1a][\s*_]*"
    r"|\s*(?:\d{1,2}[.)]|[-*\u2022])\s+)+",
    re.IGNORECASE,
)
# The end of a sentence: a full stop, question mark or exclamation mark with what closes behind it, as in '"no."'. A
# blank must follow, and then no small letter from a to z. Chinese stops and line breaks need nothing behind them. The
# stops in "3.5 m" and "e.g. this" do not match.
_END = re.compile(r"[.!?][\"'\u2019\u201d)\]*_]*(?=\s+[^\sa-z])|[\u3002\uff01\uff1f]|\n")
# A full stop after an initial or an abbreviation, at the end of a text: "J.", "Dr.", "St.", "U.S.". It rarely ends a
# sentence: "J. K. Rowling", "Dr. No", "the St. Lawrence".
_ABBREVIATION = re.compile(
    r"(?<![^\W\d_])(?:[^\W\d_a-z]|Dr|Mr|Mrs|Ms|Prof|St|Mt|Ft|Jr|Sr|Gen|Col|Lt|Capt|Sgt|Rev|Hon|No|vs|ca?|e\.g|i\.e"
    r"|(?:[A-Z]\.){1,4}[A-Z])\.\Z"
)


class CotFormat(ReplyFormat):
    """The format of IRCoT (Trivedi et al. 2023, section 3): one sentence is kept of each reply.

    The sentence is also the query of the next search. A sentence with "answer is" ends the chain. One further call,
    with ``must_answer`` and all passages, then generates a whole chain. The text after its "answer is" is the answer.
    """

    prompt = "reasoner_cot"
    cites = False
    searches = False

    def read(self, text: str, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read the first sentence of a reply, or the answer at the end of a whole chain.

        :param text: The reply.
        :param tools: The tools. A search uses the first tool.
        :param must_answer: True if the reply is a whole chain.
        :returns: A search for the sentence. ``NONE`` if the sentence ends the chain or is empty. With ``must_answer``,
            the answer.
        """
        text = text[:MAX_REPLY_CHARACTERS]
        if must_answer:
            return read_chain(text)

        sentence = shorten(first_sentence(text))
        query = plain_query(sentence)
        if not query or ends_chain(sentence):
            return Step(Action.NONE, reply=sentence, thought=sentence)
        return Step(Action.SEARCH, reply=sentence, tool=tools[0].name, query=query)

    def read_message(self, message: ChatMessage, tools: Sequence[Tool], *, must_answer: bool) -> Step:
        """Read a reply. If the reply was cut off, its first sentence is used only if the sentence is complete.

        :param message: The reply.
        :param tools: The tools. A search uses the first tool.
        :param must_answer: True if the reply is a whole chain.
        :returns: The step, with the probabilities of the reply's tokens if the server sent them.
        """
        text = message.text or ""
        finished = self.finished(text) if is_cut_off(message) else ""
        if finished and not must_answer:
            step = self.read(finished, tools, must_answer=False)
        else:
            step = super().read_message(message, tools, must_answer=must_answer)
        return replace(step, tokens=token_probabilities(message.meta, text, step.reply))

    def finished(self, text: str) -> str:
        """Return the first sentence of a reply that was cut off.

        For example, "Ada led it. She" gives "Ada led it.".

        :param text: The reply.
        :returns: The sentence. Empty if the cut is within the first sentence.
        """
        sentence = first_sentence(text)
        return sentence if _without_introduction(text) != sentence else ""


def first_sentence(text: str) -> str:
    """Return the first sentence of a reply, without an introduction.

    For example, "Next sentence: Dr. No is a film. It was made in 1962." gives "Dr. No is a film.".

    :param text: The reply.
    :returns: The sentence, on one line.
    """
    text = _without_introduction(text)
    for match in _END.finditer(text):
        end = match.end()
        # The last 12 characters are enough to see an abbreviation.
        ending = text[max(0, end - 12) : end]
        if not _ABBREVIATION.search(ending):
            text = text[:end]
            break
    return " ".join(text.split())


def _without_introduction(text: str) -> str:
    """Remove an introduction: "Step 2: The museum is old." becomes "The museum is old."."""
    text = text[:MAX_REPLY_CHARACTERS].strip()
    introduction = _INTRODUCTION.match(text, 0, _INTRODUCTION_CHARACTERS)
    return text[introduction.end() :].strip() if introduction else text


def ends_chain(sentence: str) -> bool:
    """Check whether a sentence ends the chain of thought, as in "So the answer is 1969.".

    :param sentence: The sentence.
    :returns: True if the sentence contains "answer is".
    """
    return _ANSWER.search(sentence) is not None


def read_chain(text: str) -> Step:
    """Read the answer at the end of a complete chain of thought.

    For example, "Ada led it. So the answer is: 1969." has the answer "1969".

    :param text: The chain. Without the words "answer is", the whole text is the answer.
    :returns: The answer. ``UNREADABLE`` if the answer is empty.
    """
    beginnings = list(_ANSWER.finditer(text))
    thought = ""
    conclusion = text
    if beginnings:
        last = beginnings[-1]
        thought = shorten(" ".join(text[: last.start()].split()))
        conclusion = text[last.end() :]

    answer = one_answer(conclusion)
    if answer.endswith(".") and not answer.endswith(".."):
        # As in the paper's code: this full stop ends the sentence, and is not a part of the answer.
        answer = plain(answer[:-1])
    if not answer:
        return Step(Action.UNREADABLE, reply=shorten(text), thought=thought)
    return Step(Action.ANSWER, reply=shorten(text), thought=thought, answer=answer)
