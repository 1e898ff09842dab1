"""Prepare Markdown for its converter: links between notes, the front matter, and the marks of headings."""

import re

import yaml

from prefrag.indexing.headings import Outline, mark_markdown

_MOST_FRONT_MATTER = 10_000
_MOST_BRACKETS = 200
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)---[ \t]*(?=\r?\n|\Z)", re.DOTALL)
# [[folder/Note#Heading|words]]; a ! in front embeds the other note, or a picture. [[1, 2]] is a list in a list, no
# link.
_NOTE_LINK = re.compile(
    r"(?<![\w\])])(!?)\[\[(?![\s\d])([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\|([^\[\]\n]{0,200}))?\]\]"
)
_CODE = re.compile(r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)|\Z)|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def _is_small_front_matter(text: str) -> bool:
    """Check whether the front matter, if there is one, is short and without aliases.

    YAML copies what an alias refers to, so a few lines of nested aliases can make gigabytes.
    """
    if (front := _FRONT_MATTER.match(text)) is None:
        return True
    # The time to read nested brackets grows with the square of their number.
    if len(front[1]) > _MOST_FRONT_MATTER or front[1].count("[") + front[1].count("{") > _MOST_BRACKETS:
        return False
    try:
        return not any(isinstance(token, yaml.AliasToken) for token in yaml.scan(front[1]))
    except yaml.YAMLError:
        # The converter will report it.
        return True


def _read_link(found: re.Match[str]) -> str:
    """Write a link between notes as words: those that are shown, and the linked note's name, which is its title."""
    note, shown = found[2].strip().rpartition("/")[2], (found[3] or "").strip()
    return "" if found[1] else f"{shown} ({note})" if shown and shown != note else note


def mark_notes(text: str, outline: Outline) -> str:
    """Mark the headings of Markdown, and write links between notes as words."""
    parts = _CODE.split(text)
    text = "".join(part if number % 2 else _NOTE_LINK.sub(_read_link, part) for number, part in enumerate(parts))
    found = _FRONT_MATTER.match(text)
    front = found[0] if found else ""
    marked = front + mark_markdown(text[len(front) :], outline)
    # After an empty line, the converter takes the front matter for text and does not parse it.
    return marked if _is_small_front_matter(text) else f"\n{marked}"
