"""Run the pipeline under test on a question, and score the result.

Each worker process opens one predictor, which runs one question per call.
"""

import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from prefrag.components.recording import NotRecorded
from prefrag.components.state.result import FoundDocument, Result
from prefrag.errors import find_cause
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.evaluation.question import PredictionLine, Question
from prefrag.pipelines.asking import RunFailed, ask_async
from prefrag.pipelines.loading import Pipeline


@contextmanager
def open_predictor(
    setup: Setup, retries: int, deadline: float, contents: bool, simulated: bool
) -> Iterator[Callable[[Question], Awaitable[tuple[PredictionLine, bool]]]]:
    """Build the pipeline under test in the process that will run it.

    :param setup: The pipeline and the settings of the evaluation.
    :param retries: The number of further attempts if the run of a question breaks off.
    :param deadline: The maximum time of one attempt in seconds.
    :param contents: Whether the predictions contain the texts of the documents.
    :param simulated: Whether the simulated reader answers. Each prediction says so.
    :returns: A context manager with a function that runs one question, see :meth:`Predictor.predict`.
    """
    with setup.environment():
        yield Predictor(setup.build(), retries, deadline, contents, simulated).predict


class Predictor:
    """Runs the pipeline under test, one question per call. :func:`open_predictor` explains the parameters."""

    def __init__(self, pipeline: Pipeline, retries: int, deadline: float, contents: bool, simulated: bool):
        self.pipeline = pipeline
        self.retries = retries
        self.deadline = deadline
        self.contents = contents
        self.simulated = simulated
        # Whether any call so far reached the server that the pipeline needs.
        self._reached = False

    async def predict(self, question: Question) -> tuple[PredictionLine, bool]:
        """Run a question and score the result.

        If an attempt breaks off, the question is run again, up to ``retries`` times. Only the last attempt counts.

        :param question: The question.
        :returns: The prediction, and whether any call so far reached the server that the pipeline needs.
        :raises ValueError: If the question cannot be replayed, because the recording lacks a reply.
        """
        from prefrag.evaluation.metrics import score

        for _ in range(1 + self.retries):
            started = time.perf_counter()
            result, error = await self._attempt(question)
            if error is None:
                break
        seconds = time.perf_counter() - started

        scores = score(question, result, failed=error is not None)
        if not self.contents:
            documents: list[FoundDocument] = [{**document, "content": ""} for document in result.get("documents") or ()]
            result = {**result, "documents": documents}
        prediction: PredictionLine = {
            **question.to_prediction(),
            "seconds": round(seconds, 4),
            "simulated": self.simulated,
            "error": error,
            "scores": scores,
            "result": result,
        }
        return prediction, self._reached

    async def _attempt(self, question: Question) -> tuple[Result, str | None]:
        """Run a question once.

        Return the result and no error, or what there is of the result and the text of the error.
        """
        options: dict[str, object] = {}
        if question.answer_type != "short":
            options["answer_type"] = question.answer_type
        if question.history:
            options["history"] = question.turns
        try:
            result = await ask_async(self.pipeline, question.question, deadline=self.deadline, **options)
            self._reached = True
            return result, None
        except Exception as error:
            # If the error was not caused by a ConnectionError, the server was reached.
            self._reached = self._reached or find_cause(error, ConnectionError) is None
            not_recorded = find_cause(error, NotRecorded)
            if not_recorded:
                raise ValueError(
                    f"Question '{question.id}' ({question.question}) cannot be replayed. {not_recorded}. Replay with "
                    "the pipeline, corpora and settings of the recording, or complete the recording with `record`."
                ) from error
            partial_result: Result = error.result if isinstance(error, RunFailed) else {}
            return partial_result, str(error) or type(error).__name__
