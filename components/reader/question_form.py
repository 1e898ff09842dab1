"""What a question asks for, as far as its words show it."""

from __future__ import annotations

import re

from prefrag.components.text.title_mentions import comparable

# Words that tell what kind of answer is asked for.
ASKED_WORDS = (
    "who whom whose when where which what how year date day month century age old city town country nationality "
    "state county river island continent place born birthplace birth die died death buried father mother parent "
    "husband wife spouse child son daughter brother sister grandfather grandmother uncle director directed "
    "composer performer author wrote founder founded president king queen actor singer player band group team "
    "club company organization university school award prize film movie song album book show series magazine "
    "language name called title first last later earlier older younger longer larger more same both or between "
    "cause kind type many much long far percent number population work used because why"
)
_ASKED = ASKED_WORDS.split()
_YES_NO = re.compile(
    r"\s*(?:is|are|am|was|were|do|does|did|has|have|had|can|could|should|shall|will|would|may|might|must)\b", re.I
)
# Words without which hardly an English question is asked, and which languages near to English do not have.
_WORDS_OF_ENGLISH = (
    "and are been by can could did do does for from had has have how is its many much of or should that the their "
    "there these this to were what when where which who whom whose why with would"
)
_ENGLISH = frozenset(_WORDS_OF_ENGLISH.split())
_COUNTS_OVER_SOURCES = re.compile(
    r"\bhow (?:many (?:times )?(?:more|fewer|less)|much (?:more|less|longer|older))\b", re.I
)


def asks_yes_no(question: str) -> bool:
    """Find whether a question is answered by yes or no.

    :param question: The question, in English.
    :returns: Whether it begins with a verb as such questions do, and offers no choice.
    """
    return _YES_NO.match(question) is not None and " or " not in question.lower()


def asks_beyond_spans(question: str) -> bool:
    """Find whether a question asks for a difference, which no passage states.

    :param question: The question, in English.
    :returns: Whether it asks by how much two things differ.
    """
    return _COUNTS_OVER_SOURCES.search(question) is not None


def looks_english(question: str) -> bool:
    """Find whether a question may be in English, the only language that the reader knows.

    :param question: The question.
    :returns: Whether it has Latin letters, and the words that English questions have.
    """
    words = comparable(question).split()
    letters = [sign for sign in question if sign.isalpha()]
    if not letters or sum(sign < "\u0250" for sign in letters) < 0.8 * len(letters):
        return False
    held = sum(word in _ENGLISH for word in words)
    return held > 0 and held >= len(words) // 10


def asked_for(question: str) -> list[float]:
    """Mark the words that tell what a question asks for.

    :param question: The question.
    :returns: 1 or 0 for each of :data:`ASKED_WORDS`, and for its form: yes or no, a choice.
    """
    words = set(comparable(question).split())
    return [*(float(word in words) for word in _ASKED), float(asks_yes_no(question)), float("or" in words)]


ASKED_FEATURES = (*(f"asks_{word}" for word in _ASKED), "form_yes_no", "form_choice")
