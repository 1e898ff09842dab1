"""`prefrag evaluate` and `prefrag report`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from prefrag.components.errors import BadInput, Missing, PrefragError

# Everything heavy is imported where it is used, so that help comes at once.
INTERRUPTED = 130


def evaluate(
    questions: Annotated[Path, typer.Option(metavar="FILE", help="The questions: JSONL, or a dataset as published.")],
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="For predictions.jsonl, metrics.json and config.json; resumed if begun.")
    ],
    pipeline: Annotated[
        str, typer.Option(metavar="NAME|FILE.yaml", help="A pipeline by its name, or a YAML file.")
    ] = "prefrag",
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Change a setting of the pipeline, such as local.observed_last=true; repeat it. @NAME as the value "
            "takes the part from another pipeline.",
        ),
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The passages; by default the pipeline's own indexes.")
    ] = None,
    web_corpus: Annotated[Path | None, typer.Option(metavar="FILE", help="Passages that replace the web.")] = None,
    web: Annotated[str | None, typer.Option(metavar="ddgs", help="Search the real web.")] = None,
    split: Annotated[
        bool | None,
        typer.Option(
            "--split/--whole",
            help="Divide the corpus between the sources by its field `source`, or give it to each as a whole; by "
            "default split where a pipeline has a second source.",
        ),
    ] = None,
    store: Annotated[
        str | None, typer.Option(metavar="elasticsearch", help="Index the corpus there instead of the embedded index.")
    ] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="reader|simulated|FILE.gguf|URL",
            help="What answers; by default the model that PREFRAG_LLM_BASE_URL or PREFRAG_LLM_GGUF names, else the "
            "reader.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's name on its server; by default PREFRAG_LLM_MODEL.")
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FOLDER",
            help="The Sentence Transformers model of a pipeline that searches by meaning, in place of its own.",
        ),
    ] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first questions.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, help="Questions that run at the same time.")] = 4,
    top_k: Annotated[int | None, typer.Option(min=1, help="Documents per retrieval.")] = None,
    prompts: Annotated[
        str, typer.Option(metavar="paper|product", help="The prompts of the papers, or those that users get.")
    ] = "paper",
    seed: Annotated[
        int | None, typer.Option(help="The seed of the simulated reader and of the model's sampling.")
    ] = None,
    judge_error: Annotated[
        float, typer.Option(min=0, max=1, help="How often the simulated reader judges passages wrongly.")
    ] = 0.0,
    reflection_error: Annotated[
        float, typer.Option(min=0, max=1, help="How often it judges its answer wrongly.")
    ] = 0.0,
    distraction: Annotated[
        float, typer.Option(min=0, max=1, help="How likely one irrelevant passage spoils its answer.")
    ] = 0.0,
    answer_error: Annotated[
        float, typer.Option(min=0, max=1, help="How often it answers wrongly although it was shown enough.")
    ] = 0.0,
    memory: Annotated[
        float, typer.Option(min=0, max=1, help="How often it knows an answer without any passage.")
    ] = 0.0,
    source_choice: Annotated[
        str,
        typer.Option(
            metavar="drawn|first|last",
            help="The source that it names where the model names one: drawn at every step, or by their order.",
        ),
    ] = "drawn",
    yes_no: Annotated[
        str, typer.Option(metavar="one|half|all", help="The gold passages that it needs for yes or no.")
    ] = "one",
    queries: Annotated[
        str,
        typer.Option(
            metavar="dataset|alike", help="Its queries: from what the dataset has, or one kind on all datasets."
        ),
    ] = "dataset",
    web_sentences: Annotated[
        int,
        typer.Option(min=0, help="Sentences that a corpus in place of the web shows of each passage; 0 shows all."),
    ] = 0,
    web_junk: Annotated[
        float, typer.Option(min=0, max=1, help="The share of its results that have nothing to do with the question.")
    ] = 0.0,
    record: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Record all replies of models and all results of the web there.")
    ] = None,
    replay: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Replay a recording instead of calls to the model and the web.")
    ] = None,
    retries: Annotated[int, typer.Option(min=0, help="Further attempts at a question whose run breaks off.")] = 1,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run the questions again that an earlier call kept as failed.")
    ] = False,
    deadline: Annotated[float, typer.Option(min=1, help="Seconds that an attempt at a question may take.")] = 600.0,
    contents: Annotated[
        bool, typer.Option("--contents/--no-contents", help="Keep the text of the documents in the predictions.")
    ] = True,
    prices: Annotated[
        Path | None, typer.Option(metavar="FILE.json", help="A table of prices; adds the cost to the metrics.")
    ] = None,
    format: Annotated[str, typer.Option(help="The form of the question file, where it cannot be detected.")] = "auto",
) -> None:
    """Run a pipeline on all questions of a benchmark and measure its answers; a second call continues the first."""
    from prefrag.evaluation.pipeline_under_test.experiment import Experiment
    from prefrag.evaluation.runs.runner import run
    from prefrag.pipelines import search_failures

    table = None if prices is None else _read_prices(prices)
    try:
        experiment = Experiment(
            changes=tuple(changes or ()),
            corpus=corpus,
            web_corpus=web_corpus,
            web=web,
            split=split,
            store=None if store == "tantivy" else store,
            llm=llm,
            model=model,
            embedder=embedder,
            top_k=top_k,
            prompts=prompts,
            seed=seed,
            judge_error=judge_error,
            reflection_error=reflection_error,
            distraction=distraction,
            answer_error=answer_error,
            memory=memory,
            source_choice=source_choice,
            yes_no=yes_no,
            queries=queries,
            web_sentences=web_sentences,
            web_junk=web_junk,
            record=record,
            replay=replay,
        )
        ended = run(
            pipeline,
            questions,
            experiment,
            output=output,
            format=format,
            limit=limit,
            concurrency=concurrency,
            retries=retries,
            retry_failed=retry_failed,
            deadline=deadline,
            contents=contents,
            prices=table,
        )
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. What is done is kept in {output}: the same command continues from there.", err=True)
        sys.stdout.flush()
        # A normal exit would wait for the thread in which a model still runs.
        os._exit(INTERRUPTED)
    _print_summary(ended.config, ended.metrics, output)
    unsearched = [failed for prediction in ended.predictions if (failed := search_failures(prediction["result"]))]
    if unsearched:
        reasons = "; ".join(f"{name}: {reason}" for name, reason in unsearched[0].items())
        typer.echo(f"  {len(unsearched)} questions could search no source. The first: {reasons}", err=True)
    if all(prediction["error"] or search_failures(prediction["result"]) for prediction in ended.predictions):
        raise typer.Exit(PrefragError.exit_code)


def report(
    folders: Annotated[
        list[Path], typer.Argument(help="Output folders of `prefrag evaluate`, or folders that hold some.")
    ],
    output: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the report.")],
    reference: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="What every other method is compared with; by default prefrag."),
    ] = None,
) -> None:
    """Compare runs in tables and pictures, down to the steps of each question."""
    from prefrag.evaluation.report import write_report

    typer.echo(f"The report is {write_report(folders, output, reference)}")


def _read_prices(path: Path) -> dict[str, Any]:
    if not path.is_file():
        raise Missing(f"There is no table of prices {path}.")
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise BadInput(f"The table of prices {path} is no JSON: {error}") from error
    if not isinstance(table, dict):
        raise BadInput(f"The table of prices {path} must be a JSON object, one entry a model.")
    return table


def _print_summary(config: dict[str, Any], metrics: dict[str, Any], output: Path) -> None:
    from prefrag.evaluation.pipeline_under_test.description import describe_noise
    from prefrag.evaluation.simulated_reader.policy import describe_policy

    scores = [f"{name} {metrics[name]:.1f}" for name in ("acc", "em", "f1", "recall", "recall_all") if name in metrics]
    shared = {True: "the corpus split between the sources", False: "the whole corpus"}.get(config["split"])
    reader = "the simulated reader, no language model" if config["simulated"] else None
    name = " ".join([config["pipeline"], *config["set"]])
    facts = [f"{name} on {config['dataset']}", f"{metrics['n']} questions", shared, reader]
    typer.echo(f"{', '.join(fact for fact in facts if fact)}:")
    if config["simulated"]:
        typer.echo(f"  its policy: {describe_policy(config['llm'])}")
    if noise := describe_noise(config):
        typer.echo(f"  its web: {noise}")
    typer.echo(f"  {', '.join(scores)} (percent)")
    if metrics.get("answered", 100) < 100:
        shown = {
            "answered": "answered",
            "right_of_given": "right of these",
            "evidence_held": "evidence of the others holds the answer",
            "evidence_gold": "is of a gold passage",
        }
        typer.echo(f"  {', '.join(f'{text} {metrics[name]:.1f}' for name, text in shown.items() if name in metrics)}")
    typer.echo(
        f"  a question: {metrics['total']:.2f} retrievals ({metrics['total_local']:.2f} local, "
        f"{metrics['total_web']:.2f} web), {metrics['llm_calls']:.2f} model calls, "
        f"{metrics['seconds_per_question']:.2f} s"
    )
    if "cost" in metrics:
        cost = metrics["cost"]
        unpriced = f"; without a price: {', '.join(cost['unpriced'])}" if cost["unpriced"] else ""
        typer.echo(f"  cost: {cost['total']:.4f}{unpriced}")
    if metrics["errors"]:
        typer.echo(f"  {metrics['errors']} questions failed and score 0; --retry-failed runs them again.", err=True)
    typer.echo(f"  {output}")
