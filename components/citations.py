"""Numbers for passages, and the citations of an answer."""

from __future__ import annotations

import re

from components.state import State

_BRACKETS = re.compile(r"\s*\[\s*(W?\d+(?:\s*[,;]\s*W?\d+)*)\s*\]", re.IGNORECASE)
_MARK = re.compile(r"W?\d+", re.IGNORECASE)


def citation_marks(state: State) -> dict[str, str]:
    """Number the documents that the model has been shown, those of sources outside the house apart.

    A document keeps its number as the run goes on, since later ones are numbered after it.

    :param state: The state of a run.
    :returns: ``1``, ``2``, ... for the house's own documents and ``W1``, ``W2``, ... for the web's, by document id.
    """
    counts = {"": 0, "W": 0}
    marks: dict[str, str] = {}
    for document in state.observed:
        letter = "W" if document.meta.get("source") in state.settings.external else ""
        counts[letter] += 1
        marks[document.id] = f"{letter}{counts[letter]}"
    return marks


def read_citations(answer: str) -> tuple[str, list[str]]:
    """Take the citations out of an answer.

    :param answer: The answer as the model wrote it, for example ``1969 [2][W1]``.
    :returns: The answer without them, and the numbers that it cites, each once, in order.
    """
    marks = [mark.upper() for group in _BRACKETS.findall(answer) for mark in _MARK.findall(group)]
    return _BRACKETS.sub("", answer).strip(), list(dict.fromkeys(marks))
