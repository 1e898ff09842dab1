"""Split files of code and of configuration into passages, between functions if possible.

The file converter calls :func:`mark_code` and then :func:`split_code`. The first line of each definition, such as
``def f(x)``, counts as a heading, so a passage names the function in which it stands.
"""

import re
from collections.abc import Iterator

from prefrag.indexing.passage_splitting import ENOUGH_WORDS, MOST_CHARACTERS, MOST_WORDS, split_into_passages
from prefrag.indexing.readers.headings import Outline

# The words that may stand before the kind of a definition, as in "export async function".
_MODIFIERS = "export|default|public|private|protected|internal|static|final|abstract|async|override|pub|unsafe|local"
# The words that begin a definition, such as "def f" or "class A".
_KINDS = (
    "(?:def|class|function|func|fn|fun|struct|interface|enum|trait|impl|module|namespace|resource) |type \\w+ struct"
)
# The words that begin a definition in SQL, such as "create table".
_SQL = "(?i:create (?:or replace )?(?:table|view|function|procedure|trigger)) "
# A section of a configuration file, such as "[default]".
_SECTION = r"\[[^\]\n]{1,120}\]$"
# Matches the first line of a definition in common languages, or of a section in a configuration file. Examples are
# "def f(x):", "export async function f() {", "pub(crate) fn f()" and "[default]". "x = 1" does not match. Group 1 is
# the indentation. Group 2 is the rest of the line.
_DEFINITION = re.compile(
    rf"^([ \t]{{0,40}})((?:(?:{_MODIFIERS})(?:\([^)\n]{{0,40}}\))? ){{0,5}}(?:{_KINDS}|{_SQL})[^\n]{{0,300}}"
    rf"|{_SECTION})",
    re.MULTILINE,
)
# This many spaces of indentation are one level of headings.
_INDENT = 4
# The places where code is split. Only a piece that is still too long is split at the next kind of place.
# 1. Before each line without indentation that follows an empty line.
# 2. After each empty line.
# 3. After each line.
_BORDERS = (re.compile(r"(?<=\n\n)(?=\S)"), re.compile(r"(?<=\n\n)(?=[^\n])"), re.compile(r"(?<=\n)"))


def mark_code(text: str, outline: Outline) -> str:
    """Mark each definition as a heading. Every four spaces of indentation are one level.

    For example, the line ``class A:`` becomes the heading "class A" of level 1. A method in the class has level 2.

    :param text: The code.
    :param outline: The outline of the file. The definitions are added to it.
    :returns: The code with marks. White space at line ends is removed.
    """

    def mark(match: re.Match[str]) -> str:
        """Return a definition with its mark."""
        level = 1 + len(match[1].expandtabs(_INDENT)) // _INDENT
        return outline.mark(level, match[2].rstrip("{(: \t\r")) + match[0]

    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return _DEFINITION.sub(mark, "\n".join(line.rstrip() for line in lines))


def split_code(text: str) -> list[str]:
    """Split code into passages. A function is split only if it is too long for a passage.

    :param text: The code.
    :returns: The passages. Together they are the whole code.
    """
    return list(_pack(text, 0))


def _pack(text: str, depth: int) -> Iterator[str]:
    """Split code at one kind of place, and join pieces as long as they fit into a passage.

    :param text: The code.
    :param depth: The position in `_BORDERS` of the kind of place.
    """
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
    """Check whether a text is too long for a passage."""
    return len(text) > MOST_CHARACTERS or len(text.split()) > MOST_WORDS
