"""Split code and configuration files into passages, between functions if possible. Definitions count as headings."""

import re
from collections.abc import Iterator

from prefrag.indexing.passage_splitting import ENOUGH_WORDS, MOST_CHARACTERS, MOST_WORDS, split_into_passages
from prefrag.indexing.readers.headings import Outline

_MODIFIERS = "export|default|public|private|protected|internal|static|final|abstract|async|override|pub|unsafe|local"
_KINDS = (
    "(?:def|class|function|func|fn|fun|struct|interface|enum|trait|impl|module|namespace|resource) |type \\w+ struct"
)
_SQL = "(?i:create (?:or replace )?(?:table|view|function|procedure|trigger)) "
_SECTION = r"\[[^\]\n]{1,120}\]$"
# Matches the first line of a definition in common languages, or of a section in a configuration file.
_DEFINITION = re.compile(
    rf"^([ \t]{{0,40}})((?:(?:{_MODIFIERS})(?:\([^)\n]{{0,40}}\))? ){{0,5}}(?:{_KINDS}|{_SQL})[^\n]{{0,300}}"
    rf"|{_SECTION})",
    re.MULTILINE,
)
_INDENT = 4
# Code is first split before every unindented line that follows an empty line. A piece that is still too long is split
# after each empty line and, if that is not enough, after each line.
_BORDERS = (re.compile(r"(?<=\n\n)(?=\S)"), re.compile(r"(?<=\n\n)(?=[^\n])"), re.compile(r"(?<=\n)"))


def mark_code(text: str, outline: Outline) -> str:
    """Mark each definition as a heading, with :meth:`Outline.mark`. Every four spaces of indentation are one level."""

    def mark(match: re.Match[str]) -> str:
        level = 1 + len(match[1].expandtabs(_INDENT)) // _INDENT
        return outline.mark(level, match[2].rstrip("{(: \t\r")) + match[0]

    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return _DEFINITION.sub(mark, "\n".join(line.rstrip() for line in lines))


def split_code(text: str) -> list[str]:
    """Split code into passages that together contain all of it. A function is only split if it is too long."""
    return list(_pack(text, 0))


def _pack(text: str, depth: int) -> Iterator[str]:
    """Split code at the borders of a depth, and join the pieces that fit into a passage."""
    current = ""
    for block in _BORDERS[depth].split(text):
        is_full = _is_long(current + block) or len(current.split()) >= ENOUGH_WORDS
        if current and is_full:
            yield current
            current = ""
        if not _is_long(block):
            current += block
        elif depth + 1 < len(_BORDERS):
            yield from _pack(block, depth + 1)
        else:
            yield from split_into_passages(block)
    if current:
        yield current


def _is_long(text: str) -> bool:
    return len(text) > MOST_CHARACTERS or len(text.split()) > MOST_WORDS
