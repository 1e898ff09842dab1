"""A question of a benchmark, in the form that the whole evaluation uses.

The readers of datasets make :class:`Question` objects. A gold answer is an answer that the dataset calls right. A gold
passage is a passage that the dataset marks as needed for the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

if TYPE_CHECKING:
    from prefrag.components.state.result import Result


@dataclass(frozen=True)
class Hop:
    """One sub-question of a question that needs several steps, as in MuSiQue."""

    # The sub-question. "#1" stands for the answer to the first sub-question, "#2" for that to the second, and so on.
    question: str
    # The gold answer to the sub-question.
    answer: str
    # The id of the passage that contains the answer. Empty if the dataset names none.
    supporting_id: str


class PredictionLine(TypedDict, total=False):
    """A line of ``predictions.jsonl``: a question, and what a pipeline did with it. Old lines may lack some fields."""

    # The fields of the question, as in :class:`Question`.
    id: str
    question: str
    answers: list[str]
    type: str
    supporting_ids: list[str]
    dataset: str
    answerable: bool
    sentences: list[str]
    history: list[dict[str, str]]
    # The time of the last attempt.
    seconds: float
    # Whether the simulated reader answered.
    simulated: bool
    # The message of the error that ended the run. None if there was none.
    error: str | None
    # The scores of the question, from 0 to 1.
    scores: dict[str, float]
    # The result of the pipeline. The texts of the documents may be left out.
    result: Result
    # The calls of the model, if the run recorded them.
    calls: list[Mapping[str, Any]]


@dataclass(frozen=True)
class Question:
    """A question with its gold answers and its gold passages."""

    # The id of the question, which is unique in its file.
    id: str
    # The text of the question.
    question: str
    # All answers that count as right.
    answers: tuple[str, ...]
    # The kind of question as the dataset names it, for example "bridge" or "yesno".
    type: str = ""
    # The ids of the gold passages.
    supporting_ids: tuple[str, ...] = ()
    # The ids of the passages that the dataset ships with the question. These are the gold passages, and passages that
    # only look relevant.
    candidate_ids: tuple[str, ...] = ()
    # The sub-questions in order, if the dataset has them.
    decomposition: tuple[Hop, ...] = ()
    # The facts that the answer needs, each with subject, relation and object, if the dataset has them
    # (2WikiMultiHopQA).
    evidence_triples: tuple[tuple[str, str, str], ...] = ()
    # The dataset of the question, which decides how the official scores are computed.
    dataset: str = ""
    # Whether the preferred source contains the answer. None if the dataset does not say. If True, queries to the web
    # are needless. If False, every answer counts as wrong.
    answerable: bool | None = None
    # The gold sentences. Each is in a document and states the answer.
    sentences: tuple[str, ...] = ()
    # The role and the content of each earlier turn.
    history: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of_prediction(cls, prediction: PredictionLine) -> Question:
        """Read the question from a line of ``predictions.jsonl``.

        :param prediction: The line. It must have an id.
        :returns: The question, with the fields that a prediction has.
        """
        history = prediction.get("history") or ()
        return cls(
            id=str(prediction["id"]),
            question=str(prediction.get("question") or ""),
            answers=tuple(str(answer) for answer in prediction.get("answers") or ()),
            type=str(prediction.get("type") or ""),
            supporting_ids=tuple(str(id) for id in prediction.get("supporting_ids") or ()),
            dataset=str(prediction.get("dataset") or ""),
            answerable=prediction.get("answerable"),
            sentences=tuple(prediction.get("sentences") or ()),
            history=tuple((str(turn["role"]), str(turn["content"])) for turn in history),
        )

    def to_prediction(self) -> PredictionLine:
        """Write the fields that :meth:`of_prediction` reads.

        :returns: The fields of a prediction.
        """
        prediction: PredictionLine = {
            "id": self.id,
            "question": self.question,
            "answers": list(self.answers),
            "type": self.type,
            "supporting_ids": list(self.supporting_ids),
            "dataset": self.dataset,
        }
        if self.answerable is not None:
            prediction["answerable"] = self.answerable
        if self.sentences:
            prediction["sentences"] = list(self.sentences)
        if self.history:
            prediction["history"] = self.turns
        return prediction

    @property
    def turns(self) -> list[dict[str, str]]:
        """The earlier turns as messages of a chat request."""
        return [{"role": role, "content": content} for role, content in self.history]

    @property
    def answer_type(self) -> Literal["short", "yes_no"]:
        """The kind of answer that the dataset asks for. A prompt may name this kind, but never a gold answer."""
        return "yes_no" if self.type == "yesno" else "short"

    @property
    def is_yes_no(self) -> bool:
        """Whether all gold answers are yes or no."""
        return bool(self.answers) and all(answer.strip().lower() in ("yes", "no") for answer in self.answers)
