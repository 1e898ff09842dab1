"""Which titles a text mentions: the key of a title, and the word n-grams of a text that may be one."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container
from functools import lru_cache
from itertools import accumulate, chain

MAX_WORDS = 8
# The metadata under which a store that cannot compute the key of a title keeps it.
TITLE_KEY_FIELD = "title_key"

# "Mercury (planet)" is Mercury to whoever mentions it.
_PARENTHESIS = re.compile(r"\s*[(\uff08][^()\uff08\uff09]*[)\uff09]\s*$")
# A possessive 's is no part of a name; any other apostrophe stands inside a word: "Vienna's", "O'Hara".
# Each pattern begins with the apostrophe: one that begins by looking behind is tried at every letter.
_POSSESSIVE = re.compile(r"['\u2019\u02bc\u2018`](?<=\w.)[sS]\b")
_APOSTROPHE = re.compile(r"['\u2019\u02bc\u2018`](?<=\w.)(?=\w)")
_APOSTROPHES = "'\u2019\u02bc\u2018`"
_WORD = re.compile(r"[^\W_]+")
# The same for ASCII: translating and splitting takes a third of the time.
_BETWEEN_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
# Words that begin English sentences more often than they name something, though there are films called "This" and
# "It". Other languages have no such list here, and their articles count as names where they are titles.
_FUNCTION_WORDS_OF_ENGLISH = (
    "a about after all also although am an and any are as at be because been before being between both but by can "
    "could did do does during each either first for from had has have he her here hers him his how however i if in "
    "into is it its later many may me more most my no nor not of on one only or other our out over she since so some "
    "such than that the their them then there these they this those through to two under until up upon was we were "
    "what when where which while who whom whose why will with would you your"
)
_FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_OF_ENGLISH.split())


def title_key(title: str) -> str:
    """
    The form in which titles are compared: without a closing parenthesis, accents, case, possessive s and punctuation.

    :param title: a title as it stands above a passage.
    :returns: its words with a space between them; empty for a title without a letter or digit.
    """
    # Few titles end in one, and the pattern is tried at every place.
    in_short = _PARENTHESIS.sub("", title) if ")" in title or "\uff09" in title else title
    return comparable(in_short) or comparable(title)


def comparable(text: str) -> str:
    """
    A text in the form of keys: a title that it mentions stands in it as `title_key` gives it.

    :param text: any text.
    :returns: its words with a space between them.
    """
    return " ".join(_words(text)).casefold()


def mentioned_keys(text: str, max_words: int = MAX_WORDS) -> list[str]:
    """
    The keys that a text may mention: those of its word n-grams, but for the ones that are hardly ever names.

    One word counts when it is written with a capital letter, is no number and no function word of English, as titles
    such as "This", "1984" and "Comedy" would otherwise be mentioned by half of all texts. Several words count when
    they are not all function words, or all have a capital letter ("The Who"). In a text without any capital letter,
    such as a question typed in a hurry, and in scripts without them, capitals are not asked for.

    :param text: any text.
    :param max_words: the most words of a key.
    :returns: each key once, in the order of their places in the text, at one place the longest first.
    :raises ValueError: if max_words is under 1.
    """
    return list(dict.fromkeys(chain.from_iterable(_keys_by_place(text, max_words))))


def longest_mentions(text: str, known: Container[str], max_words: int = MAX_WORDS) -> list[str]:
    """
    The titles that a text mentions: the longest known n-grams, so that "New York" is not in "New York City".

    Two that overlap are both mentioned when neither is inside the other.

    :param text: any text.
    :param known: keys of titles, as `title_key` makes them; asked once for every n-gram.
    :param max_words: the most words of a key.
    :returns: each key once, in the order of first mention.
    :raises ValueError: if max_words is under 1.
    """
    mentioned: dict[str, None] = {}
    end = 0
    for start, keys in enumerate(_keys_by_place(text, max_words)):
        for key in keys:
            # Of two at one place the longer comes first, so what ends no later than one before it is inside that one.
            if key in known and start + key.count(" ") + 1 > end:
                mentioned[key] = None
                end = start + key.count(" ") + 1
    return list(mentioned)


# A text is gone through for what it may mention, and again for what it does.
@lru_cache(maxsize=64)
def _keys_by_place(text: str, max_words: int) -> tuple[list[str], ...]:
    """For each word of the text the keys that begin with it and may name something, the longest first."""
    if max_words < 1:
        raise ValueError(f"max_words is {max_words}: set it to at least 1.")
    words = _words(text)
    lower = [word.casefold() for word in words]
    no_capitals = text == text.lower()
    capital = [no_capitals or word != word.lower() or word.lower() == word.upper() for word in words]
    content = [word not in _FUNCTION_WORDS for word in lower]
    joined = " ".join(lower)
    # Where each word ends in `joined`, and the next begins behind a space.
    ends = [length - 1 for length in accumulate(len(word) + 1 for word in lower)]
    begins = [0, *(end + 1 for end in ends)]
    places = []
    next_content = next_small = len(words)
    # From the last word to the first, so that the next word with content and the next without a capital are known.
    for start in reversed(range(len(words))):
        next_content = start if content[start] else next_content
        next_small = next_small if capital[start] else start
        begin, last = begins[start], min(len(words), start + max_words) - 1
        if content[start]:
            keys = [joined[begin:end] for end in ends[last:start:-1]]
            if capital[start] and not lower[start].isdigit():
                keys.append(lower[start])
        else:
            reached = (word for word in range(last, start, -1) if next_content <= word or word < next_small)
            keys = [joined[begin : ends[word]] for word in reached]
        places.append(keys)
    places.reverse()
    return tuple(places)


def _words(text: str) -> list[str]:
    if not text.isascii():
        # An acute accent that stands alone would become a blank.
        text = unicodedata.normalize("NFKD", text.replace("\u00b4", "'"))
        for sign in filter(unicodedata.combining, set(text)):
            text = text.replace(sign, "")
    if any(sign in text for sign in _APOSTROPHES):
        text = _APOSTROPHE.sub("", _POSSESSIVE.sub("", text))
    return text.translate(_BETWEEN_WORDS).split() if text.isascii() else _WORD.findall(text)
