"""Prepare a Markdown file for Haystack's converter.

The file converter calls :func:`mark_notes` before that converter. It marks the headings, replaces links between notes
by words, and hides a front matter that would take too long to read. The front matter of a file is the block of YAML
fields at its beginning.
"""

import re

import yaml

from prefrag.indexing.readers.headings import Outline, mark_markdown
from prefrag.indexing.readers.struck_office_text import STRUCK, note_left_out
from prefrag.indexing.readers.struck_page_text import strike_markdown

# A front matter with more characters than this is not parsed. It becomes ordinary text.
_MOST_FRONT_MATTER = 10_000
# A front matter with more opening brackets than this is not parsed, either. The time to read nested brackets grows with
# the square of their number.
_MOST_BRACKETS = 200
# Matches a front matter, which stands between two lines of three hyphens at the beginning of a file. Group 1 is the
# YAML.
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)---[ \t]*(?=\r?\n|\Z)", re.DOTALL)
# Matches a link between notes, such as "[[folder/Note#Heading|words]]". Group 2 is "folder/Note" and group 3 is
# "words". Group 1 is the "!" of a link that embeds a note or a picture. Does not match "[[1, 2]]", which is a list in a
# list.
_NOTE_LINK = re.compile(
    r"(?<![\w\])])(!?)\[\[(?![\s\d])([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\|([^\[\]\n]{0,200}))?\]\]"
)
# Matches a block of code between two lines of three backticks or tildes, or code within a line, such as "`x`".
_CODE = re.compile(r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)|\Z)|`[^`\n]+`)", re.MULTILINE | re.DOTALL)


def _is_small_front_matter(text: str) -> bool:
    """Check that the front matter of a text is short and has no YAML aliases. A text without front matter passes.

    YAML replaces an alias by a copy, so a few lines of nested aliases can become gigabytes.
    """
    front = _FRONT_MATTER.match(text)
    if front is None:
        return True

    fields = front[1]
    brackets = fields.count("[") + fields.count("{")
    if len(fields) > _MOST_FRONT_MATTER or brackets > _MOST_BRACKETS:
        return False

    try:
        return not any(isinstance(token, yaml.AliasToken) for token in yaml.scan(fields))
    except yaml.YAMLError:
        # The converter will report the error.
        return True


def _link_as_words(match: re.Match[str]) -> str:
    """Return the words that replace a link between notes.

    For example, "[[folder/Note|words]]" becomes "words (Note)". A link that embeds something becomes "".
    """
    is_embedded = match[1] == "!"
    if is_embedded:
        return ""

    _, _, note = match[2].strip().rpartition("/")
    shown = (match[3] or "").strip()
    if shown in ("", note):
        return note
    return f"{shown} ({note})"


def mark_notes(text: str, outline: Outline) -> str:
    """Mark the headings of a Markdown file, and replace links between notes by words.

    Struck-out and hidden texts are removed. The struck-out texts are counted in ``outline.loss``.

    :param text: The content of the file.
    :param outline: The outline of the file. The headings are added to it.
    :returns: The Markdown for the converter. A front matter that must not be parsed stands behind an empty line.
    """
    # Every second part is code. Links in code are not replaced.
    parts = _CODE.split(text)
    parts[::2] = [_NOTE_LINK.sub(_link_as_words, part) for part in parts[::2]]
    linked = "".join(parts)

    match = _FRONT_MATTER.match(linked)
    front = match[0] if match else ""
    body, struck = strike_markdown(linked[len(front) :], _CODE)
    note_left_out(outline, struck, STRUCK)
    marked = front + mark_markdown(body, outline)
    # An empty line before a front matter keeps the converter from parsing it. The front matter then becomes text.
    return marked if _is_small_front_matter(linked) else f"\n{marked}"
