"""Find out whether a sentence has one of the things that a question offers, but not what is asked of it.

For "Which breed comes from Germany, the Spinone or the Hovawart?" the sentence "The Spinone is a breed from Italy" has
one of the two things, and most words of the question. It does not say that the Spinone comes from Germany.
"""

import re
from itertools import groupby
from typing import NamedTuple

from prefrag.components.reader.doubts.statement import COMMON, MOST_CHARACTERS, Statement
from prefrag.components.reader.span_features import stem

# Marks around an option, and an article before it.
_QUOTES = "[\"'\u201c\u201d\u2018\u2019]*"
_ARTICLE = r"(?:\b(?:the|an?)\s)?"
# What stands between an option and the next one. It matches ", or the ", " or with " and '" or "'.
_OR = rf"{_QUOTES},?\sor\s(?:(?:at|by|for|from|in|of|on|to|with)\s)?{_ARTICLE}{_QUOTES}"
# What stands behind the first option, and before the second one.
_OR_BEHIND = re.compile(_OR, re.IGNORECASE)
_OR_BEFORE = re.compile(rf"{_OR}$", re.IGNORECASE)
# The article and the marks before the first option.
_OPENING = re.compile(rf"{_ARTICLE}{_QUOTES}$", re.IGNORECASE)
# The last comma or colon, behind which the options begin.
_BEGIN_OF_OPTIONS = re.compile(r"[,:]\s(?!.*[,:]\s)", re.DOTALL)
# A further option before the last two. It matches ", Ada Ford" in "Who pays, Ada Ford, Bo or Cy?", and ": Ada Ford".
_FURTHER_OPTION = re.compile(rf"(?:,|:(?!\s(?:Who|What|Which|When|Where|How)))\s{_ARTICLE}{_QUOTES}[A-Z][^,:]*$")
# A name at the end of a text. It matches "New York", "the Royal Bank of Scotland" and "Romeo and Juliet".
_NAME_AT_END = re.compile(
    rf"\s{_ARTICLE}{_QUOTES}(?:[A-Z\d][^\s,]*\s(?:(?:of|and|van|von|de|in|from)\s(?=[A-Z]))?)*[A-Z\d][^\s,]*$"
)
# The lower-case words behind options that are names. It matches " public?" in "Is A or B public?".
_BEHIND_OPTIONS = re.compile(r"(?:\s[a-z][^\sA-Z]*)+\W*$")
# What stands before the options, if the question asks which of them does something. It matches "Which breed" and "In
# which year", and the verb alone, as in "Did Ada Ford or Bo Lind sign it?". It does not match "Is the key with".
_ASKS_WHICH = re.compile(r"\W*(?:[a-z]+\s)?(?:which|who|whom|whose|what)\b|\W*\w+\W*$", re.IGNORECASE)
# A bare verb at the end of what is asked, which the sentence has in another form. It matches "did we buy" and "Who can
# go". It does not match "Did sign the lease".
_BARE_VERB_AT_END = re.compile(
    r"\b(?:did|does|do|can|could|will|shall|should|must)\b(?:\s\S+)*?(?<!\bthe)(?<!\ba)(?<!\ban)(?<!\bof)(?<!\bin)(?<!\bon)"
    r"(?<!\bat)(?<!\bto)(?<!\bfor)(?<!\bwith)(?<!\bfrom)\s[a-z]+\W*$",
    re.IGNORECASE,
)
# A word of a question, without the ending of a possessive. It matches "dog" in "dog's".
_WORD = re.compile(r"[^\W_]+")
_POSSESSIVE = re.compile(r"['\u2019][^\W_]+")
# Words share what they mean if they begin with this many equal letters, as "booked" and "book" do.
_BEGINNING = 4
# The beginning of a sentence that names its subject only by a pronoun.
_BY_PRONOUN = re.compile(r"\W*(?:he|she|it|they|we|his|her|its|their|our)\b", re.IGNORECASE)
# Verbs that only join a name to its thing, as in "What is the cat called, Mimi or Momo?".
_JOINS_NAME = frozenset(("called", "named"))
# Adjectives whose comparative ends with "er". The list is short, because many nouns end so, too.
_ADJECTIVES = (
    "bright|cheap|clos|cold|dark|deep|easi|fast|fresh|great|hard|heavi|high|larg|light|long|loud|low|narrow|near|new"
    "|nic|old|quick|quiet|rich|saf|short|slow|small|smooth|soft|strong|tall|thick|thin|tight|warm|weak|wid|wild|wis|young"
)
# A word that compares the options. A sentence about one of them gives the value that is compared, and hardly ever such
# a word. It matches "more", "than", "is older" and, at the end of what is asked, "came first". It does not match "the
# first floor", "at least", "no longer" and "the larger key".
_COMPARES = re.compile(
    r"(?<!\bat )\b(?:more|most|less|least|fewer|earlier|earliest|later|sooner|better|best|worse|worst|further|farther"
    r"|bigger|biggest|hotter|hottest|than)\b"
    rf"|(?<!\bthe )(?<!\bno )\b(?:{_ADJECTIVES})(?:er|est)\b"
    rf"|\bthe (?:{_ADJECTIVES})(?:er|est)\W*$"
    r"|\b(?:is|are|was|were|gets?|looks?|runs?) \w{2,}(?:ier|iest)\b"
    r"|\b(?:first|last|latest)\W*$"
)


class _Asked(NamedTuple):
    """What a question asks of its options.

    :param text: The question without the options.
    :param is_of_name: Whether the answer is a name.
    :param needs_last: Whether the last word of the text says what is asked. It does if the question asks which of the
        options it is, the options do not stand in its middle, and the word is no bare verb.
    """

    text: str
    is_of_name: bool
    needs_last: bool


def is_other_option(statement: Statement) -> bool:
    """Check whether the answer is one of the question's options, and the sentence lacks what is asked of it.

    The sentence, its title or its headings have to contain the names and numbers that the question has beside the
    options. Of names that stand side by side, as in "Aunt Rosa", they need one. If the question asks which of the
    options it is, as "Who runs the archive, Ada Ford or Bo Lind?" does, the sentence also needs the last word of what
    is asked that is not a common one ("archive"). Words count as the same if their first four letters are equal.

    Two kinds of questions are left out: those whose options are no names, such as "Is it red or blue?", and those that
    compare the options, such as "Which is older, the mill or the inn?".

    :param statement: The sentence with the answer.
    :returns: Whether the sentence may be about the other option.
    """
    asked = _asked_of_options(statement.question, statement.answer)
    if asked is None or not asked.is_of_name or _COMPARES.search(asked.text):
        return False

    text = " ".join((statement.named, statement.heading, statement.opening, statement.sentence))
    told = _beginnings(text)
    words = [word[0] for word in _WORD.finditer(_POSSESSIVE.sub("", asked.text))]

    # The first word has a capital because the question begins with it.
    for is_name, neighbours in groupby(words[1:], key=_is_name):
        beginnings = {_beginning(word) for word in neighbours}
        if is_name and not _BY_PRONOUN.match(statement.sentence) and not beginnings & told:
            return True

    telling = [word for word in words if word.lower() not in COMMON and word.lower() not in _JOINS_NAME]
    return asked.needs_last and bool(telling) and _beginning(telling[-1]) not in told


def compares_options(question: str, answer: str, sentence: str = "") -> bool:
    """Check whether a question compares things, one of which is the answer, and a sentence does not say the result.

    For example, ``compares_options("Which is older, the mill or the inn?", "the mill")`` returns ``True``. With the
    sentence "The mill is older than the inn." it returns ``False``.

    :param question: The question.
    :param answer: The answer.
    :param sentence: The sentence that supports the answer.
    :returns: Whether the sentence has at most the value of one of the things.
    """
    asked = _asked_of_options(question, answer)
    if asked is None:
        return False
    comparing = _COMPARES.search(asked.text)
    if comparing is None:
        return False
    word = _WORD.findall(comparing[0])[-1]
    before, than, _ = sentence.partition(" than ")
    if word not in _WORD.findall(sentence):
        return True
    # In "The mill is older than the inn" the inn is not the older one.
    return bool(than) and answer.strip(" .").lower() not in before.lower()


def without_other_options(question: str, answer: str) -> str:
    """Leave out the options of a question that are not the answer.

    For example, ``without_other_options("Does it begin at 9 or at 10?", "10")`` returns ``"Does it begin at 10"``.

    :param question: The question.
    :param answer: The answer.
    :returns: What is asked, and the answer. The question itself if the answer is none of its options.
    """
    asked = _asked_of_options(question, answer)
    return question if asked is None else f"{asked.text} {answer}"


def _is_name(word: str) -> bool:
    """Check whether a word of a question is a name or a number."""
    return (word[0].isupper() or any(map(str.isdigit, word))) and word.lower() not in COMMON


def _beginning(word: str) -> str:
    """Return by what words are compared: a number as it is, other words by their first letters."""
    if any(map(str.isdigit, word)):
        return word.lower()
    return stem(word.lower())[:_BEGINNING]


def _beginnings(text: str) -> set[str]:
    """Return the beginnings of all words of a text."""
    return {_beginning(word) for word in _WORD.findall(text)}


def _asked_of_options(question: str, answer: str) -> _Asked | None:
    """Return what a question asks of its options. None if the answer is none of them.

    For "Which breed comes from Germany, the Spinone or the Hovawart?" it is "Which breed comes from Germany".
    """
    question = question[:MOST_CHARACTERS]
    option = answer.strip(" .,\"'\u201c\u201d\u2018\u2019")
    if not option or " or " not in question:
        return None
    for place in re.finditer(rf"\b{re.escape(option)}(?!\w)", question, re.IGNORECASE):
        before, after = question[: place.start()], question[place.end() :]
        asked_before = _asked_before(before, after, len(option.split()))
        if asked_before is None:
            continue
        without_article = re.sub(rf"^{_ARTICLE}", "", place[0], flags=re.IGNORECASE)
        is_of_name = without_article[:1].isupper()
        # The words behind an option with a small letter cannot be told from the next option.
        behind = _BEHIND_OPTIONS.search(question) if is_of_name else None
        text = asked_before + (behind[0] if behind else "")
        # "Which of us, Max or Leo, was at Oxford?" goes on behind its options.
        joined = _OR_BEHIND.match(after)
        goes_on = "," in (after[joined.end() :] if joined else after)
        asks_which = _ASKS_WHICH.match(asked_before) is not None
        needs_last = asks_which and not goes_on and not _BARE_VERB_AT_END.search(text)
        return _Asked(text, is_of_name, needs_last)
    return None


def _asked_before(before: str, after: str, length: int) -> str | None:
    """Return what stands before the options, without them. None if no "or" stands beside the answer.

    :param before: The part of the question before the answer.
    :param after: The part behind the answer.
    :param length: The number of words of the answer.
    """
    if _OR_BEHIND.match(after):
        without_opening = _OPENING.sub("", before)
        is_further = without_opening.rstrip().endswith(",")
        asked = _without_options(without_opening)
        if is_further and not _ASKS_WHICH.match(asked):
            # "Is the shop in Brae, Ness or Tarn?"
            asked = _NAME_AT_END.sub("", asked)
        return asked

    joined = _OR_BEFORE.search(before)
    if joined is None:
        return None
    first_part = before[: joined.start()]
    comma = _BEGIN_OF_OPTIONS.search(first_part)
    if comma:
        asked = _without_options(first_part[: comma.start()])
        return asked if _ASKS_WHICH.match(asked) else _NAME_AT_END.sub("", asked)
    if _NAME_AT_END.search(first_part):
        return _NAME_AT_END.sub("", first_part)
    # A first option that is no name has as many words as the answer.
    words = first_part.split()
    return " ".join(words[:-length])


def _without_options(text: str) -> str:
    """Remove the options from the end of the text that stands before the last two."""
    asked = text.rstrip(" ,:")
    while _FURTHER_OPTION.search(asked):
        asked = _FURTHER_OPTION.sub("", asked)
    return asked
