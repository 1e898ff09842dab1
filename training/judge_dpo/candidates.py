"""What is sampled at a judged step: nine replies of the small model, the gold verdict, and the preference pair."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import product
from typing import Any

# Appendix C: each temperature with each top-p.
GRID = tuple(product((0.1, 0.5, 0.9), (0.1, 0.5, 0.9)))


@dataclass(frozen=True)
class Candidate:
    """A reply of the small model."""

    temperature: float  # the temperature with which it was sampled
    top_p: float  # the top-p with which it was sampled
    seed: int  # the seed that was sent
    text: str  # the reply, without thinking
    status: bool | None  # its verdict; None if the reply was cut off or cannot be read
    analysis: str = ""


@dataclass(frozen=True)
class Gold:
    """The verdict to which candidates are compared."""

    status: bool
    # The texts that the preferred analysis has to come closest to: the stronger model's own analysis, or the gold
    # sentences.
    references: tuple[str, ...]


@dataclass(frozen=True)
class JudgedStep:
    """A judged step of a run and what was sampled there."""

    step: int  # the number of the step, counted from 1; the first is not judged
    prompt: Sequence[Mapping[str, str]]  # the messages that were sent, as roles and contents
    candidates: Sequence[Candidate]  # the replies to them, one for each point of the grid
    gold: Gold | None  # the gold verdict; None if the stronger model gave none that can be read
    chosen: int | None = None  # the index of the preferred candidate; None if no candidate has the gold verdict
    chosen_by: str = ""  # `only` if all with the gold verdict say the same, else `model` or `nearness` of words
    rejected: int | None = None  # the index of a candidate with the other verdict; None if there is none
    by_passages: bool | None = None  # the verdict by the gold passages, if they are known
    # What the server passes to the chat template besides the messages.
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Write the step as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> JudgedStep:
        """Read a step that :meth:`to_dict` wrote."""
        gold = data["gold"]
        return cls(
            **{
                **data,
                "candidates": [Candidate(**one) for one in data["candidates"]],
                "gold": None if gold is None else Gold(gold["status"], tuple(gold["references"])),
            }
        )


def split_by_verdict(candidates: Sequence[Candidate], status: bool) -> tuple[list[int], list[int]]:
    """Split candidates by their verdicts; those without one are in neither part."""
    right = [place for place, one in enumerate(candidates) if one.status is status]
    wrong = [place for place, one in enumerate(candidates) if one.status is (not status)]
    return right, wrong


def draw_seed(*parts: object) -> int:
    """Draw a seed that depends only on the given parts, so that a resumed collection continues as it began."""
    return int(hashlib.sha256(repr(parts).encode("utf-8", "replace")).hexdigest()[:7], 16)


def draw(*parts: object) -> random.Random:
    """Make a generator of random numbers; see :func:`draw_seed`."""
    return random.Random(draw_seed(*parts))
