"""Run an evaluation on all questions, in one or several processes.

:func:`run` writes the folder of the run and shows its progress. It is the function behind ``prefrag evaluate``.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from prefrag.evaluation.pipeline_under_test.experiment import Evaluation, Experiment
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.evaluation.question import PredictionLine, Question
from prefrag.evaluation.runs.concurrency import USUAL, choose_concurrency
from prefrag.evaluation.runs.predictor import open_predictor
from prefrag.evaluation.runs.run_folder import RunFolder
from prefrag.pipelines.runners import make_runner
from prefrag.pipelines.runners.runner import Build, Runner
from prefrag.settings import models

# The run stops if its first questions all fail because a server cannot be reached. This number, and as many questions
# as run at once, must have failed.
_FURTHER_UNREACHED = 5


@dataclass(frozen=True)
class Run:
    """The results of an evaluation."""

    # One prediction per question, in the order of the questions.
    predictions: list[PredictionLine]
    # Scores in percent and counts as means per question, as in `metrics.json`.
    metrics: dict[str, Any]
    # The settings, as in `config.json`.
    config: dict[str, Any]
    # The folder of the run. None if nothing was written.
    output: Path | None = None


def run(
    pipeline: object,
    questions: str | Path | Sequence[Question],
    experiment: Experiment | None = None,
    *,
    output: str | Path | None = None,
    retry_failed: bool = False,
    progress: bool = True,
    **replaced: Any,
) -> Run:
    """Run a pipeline on all questions and score its answers, also in a notebook.

    ```python
    from prefrag import evaluation

    run = evaluation.run("prefrag", "dev.jsonl", corpus="corpus.jsonl", llm="simulated", limit=20)
    print(run.metrics["acc"], run.metrics["recall"])
    ```

    If an ``output`` folder is named, each prediction is written as soon as it is made. The same call then continues a
    run that was stopped. The concurrency and the number of workers only change the order in which predictions are
    written.

    :param pipeline: The name of a pipeline, a YAML file, or a loaded pipeline.
    :param questions: A file of questions, or a list of :class:`Question`.
    :param experiment: The settings of the evaluation. None means the defaults.
    :param output: The folder for ``predictions.jsonl``, ``metrics.json`` and ``config.json``. None means that nothing
        is written.
    :param retry_failed: Whether to run again the questions that failed, or ended without an answer, in an earlier call.
    :param progress: Whether to show a progress bar with the scores so far.
    :param replaced: Fields of :class:`Evaluation` that override the fields of ``experiment``.
    :returns: The predictions, the metrics and the settings.
    :raises FileNotFoundError: If a file is absent.
    :raises ValueError: If a setting is invalid, or if the corpus has none of the questions' gold passages. Also if
        another process uses the folder, or if the folder has a run with other settings.
    :raises ConnectionError: If all of the first questions fail because a server cannot be reached.
    """
    settings = experiment if isinstance(experiment, Evaluation) else Evaluation(**vars(experiment or Experiment()))
    plan = replace(settings, **replaced)
    # Settings that no runner takes are refused here, before any index is built.
    runner = make_runner(plan.concurrency or USUAL, plan.workers, plan.ray)

    question_file = None
    if isinstance(questions, str | Path):
        question_file = Path(questions).expanduser()
    chosen = _read_questions(question_file or questions, plan)

    with Console(stderr=True, quiet=not progress).status("preparing the pipeline and its indexes"):
        setup = Setup(pipeline, plan, question_file, plan.format)
        gold_missing = setup.gold_missing(chosen)
    concurrency = plan.concurrency or USUAL
    # A recording may be somebody else's, so the server that it names is not asked.
    if plan.concurrency is None and plan.replay is None:
        concurrency = choose_concurrency(setup.llm, models["llm"].api_key)
        runner = make_runner(concurrency, plan.workers, plan.ray)
    config = _describe_run(setup, replace(plan, concurrency=concurrency), chosen, question_file, gold_missing)

    folder = None if output is None else RunFolder(Path(output).expanduser())
    with nullcontext() if folder is None else folder.lock():
        predictions = [] if folder is None else _read_done(folder, config, chosen, retry_failed)
        done_ids = {prediction["id"] for prediction in predictions}
        pending = [question for question in chosen if question.id not in done_ids]
        config_of_run = config
        if folder is not None and pending:
            # The settings are written only now. A call that is refused or has nothing to run must not change them.
            folder.open(config)
            if question_file is not None and isinstance(pipeline, str | Path):
                folder.keep_experiment(replace(plan, pipeline=str(pipeline), questions=question_file))
            if retry_failed:
                # Without the failed predictions, whose questions are run again.
                folder.rewrite(predictions)
            folder.begin()
        elif folder is not None:
            # An earlier call has run all questions, with the settings that it has written.
            config_of_run = folder.config() or config

        with open_score_bar(len(chosen), predictions, progress) as bar:
            if pending:
                build = partial(open_predictor, setup, plan.retries, plan.deadline, plan.contents, config["simulated"])
                for prediction in _predict_all(runner, build, pending):
                    if folder is not None:
                        folder.add(prediction)
                    predictions.append(prediction)
                    bar.show(prediction)

        number_by_id = {question.id: number for number, question in enumerate(chosen)}
        predictions.sort(key=lambda prediction: number_by_id[prediction["id"]])
        metrics = _summarise(predictions, config)
        if folder is not None:
            folder.finish(metrics)
        return Run(predictions, metrics, config_of_run, None if folder is None else folder.path)


def _describe_run(
    setup: Setup,
    plan: Evaluation,
    chosen: Sequence[Question],
    question_file: Path | None,
    gold_missing: dict[str, int] | None,
) -> dict[str, Any]:
    """Return the settings of a run, as they stand in `config.json`."""
    # If the questions do not name their dataset, the folder of the file does.
    folder_name = question_file.resolve().parent.name if question_file is not None else "questions"
    return {
        **setup.config,
        "dataset": chosen[0].dataset or folder_name,
        "questions": None if question_file is None else str(question_file),
        "gold_missing": gold_missing,
        "limit": plan.limit,
        "deadline": plan.deadline,
        "concurrency": plan.concurrency,
        "workers": plan.workers,
        "ray": plan.ray,
        "retries": plan.retries,
        "haystack_version": version("haystack-ai"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _predict_all(runner: Runner, build: Build[Question], pending: Sequence[Question]) -> Iterator[PredictionLine]:
    """Run the questions and yield each prediction as soon as it is made.

    If no server can be reached, no further questions are started. An error is raised when those in progress have ended.
    """
    failure: ConnectionError | None = None
    was_reached = False
    # The runner takes a question only when it begins to run it. So it begins none after the failure.
    results = runner.map(build, takewhile(lambda question: failure is None, pending))
    with closing(results):
        for number, (_, (prediction, is_reached)) in enumerate(results, start=1):
            yield prediction
            was_reached = was_reached or is_reached
            are_enough = number >= runner.room + _FURTHER_UNREACHED
            if are_enough and not was_reached and failure is None:
                failure = ConnectionError(
                    f"The first {number} questions all failed because a server could not be reached. The last "
                    f"error: {prediction['error']} To run the failed questions again, use --retry-failed."
                )
    if failure is not None:
        raise failure


def _read_questions(questions: Any, plan: Evaluation) -> list[Question]:
    """Read the questions of a file or a list, up to the limit.

    Raise ValueError if there are none or if two have the same id.
    """
    if isinstance(questions, Path):
        from prefrag.evaluation.datasets import load_questions

        chosen = load_questions(questions, format=plan.format, limit=plan.limit)
    else:
        chosen = list(questions)[: plan.limit]
    if not chosen:
        raise ValueError("There are no questions to run: give a file of questions.")

    seen: set[str] = set()
    for question in chosen:
        if question.id in seen:
            raise ValueError(f"Two questions have the id '{question.id}': give each question its own id.")
        seen.add(question.id)
    return chosen


def _read_done(
    folder: RunFolder, config: Mapping[str, object], chosen: Sequence[Question], retry_failed: bool
) -> list[PredictionLine]:
    """Return the predictions of earlier calls, except for questions that are run again.

    Raise ValueError if a question was asked with other values than now, for example with other gold answers.
    """
    from prefrag.evaluation.metrics import has_failed

    folder.check(config)
    by_id = {question.id: question for question in chosen}
    predictions = folder.predictions(by_id)
    for prediction in predictions:
        values_now = by_id[prediction["id"]].to_prediction()
        values_before = Question.of_prediction(prediction).to_prediction()
        names = sorted({*values_now, *values_before})
        changed_names = [name for name in names if values_now.get(name) != values_before.get(name)]
        if changed_names:
            raise ValueError(
                f"In {folder.path} the question '{prediction['id']}' was asked with other values of "
                f"{', '.join(changed_names)}: choose another output folder, or the questions of that run to continue "
                "it."
            )
    if retry_failed:
        return [prediction for prediction in predictions if not has_failed(prediction)]
    return predictions


def _summarise(predictions: Sequence[PredictionLine], config: Mapping[str, object]) -> dict[str, Any]:
    """Return the metrics as ``metrics.json`` has them: written as JSON and read again."""
    from prefrag.evaluation.metrics import summarise

    summary: dict[str, object] = json.loads(json.dumps({"simulated": config["simulated"], **summarise(predictions)}))
    return summary


class ScoreBar:
    """A progress bar with the scores so far.

    :param bar: The bar of the library rich.
    :param total: The number of questions.
    :param done: The predictions of earlier calls.
    """

    def __init__(self, bar: Progress, total: int, done: Sequence[PredictionLine]):
        self._bar = bar
        # The values of each score so far, in the order in which the bar shows the scores.
        self._values: dict[str, list[float]] = {}
        self._failures = 0
        self._task = bar.add_task("", total=total, scores="")
        self._failure_shown = False
        for prediction in done:
            self._count(prediction)

    def show(self, prediction: PredictionLine) -> None:
        """Count one more prediction. Print its error, unless an error was printed before.

        :param prediction: The prediction.
        """
        if prediction.get("error") and not self._failure_shown and not self._bar.disable:
            self._failure_shown = True
            message = f"Question '{prediction['id']}' failed: {prediction['error']}"
            self._bar.console.print(message, style="red", markup=False, highlight=False)
        self._count(prediction)

    def _count(self, prediction: PredictionLine) -> None:
        """Add a prediction to the scores and show their means."""
        from prefrag.evaluation.metrics import has_failed

        scores = prediction.get("scores") or {}
        result = prediction.get("result") or {}
        counts = result.get("counts") or {}
        values: dict[str, float] = {name: 100 * scores[name] for name in ("acc", "f1", "recall") if name in scores}
        values["retrievals"] = counts.get("total", 0)
        for name, value in values.items():
            self._values.setdefault(name, []).append(value)
        self._failures += has_failed(prediction)

        shown_scores = [f"{name} {sum(all_values) / len(all_values):.1f}" for name, all_values in self._values.items()]
        if self._failures:
            shown_scores.append(f"errors {self._failures}")
        self._bar.update(self._task, advance=1, scores=", ".join(shown_scores))


@contextmanager
def open_score_bar(total: int, done: Sequence[PredictionLine], shown: bool) -> Iterator[ScoreBar]:
    """Open a progress bar on the error stream.

    :param total: The number of questions.
    :param done: The predictions of earlier calls.
    :param shown: Whether the bar is visible.
    :returns: A context manager with the bar.
    """
    columns = (
        TextColumn("evaluating"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[scores]}"),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        yield ScoreBar(bar, total, done)
