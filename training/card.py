"""Write the model card of a trained model.

The card says what the model learnt from, how it was trained, and how well it does on questions that it was not trained
on.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

# The name of the file with the facts, in the folder of a model.
CARD = "card.json"


def write_card(output: Path, title: str, *parts: str, facts: Mapping[str, object] | None = None) -> None:
    """Write a model card.

    :param output: The file of the model. The card is written beside it. With ``facts``, it is the folder of the model,
        and the card is written into it.
    :param title: The title of the card.
    :param parts: The paragraphs of the card, in Markdown.
    :param facts: Facts about the training, which are written as JSON. The sizes of the model's files are added. None
        writes only the card.
    """
    text = "\n\n".join([f"# {title}", *parts]) + "\n"
    if facts is None:
        output.with_suffix(".card.md").write_text(text, encoding="utf-8")
        return
    files = sorted(file for file in output.iterdir() if file.is_file())
    facts = {**facts, "bytes": {file.name: file.stat().st_size for file in files}}
    (output / CARD).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (output / "card.md").write_text(text, encoding="utf-8")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write a table in Markdown.

    :param head: The titles of the columns.
    :param rows: The rows, each with a value for each column.
    :returns: The table.
    """
    return "\n".join([_line(head), "|" + "---|" * len(head), *map(_line, rows)])


def _line(cells: Sequence[object]) -> str:
    """Write one line of a table. For example, ``_line(["a", ""])`` returns ``"| a | |"``."""
    line = "|"
    for cell in cells:
        line += " |" if cell == "" else f" {cell} |"
    return line
