"""`prefrag evaluate` and `prefrag report`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from prefrag.components.text.counted import counted
from prefrag.errors import BadInput, PrefragError
from prefrag.worker_options import RayCluster, Workers

# Modules that take long to import are imported inside the functions that use them, so that --help is instant.
if TYPE_CHECKING:
    from collections.abc import Sequence

    from prefrag.evaluation.question import PredictionLine

# The exit status after Ctrl-C.
INTERRUPTED = 130


def evaluate(
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="The run's folder. An unfinished run in this folder is continued.")
    ],
    questions: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The questions: JSONL, or a dataset as published.")
    ] = None,
    pipeline: Annotated[
        str | None, typer.Option(metavar="NAME|FILE.yaml", help="A pipeline's name or YAML file; by default prefrag.")
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.yaml|published",
            help="A file of settings, such as experiment.yaml in a run's folder; or `published`, which runs prefrag as "
            "its authors' code does where that differs from the paper, or mspr with five searches in place of four.",
        ),
    ] = None,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="A setting of the evaluation, such as seed=3, or of the pipeline, such as local.observed_last=true. "
            "The value @NAME copies the setting from the pipeline NAME. Can be repeated.",
        ),
    ] = None,
    corpus: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Passages to search; by default the pipeline's indexes.")
    ] = None,
    web_corpus: Annotated[Path | None, typer.Option(metavar="FILE", help="Passages that replace the web.")] = None,
    llm: Annotated[
        str | None,
        typer.Option(
            metavar="reader|simulated|FILE.gguf|URL",
            help="What answers the questions; by default the model that PREFRAG_LLM_BASE_URL or PREFRAG_LLM_GGUF "
            "names. If neither variable is set, the extractive reader answers.",
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's name on its server; by default PREFRAG_LLM_MODEL.")
    ] = None,
    top_k: Annotated[int | None, typer.Option(min=1)] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Run only the first questions, up to this number.")] = None,
    concurrency: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Questions to run at the same time; by default 4, or as many as llama.cpp's server has slots.",
        ),
    ] = None,
    workers: Workers = None,
    ray: RayCluster = None,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run again the questions that failed in an earlier call.")
    ] = False,
    format: Annotated[
        str | None, typer.Option(help="The format of the question file, if it cannot be detected.")
    ] = None,
) -> None:
    """Run a pipeline on the questions of a benchmark and measure its answers.

    The same command continues an interrupted run. docs/evaluation.md explains all settings.
    """
    from prefrag.evaluation.pipeline_under_test.experiment import Evaluation
    from prefrag.evaluation.pipeline_under_test.variants import PUBLISHED, find_published
    from prefrag.evaluation.runs.runner import run
    from prefrag.evaluation.settings_file import make_settings, read_fields, split_changes

    # The changes of --set: first those of the evaluation, such as seed=3, then those of the pipeline, such as
    # local.observed_last=true.
    own_changes, pipeline_changes = split_changes(changes or ())
    options = {
        "questions": questions,
        "pipeline": pipeline,
        "corpus": corpus,
        "web_corpus": web_corpus,
        "llm": llm,
        "model": model,
        "top_k": top_k,
        "limit": limit,
        "concurrency": concurrency,
        "workers": workers,
        "ray": ray,
        "format": format,
    }

    chosen_options = {name: value for name, value in options.items() if value is not None}
    # `--experiment published` names no file, but chooses a variant of the pipeline, such as prefrag_published.
    settings_file = experiment
    if experiment == Path(PUBLISHED):
        settings_file = None
        default_pipeline = Evaluation.pipeline
        chosen_options["pipeline"] = find_published(pipeline or default_pipeline)

    # If a setting is named in several places, an option such as --top-k overrides --set, and --set overrides the file.
    # The base settings are those of the file and of --set. The changes of the pipeline are put together: those of the
    # file come first, so that those of --set override them.
    base_settings = read_fields(Evaluation, settings_file, own_changes)
    all_pipeline_changes = [*base_settings.get("changes", ()), *pipeline_changes]
    plan = make_settings(Evaluation, {**base_settings, **chosen_options, "changes": all_pipeline_changes})
    if plan.questions is None:
        raise BadInput("There are no questions to run: name a file of questions with --questions.")

    try:
        finished_run = run(plan.pipeline, plan.questions, plan, output=output, retry_failed=retry_failed)
    except KeyboardInterrupt:
        typer.echo(f"Interrupted. {output} has the finished questions: the same command continues the run.", err=True)
        sys.stdout.flush()
        # A normal exit would wait for threads that are still running a model.
        os._exit(INTERRUPTED)

    _print_summary(finished_run.config, finished_run.metrics, output)
    n_failed = _report_failures(finished_run.predictions)
    if n_failed == len(finished_run.predictions):
        raise typer.Exit(PrefragError.exit_code)


def report(
    folders: Annotated[
        list[Path], typer.Argument(help="Output folders of `prefrag evaluate`, or folders that contain such folders.")
    ],
    output: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the report.")],
    reference: Annotated[
        str | None,
        typer.Option(metavar="METHOD", help="The method that all others are compared with; by default prefrag."),
    ] = None,
) -> None:
    """Write a report that compares runs in tables and plots, and shows the steps of each question."""
    from prefrag.evaluation.report import write_report

    typer.echo(f"The report is {write_report(folders, output, reference)}")


def _report_failures(predictions: Sequence[PredictionLine]) -> int:
    """Print a warning if there are questions whose searches all failed.

    :param predictions: The predictions of the run.
    :returns: The number of questions that failed, for this or any other reason.
    """
    from prefrag.pipelines import search_failures

    # For each question whose searches all failed, the reasons by the name of the source, as in
    # {"web": "The server did not answer."}.
    failures = []
    n_failed = 0
    for prediction in predictions:
        reason_by_source = search_failures(prediction["result"])
        if reason_by_source:
            failures.append(reason_by_source)
        if reason_by_source or prediction["error"]:
            n_failed += 1
    if failures:
        questions_in_words = counted(len(failures), "question")
        first_reasons = "; ".join(f"{source}: {reason}" for source, reason in failures[0].items())
        message = f"For {questions_in_words}, every search failed. In the first of these questions: {first_reasons}"
        typer.echo(f"  {message}", err=True)
    return n_failed


def _print_summary(config: dict[str, Any], metrics: dict[str, Any], output: Path) -> None:
    """Print what was run, the scores, the answers that were withheld and the costs."""
    from prefrag.evaluation.pipeline_under_test.description import describe_noise
    from prefrag.evaluation.simulated_reader.policy import describe_policy

    scores = [f"{name} {metrics[name]:.1f}" for name in ("acc", "em", "f1", "recall", "recall_all") if name in metrics]
    name = " ".join([config["pipeline"], *config["set"]])
    facts = [f"{name} on {config['dataset']}", counted(metrics["n"], "question")]
    # Nothing is said about the corpus if no corpus was named.
    if config["split"] is True:
        facts.append("the corpus split between the sources")
    elif config["split"] is False:
        facts.append("the whole corpus")
    if config["simulated"]:
        facts.append("the simulated reader, no language model")
    typer.echo(f"{', '.join(facts)}:")
    if config["simulated"]:
        typer.echo(f"  policy of the simulated reader: {describe_policy(config['llm'])}")

    noise = describe_noise(config)
    if noise:
        # The simulated web was made worse. For example, the noise is "the first 2 sentences of each passage, 20% junk".
        typer.echo(f"  in place of the web: {noise}")
    typer.echo(f"  {', '.join(scores)} (percent)")
    if metrics.get("answered", 100) < 100:
        typer.echo(f"  {_describe_answered(metrics)}")
    typer.echo(
        f"  per question: {metrics['total']:.2f} retrievals ({metrics['total_local']:.2f} local, "
        f"{metrics['total_web']:.2f} web), {metrics['llm_calls']:.2f} model calls, "
        f"{metrics['seconds_per_question']:.2f} s"
    )
    if metrics["errors"]:
        typer.echo(
            f"  {counted(metrics['errors'], 'question')} failed (score 0); run again with --retry-failed.", err=True
        )
    typer.echo(f"  {output}")


def _describe_answered(metrics: dict[str, Any]) -> str:
    """Say how many questions were answered, and what the evidence has for the others.

    For example: "answered 60.0% (90.0% of these right); for 50.0% of the others, the evidence contains the answer, for
    40.0% it includes a sentence of a gold passage". Parts without a metric are left out.
    """
    answered = f"answered {metrics['answered']:.1f}%"
    if "right_of_given" in metrics:
        answered += f" ({metrics['right_of_given']:.1f}% of these right)"
    if "evidence_held" in metrics:
        answered += f"; for {metrics['evidence_held']:.1f}% of the others, the evidence contains the answer"
    if "evidence_gold" in metrics:
        answered += f", for {metrics['evidence_gold']:.1f}% it includes a sentence of a gold passage"
    return answered
