"""Run a pipeline on several questions at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from prefrag.components.recording import NotRecorded
from prefrag.evaluation.question import Question
from prefrag.pipelines.asking import RunFailed, ask_async

# After the concurrent questions and this many more, a server that none of them reached counts as absent.
_FURTHER_UNREACHED = 5


class Predictor:
    """Run the pipeline under test on each question."""

    def __init__(self, pipeline: Any, retries: int, deadline: float, contents: bool, simulated: bool):
        self.pipeline = pipeline
        self.retries = retries
        self.deadline = deadline
        self.contents = contents
        self.simulated = simulated
        self._unreached = 0
        self._reached = False

    async def predict_all(
        self, questions: Iterable[Question], concurrency: int, keep: Callable[[dict[str, Any]], None]
    ) -> None:
        """Run every question; the next one starts whenever one is done.

        After an error the running questions still end, because cancelled tasks would log complaints.
        """
        waiting = iter(questions)
        stopped: list[Exception] = []

        async def work() -> None:
            for question in waiting:
                if stopped:
                    break
                try:
                    prediction = await self._predict(question)
                    keep(prediction)
                    self._check_reached(prediction, enough=concurrency + _FURTHER_UNREACHED)
                except Exception as error:
                    stopped.append(error)

        async with asyncio.TaskGroup() as workers:
            for _ in range(concurrency):
                workers.create_task(work())
        if stopped:
            # The first error is enough to report.
            raise stopped[0]

    def _check_reached(self, prediction: Mapping[str, Any], enough: int) -> None:
        """Raise ConnectionError when enough questions have failed without a server, and none has reached one."""
        self._unreached += not self._reached
        if not self._reached and self._unreached >= enough:
            raise ConnectionError(
                f"The first {self._unreached} questions all failed because a server could not be reached. The last "
                f"one: {prediction['error']} They are kept as failed: --retry-failed runs them again."
            )

    async def _predict(self, question: Question) -> dict[str, Any]:
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
            **question.to_prediction(),
            "seconds": round(seconds, 4),
            "simulated": self.simulated,
            "error": error,
            "scores": scores,
            "result": result,
        }

    async def _attempt(self, question: Question) -> tuple[dict[str, Any], str | None]:
        """Return the result of one run, and its error if it failed."""
        try:
            options: dict[str, Any] = {}
            if question.answer_type != "short":
                options["answer_type"] = question.answer_type
            if question.history:
                options["history"] = question.turns
            result = await ask_async(self.pipeline, question.question, deadline=self.deadline, **options)
            self._reached = True
            return result, None
        except Exception as error:
            self._reached = self._reached or not _is_unreached(error)
            if missing := _find_cause(error, NotRecorded):
                raise ValueError(
                    f"Question '{question.id}' ({question.question}) cannot be replayed. {missing}. Replay with the "
                    "pipeline, corpora and settings of the recording, or complete it with `record`."
                ) from error
            result = error.result if isinstance(error, RunFailed) else {}
            return result, str(error) or type(error).__name__


def _is_unreached(error: BaseException) -> bool:
    """Check whether a server that cannot be reached is behind an error."""
    import openai

    return _find_cause(error, (ConnectionError, openai.APIConnectionError)) is not None


def _find_cause(
    error: BaseException, kind: type[BaseException] | tuple[type[BaseException], ...]
) -> BaseException | None:
    link: BaseException | None = error
    while link is not None and not isinstance(link, kind):
        link = link.__cause__
    return link
