"""Prepare Markdown for its converter: replace links between notes, check the front matter, and mark headings."""

import re

import yaml

from prefrag.indexing.readers.headings import Outline, mark_markdown

# A front matter with more characters or more brackets is not parsed.
_MOST_FRONT_MATTER = 10_000
_MOST_BRACKETS = 200
# The fields between two lines of three hyphens at the beginning of a file.
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)---[ \t]*(?=\r?\n|\Z)", re.DOTALL)
# Matches a link between notes, such as [[folder/Note#Heading|words]]. With a ! before it, the link embeds a note or a
# picture. [[1, 2]] is not a link, but a list in a list.
_NOTE_LINK = re.compile(
    r"(?<![\w\])])(!?)\[\[(?![\s\d])([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\|([^\[\]\n]{0,200}))?\]\]"
)
# A block of code between two lines of three backticks or tildes, or code within a line.
_CODE = re.compile(r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)|\Z)|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def _is_small_front_matter(text: str) -> bool:
    """Check that the front matter of a text, if it has any, is short and without YAML aliases.

    YAML replaces an alias with a copy, so a few lines of nested aliases can become gigabytes.
    """
    front = _FRONT_MATTER.match(text)
    if front is None:
        return True
    # The time to read nested brackets grows with the square of their number.
    if len(front[1]) > _MOST_FRONT_MATTER or front[1].count("[") + front[1].count("{") > _MOST_BRACKETS:
        return False
    try:
        return not any(isinstance(token, yaml.AliasToken) for token in yaml.scan(front[1]))
    except yaml.YAMLError:
        # The converter will report the error.
        return True


def _link_as_words(match: re.Match[str]) -> str:
    """Return the text that replaces a link between notes: the words that the link shows, and the name of the note."""
    is_embedded = match[1] == "!"
    if is_embedded:
        return ""
    note = match[2].strip().rpartition("/")[2]
    shown = (match[3] or "").strip()
    return f"{shown} ({note})" if shown and shown != note else note


def mark_notes(text: str, outline: Outline) -> str:
    """Mark each heading of Markdown with :meth:`Outline.mark`, and replace links between notes by words."""
    # Every second part is code, in which nothing is replaced.
    parts = _CODE.split(text)
    parts[::2] = [_NOTE_LINK.sub(_link_as_words, part) for part in parts[::2]]
    linked = "".join(parts)
    match = _FRONT_MATTER.match(linked)
    front = match[0] if match else ""
    marked = front + mark_markdown(linked[len(front) :], outline)
    # If the front matter is too large, an empty line before it keeps the converter from parsing it. It becomes text.
    return marked if _is_small_front_matter(linked) else f"\n{marked}"
