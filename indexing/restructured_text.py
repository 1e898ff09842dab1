"""Read reStructuredText."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prefrag.indexing.headings import Outline
from prefrag.indexing.tables import write_rows

# A file must not take other files of the machine into it, nor set how it is read, nor print.
_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "doctitle_xform": False,
    "output_encoding": "unicode",
}
_LEFT_OUT = ("comment", "substitution_definition", "target", "image", "raw", "label")


def read_rst(text: str, outline: Outline) -> str:
    """Write reStructuredText as text with a mark at each heading.

    What it would include of other files is left out. Directives that only Sphinx knows are text.
    """
    from docutils.core import publish_doctree

    try:
        blocks = list(_blocks(publish_doctree(text, settings_overrides=_SETTINGS), 0, outline))
    except Exception:
        # docutils knows no depth that is too deep, and some of its directives raise what they meet.
        return text
    # It gives nothing for a text with a line over 10,000 characters.
    return "\n\n".join(blocks) if blocks else text


def _blocks(node: Any, depth: int, outline: Outline) -> Iterator[str]:
    from docutils import nodes

    for child in node.children:
        if isinstance(child, nodes.section):
            yield from _blocks(child, depth + 1, outline)
        elif isinstance(child, nodes.title):
            words = _one_line(child.astext())
            yield outline.mark(max(depth, 1), words) + words
        elif isinstance(child, nodes.system_message):
            # The message holds the source of what could not be understood, such as a directive of Sphinx.
            yield from (block.astext().strip() for block in child.children if isinstance(block, nodes.literal_block))
        elif child.tagname in _LEFT_OUT:
            continue
        elif isinstance(child, nodes.table):
            yield from _rows(child)
        elif isinstance(child, nodes.bullet_list | nodes.enumerated_list):
            yield "\n".join(f"- {_one_line(item.astext())}" for item in child.children)
        elif isinstance(child, nodes.literal_block | nodes.line_block | nodes.doctest_block):
            yield child.astext()
        elif isinstance(child, nodes.definition_list_item | nodes.field):
            yield ": ".join(_one_line(part.astext()) for part in child.children if part.astext().strip())
        elif any(isinstance(below, nodes.Body | nodes.definition_list_item | nodes.field) for below in child.children):
            yield from _blocks(child, depth, outline)
        elif words := _one_line(child.astext()):
            yield words


def _rows(table: Any) -> Iterator[str]:
    from docutils import nodes

    rows = [[entry.astext() for entry in row.children] for row in table.findall(nodes.row)]
    yield "\n".join(write_rows(rows))


def _one_line(text: str) -> str:
    return " ".join(text.split())
