"""The types of what a measurement writes: the records of its questions, and the figures made of them.

All values are plain JSON. ``asking.py`` writes the records, ``figures.py`` and ``proof.py`` make the figures.
"""

from __future__ import annotations

from typing import TypedDict

from prefrag.evaluation.prove.verdict import Verdict


class WorldAnswer(TypedDict):
    """The answer in one world."""

    verdict: Verdict
    certainty: str | None
    answer: str
    probability: float | None
    # The first sentence of the evidence; empty if there is none.
    evidence: str
    # What answered: "reader" or "model".
    by: str | None


class Case(TypedDict):
    """The record of one question."""

    id: str
    form: str
    question: str
    # "form" or "model".
    written_by: str
    value: str
    # The changed value; empty if the question was not asked with one.
    changed: str
    sentence: str
    denied: str
    title: str
    document: str
    kind: str
    # The share of the question's words that its sentence has, from 0 to 1.
    shared: float
    copies: int
    seconds: float
    # The answers by the name of the world, and those with the other reply format.
    worlds: dict[str, WorldAnswer]
    other_loop: dict[str, WorldAnswer]
    # For each world, whether a query would have been sent to the web.
    would_leave: dict[str, bool]


class Answers(TypedDict):
    """What was asked: the records, how many questions were dropped for each reason, and the number of all questions."""

    cases: list[Case]
    dropped: dict[str, int]
    questions: int


class BoundFigures(TypedDict):
    """A bound, see :class:`prefrag.evaluation.prove.figures.Bound`. ``most`` is from 0 to 1."""

    wrong: int
    documents: int
    answers: int
    most: float


class Rate(TypedDict):
    """How often something happened in how many trials."""

    events: int
    n: int


# The threshold of stated answers, from 0 to 1 ("from"), its bound on the other half of the documents, and how many
# answers there are no longer stated. This form of the type allows the name "from".
Threshold = TypedDict("Threshold", {"from": float, "measured": BoundFigures, "lost": int})


class LoopFigures(TypedDict):
    """The comparison of two reply formats, see :func:`prefrag.evaluation.prove.figures.compare_loops`."""

    n: int
    better: int
    worse: int
    wrong: int
    wrong_other: int
    chosen: bool


class Figures(TypedDict):
    """What is computed from the records."""

    sentence: str
    bound: BoundFigures
    bound_if_unseen_were_wrong: BoundFigures
    hardest_third: BoundFigures
    shared_words: float | None
    written_by_model: int
    rates: dict[str, Rate]
    by_kind: dict[str, dict[str, Rate]]
    threshold: Threshold | None
    loops: LoopFigures | None


class Proof(Figures):
    """The figures, with what was measured and when."""

    collection: str
    answerer: str
    pipeline: str
    loop: str
    other_loop: str
    date: str
    seed: int
    asked: int
    questions: int
    dropped: dict[str, int]
    seconds: float
    feedback: str


class AppliedProof(Proof):
    """A proof, and what was changed by it."""

    # Whether the model uses its other loop from now on.
    switched: bool
