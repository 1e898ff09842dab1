"""A question of a benchmark, in the form that every part of the harness uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Hop:
    """A sub-question of a decomposition (MuSiQue).

    :param question: The sub-question; ``#1`` in it stands for the answer of the first, and so on.
    :param answer: Its answer.
    :param supporting_id: The passage that holds it.
    """

    question: str
    answer: str
    supporting_id: str


@dataclass(frozen=True)
class Question:
    """A question with its gold answers and its gold passages.

    :param id: Its id in the dataset.
    :param question: The question.
    :param answers: The answers that count as right, aliases included.
    :param type: The kind of question as the dataset names it, for example ``bridge`` or ``yesno``.
    :param supporting_ids: The gold passages.
    :param candidate_ids: The passages that the dataset shipped with the question, gold ones and distractors.
    :param decomposition: Its sub-questions in order, where the dataset has them.
    :param evidence_triples: Subject, relation, object of each fact needed (2WikiMultiHopQA), where it has them.
    :param dataset: The dataset that it is from; ``hotpotqa`` and others score some answers their own way.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    type: str = ""
    supporting_ids: tuple[str, ...] = ()
    candidate_ids: tuple[str, ...] = ()
    decomposition: tuple[Hop, ...] = ()
    evidence_triples: tuple[tuple[str, str, str], ...] = ()
    dataset: str = ""

    @property
    def answer_type(self) -> Literal["short", "yes_no"]:
        """The kind of answer that its dataset announces, which a model may know, unlike its gold answers."""
        return "yes_no" if self.type == "yesno" else "short"

    @property
    def is_yes_no(self) -> bool:
        """Whether the answer is yes or no."""
        return bool(self.answers) and all(answer.strip().lower() in ("yes", "no") for answer in self.answers)
