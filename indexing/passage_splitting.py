"""Split a text into passages of whole sentences, about a paragraph each."""

import re
from collections.abc import Iterator

from prefrag.components.text.sentences import ends_with_stop, find_cut, sentence_ends

# The passages of datasets such as HotpotQA have about 100 words. That is enough for a fact with its subject, and five
# such passages fit into the context window of a small model.
ENOUGH_WORDS = 100
MOST_WORDS = 140
# Tables, meaningless strings, and texts in languages without spaces reach this limit before MOST_WORDS.
MOST_CHARACTERS = 1500
# If the last passage of a text has fewer words than this, it is joined to the passage before it.
FEWEST_WORDS = 30
# A paragraph of fewer words without a full stop is a heading.
_HEADING_WORDS = 15


def split_into_passages(text: str) -> list[str]:
    """Split a text into passages of whole sentences that do not overlap.

    A passage ends at the first end of a paragraph after 100 words, or before the sentence that would make it longer
    than 140 words. A heading stays with the text after it. A sentence that is too long for a passage, such as a
    table without full stops, is split into lines. A line that is still too long is split between words.
    """
    passages: list[str] = []
    current, words = "", 0
    for unit in _units(text):
        unit_words = len(unit.split())
        has_room = words + unit_words <= MOST_WORDS and len(current) + len(unit) <= MOST_CHARACTERS
        if current and not has_room:
            passages.append(current)
            current, words = "", 0
        current += unit
        words += unit_words
        space_at_end = current[len(current.rstrip()) :]
        if words >= ENOUGH_WORDS and "\n\n" in space_at_end:
            passages.append(current)
            current, words = "", 0
    if not current:
        return passages
    if passages and words < FEWEST_WORDS and len(passages[-1]) + len(current) <= MOST_CHARACTERS:
        passages[-1] += current
    else:
        passages.append(current)
    return passages


def _units(text: str) -> Iterator[str]:
    """Yield each sentence with the space after it. If a sentence is too long for a passage, yield it in pieces."""
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
        # A line end may only be due to the width of a page.
        if kind == "line":
            continue
        # A heading belongs to the text after it.
        if kind == "paragraph" and _is_heading(text[start:end]):
            continue
        yield text[start:after]
        start = after
    if start < len(text):
        yield text[start:]


def _is_heading(paragraph: str) -> bool:
    return not ends_with_stop(paragraph) and len(paragraph.split(maxsplit=_HEADING_WORDS)) < _HEADING_WORDS


def _runs_of_words(line: str) -> Iterator[str]:
    """Divide a line between words, or within words that are too long for a passage."""
    run, words = "", 0
    # Take one word at a time. The line may be a whole file, and a list of its words would take ten times its size.
    for match in re.finditer(r"\s*\S+\s*|\s+", line):
        word = match[0]
        begin = 0
        while begin < len(word):
            end = find_cut(word, MOST_CHARACTERS, begin)
            piece = word[begin:end]
            begin = end
            has_room = words < MOST_WORDS and len(run) + len(piece) <= MOST_CHARACTERS
            if run and not has_room:
                yield run
                run, words = "", 0
            run += piece
            words += 1
    if run:
        yield run


def _fits(text: str) -> bool:
    return len(text) <= MOST_CHARACTERS and len(text.split()) <= MOST_WORDS
