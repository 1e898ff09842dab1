"""Write the model card of a trained model: what it learnt from, how, and how well it does on unseen questions."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

CARD = "card.json"


def write_card(output: Path, title: str, *parts: str, facts: Mapping[str, object] | None = None) -> None:
    """Write the card beside the file ``output``. With ``facts``, write card and facts into the folder ``output``."""
    text = "\n\n".join([f"# {title}", *parts]) + "\n"
    if facts is None:
        output.with_suffix(".card.md").write_text(text, encoding="utf-8")
        return
    files = sorted(file for file in output.iterdir() if file.is_file())
    facts = {**facts, "bytes": {file.name: file.stat().st_size for file in files}}
    (output / CARD).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (output / "card.md").write_text(text, encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown."""
    return "\n".join([_line(head), "|" + "---|" * len(head), *map(_line, rows)])


def _line(cells: Sequence[object]) -> str:
    # An empty cell has one blank, as in "| a | |".
    line = "|"
    for cell in cells:
        line += " |" if cell == "" else f" {cell} |"
    return line
