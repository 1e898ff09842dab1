"""Write the card of trees that judge: what they were trained on, and how they do."""

from __future__ import annotations

from pathlib import Path

from prefrag.training.judge_classifier.results import JudgeTraining


def write_card(training: JudgeTraining, seed: int) -> Path:
    """Write the card beside the trees."""
    lines = [
        "# Trees of `prefrag train judge`",
        "",
        f"`{training.output.name}`: seed {seed}, {training.questions} questions, {training.steps} steps, "
        f"{training.seconds:.0f} s.",
        "",
        "| held-back questions, not seen by what judges them | steps | right verdicts | needed, but left |",
        "|---|---|---|---|",
        *(f"| {one.dataset} | {one.steps} | {one.classifier:.1%} | {one.left:.1%} |" for one in training.held_back),
    ]
    card = training.output.with_suffix(".card.md")
    card.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return card
