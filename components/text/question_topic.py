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
    words = re.findall(r"\w+", question)
    is_name = any(word != word.lower() for word in words[1:]) or any(len(word) > 1 and word.isupper() for word in words)
    plain = normalize_words(question).split()
    asks_what_is_there = bool((_HERE | {"have"}) & set(plain)) or not _TEXTS & set(plain)
    known_words = FUNCTION_WORDS | _HERE | _TEXTS
    return bool(plain) and not is_name and asks_what_is_there and all(word in known_words for word in plain)


def fits_nothing(message: str, texts: Iterable[str]) -> bool:
    """Check whether a message, such as a greeting, has no form of a question and nothing was found for it.

    :param message: The message.
    :param texts: The passages that were found for it.
    :returns: Whether it has up to three words, no figure, no question mark and no question word, and there is no
        passage, or none of its words begins a word of any passage, by their first four letters.
    """
    words = set(normalize_words(message).split())
    if len(words) > _MOST_WORDS:
        return False
    asks = re.search(r"[\d?\uff1f]", message) or words & _ASKS
    if not words or asks or _UNSPACED.search(message):
        return False
    begins = {word[:_BEGINNING] for word in words - FUNCTION_WORDS}
    return not any(begins & {word[:_BEGINNING] for word in normalize_words(text).split()} for text in texts)
