"""The sentences of a text."""

from __future__ import annotations

import re

_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"\u201c])|\n+")
_MAX_CHARACTERS = 600
# For showing: a line that goes on with a small letter is not the end of its sentence, but folded where the page ended.
_SHOWN_END = re.compile(
    r"(?<=[.!?])\s+(?=[A-Z\"\u201c])|(?<=[.!?:;|])\n+|\n+(?![a-z\xdf-\xf6\xf8-\xff(])|[\u3002\uff01\uff1f]+"
)
_MAX_SHOWN = 400


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


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """Find the sentences of a text, to show one of them in its place.

    :param text: The text.
    :returns: Where each begins and ends, without blanks around it; one of more than 400 characters is several.
    """
    ends = [*((match.start(), match.end()) for match in _SHOWN_END.finditer(text)), (len(text), len(text))]
    spans: list[tuple[int, int]] = []
    begin = 0
    for end, following in ends:
        while begin < following:
            stop = following
            if end - begin > _MAX_SHOWN:
                blank = text.rfind(" ", begin + 1, begin + _MAX_SHOWN)
                stop = blank if blank > 0 else begin + _MAX_SHOWN
            if words := text[begin:stop].strip():
                place = text.index(words, begin)
                spans.append((place, place + len(words)))
            begin = stop
    return spans
