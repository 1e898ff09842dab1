"""Split a text into passages of whole sentences, about a paragraph each.

The file converter and several readers use :func:`split_into_passages`. A passage is the unit that is indexed, searched
and cited. It should be long enough for a fact with its subject, and short enough for the context of a small model.
"""

import re
from collections.abc import Iterator

from prefrag.components.text.sentences import ends_with_stop, find_cut, sentence_ends

# A passage with at least this many words ends at the next end of a paragraph. The passages of datasets such as HotpotQA
# have about 100 words. That is enough for a fact with its subject, and five such passages fit into the context window
# of a small model.
ENOUGH_WORDS = 100
# A passage has at most this many words.
MOST_WORDS = 140
# A passage has at most this many characters. Tables, meaningless strings, and texts in languages without blanks reach
# this limit before MOST_WORDS.
MOST_CHARACTERS = 1500
# If the last passage of a text has fewer words than this, it is joined to the passage before it.
FEWEST_WORDS = 30
# A paragraph with fewer words than this and without a full stop at its end is a heading.
_HEADING_WORDS = 15


def split_into_passages(text: str) -> list[str]:
    """Split a text into passages of whole sentences that do not overlap.

    - A passage of at least 100 words ends at the next end of a paragraph.
    - A passage also ends before a sentence that would make it longer than 140 words or 1,500 characters.
    - A heading stays with the text after it.
    - A sentence that is too long for a passage is split into lines. An example is a table without full stops. A line
      that is still too long is split between words.

    :param text: The text.
    :returns: The passages. Together they are the whole text. A short rest may make the last passage a little longer
        than 140 words.
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
    is_short_rest = bool(passages) and words < FEWEST_WORDS
    if is_short_rest and len(passages[-1]) + len(current) <= MOST_CHARACTERS:
        passages[-1] += current
    else:
        passages.append(current)
    return passages


def _units(text: str) -> Iterator[str]:
    """Yield each sentence of a text with the white space after it.

    A sentence that is too long for a passage is yielded in pieces.
    """
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
    """Yield each sentence of a text with the white space after it. A heading is joined to the sentence after it."""
    start = 0
    for end, after, kind in sentence_ends(text):
        # A line end need not end a sentence, because the line may only be as wide as a page.
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
    """Check whether a paragraph is short and does not end like a sentence."""
    is_short = len(paragraph.split(maxsplit=_HEADING_WORDS)) < _HEADING_WORDS
    return is_short and not ends_with_stop(paragraph)


def _runs_of_words(line: str) -> Iterator[str]:
    """Yield pieces of a line that fit into a passage. A word that is too long for a passage is split, too."""
    run, words = "", 0
    # Read one word at a time. The line may be a whole file, and a list of all its words would take ten times its size
    # in memory.
    for match in re.finditer(r"\s*\S+\s*|\s+", line):
        for piece in _pieces_of(match[0]):
            has_room = words < MOST_WORDS and len(run) + len(piece) <= MOST_CHARACTERS
            if run and not has_room:
                yield run
                run, words = "", 0
            run += piece
            words += 1
    if run:
        yield run


def _pieces_of(word: str) -> Iterator[str]:
    """Yield a word in pieces that have at most as many characters as a passage."""
    begin = 0
    while begin < len(word):
        end = find_cut(word, MOST_CHARACTERS, begin)
        yield word[begin:end]
        begin = end


def _fits(text: str) -> bool:
    """Check whether a text is short enough for a passage."""
    return len(text) <= MOST_CHARACTERS and len(text.split()) <= MOST_WORDS
