"""Write the pipelines that are variants of another pipeline: `python -m prefrag.pipelines.variants`.

`variants.yaml` has for each variant its base pipeline, the comment at its head, and a mapping `replace`. A key of the
mapping is a path as in :func:`prefrag.pipelines.load`, or `connections`. A key `NEW after OLD` inserts NEW after OLD.
A value is YAML text, or null to leave the part out. In the text, `@local.retriever` stands for the retriever of `local`
in the base, and `@prefrag_dense:local.retriever` stands for the same path in another pipeline.

The files are written from the text of the base, line by line, so that its comments stay. A part is a key of the YAML
with all lines below it that are indented further.
"""

import re
import textwrap
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from prefrag.pipelines.loading import YAML_PIPELINES

# The file with the table of variants.
TABLE = Path(__file__).with_name("variants.yaml")
# A line whose value is a reference to a part, in the base or in another pipeline.
# Matches: "  retriever: @local.retriever", "- x: @prefrag_dense:local.retriever". Does not match: "top_k: 3".
_OTHER = re.compile(r"^(?P<key>[ -]*\w+): @(?:(?P<pipeline>\w+):)?(?P<path>[\w.]+)$")


@cache
def table() -> dict[str, dict[str, Any]]:
    """Read the table of variants.

    :returns: For each variant, a mapping with ``base``, ``head`` and ``replace``.
    """
    read: dict[str, dict[str, Any]] = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    return read


@cache
def text_of(name: str) -> str:
    """Return the YAML text of a pipeline. The text of a variant is made from its base.

    :param name: The name of the pipeline.
    :returns: The text of the file.
    """
    if name not in table():
        return (YAML_PIPELINES / f"{name}.yaml").read_text(encoding="utf-8")

    variant = table()[name]
    base = variant["base"]
    replace = variant["replace"]
    lines_of_base = text_of(base).splitlines()
    # The comment at the head of the base ends at the first empty line.
    lines = lines_of_base[lines_of_base.index("") :]
    for path, value in replace.items():
        lines = _replace(lines, path, value, base)

    # A key of `replace` is a path, with or without a second one behind it, as in "web after local".
    paths = [path.partition(" ")[0] for path in replace]
    note = (
        f"Written by `make variants` from {base}.yaml and pipelines/variants.yaml, which replaces "
        f"{', '.join(paths)}. Edit those two, not this file."
    )
    head = [*variant["head"].splitlines(), "", *textwrap.wrap(note, 118)]
    comment = [f"# {line}".rstrip() for line in head]
    # The text ends with a line break.
    return "\n".join([*comment, *lines, ""])


def _fill(block: list[str], base: str) -> list[str]:
    """Replace each reference with `@` by the lines of the part that the reference names.

    The text behind the key of that part, on the same line, is also taken over.
    """
    filled: list[str] = []
    for line in block:
        match = _OTHER.match(line)
        if match:
            other_lines = text_of(match["pipeline"] or base).splitlines()
            first, after, indent = _find(other_lines, match["path"])
            key = match["key"]
            _, _, behind_key = other_lines[first].partition(":")
            filled.append(f"{key}:{behind_key}")
            # The other lines of the part are indented as far as the key, and further by as much as in their own text.
            margin = " " * (len(key) - len(key.lstrip(" -")))
            for inner_line in other_lines[first + 1 : after]:
                filled.append(margin + inner_line[indent:])
        else:
            filled.append(line)
    return filled


def _replace(lines: list[str], path: str, value: str | None, base: str) -> list[str]:
    """Replace a part of a YAML text, insert a new part after it, or leave the part out. Return the new lines."""
    path, _, neighbour = path.partition(" after ")
    *parents, name = path.split(".")
    first, after, indent = _find(lines, ".".join([*parents, neighbour or name]))
    if neighbour:
        # The new part replaces nothing, and stands behind its neighbour.
        first = after
    # The comment above a part belongs to it.
    while lines[first - 1].startswith(" " * indent + "#"):
        first -= 1

    if value is None:
        # Of two empty lines around the part, only one stays.
        line_above = lines[first - 1]
        line_below = lines[after]
        if line_above == "" and line_below == "":
            return lines[:first] + lines[after + 1 :]
        return lines[:first] + lines[after:]

    # An anchor ("&web"), a comment or a single value stands on the line of the key.
    block = value.splitlines()
    behind_key = ""
    if len(block) == 1 or block[0].startswith(("&", "#")):
        behind_key = block.pop(0)
    space = "  " if behind_key.startswith("#") else " "
    new_part = [f"{name}:{space}{behind_key}".rstrip()]
    new_part += [f"  {line}".rstrip() for line in block]

    margin = " " * indent
    new_lines = [f"{margin}{line}".rstrip() for line in _fill(new_part, base)]
    if neighbour and not parents and block:
        # An empty line stands before a new component.
        new_lines.insert(0, "")
    return [*lines[:first], *new_lines, *lines[after:]]


def _find(lines: list[str], path: str) -> tuple[int, int, int]:
    """Return the first line of a part, the line after its last line, and the indentation of its key.

    Lines are counted from 0. The path leaves out ``init_parameters``, as in :func:`prefrag.pipelines.load`.
    """
    words = path.split(".")
    if words[0] != "connections":
        words.insert(0, "components")
    # Begin with the whole text, as if a line with a key stood before it.
    first = -1
    after = len(lines)
    indent = -2
    for word in words:
        parts = _parts(lines, first + 1, after, indent + 2)
        if word not in parts:
            first, after = parts["init_parameters"]
            indent += 2
            parts = _parts(lines, first + 1, after, indent + 2)
        first, after = parts[word]
        indent += 2
    return first, after, indent


def _parts(lines: list[str], begin: int, end: int, indent: int) -> dict[str, tuple[int, int]]:
    """Find the keys with an indentation among some lines: those from ``begin`` up to, but not including, ``end``.

    Each key has the number of the first line of its part, and that of the line after its last line. For example,
    ``_parts(["a: 1", "b:", "  c: 2", "d: 3"], 0, 4, 0)`` returns ``{"a": (0, 1), "b": (1, 3), "d": (3, 4)}``.
    """
    parts = {}
    # The key whose part is being read. Empty before the first key, and in a comment.
    key = ""
    for number in range(begin, end):
        line = lines[number].lstrip(" ")
        indent_of_line = len(lines[number]) - len(line)
        if line and indent_of_line <= indent:
            # The line ends the part before it.
            key = "" if line.startswith("#") else line.partition(":")[0]
            first = number
        if line and key:
            parts[key] = (first, number + 1)
    return parts


if __name__ == "__main__":
    for name in table():
        (YAML_PIPELINES / f"{name}.yaml").write_text(text_of(name), encoding="utf-8", newline="\n")
