"""Write the card of a transformer that classifies pairs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefrag.training.card import write_card


def write_pair_card(folder: Path, facts: dict[str, Any]) -> None:
    """Write the card, for programs and for people."""
    cut = "whole" if facts["document_tokens"] is None else f"cut at {facts['document_tokens']} tokens"
    write_card(
        folder,
        facts,
        [
            "# A pair classifier of `prefrag train pairs --engine transformer`",
            "",
            f"Base {facts['base']}, seed {facts['seed']}, {facts['steps']} steps, {facts['seconds']} s on "
            f"{facts['device']}, attention {facts['attention']}, negatives {facts['negatives']}, documents {cut}.",
            "",
            "| pairs to learn from | both needed | one | none |",
            "|---|---|---|---|",
            *(f"| {name} | {one['both']} | {one['one']} | {one['none']} |" for name, one in facts["counts"].items()),
            "",
            f"A pair is positive from {facts['threshold']:.3f} on, chosen on held-back training questions:",
            "",
            "| held-back questions | pairs | positive | accuracy | precision | recall | calibration error |",
            "|---|---|---|---|---|---|---|",
            *(
                f"| {label} | {one['pairs']} | {one['prior']:.1%} | {one['accuracy']:.1%} | {one['precision']:.1%} | "
                f"{one['recall']:.1%} | {one['calibration_error']:.3f} |"
                for label, one in (
                    ("drawn, as learnt", facts["held_back"]),
                    ("candidates, as served", facts["served"]),
                )
            ),
            "",
            f"`model.onnx` gives the same scores within {facts['onnx_difference']:.1e}.",
        ],
    )
