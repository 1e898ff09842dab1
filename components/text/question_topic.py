"""Recognise messages that no document can answer, because they have no topic.

A user may ask "What is in here?" or write only "hello". The first message gets a question back from the program, and
the second one an invitation to ask a question. Both are recognised by their words, without a language model.
"""

import re
from collections.abc import Iterable

from prefrag.components.text.title_mentions import FUNCTION_WORDS, normalize_words
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS

# Two words with the same first letters, of this number, may be forms of one word: "landlords" and "landlord".
_BEGINNING = 4
# Matches one character of a script that is written without spaces, such as Chinese. It does not match "a".
_UNSPACED = re.compile(f"[{UNSPACED_SCRIPTS}]")
# Words for the place of the documents, as in "What is in here?".
_HERE = frozenset({"here", "there"})
# Words for the documents themselves, as in "Which files are there?".
_TEXTS = frozenset({"document", "documents", "file", "files"})
# A greeting has at most this number of words. A longer message may be a question even without a question mark. An
# example is "does the lease forbid pets".
_MOST_WORDS = 3
# English question words. A message that has one of them is a question.
_ASKS = frozenset(["what", "when", "where", "which", "who", "whom", "whose", "why", "how"])


def names_nothing(question: str) -> bool:
    """Check whether a message has only words that name nothing, such as "What is in here?".

    All words of such a message are English function words, such as "what" and "is". The words "here", "there",
    "document" and "file" are allowed too. But "document" and "file" are allowed only beside "here", "there" or "have":

    - ``names_nothing("Which files are there?")`` returns ``True``, because it asks what there is.
    - ``names_nothing("Which file is it?")`` returns ``False``, because it asks for a certain file.
    - ``names_nothing("Who is in IT?")`` returns ``False``, because a word with a capital inside the message is a name.

    :param question: The message.
    :returns: Whether the message has words, and none of them names anything. False for an empty message.
    """
    if _has_name(re.findall(r"\w+", question)):
        return False
    words = set(normalize_words(question).split())
    words_that_name_nothing = FUNCTION_WORDS | _HERE | _TEXTS
    if not words or not words <= words_that_name_nothing:
        return False
    # "Which file is it?" asks for a certain file. "Which files are there?" asks for what there is.
    asks_for_text = not words.isdisjoint(_TEXTS)
    asks_what_there_is = not words.isdisjoint(_HERE | {"have"})
    return asks_what_there_is or not asks_for_text


def _has_name(words: list[str]) -> bool:
    """Check by the capitals whether a word of a message is a name.

    The first word of a message begins with a capital anyway. This word is a name only if all its letters are capitals
    and it has two or more characters. Any other word with a capital is a name.

    For example, ``_has_name(["Who", "is", "IT"])`` returns ``True``, and ``_has_name(["Who", "is"])`` returns
    ``False``.
    """
    if not words:
        return False
    first, *others = words
    is_first_name = len(first) > 1 and first.isupper()
    return is_first_name or any(word != word.lower() for word in others)


def fits_nothing(message: str, texts: Iterable[str]) -> bool:
    """Check whether a message, such as a greeting, is no question, and no passage has a word of the message.

    The message must have one to three words, no digit, no question mark and no question word. Two words count as the
    same word if their first four letters are the same.

    For example, ``fits_nothing("good morning", ["The boiler is new."])`` returns ``True``. But
    ``fits_nothing("boilers", ["The boiler is new."])`` returns ``False``.

    :param message: The message.
    :param texts: The passages that a search for the message has found.
    :returns: Whether the message is no question and fits no passage.
    """
    words = set(normalize_words(message).split())
    if not 1 <= len(words) <= _MOST_WORDS:
        return False

    asks = re.search(r"[\d?\uff1f]", message) or words & _ASKS
    if asks or _UNSPACED.search(message):
        return False

    content_words = words - FUNCTION_WORDS
    beginnings = {word[:_BEGINNING] for word in content_words}
    for text in texts:
        beginnings_of_text = {word[:_BEGINNING] for word in normalize_words(text).split()}
        if beginnings & beginnings_of_text:
            return False
    return True
