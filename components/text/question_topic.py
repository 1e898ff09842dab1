"""Tell whether a message names anything that documents could tell of."""

import re
from collections.abc import Iterable

from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# Words with the same beginning may be forms of one word: "landlords" and "landlord".
_BEGINNING = 4
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
_HERE = frozenset({"here", "there", "document", "documents", "file", "files"})
_ASKS = frozenset(["what", "when", "where", "which", "who", "whom", "whose", "why", "how"])


def names_nothing(question: str) -> bool:
    """Check whether a message has only words that name nothing, as in "What is in here?" and "Which files are there?".

    :param question: The message.
    :returns: Whether it has words, and all of them are function words of English, or documents and files. A word with
        a capital inside the message, such as WHO or IT, is a name.
    """
    words = re.findall(r"\w+", question)
    is_name = any(word != word.lower() for word in words[1:]) or any(len(word) > 1 and word.isupper() for word in words)
    plain = normalize_words(question).split()
    return bool(plain) and not is_name and all(word in FUNCTION_WORDS or word in _HERE for word in plain)


def fits_nothing(message: str, texts: Iterable[str]) -> bool:
    """Check whether a message, such as a greeting, has no form of a question and nothing was found for it.

    :param message: The message.
    :param texts: The passages that were found for it.
    :returns: Whether it has words, no figure, no question mark and no question word, and there is no passage, or none
        of its words begins a word of any passage, by their first four letters.
    """
    words = set(normalize_words(message).split())
    asks = re.search(r"[\d?\uff1f]", message) or words & _ASKS
    if not words or asks or _UNSPACED.search(message):
        return False
    begins = {word[:_BEGINNING] for word in words - FUNCTION_WORDS}
    return not any(begins & {word[:_BEGINNING] for word in normalize_words(text).split()} for text in texts)
