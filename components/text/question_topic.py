"""Tell whether a message names anything that documents could tell of."""

import re
from collections.abc import Iterable

from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# Words with the same beginning may be forms of one word: "landlords" and "landlord".
_BEGINNING = 4
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
_HERE = frozenset({"here", "there"})
_TEXTS = frozenset({"document", "documents", "file", "files"})
# A longer message without a question mark may be a question nevertheless, as "does the lease forbid pets".
_MOST_WORDS = 3
_ASKS = frozenset(["what", "when", "where", "which", "who", "whom", "whose", "why", "how"])


def names_nothing(question: str) -> bool:
    """Check whether a message has only words that name nothing, as in "What is in here?" and "Which files are there?".

    :param question: The message.
    :returns: Whether it has words, and all of them are function words of English or, beside "here", "there" or "have",
        documents and files. A word with a capital inside the message, such as WHO or IT, is a name.
    """
    if _has_name(re.findall(r"\w+", question)):
        return False
    words = set(normalize_words(question).split())
    if not words or not words <= FUNCTION_WORDS | _HERE | _TEXTS:
        return False
    # "Which file is it?" asks for a certain file, "Which files are there?" for what there is.
    return words.isdisjoint(_TEXTS) or not words.isdisjoint(_HERE | {"have"})


def _has_name(words: list[str]) -> bool:
    """Check whether a word of a message is a name by its capitals. The first word must have no others, as in WHO."""
    if not words:
        return False
    first, *others = words
    is_first_name = len(first) > 1 and first.isupper()
    return is_first_name or any(word != word.lower() for word in others)


def fits_nothing(message: str, texts: Iterable[str]) -> bool:
    """Check whether a message, such as a greeting, has no form of a question and nothing was found for it.

    :param message: The message.
    :param texts: The passages that were found for it.
    :returns: Whether it has one to three words, no figure, no question mark and no question word, and no passage has a
        word with the same first four letters as a word of the message.
    """
    words = set(normalize_words(message).split())
    if not 1 <= len(words) <= _MOST_WORDS:
        return False
    asks = re.search(r"[\d?\uff1f]", message) or words & _ASKS
    if asks or _UNSPACED.search(message):
        return False
    beginnings = {word[:_BEGINNING] for word in words - FUNCTION_WORDS}
    for text in texts:
        beginnings_of_text = {word[:_BEGINNING] for word in normalize_words(text).split()}
        if beginnings & beginnings_of_text:
            return False
    return True
