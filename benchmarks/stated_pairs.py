"""Pairs of texts: one states the answer to a question, the other has its words but does not state it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

_WRITTEN = Path(__file__).resolve().parent.parent / "evaluation" / "own_files" / "stated_pairs.yaml"


@dataclass(frozen=True)
class StatedPair:
    """A question with two texts.

    :param form: What is different in the second text, such as ``negation`` or ``rumour``.
    :param part: ``train`` or ``test``; all pairs of a form are in the same part.
    :param question: The question.
    :param answer: Its answer, which both texts contain.
    :param stated: The text that states the answer.
    :param unstated: The text that does not state it.
    :param other_question: The question about the second text, where it is not the text that was changed.
    :param title: The title of both texts; empty if they have none.
    """

    form: str
    part: Literal["train", "test"]
    question: str
    answer: str
    stated: str
    unstated: str
    other_question: str = ""
    title: str = ""


def read_pairs() -> list[StatedPair]:
    """Read the pairs that were written by hand."""
    groups = yaml.safe_load(_WRITTEN.read_text(encoding="utf-8"))
    return [StatedPair(group["form"], group["part"], *pair) for group in groups for pair in group["pairs"]]
