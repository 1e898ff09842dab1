"""The data of a judged step: nine replies sampled from the model to train, and the gold (right) verdict."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

# The sampling parameters of the nine replies: each temperature with each top-p (appendix C).
GRID = tuple(product((0.1, 0.5, 0.9), (0.1, 0.5, 0.9)))


@dataclass(frozen=True)
class Candidate:
    """A reply that was sampled from the model that is to be trained."""

    temperature: float  # the temperature with which the reply was sampled
    top_p: float  # the top-p with which the reply was sampled
    seed: int  # the seed that was sent with the call
    text: str  # the reply, without the model's thinking
    status: bool | None  # the verdict in the reply; None if the reply was cut off or cannot be read
    analysis: str = ""  # the reason that the reply gives for its verdict


@dataclass(frozen=True)
class Gold:
    """The right verdict on a step, with which the verdicts of the candidates are compared."""

    status: bool  # the verdict: True keeps the documents, False switches to another source
    # The texts that analyses are compared with: the stronger model's analysis, or the sentences of gold passages.
    references: tuple[str, ...]


@dataclass(frozen=True)
class JudgedStep:
    """A step of a run in which the judge was called, with the replies that were sampled for it."""

    step: int  # the number of the step in its run, from 1; step 1 is not judged
    prompt: Sequence[Mapping[str, str]]  # the messages that were sent, each with role and content
    candidates: Sequence[Candidate]  # the replies, one for each pair of temperature and top-p in `GRID`
    gold: Gold | None  # the gold verdict; None if the stronger model's reply could not be read
    chosen: int | None = None  # the index of the preferred candidate; None if no candidate has the gold verdict
    chosen_by: str = ""  # `only` if all analyses are equal, else chosen by the `model` or by `nearness` (shared words)
    rejected: int | None = None  # the index of a candidate with the other verdict; None if there is none
    by_passages: bool | None = None  # the verdict that follows from the gold passages; None if the question has none
    # The variables, besides the messages, that the server passes to the model's chat template.
    chat_template_kwargs: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Return the step as plain JSON values.

        :returns: The values, which :meth:`from_dict` reads.
        """
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> JudgedStep:
        """Read a step from the values that :meth:`to_dict` returned.

        :param data: The values.
        :returns: The step.
        """
        gold = None
        if data["gold"] is not None:
            gold = Gold(data["gold"]["status"], tuple(data["gold"]["references"]))
        candidates = [Candidate(**candidate) for candidate in data["candidates"]]
        return cls(**{**data, "candidates": candidates, "gold": gold})


def split_by_verdict(candidates: Sequence[Candidate], status: bool) -> tuple[list[int], list[int]]:
    """Divide candidates by their verdicts. Candidates without a readable verdict are left out.

    :param candidates: The candidates.
    :param status: The verdict.
    :returns: The indices of the candidates with this verdict, and of those with the other verdict.
    """
    right = [place for place, candidate in enumerate(candidates) if candidate.status is status]
    wrong = [place for place, candidate in enumerate(candidates) if candidate.status is (not status)]
    return right, wrong


def draw_seed(*parts: object) -> int:
    """Compute a seed from values alone, so that a resumed collection draws the same samples.

    :param parts: The values, such as the seed of the collection and the id of a question.
    :returns: The seed, a number below 2**28.
    """
    digest = hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()
    return int(digest[:7], 16)


def draw(*parts: object) -> random.Random:
    """Make a random number generator with a seed that depends on values alone.

    :param parts: The values, see :func:`draw_seed`.
    :returns: The generator.
    """
    return random.Random(draw_seed(*parts))
