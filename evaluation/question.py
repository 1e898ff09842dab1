"""A question of a benchmark, in the form that every part of the harness uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Hop:
    """A sub-question of a decomposition (MuSiQue)."""

    question: str  # the sub-question; `#1` in it stands for the answer of the first, and so on
    answer: str
    supporting_id: str  # the passage that holds it


@dataclass(frozen=True)
class Question:
    """A question with its gold answers and its gold passages."""

    id: str
    question: str
    answers: tuple[str, ...]  # the answers that count as right, aliases included
    type: str = ""  # the kind of question as the dataset names it, for example `bridge` or `yesno`
    supporting_ids: tuple[str, ...] = ()  # the gold passages
    # The passages that the dataset shipped with the question, gold ones and distractors.
    candidate_ids: tuple[str, ...] = ()
    decomposition: tuple[Hop, ...] = ()  # its sub-questions in order, where the dataset has them
    # Subject, relation, object of each fact needed (2WikiMultiHopQA), where it has them.
    evidence_triples: tuple[tuple[str, str, str], ...] = ()
    dataset: str = ""  # the dataset that it is from; `hotpotqa` and others score some answers their own way

    @property
    def answer_type(self) -> Literal["short", "yes_no"]:
        """The kind of answer that its dataset announces, which a model may know, unlike its gold answers."""
        return "yes_no" if self.type == "yesno" else "short"

    @property
    def is_yes_no(self) -> bool:
        """Whether the answer is yes or no."""
        return bool(self.answers) and all(answer.strip().lower() in ("yes", "no") for answer in self.answers)
