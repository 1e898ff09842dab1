"""Write the documents of a result as a numbered list, and the sentences that speak to its question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from prefrag.components.text.one_line import one_line

HEADING = "Sources:"
NOT_ANSWERED = "Found, not answered."
_BRACKETS = re.compile(r"\[(\s{0,9}[ADW]?\d{1,9}(?:\s{0,9}[,;]\s{0,9}[ADW]?\d{1,9})*\s{0,9})\]", re.IGNORECASE)


def references(result: Mapping[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """List the documents that the model was shown, those of external sources numbered apart.

    :param result: The result of a run.
    :returns: Each document behind its mark: ``1``, ``2``, ... for local ones, ``W1``, ``W2``, ... for the web's.
    """
    return [(document.get("mark", ""), document) for document in result.get("documents") or ()]


def reference_text(mark: str, document: Mapping[str, Any]) -> str:
    """Write a document in one line.

    :param mark: The mark of :func:`references`.
    :param document: The document, as the result holds it.
    :returns: Title, source, and the file and page or the address where there is one.
    """
    place = [str(document.get("source") or "")]
    if document.get("file"):
        place.append(str(document["file"]))
    if document.get("page") is not None:
        place.append(f"page {document['page']}")
    title = document.get("title") or document.get("id")
    words = _without_marks(f"{title} ({', '.join(filter(None, place))})")
    address = f" {document['url']}" if document.get("url") else ""
    return one_line(f"[{mark}] {words}{address}")


def evidence_texts(result: Mapping[str, Any]) -> list[str]:
    """Write the sentences that speak to the question of a result, which gives no answer.

    :param result: The result of a run.
    :returns: Each in one line: the mark of its document, its title, and the sentence.
    """
    return [
        one_line(f"[{one['mark']}] " + _without_marks(": ".join(filter(None, (one["title"], one["sentence"])))))
        for one in result.get("evidence") or ()
    ]


def references_text(result: Mapping[str, Any]) -> str:
    """Write the documents of a result as a list.

    :param result: The result of a run.
    :returns: The list under its heading, or nothing without documents.
    """
    lines = [reference_text(mark, document) for mark, document in references(result)]
    return "\n".join([HEADING, *lines]) if lines else ""


def _without_marks(text: str) -> str:
    """Write a text of a document so that only this module writes what looks like the number of a passage."""
    return _BRACKETS.sub(r"(\1)", text)
