"""Tell whether a message names anything that documents could tell of."""

import re
from collections.abc import Iterable

from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words

# A message of more words is taken as a question, whatever its form.
_FEW_WORDS = 3
_HERE = frozenset({"here", "there"})
_ASKS = frozenset(["what", "when", "where", "which", "who", "whom", "whose", "why", "how"])


def names_nothing(question: str) -> bool:
    """Check whether a message has only words that name nothing, as in "What is in here?" and "What can you do?".

    :param question: The message.
    :returns: Whether it has words, and all of them are function words of English.
    """
    words = normalize_words(question).split()
    return bool(words) and all(word in FUNCTION_WORDS or word in _HERE for word in words)


def fits_nothing(message: str, texts: Iterable[str]) -> bool:
    """Check whether a message, such as a greeting, has no form of a question and no word that stands in a text.

    :param message: The message.
    :param texts: The passages that were found for it.
    :returns: Whether it has at most three words, no figure, no question mark and no question word, and none of its
        words stands in any of the texts.
    """
    words = set(normalize_words(message).split())
    is_short = 0 < len(words) <= _FEW_WORDS and not re.search(r"[\d?\uff1f]", message) and not words & _ASKS
    return is_short and not any(words & set(normalize_words(text).split()) - FUNCTION_WORDS for text in texts)
