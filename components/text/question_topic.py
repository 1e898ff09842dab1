"""Tell whether a message names anything that documents could tell of."""

import re
from collections.abc import Iterable

from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# A message of more words is taken as a question, whatever its form.
_FEW_WORDS = 3
# Words with the same beginning may be forms of one word: "landlords" and "landlord".
_BEGINNING = 4
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
_HERE = frozenset({"here", "there"})
_ASKS = frozenset(["what", "when", "where", "which", "who", "whom", "whose", "why", "how"])


def names_nothing(question: str) -> bool:
    """Check whether a message has only words that name nothing, as in "What is in here?" and "What can you do?".

    :param question: The message.
    :returns: Whether it has words, and all of them are function words of English. A word with a capital inside the
        message, such as WHO or IT, is a name.
    """
    words = re.findall(r"\w+", question)
    is_name = any(word != word.lower() for word in words[1:]) or any(len(word) > 1 and word.isupper() for word in words)
    plain = normalize_words(question).split()
    return bool(plain) and not is_name and all(word in FUNCTION_WORDS or word in _HERE for word in plain)


def fits_nothing(message: str, texts: Iterable[str]) -> bool:
    """Check whether a message, such as a greeting, has no form of a question and nothing was found for it.

    :param message: The message.
    :param texts: The passages that were found for it.
    :returns: Whether it has at most three words, no figure, no question mark and no question word, and there is no
        passage, or none of its words begins a word of any passage, by their first four letters.
    """
    words = set(normalize_words(message).split())
    is_short = 0 < len(words) <= _FEW_WORDS and not re.search(r"[\d?\uff1f]", message) and not words & _ASKS
    if not is_short or _UNSPACED.search(message):
        return False
    begins = {word[:_BEGINNING] for word in words - FUNCTION_WORDS}
    return not any(begins & {word[:_BEGINNING] for word in normalize_words(text).split()} for text in texts)
