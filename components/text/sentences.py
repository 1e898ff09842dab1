"""The sentences of a text."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])|\n+")
_MAX_CHARACTERS = 600


def split_sentences(text: str) -> list[str]:
    """Split a text into its sentences.

    :param text: The text.
    :returns: The sentences, none of them empty, cut to 600 characters.
    """
    return [part.strip()[:_MAX_CHARACTERS] for part in _END.split(text) if part.strip()]


def split_strips(text: str, sentences: int) -> list[str]:
    """Split a text into strips of a few sentences, about equally long.

    :param text: The text.
    :param sentences: The most sentences of a strip.
    :returns: The strips as they stand in the text, none of them empty; one for a text of at most two sentences.
    """
    begins = [0, *(match.end() for match in _END.finditer(text.rstrip()))]
    number = 1 if len(begins) <= 2 else -(-len(begins) // sentences)
    starts = [begins[place * len(begins) // number] for place in range(number)]
    parts = (text[start:end].strip() for start, end in zip(starts, [*starts[1:], len(text)], strict=True))
    return [part for part in parts if part]


def sentence_at(text: str, place: int) -> str:
    """Find the sentence at a place.

    :param text: The text.
    :param place: The place of a character in it.
    :returns: The sentence, or of a longer one than 600 characters those around the place.
    """
    ends = [(match.start(), match.end()) for match in _END.finditer(text)]
    begin = max((after for _, after in ends if after <= place), default=0)
    end = min((before for before, _ in ends if before > place), default=len(text))
    if end - begin > _MAX_CHARACTERS:
        begin = max(begin, place - _MAX_CHARACTERS // 2)
    return text[begin : min(end, begin + _MAX_CHARACTERS)].strip()
