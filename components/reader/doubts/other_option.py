"""Find out whether a sentence has one of the things between which a question lets choose, but not what is asked of it.

For "Which breed comes from Germany, the Spinone or the Hovawart?" the sentence "The Spinone is a breed from Italy" has
one of the two things, and most words of the question. It does not say that the Spinone comes from Germany.
"""

import re
from typing import NamedTuple

from prefrag.components.reader.doubts.statement import COMMON, WORD, Statement
from prefrag.components.reader.span_features import stem, stems_of

# Marks around an option, and an article before it.
_QUOTES = "[\"'\u201c\u201d\u2018\u2019]*"
_ARTICLE = r"(?:(?:the|an?)\s)?"
# What stands between an option and the next one. It matches ", or the ", " or with " and '" or "'.
_OR = rf"{_QUOTES},?\sor\s(?:(?:at|by|for|from|in|of|on|to|with)\s)?{_ARTICLE}{_QUOTES}"
# What stands behind the first option, and before the second one.
_OR_BEHIND = re.compile(_OR, re.IGNORECASE)
_OR_BEFORE = re.compile(rf"{_OR}$", re.IGNORECASE)
# The article and the marks before the first option.
_OPENING = re.compile(rf"{_ARTICLE}{_QUOTES}$", re.IGNORECASE)
# The comma or colon before the options, behind which only options follow.
_BEGIN_OF_OPTIONS = re.compile(r"[,:]\s(?!.*[,:]\s)", re.DOTALL)
# A further option before the last two. It matches ", Ada Ford" in "Who pays, Ada Ford, Bo or Cy?".
_FURTHER_OPTION = re.compile(rf",\s{_ARTICLE}{_QUOTES}[A-Z][^,]*$")
# The lower-case words at the end of a question whose options are names. It matches "public" in "Is A or B public?".
_BEHIND_OPTIONS = re.compile(r"(?:\s[a-z][^\sA-Z]*)+\W*$")
# What stands before the options of a question for one of several things. It matches "Which breed", "In which year" and
# the verb alone, as in "Did Ada Ford or Bo Lind sign it?". It does not match "Is the key with".
_ASKS_THING = re.compile(r"\W*(?:[a-z]+\s)?(?:which|who|whom|whose|what)\b|\W*\w+\W*$", re.IGNORECASE)
# Adjectives whose comparative ends with "er". The list is short, because many nouns end so, too.
_ADJECTIVES = (
    "bright|cheap|clos|cold|dark|deep|easi|fast|fresh|great|hard|heavi|high|larg|light|long|loud|low|narrow|near|new"
    "|nic|old|quick|quiet|rich|saf|short|slow|small|smooth|soft|strong|tall|thick|thin|tight|warm|weak|wid|wild"
    "|wis|young"
)
# A word that compares the options. A sentence about one of them gives the value that is compared, and hardly ever such
# a word. It matches "first", "more", "older" and "the tallest".
_COMPARES = re.compile(
    r"\b(?:more|most|less|least|fewer|first|last|earlier|earliest|later|latest|sooner|better|best|worse|worst|further"
    rf"|farther|bigger|biggest|hotter|hottest|than|same|(?:{_ADJECTIVES})(?:er|est))\b",
    re.IGNORECASE,
)


class _Asked(NamedTuple):
    """What a question asks of its options.

    :param text: The question without the options.
    :param is_of_names: Whether the options are names.
    :param is_for_thing: Whether the question asks which of the options it is that does or is something.
    """

    text: str
    is_of_names: bool
    is_for_thing: bool


def is_other_option(statement: Statement) -> bool:
    """Check whether the answer is one of the question's options, and the sentence lacks what is asked of it.

    A sentence has to have all names and numbers that the question has beside the options. Of a question for one of two
    things, such as "Who runs the archive, Ada Ford or Bo Lind?", it also has to have the last word of what is asked.

    Two kinds of questions are left out: those whose options are no names, such as "Is it red or blue?", and those that
    compare the options, such as "Which is older, the mill or the inn?".

    :param statement: The sentence with the answer.
    :returns: Whether the sentence may be about the other option.
    """
    asked = _asked_of_options(statement.question, statement.answer)
    if asked is None or not asked.is_of_names or _COMPARES.search(asked.text):
        return False

    words = [word for word in WORD.findall(asked.text) if word.lower() not in COMMON]
    needed = []
    for word in words:
        is_name = word[0].isupper() or any(map(str.isdigit, word))
        if is_name:
            needed.append(word)
    if asked.is_for_thing:
        needed += words[-1:]
    needed_stems = {stem(word.lower()) for word in needed}
    return not needed_stems <= stems_of(f"{statement.named}. {statement.sentence}")


def compares_options(question: str, answer: str) -> bool:
    """Check whether a question compares two things, one of which is the answer.

    For example, ``compares_options("Which is older, the mill or the inn?", "the mill")`` returns ``True``.

    :param question: The question.
    :param answer: The answer.
    :returns: Whether it does. No sentence about one of the things states such an answer.
    """
    asked = _asked_of_options(question, answer)
    return asked is not None and _COMPARES.search(asked.text) is not None


def _asked_of_options(question: str, answer: str) -> _Asked | None:
    """Return what a question asks of its options. None if the answer is none of them.

    For "Which breed comes from Germany, the Spinone or the Hovawart?" it is "Which breed comes from Germany".
    """
    option = answer.strip(" .,\"'\u201c\u201d\u2018\u2019")
    if not option:
        return None
    for place in re.finditer(rf"\b{re.escape(option)}(?!\w)", question, re.IGNORECASE):
        before, after = question[: place.start()], question[place.end() :]
        asked_before = _asked_before(before, after, len(option.split()))
        if asked_before is None:
            continue
        without_article = re.sub(rf"^{_ARTICLE}", "", place[0], flags=re.IGNORECASE)
        is_of_names = without_article[:1].isupper()
        # The words behind an option with a small letter cannot be told from the next option.
        behind = _BEHIND_OPTIONS.search(question) if is_of_names else None
        text = asked_before + (behind[0] if behind else "")
        return _Asked(text, is_of_names, _ASKS_THING.match(asked_before) is not None)
    return None


def _asked_before(before: str, after: str, length: int) -> str | None:
    """Return what stands before the options, without them. None if no "or" stands beside the answer.

    :param before: The part of the question before the answer.
    :param after: The part behind the answer.
    :param length: The number of words of the answer.
    """
    if _OR_BEHIND.match(after):
        return _without_options(_OPENING.sub("", before))
    joined = _OR_BEFORE.search(before)
    if joined is None:
        return None

    first_part = before[: joined.start()]
    comma = _BEGIN_OF_OPTIONS.search(first_part)
    if comma:
        return _without_options(first_part[: comma.start()])
    # Without a comma, the first option has as many words as the answer.
    words = first_part.split()
    return " ".join(words[:-length])


def _without_options(text: str) -> str:
    """Remove the options from the end of the text that stands before the last two."""
    asked = text.rstrip(" ,:")
    while _FURTHER_OPTION.search(asked):
        asked = _FURTHER_OPTION.sub("", asked)
    return asked
