"""Find the titles that a text mentions, by comparing title keys (normalised titles) with the text's word n-grams."""

import re
import unicodedata
from collections.abc import Container
from functools import lru_cache
from itertools import accumulate, chain

MAX_WORDS = 8  # of a title: longer titles are not found
# The metadata field in which Elasticsearch stores the title key of a passage, because it cannot compute title keys.
TITLE_KEY_FIELD = "title_key"

# A text that mentions "Mercury (planet)" usually says only "Mercury".
_PARENTHESIS = re.compile(r"\s*[(\uff08][^()\uff08\uff09]*[)\uff09]\s*$")
# "Vienna's" becomes "Vienna", because a possessive 's is not part of a name. "O'Hara" becomes "OHara".
# The patterns begin with the apostrophe, because one that begins with a lookbehind would be tried at every letter.
_POSSESSIVE = re.compile(r"['\u2019\u02bc\u2018`](?<=\w.)[sS]\b")
_APOSTROPHE = re.compile(r"['\u2019\u02bc\u2018`](?<=\w.)(?=\w)")
_WORD = re.compile(r"[^\W_]+")
# In ASCII texts, `translate` with this table and `split` find the same words as _WORD in a third of the time.
_BETWEEN_WORDS = {code: " " for code in range(128) if not chr(code).isalnum()}
# Words that begin English sentences more often than they name something, although there are films called "This" and
# "It". There is no such list for other languages, so the German word "Die" mentions a passage with the title "Die".
_FUNCTION_WORDS_OF_ENGLISH = (
    "a about after all also although am an and any are as at be because been before being between both but by can "
    "could did do does during each either first for from had has have he her here hers him his how however i if in "
    "into is it its later many may me more most my no nor not of on one only or other our out over she since so some "
    "such than that the their them then there these they this those through to two under until up upon was we were "
    "what when where which while who whom whose why will with would you your"
)
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_OF_ENGLISH.split())


def title_key(title: str) -> str:
    """Normalise a title for comparison: drop a parenthesis at its end, accents, case, possessive s and punctuation.

    The key is the remaining words, joined by spaces. It is empty for a title without a letter or digit.
    """
    # The pattern is slow, because it is tried at every character. Titles without ")" do not need it.
    in_short = _PARENTHESIS.sub("", title) if ")" in title or "\uff09" in title else title
    return normalize_words(in_short) or normalize_words(title)


def normalize_words(text: str) -> str:
    """Normalise a text as `title_key` does, so that the result contains the keys of all titles in the text."""
    return " ".join(_words(text)).casefold()


def mentioned_keys(text: str, max_words: int = MAX_WORDS) -> list[str]:
    """List the title keys that a text may mention: its word n-grams, except n-grams that are hardly ever names.

    A single word is listed if it has a capital letter and is neither a number nor an English function word. Otherwise,
    half of all texts would mention titles such as "This", "1984" and "Comedy". An n-gram of several words is listed if
    one of them is not a function word, or if all have a capital letter ("The Who"). If a text or its script has no
    capitals, as in a question typed in a hurry, every word is treated as if it had a capital letter.
    """
    return list(dict.fromkeys(chain.from_iterable(_keys_by_place(text, max_words))))


def longest_mentions(text: str, titles: Container[str], max_words: int = MAX_WORDS) -> list[str]:
    """List the keys of the titles that a text mentions. A text with "New York City" does not mention "New York".

    If two titles overlap in the text, both are listed, unless one is inside the other. ``titles`` contains the keys of
    existing titles, made by `title_key`. Each key is listed once, in the order in which the text mentions them.
    """
    mentioned: dict[str, None] = {}
    end = 0
    for start, keys in enumerate(_keys_by_place(text, max_words)):
        for key in keys:
            # At each word, the longest key comes first. So a key that ends no later than an earlier key lies inside it.
            if key in titles and start + key.count(" ") + 1 > end:
                mentioned[key] = None
                end = start + key.count(" ") + 1
    return list(mentioned)


# Cached, because `mentioned_keys` and then `longest_mentions` are called with the same text.
@lru_cache(maxsize=64)
def _keys_by_place(text: str, max_words: int) -> tuple[list[str], ...]:
    """For each word of a text, list the keys that begin with this word and may be names, the longest key first."""
    if max_words < 1:
        raise ValueError(f"max_words is {max_words}: set it to at least 1.")
    words = _words(text)
    lower = [word.casefold() for word in words]
    no_capitals = text == text.lower()
    capital = [no_capitals or word != word.lower() or word.lower() == word.upper() for word in words]
    content = [word not in FUNCTION_WORDS for word in lower]
    joined = " ".join(lower)
    # Where each word ends in `joined`. The next word begins after a space.
    lengths_so_far = accumulate(len(word) + 1 for word in lower)
    ends = [length - 1 for length in lengths_so_far]
    begins = [0, *(end + 1 for end in ends)]
    places = []
    next_content = next_small = len(words)
    # The loop goes backwards, because each word needs to know the next content word and the next word in lower case.
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
        # An acute accent may be typed as an apostrophe. NFKD would turn it into a space.
        text = unicodedata.normalize("NFKD", text.replace("\u00b4", "'"))
        for sign in filter(unicodedata.combining, set(text)):
            text = text.replace(sign, "")
    if "'" in text or "`" in text or not text.isascii():
        text = _APOSTROPHE.sub("", _POSSESSIVE.sub("", text))
    return text.translate(_BETWEEN_WORDS).split() if text.isascii() else _WORD.findall(text)
