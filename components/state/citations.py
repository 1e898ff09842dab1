"""The numbers of passages, and the citations in an answer."""

from __future__ import annotations

import re
from collections.abc import Collection

from prefrag.components.state.state import Identity, State, identity

_GROUP = r"\[\s*([ADW]?\d+(?:\s*[,;]\s*[ADW]?\d+)*)\s*\]"
_BRACKETS = re.compile(rf"\s*\(\s*{_GROUP}\s*\)|\s*{_GROUP}", re.IGNORECASE)
_MARK = re.compile(r"[ADW]?\d+", re.IGNORECASE)


def citation_marks(state: State) -> dict[Identity, str]:
    """Assign numbers to the documents that the model has been shown, those of external sources separately.

    A document keeps its number as the run goes on, because later ones are numbered after it.

    :param state: The state of a run.
    :returns: ``1``, ``2``, ... for local documents, ``W1``, ``W2``, ... for the web's and ``A1``, ``A2``, ... for those
        that came with the question, by the :func:`identity` of each.
    """
    counts = {"": 0, "W": 0, "A": 0}
    attached = {identity(document) for document in state.attached}
    marks: dict[Identity, str] = {}
    for document in state.observed:
        letter = (
            "A"
            if identity(document) in attached
            else "W"
            if document.meta.get("source") in state.settings.external
            else ""
        )
        counts[letter] += 1
        marks[identity(document)] = f"{letter}{counts[letter]}"
    return marks


def read_citations(answer: str, known: Collection[str] | None = None) -> tuple[str, list[str]]:
    """Separate an answer from its citations.

    :param answer: The answer as the model wrote it, for example ``1969 [2][W1]``.
    :param known: All numbers of passages; brackets with another number, such as an interval or a year, are part of the
        answer. None removes all that look like citations.
    :returns: The answer without its citations, and the numbers that it cites, each once, in order.
    """
    cited: list[str] = []

    def take(match: re.Match[str]) -> str:
        marks = [mark.upper() for mark in _MARK.findall(match[1] or match[2])]
        if known is not None and not set(marks) <= set(known):
            return match[0]
        cited.extend(marks)
        return ""

    plain = _BRACKETS.sub(take, answer).strip()
    return plain, list(dict.fromkeys(cited))
