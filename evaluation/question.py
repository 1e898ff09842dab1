"""A question of a benchmark, in the form that the whole evaluation uses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict


@dataclass(frozen=True)
class Hop:
    """One sub-question of a question that needs several steps, as in MuSiQue."""

    question: str  # the sub-question, where `#1` stands for the answer to the first sub-question, and so on
    answer: str
    supporting_id: str  # the id of the passage that contains the answer


class PredictionLine(TypedDict, total=False):
    """A line of ``predictions.jsonl``: a question, and what a pipeline did with it. Old lines may lack some fields."""

    id: str
    question: str
    answers: list[str]
    type: str
    supporting_ids: list[str]
    dataset: str
    answerable: bool
    sentences: list[str]
    history: list[dict[str, str]]
    seconds: float
    simulated: bool
    error: str | None
    scores: dict[str, float]
    result: Mapping[str, Any]  # as the pipeline returned it; without the texts of the documents if they were left out
    calls: list[Mapping[str, Any]]  # each call of the model, if the run counted them


@dataclass(frozen=True)
class Question:
    """A question with its gold answers and its gold passages."""

    id: str
    question: str
    answers: tuple[str, ...]  # all answers that count as right
    type: str = ""  # the kind of question as the dataset names it, for example `bridge` or `yesno`
    supporting_ids: tuple[str, ...] = ()  # the ids of the gold passages
    # The ids of the passages that the dataset ships with the question: gold passages and distractors.
    candidate_ids: tuple[str, ...] = ()
    decomposition: tuple[Hop, ...] = ()  # the sub-questions in order, if the dataset has them
    # Subject, relation and object of each fact needed for the answer, if the dataset has them (2WikiMultiHopQA).
    evidence_triples: tuple[tuple[str, str, str], ...] = ()
    dataset: str = ""  # the dataset of the question, which decides how the official scores are computed
    # Whether the preferred source contains the answer; None if the dataset does not say. If True, queries to the web
    # are needless. If False, every answer counts as wrong.
    answerable: bool | None = None
    sentences: tuple[str, ...] = ()  # the gold sentences: each is in a document and states the answer
    history: tuple[tuple[str, str], ...] = ()  # the role and content of each earlier turn

    @classmethod
    def of_prediction(cls, prediction: PredictionLine) -> Question:
        """Read the question from a line of ``predictions.jsonl``."""
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
        """Return the fields that :meth:`of_prediction` reads."""
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
        """The kind of answer that the dataset asks for. A prompt may state this kind, but never a gold answer."""
        return "yes_no" if self.type == "yesno" else "short"

    @property
    def is_yes_no(self) -> bool:
        """Whether all gold answers are yes or no."""
        return bool(self.answers) and all(answer.strip().lower() in ("yes", "no") for answer in self.answers)
