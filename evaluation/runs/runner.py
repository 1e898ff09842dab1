"""Asking a pipeline all questions of a benchmark."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from prefrag.components.recording import NotRecorded
from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.evaluation.question import Question
from prefrag.evaluation.runs.run_folder import RunFolder
from prefrag.pipelines.asking import RunFailed, ask_async, portal

DEADLINE_SECONDS = 600.0
# With all that are asked at once: so many questions that find no server are enough to know that there is none.
_FURTHER_UNREACHED = 5


@dataclass(frozen=True)
class Run:
    """An evaluation that is over.

    :param predictions: One a question, in the order of the questions.
    :param metrics: Scores in percent and counts as means a question, as in ``metrics.json``.
    :param config: The settings, as in ``config.json``.
    :param output: The folder, if one was given.
    """

    predictions: list[dict[str, Any]]
    metrics: dict[str, Any]
    config: dict[str, Any]
    output: Path | None = None


def run(
    pipeline: Any,
    questions: str | Path | Sequence[Question],
    *,
    output: str | Path | None = None,
    format: str = "auto",
    limit: int | None = None,
    concurrency: int = 4,
    retries: int = 1,
    retry_failed: bool = False,
    deadline: float = DEADLINE_SECONDS,
    contents: bool = True,
    prices: Mapping[str, Any] | None = None,
    progress: bool = True,
    **replaced: Any,
) -> Run:
    """Ask a pipeline all questions, score its answers and sum them up; also from a notebook.

    ```python
    from prefrag import evaluation

    run = evaluation.run("prefrag", "dev.jsonl", corpus="corpus.jsonl", llm="simulated", limit=20)
    print(run.metrics["acc"], run.metrics["recall"])
    ```

    With an ``output`` folder, every prediction is kept as soon as it is there, and a call that was stopped is taken up
    by the same call. Nothing but the order of the predictions depends on the concurrency.

    :param pipeline: The name of a pipeline, a YAML file, or a loaded pipeline.
    :param questions: A file of questions, or questions.
    :param output: The folder for ``predictions.jsonl``, ``metrics.json`` and ``config.json``.
    :param format: The format of the file, see :func:`prefrag.evaluation.datasets.load_questions`.
    :param limit: Only the first questions; it may grow from call to call.
    :param concurrency: Questions asked at the same time.
    :param retries: Further attempts at a question whose run breaks off; then it is kept as failed and scores 0.
    :param retry_failed: Ask again what an earlier call has kept as failed, also for want of an answer.
    :param deadline: Seconds that one attempt at a question may take.
    :param contents: Keep the text of the documents in the predictions.
    :param prices: A table of prices, see :func:`prefrag.evaluation.metrics.summarise`.
    :param progress: Show a progress bar with the scores so far.
    :param replaced: What of the pipeline is replaced, see :class:`Experiment`.
    :returns: The predictions, the metrics and the settings.
    :raises FileNotFoundError: When a file is absent.
    :raises ValueError: When a setting makes no sense, the folder holds a run with others, another process is running
        into it, or the corpus is not that of the questions.
    :raises ConnectionError: When the first questions all fail because a server cannot be reached.
    """
    if concurrency < 1 or retries < 0 or deadline <= 0 or (limit is not None and limit < 1):
        raise ValueError("concurrency and limit must be at least 1, retries at least 0 and deadline over 0.")
    file = Path(questions).expanduser() if isinstance(questions, str | Path) else None
    asked = _questions(questions if file is None else file, format, limit)
    with Console(stderr=True, quiet=not progress).status("preparing the pipeline and its indexes"):
        setup = Setup(pipeline, Experiment(**replaced), file, format)
        gold_missing = setup.gold_missing(asked)
    if prices is not None:
        # What is wrong with them is better known before the first question than after the last.
        _priced(prices, setup.config)
    config = {
        **setup.config,
        "dataset": asked[0].dataset or (file.resolve().parent.name if file is not None else "questions"),
        "questions": None if file is None else str(file),
        "gold_missing": gold_missing,
        "limit": limit,
        "deadline": deadline,
        "concurrency": concurrency,
        "retries": retries,
        "haystack_version": version("haystack-ai"),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    folder = None if output is None else RunFolder(Path(output).expanduser())
    with nullcontext() if folder is None else folder.held():
        done = [] if folder is None else _done(folder, config, asked, retry_failed)
        pending = [question for question in asked if question.id not in {prediction["id"] for prediction in done}]
        kept = config
        if folder is not None and pending:
            # Only now: a call that is refused or asks nothing leaves the settings of the run as they are.
            folder.open(config)
            if retry_failed:
                folder.rewrite(done)
            folder.begin()
        elif folder is not None:
            kept = folder.config() or config
        with setup.environment(), _bar(len(asked), done, progress) as bar:
            asking = _Asking(setup.build() if pending else None, retries, deadline, contents, config["simulated"])

            async def ask_all() -> None:
                await asking.ask_all(pending, concurrency, keep)

            def keep(prediction: dict[str, Any]) -> None:
                if folder is not None:
                    folder.add(prediction)
                done.append(prediction)
                bar.show(prediction)

            _wait(ask_all)
        order = {question.id: number for number, question in enumerate(asked)}
        done.sort(key=lambda prediction: order[prediction["id"]])
        metrics = _summarise(done, prices, config)
        if folder is not None:
            folder.finish(metrics)
        return Run(done, metrics, kept, None if folder is None else folder.path)


class _Asking:
    """Asks questions, several at a time.

    :param pipeline: The pipeline under test.
    :param retries: Further attempts at a question.
    :param deadline: Seconds an attempt may take.
    :param contents: Keep the text of documents.
    :param simulated: Whether no language model takes part.
    """

    def __init__(self, pipeline: Any, retries: int, deadline: float, contents: bool, simulated: bool):
        self.pipeline = pipeline
        self.retries = retries
        self.deadline = deadline
        self.contents = contents
        self.simulated = simulated
        self._unreached = 0
        self._reached = False

    async def ask_all(self, questions: Iterable[Question], concurrency: int, keep: Any) -> None:
        """Ask every question; the next one starts whenever one is done.

        What cannot go on ends when the questions under way have: cancelled, their tasks would complain on the console.
        """
        waiting = iter(questions)
        stopped: list[Exception] = []

        async def worker() -> None:
            for question in waiting:
                if stopped:
                    break
                try:
                    prediction = await self._prediction(question)
                    keep(prediction)
                    self._check_reached(prediction, enough=concurrency + _FURTHER_UNREACHED)
                except Exception as error:
                    stopped.append(error)

        async with asyncio.TaskGroup() as workers:
            for _ in range(concurrency):
                workers.create_task(worker())
        if stopped:
            # One of them is enough to say what is wrong.
            raise stopped[0]

    def _check_reached(self, prediction: Mapping[str, Any], enough: int) -> None:
        """:raises ConnectionError: When so many questions have failed for want of a server, and none has not."""
        self._unreached += not self._reached
        if not self._reached and self._unreached >= enough:
            raise ConnectionError(
                f"The first {self._unreached} questions all failed because a server could not be reached. The last "
                f"one: {prediction['error']} They are kept as failed: --retry-failed asks them again."
            )

    async def _prediction(self, question: Question) -> dict[str, Any]:
        from prefrag.evaluation.metrics import score

        started = time.perf_counter()
        result, error = await self._attempt(question)
        for _ in range(self.retries):
            if error is None:
                break
            started = time.perf_counter()
            result, error = await self._attempt(question)
        seconds = time.perf_counter() - started
        scores = score(question, {} if error else result)
        if not self.contents:
            documents = [{**document, "content": ""} for document in result.get("documents") or ()]
            result = {**result, "documents": documents}
        return {
            "id": question.id,
            "question": question.question,
            "answers": list(question.answers),
            "type": question.type,
            "supporting_ids": list(question.supporting_ids),
            "dataset": question.dataset,
            "seconds": round(seconds, 4),
            "simulated": self.simulated,
            "error": error,
            "scores": scores,
            "result": result,
        }

    async def _attempt(self, question: Question) -> tuple[dict[str, Any], str | None]:
        try:
            result = await ask_async(self.pipeline, question.question, deadline=self.deadline)
            self._reached = True
            return result, None
        except Exception as error:
            self._reached = self._reached or not _is_unreached(error)
            if missing := _cause(error, NotRecorded):
                raise ValueError(
                    f"Question '{question.id}' ({question.question}) cannot be replayed. {missing}. Replay with the "
                    "pipeline, corpora and settings of the recording, or complete it with --record."
                ) from error
            result = error.result if isinstance(error, RunFailed) else {}
            return result, str(error) or type(error).__name__


class _Bar:
    """The progress, with the scores so far.

    :param bar: The bar of rich.
    :param total: How many questions there are.
    :param done: The predictions of earlier calls.
    """

    def __init__(self, bar: Progress, total: int, done: Sequence[Mapping[str, Any]]):
        self._bar = bar
        self._values: dict[str, list[float]] = {}
        self._errors = 0
        self._task = bar.add_task("", total=total, scores="")
        self._told = False
        for prediction in done:
            self._count(prediction)

    def show(self, prediction: Mapping[str, Any]) -> None:
        """Count one more prediction; what the first one failed of is told."""
        if prediction.get("error") and not self._told and not self._bar.disable:
            self._told = True
            told = f"Question '{prediction['id']}' failed: {prediction['error']}"
            self._bar.console.print(told, style="red", markup=False, highlight=False)
        self._count(prediction)

    def _count(self, prediction: Mapping[str, Any]) -> None:
        from prefrag.evaluation.metrics import failed

        scores = prediction.get("scores") or {}
        counts = (prediction.get("result") or {}).get("counts") or {}
        shown = {name: 100 * scores[name] for name in ("acc", "f1", "recall") if name in scores}
        for name, value in {**shown, "retrievals": counts.get("total", 0)}.items():
            self._values.setdefault(name, []).append(value)
        self._errors += failed(prediction)
        means = [f"{name} {sum(values) / len(values):.1f}" for name, values in self._values.items()]
        text = ", ".join([*means, *([f"errors {self._errors}"] if self._errors else [])])
        self._bar.update(self._task, advance=1, scores=text)


@contextmanager
def _bar(total: int, done: Sequence[Mapping[str, Any]], shown: bool) -> Iterator[_Bar]:
    columns = (
        TextColumn("evaluating"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[scores]}"),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not shown) as bar:
        yield _Bar(bar, total, done)


def _wait(work: Any) -> None:
    """Run to its end on the event loop of :func:`prefrag.pipelines.ask`, whose clients are of no use on another."""
    future = portal().start_task_soon(work)
    try:
        future.result()
    except BaseException:
        # Whoever interrupts the wait wants the questions under way to end as well.
        future.cancel()
        raise


def _questions(given: Any, format: str, limit: int | None) -> list[Question]:
    if isinstance(given, Path):
        from prefrag.evaluation.datasets import load_questions

        asked = load_questions(given, format=format, limit=limit)
    else:
        asked = list(given)[:limit]
    if not asked:
        raise ValueError("There is no question to ask: give a file that holds some.")
    seen: set[str] = set()
    for question in asked:
        if question.id in seen:
            raise ValueError(f"Two questions have the id '{question.id}': give each its own.")
        seen.add(question.id)
    return asked


def _done(
    folder: RunFolder, config: Mapping[str, Any], asked: Sequence[Question], retry_failed: bool
) -> list[dict[str, Any]]:
    """:returns: What earlier calls have done and this one need not."""
    from prefrag.evaluation.metrics import failed

    folder.check(config)
    by_id = {question.id: question for question in asked}
    done = folder.predictions(by_id)
    for prediction in done:
        question = by_id[prediction["id"]]
        if prediction["question"] != question.question:
            raise ValueError(
                f"In {folder.path} the id '{question.id}' is of another question: choose another output folder."
            )
        gold = [list(question.answers), list(question.supporting_ids)]
        if [prediction["answers"], prediction.get("supporting_ids") or []] != gold:
            raise ValueError(
                f"In {folder.path} the question '{question.id}' has other gold answers or passages: choose another "
                "output folder, or the questions of that run to go on with it."
            )
    return [prediction for prediction in done if not failed(prediction)] if retry_failed else done


def _summarise(
    predictions: Sequence[Mapping[str, Any]], prices: Mapping[str, Any] | None, config: Mapping[str, Any]
) -> dict[str, Any]:
    from prefrag.evaluation.metrics import summarise

    metrics = summarise(predictions, prices, _charged(config))
    return json.loads(json.dumps({"simulated": config["simulated"], **metrics}))


def _priced(prices: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    from prefrag.evaluation.metrics.prices import Prices

    Prices.from_dict(prices).cost([{}], _charged(config))


def _charged(config: Mapping[str, Any]) -> str | None:
    """:returns: The model whose price counts; the simulated reader has none."""
    return SIMULATED if config["simulated"] else config["llm"].get("model")


def _is_unreached(error: BaseException) -> bool:
    """:returns: Whether a server that cannot be reached is behind an error."""
    import openai

    return _cause(error, (ConnectionError, openai.APIConnectionError)) is not None


def _cause(error: BaseException, kind: type[BaseException] | tuple[type[BaseException], ...]) -> BaseException | None:
    link: BaseException | None = error
    while link is not None and not isinstance(link, kind):
        link = link.__cause__
    return link
