"""The samples of a judged step: nine replies of the small model, the gold verdict, and the preferred reply."""

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
    """A reply of the small model."""

    temperature: float  # the temperature with which it was sampled
    top_p: float  # the top-p with which it was sampled
    seed: int  # the seed that was sent with the call
    text: str  # the reply, without thinking
    status: bool | None  # its verdict; None if the reply was cut off or cannot be read
    analysis: str = ""


@dataclass(frozen=True)
class Gold:
    """The verdict that candidates are compared with."""

    status: bool
    # The analysis closest to these texts is preferred. They are the stronger model's analysis, or the gold sentences.
    references: tuple[str, ...]


@dataclass(frozen=True)
class JudgedStep:
    """A judged step of a run, with the replies that were sampled."""

    step: int  # the number of the step, counted from 1; the first is not judged
    prompt: Sequence[Mapping[str, str]]  # the messages that were sent, each with role and content
    candidates: Sequence[Candidate]  # the replies, one for each temperature and top-p in `GRID`
    gold: Gold | None  # the gold verdict; None if the stronger model's reply could not be read
    chosen: int | None = None  # the index of the preferred candidate; None if no candidate has the gold verdict
    chosen_by: str = ""  # `only` if all candidates with the gold verdict agree in the text, else `model` or `nearness`
    rejected: int | None = None  # the index of a candidate with the other verdict; None if there is none
    by_passages: bool | None = None  # the verdict by the gold passages; None if they are not known
    # The variables that the server passes to the chat template besides the messages.
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the step as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> JudgedStep:
        """Read a step from the values that :meth:`to_dict` returned."""
        gold = data["gold"]
        return cls(
            **{
                **data,
                "candidates": [Candidate(**one) for one in data["candidates"]],
                "gold": None if gold is None else Gold(gold["status"], tuple(gold["references"])),
            }
        )


def split_by_verdict(candidates: Sequence[Candidate], status: bool) -> tuple[list[int], list[int]]:
    """Return the indices of the candidates with this verdict, and of the candidates with the other verdict."""
    right = [place for place, one in enumerate(candidates) if one.status is status]
    wrong = [place for place, one in enumerate(candidates) if one.status is (not status)]
    return right, wrong


def draw_seed(*parts: object) -> int:
    """Compute a seed from ``parts`` alone, so that a resumed collection draws the same as an uninterrupted one."""
    return int(hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:7], 16)


def draw(*parts: object) -> random.Random:
    """Make a random number generator from :func:`draw_seed`."""
    return random.Random(draw_seed(*parts))
