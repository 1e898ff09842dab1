"""`prefrag train`: one command for each part that is trained."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

# Everything heavy is imported where it is used, so that help comes at once.


def judge(
    dataset: Annotated[
        list[str],
        typer.Option(metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions and their corpus; may be given again."),
    ],
    output: Annotated[Path, typer.Option(metavar="FILE.json", help="The trees, for `trees` of the judge.")],
    seed: Annotated[int, typer.Option(help="The same files and seed give the same trees.")] = 7,
) -> None:
    """Train the trees that judge whether to switch to another source."""
    from rich.console import Console

    from prefrag.training.dataset import Dataset
    from prefrag.training.judge_classifier import train_judge

    with Console(stderr=True).status("Reading") as status:
        trained = train_judge([Dataset.parse(each) for each in dataset], output, seed, on_progress=status.update)
    typer.echo("Right verdicts on held-back questions, by trees that have not seen them:")
    for part in trained.held_back:
        typer.echo(f"  {part.dataset}: {part.classifier:.1%} ({part.steps} steps)")
    typer.echo(
        f"Trained on {trained.questions} questions ({trained.steps} steps) in {trained.seconds:.0f} s.\n"
        f"To use them, set {trained.output} as `trees` of the TreeJudge (yaml_pipelines/prefrag_classifier.yaml)."
    )


def pairs(
    dataset: Annotated[
        list[str],
        typer.Option(
            metavar="QUESTIONS.jsonl:CORPUS.jsonl|INDEX",
            help="Questions with gold passages, and their corpus or its index; may be given again.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="FILE.json", help="The trees, for `model` of the pair scorer.")],
    seed: Annotated[int, typer.Option(help="The same files and seed give the same trees.")] = 7,
) -> None:
    """Train the trees that choose documents together (DR-RAG), and measure them beside BM25."""
    from rich.console import Console

    from prefrag.training.dataset import Dataset
    from prefrag.training.pair_classifier import train_pairs
    from prefrag.training.pair_classifier.trees import MEASURED_AT

    with Console(stderr=True).status("Reading") as status:
        trained = train_pairs([Dataset.parse(each) for each in dataset], output, seed, on_progress=status.update)
    typer.echo(
        f"Gold passages among the first {MEASURED_AT} for held-back questions, by BM25 and by trees that have not seen "
        "them:"
    )
    for part in trained.held_back:
        typer.echo(f"  {part.dataset}: {part.before:.1%} -> {part.after:.1%} ({part.questions} questions)")
    typer.echo(
        f"Trained on {trained.questions} questions ({trained.pairs} pairs) in {trained.seconds:.0f} s: "
        f"{trained.output}\nTo use it, set it as `model` of the TreePairScorer (yaml_pipelines/dr_rag_linked.yaml)."
    )
