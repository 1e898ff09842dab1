"""Write the card of trees that classify questions: what they were trained on, and how they do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from prefrag.components.adaptive_rag.question_classifier import CLASSES
from prefrag.training.question_classifier.results import QuestionTraining


def write_card(training: QuestionTraining, seed: int, llm: str) -> Path:
    """Write the card beside the trees."""
    lines = [
        "# Trees of `prefrag train questions`",
        "",
        f"`{training.output.name}`: seed {seed}, {training.questions} questions, answered by {llm}, "
        f"{training.seconds:.0f} s.",
        "",
        f"| dataset | questions | {' / '.join(CLASSES)} | labels that a strategy gave | right, held back | "
        "its most frequent class alone | right, learnt from the other datasets |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {one.dataset} | {one.questions} | {write_shares(one.shares)} | {one.silver:.0%} | {one.right:.1%} | "
            f"{one.most_frequent:.1%} | {'-' if one.without is None else f'{one.without:.1%}'} |"
            for one in training.held_back
        ),
        "",
        "The last column is what the classes are worth on questions of another kind: where it is no higher than the "
        "column before it, the trees have learnt to tell the datasets apart, not how much retrieval a question needs.",
    ]
    if training.measured:
        lines += [
            "",
            f"| further questions that a strategy answered | questions | right | the most frequent class alone | "
            f"chosen: {' / '.join(CLASSES)} |",
            "|---|---|---|---|---|",
            *(
                f"| {one.dataset} | {one.questions} | {one.right:.1%} | {one.most_frequent:.1%} | "
                f"{write_shares(one.chosen)} |"
                for one in training.measured
            ),
        ]
    card = training.output.with_suffix(".card.md")
    card.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return card


def write_shares(shares: Mapping[str, float]) -> str:
    """Write the share of each class, from the least retrieval to the most."""
    return " / ".join(f"{shares.get(name, 0):.0%}" for name in CLASSES)
