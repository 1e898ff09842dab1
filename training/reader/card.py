"""Write the card of a reader: what it was trained on, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefrag.training import card


def write_card(folder: Path, facts: dict[str, Any]) -> None:
    """Write the card, for programs and for people."""
    lines = [
        "# A reader of `prefrag train reader`",
        "",
        f"Seed {facts['seed']}, encoder {facts['encoder']}, {facts['seconds']} s.",
        "",
        "| training questions, not seen by what answers them | n | exact | answers given | of these right |",
        "|---|---|---|---|---|",
        *(
            f"| {name} | {one['questions']} | {one['exact']:.1%} | {one['given']:.1%} | {one['right']:.1%} |"
            for name, one in facts["held_back"].items()
        ),
        "",
        f"An answer is given from a probability of {facts['threshold']:.3f} on.",
    ]
    card.write_card(folder, facts, lines)
