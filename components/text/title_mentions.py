"""Find the titles that a text mentions.

A text mentions a title if some neighbouring words of the text are the title. Both are compared in a normalised form,
the title key: without case, accents and punctuation. For example, "Émile's Café" has the key "emile cafe".

The search has two steps. :func:`mentioned_keys` lists all keys that a text may mention, and an index tells which of
them are titles. :func:`longest_mentions` then selects the longest of these titles.
"""

import re
import unicodedata
from collections.abc import Container
from functools import lru_cache
from itertools import accumulate, chain

# The maximum number of words of a title. Longer titles are not found.
MAX_WORDS = 8
# The metadata field in which Elasticsearch stores the title key of a passage, because it cannot compute title keys.
TITLE_KEY_FIELD = "title_key"

# Matches a parenthesis at the end of a title, such as " (planet)" in "Mercury (planet)". A text that mentions this
# title usually says only "Mercury". Full-width parentheses, as in Chinese, match too.
_PARENTHESIS = re.compile(r"\s*[(\uff08][^()\uff08\uff09]*[)\uff09]\s*$")
# The next two patterns begin with the apostrophe, although the letter before it is checked too. A pattern that begins
# with a lookbehind would be tried at every letter.
# Matches a possessive 's, which is not part of a name: "Vienna's" becomes "Vienna".
_POSSESSIVE = re.compile(r"['\u2019\u02bc\u2018`](?<=\w.)[sS]\b")
# Matches any other apostrophe between two letters: "O'Hara" becomes "OHara".
_APOSTROPHE = re.compile(r"['\u2019\u02bc\u2018`](?<=\w.)(?=\w)")
# Matches a word: letters and digits of any script, without underscores.
_WORD = re.compile(r"[^\W_]+")
# A table for `str.translate` that turns all ASCII characters except letters and digits into spaces.
# In ASCII texts, `translate` with this table and `split` find the same words as `_WORD`, in a third of the time.
_BETWEEN_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
# Words that begin English sentences more often than they name something. (There are films called "This" and "It".)
# Other languages have no such list here. So the German word "Die" mentions a passage with the title "Die".
_FUNCTION_WORDS_OF_ENGLISH = (
    "a about after all also although am an and any are as at be because been before being between both but by can "
    "could did do does during each either first for from had has have he her here hers him his how however i if in "
    "into is it its later many may me more most my no nor not of on one only or other our out over she since so some "
    "such than that the their them then there these they this those through to two under until up upon was we were "
    "what when where which while who whom whose why will with would you your"
)
# The same words as a set.
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_OF_ENGLISH.split())


def title_key(title: str) -> str:
    """Normalise a title for comparison.

    A parenthesis at the end, accents, case, the possessive s and punctuation are dropped. For example,
    ``title_key("Mercury (planet)")`` returns ``"mercury"``, and ``title_key("Émile's Café!")`` returns
    ``"emile cafe"``. If nothing is left without the parenthesis, then the words in it are taken:
    ``title_key("(1984)")`` returns ``"1984"``.

    :param title: The title.
    :returns: The remaining words, joined by spaces. Empty for a title without a letter or digit.
    """
    # The pattern is slow, because it is tried at every character. Titles without ")" do not need it.
    without_parenthesis = title
    if ")" in title or "\uff09" in title:
        without_parenthesis = _PARENTHESIS.sub("", title)
    return normalize_words(without_parenthesis) or normalize_words(title)


def normalize_words(text: str) -> str:
    """Normalise the words of a text as :func:`title_key` does.

    The result contains the keys of all titles in the text. For example, ``normalize_words("Vienna's O'Hara, 1911")``
    returns ``"vienna ohara 1911"``.

    :param text: The text.
    :returns: Its words in lower case, joined by spaces.
    """
    return " ".join(_words(text)).casefold()


def mentioned_keys(text: str, max_words: int = MAX_WORDS) -> list[str]:
    """List the title keys that a text may mention.

    These are the word n-grams of the text, except n-grams that are hardly ever names:

    - A single word is listed if it has a capital letter, and is neither a number nor an English function word.
      Otherwise, half of all texts would mention titles such as "This", "1984" and "Comedy".
    - An n-gram of several words is listed if one of them is not a function word, or if all of them have a capital
      letter, as in "The Who".

    A text may have no capitals at all, as in a question typed in a hurry. Its script may have no capitals either. Then
    every word is treated as if it had a capital letter.

    For example, ``mentioned_keys("The Who sang")`` returns ``["the who sang", "the who", "who sang"]``.

    :param text: The text.
    :param max_words: The maximum number of words of a key, at least 1.
    :returns: The keys, each once.
    :raises ValueError: When ``max_words`` is less than 1.
    """
    keys = chain.from_iterable(_keys_by_place(text, max_words))
    return list(dict.fromkeys(keys))


def longest_mentions(text: str, titles: Container[str], max_words: int = MAX_WORDS) -> list[str]:
    """List the keys of the titles that a text mentions, without titles inside longer titles.

    A text with "New York City" does not mention "New York":
    ``longest_mentions("In New York City.", {"new york", "new york city"})`` returns ``["new york city"]``. If two
    titles overlap in the text and neither is inside the other, both are listed.

    :param text: The text.
    :param titles: The keys of the existing titles, made by :func:`title_key`.
    :param max_words: The maximum number of words of a key, at least 1.
    :returns: The keys, each once, in the order in which the text mentions them.
    :raises ValueError: When ``max_words`` is less than 1.
    """
    # The keys of the dictionary are the mentioned keys, each once and in order.
    mentioned: dict[str, None] = {}
    # The number of the word behind the last mentioned key.
    end = 0
    for start, keys in enumerate(_keys_by_place(text, max_words)):
        for key in keys:
            if key not in titles:
                continue
            end_of_key = start + key.count(" ") + 1
            # At each word, the longest key comes first. So a key that ends no later than an earlier key lies inside it.
            if end_of_key > end:
                mentioned[key] = None
                end = end_of_key
    return list(mentioned)


# The function is cached, because `mentioned_keys` and then `longest_mentions` are called with the same text.
@lru_cache(maxsize=64)
def _keys_by_place(text: str, max_words: int) -> tuple[list[str], ...]:
    """For each word of a text, list the keys that begin with this word and may be names.

    :func:`mentioned_keys` says which keys may be names. For example, ``_keys_by_place("New York", 8)`` returns
    ``(["new york", "new"], ["york"])``.

    :param text: The text.
    :param max_words: The maximum number of words of a key.
    :returns: For each word a list of keys, the longest key first.
    """
    if max_words < 1:
        raise ValueError(f"max_words is {max_words}: set it to at least 1.")
    words = _words(text)
    lower = [word.casefold() for word in words]
    has_capital = [True] * len(words)
    if text != text.lower():
        has_capital = [_has_capital(word) for word in words]
    # A content word is any word that is not a function word.
    is_content = [word not in FUNCTION_WORDS for word in lower]

    # All keys are slices of this text.
    joined = " ".join(lower)
    # The index in `joined` at which each word ends. The next word begins after a space.
    lengths_so_far = accumulate(len(word) + 1 for word in lower)
    ends = [length - 1 for length in lengths_so_far]
    begins = [0, *(end + 1 for end in ends)]

    keys_by_place = []
    # The number of the next content word, and of the next word without a capital, from the present word on.
    next_content = next_small = len(words)
    # The loop goes backwards, because each word needs to know these two numbers.
    for start in reversed(range(len(words))):
        if is_content[start]:
            next_content = start
        if not has_capital[start]:
            next_small = start
        begin = begins[start]
        # The number of the last word of the longest n-gram.
        last = min(len(words), start + max_words) - 1
        if is_content[start]:
            # All n-grams of two words or more may be names, because they have a content word.
            keys = [joined[begin:end] for end in ends[last:start:-1]]
            if has_capital[start] and not lower[start].isdigit():
                keys.append(lower[start])
        else:
            # The n-gram must go on to a content word, or have capitals only.
            keys = []
            for last_word in range(last, start, -1):
                has_content = next_content <= last_word
                has_only_capitals = last_word < next_small
                if has_content or has_only_capitals:
                    keys.append(joined[begin : ends[last_word]])
        keys_by_place.append(keys)
    keys_by_place.reverse()
    return tuple(keys_by_place)


def _has_capital(word: str) -> bool:
    """Check whether a word has a capital letter, or is of a script without capitals."""
    lower = word.lower()
    return word != lower or lower == word.upper()


def _words(text: str) -> list[str]:
    """Split a text into words without accents and apostrophes.

    For example, ``_words("Vienna's O'Hara, Café")`` returns ``["Vienna", "OHara", "Cafe"]``.
    """
    if not text.isascii():
        # An acute accent (U+00B4) may be typed as an apostrophe. NFKD would turn it into a space.
        text = unicodedata.normalize("NFKD", text.replace("\u00b4", "'"))
        # NFKD has divided each letter with an accent into the letter and a combining character, which is removed.
        for sign in filter(unicodedata.combining, set(text)):
            text = text.replace(sign, "")

    if "'" in text or "`" in text or not text.isascii():
        text = _POSSESSIVE.sub("", text)
        text = _APOSTROPHE.sub("", text)
    if text.isascii():
        # This is faster than the pattern.
        return text.translate(_BETWEEN_WORDS).split()
    return _WORD.findall(text)
