"""Split a text into passages of whole sentences, about a paragraph each."""

import re
from collections.abc import Iterator

from prefrag.components.text.sentences import ends_with_stop, sentence_ends

# Passages of the multi-hop corpora have about 100 words: enough to hold a fact with its subject, and five of them fit
# the window of a small model.
ENOUGH_WORDS = 100
MOST_WORDS = 140
# Limits passages of tables and debris, and in scripts that put no spaces between words.
MOST_CHARACTERS = 1500
# A last passage shorter than this joins the one before it.
FEWEST_WORDS = 30
_HEADING_WORDS = 15


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
    """Yield sentences with the space after them; one longer than a passage is yielded as its lines or runs of words."""
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
    for end, after, kind in sentence_ends(text):
        # A line may end only because the page wraps. A short paragraph without a full stop is the next one's heading.
        if kind == "line" or (kind == "paragraph" and _is_heading(text[start:end])):
            continue
        yield text[start:after]
        start = after
    if start < len(text):
        yield text[start:]


def _is_heading(paragraph: str) -> bool:
    return not ends_with_stop(paragraph) and len(paragraph.split(maxsplit=_HEADING_WORDS)) < _HEADING_WORDS


def _runs_of_words(line: str) -> Iterator[str]:
    run, words = "", 0
    # Word by word: if a file is one line, a list of its words takes ten times the memory of the file.
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
