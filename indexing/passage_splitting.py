"""Split a text into passages of whole sentences, about a paragraph each."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Passages of the multi-hop corpora have about 100 words: enough to hold a fact with its subject, and five of them fit
# the window of a small model.
ENOUGH_WORDS = 100
MOST_WORDS = 140
# Counts for scripts that do not put spaces between words, for tables and for debris.
MOST_CHARACTERS = 1500
# A last passage under this joins the one before it.
FEWEST_WORDS = 30
_HEADING_WORDS = 15

# Full stops of Western and of Chinese and Japanese texts, and what may close a sentence after them.
_STOPS = ".!?\u2026"
_WIDE_STOPS = "\u3002\uff01\uff1f"
_CLOSING = "[\"'\u201d\u2019\u00bb)\\]\u300d\u300f\uff09]*"
_BOUNDARY = re.compile(
    rf"(?P<sentence>[{_STOPS}]+{_CLOSING})\s+|[{_WIDE_STOPS}]+{_CLOSING}\s*|(?P<blank>\n[^\S\n]*\n\s*)"
)
_ENDED = re.compile(rf"[{_STOPS}{_WIDE_STOPS}:;]{_CLOSING}\s*$")
_ABBREVIATION = re.compile(
    r"(?:\b[A-Z]|\b(?:Dr|Mr|Mrs|Ms|Prof|St|Sr|Jr|Gen|Col|Capt|Lt|Sgt|Rev|Hon|vs|etc|No|Nr|Fig|Vol|pp?|ca?|cf|al"
    r"|e\.g|i\.e|z\.B|d\.h|bzw|M|Mme|approx|Inc|Ltd|Co|Corp|Jan|Feb|Mar|Apr|Aug|Sept?|Oct|Nov|Dec))\.$"
)


def split_into_passages(text: str) -> list[str]:
    """Split a text into passages that end where a sentence ends, without overlap.

    A passage ends at the first end of a paragraph after 100 words, or before the sentence that would bring it over
    140. A heading stays with the text after it. Only a sentence longer than a whole passage, such as a table, is split:
    at its lines, or between words.
    """
    passages: list[str] = []
    current, words = "", 0
    for unit in _units(text):
        unit_words = len(unit.split())
        if current and (words + unit_words > MOST_WORDS or len(current) + len(unit) > MOST_CHARACTERS):
            passages.append(current)
            current, words = "", 0
        current += unit
        words += unit_words
        if words >= ENOUGH_WORDS and "\n\n" in current[len(current.rstrip()) :]:
            passages.append(current)
            current, words = "", 0
    if current:
        if passages and words < FEWEST_WORDS and len(passages[-1]) + len(current) <= MOST_CHARACTERS:
            passages[-1] += current
        else:
            passages.append(current)
    return passages


def _units(text: str) -> Iterator[str]:
    """Yield sentences with the space after them, and lines or runs of words of a sentence longer than a passage."""
    for sentence in _sentences(text):
        if _fits(sentence):
            yield sentence
            continue
        for line in sentence.splitlines(keepends=True):
            if _fits(line):
                yield line
            else:
                yield from _runs_of_words(line)


def _sentences(text: str) -> Iterator[str]:
    start = 0
    for boundary in _BOUNDARY.finditer(text):
        if boundary["blank"] is not None:
            paragraph = text[start : boundary.start()]
            # A short paragraph that does not end like a sentence is the heading of the next one.
            if not _ENDED.search(paragraph[-20:]) and len(paragraph.split(maxsplit=_HEADING_WORDS)) < _HEADING_WORDS:
                continue
        elif boundary["sentence"] is not None:
            before = text[max(start, boundary.start() - 10) : boundary.end("sentence")]
            if text[boundary.end() : boundary.end() + 1].islower() or _ABBREVIATION.search(before):
                continue
        yield text[start : boundary.end()]
        start = boundary.end()
    if start < len(text):
        yield text[start:]


def _runs_of_words(line: str) -> Iterator[str]:
    run, words = "", 0
    # One after the other: the words of a file in one line take ten times the memory of the file.
    for match in re.finditer(r"\s*\S+\s*|\s+", line):
        word = match[0]
        for start in range(0, len(word), MOST_CHARACTERS):
            piece = word[start : start + MOST_CHARACTERS]
            if run and (words + 1 > MOST_WORDS or len(run) + len(piece) > MOST_CHARACTERS):
                yield run
                run, words = "", 0
            run += piece
            words += 1
    if run:
        yield run


def _fits(text: str) -> bool:
    return len(text) <= MOST_CHARACTERS and len(text.split()) <= MOST_WORDS
