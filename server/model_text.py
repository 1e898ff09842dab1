"""Write a result for a model that called for it: what a stranger wrote is quoted, as in every prompt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prefrag.components.prompts.quotation import QUOTED, break_tokens, quote_text, quote_title
from prefrag.pipelines.references import HEADING, NOT_ANSWERED, label_text, place_text, references, title_text
from prefrag.server.chat_text import disarm, write_note

# Of a passage without a sentence that matters, the beginning is shown.
_BEGINNING = 300


def write_for_model(result: Mapping[str, Any], cites: bool) -> str:
    """Write a result."""
    evidence = result.get("evidence") or ()
    if answer := result.get("answer_with_citations") or result.get("answer"):
        # A model may repeat a passage, and whoever shows the reply may render it.
        parts = [f"Answer: {disarm(break_tokens(answer))}\n{label_text(result)}"]
    elif evidence:
        found = [f"[{one['mark']}]\n{quote_text(one['sentence'])}" for one in evidence]
        parts = [f"{NOT_ANSWERED} There is no answer; these sentences were found:", *found]
    else:
        parts = ["No answer was found."]
    parts.append(break_tokens(write_note(result, cites)))
    cited = {citation["mark"] for citation in result.get("citations") or ()}
    # The sentences of an answer's sources stand with them; where there is no answer, they stand above.
    sources = [
        _write_source(mark, document, quotes=not evidence and (mark in cited or not cited))
        for mark, document in references(result)
    ]
    if sources:
        parts += ["\n".join([HEADING, *sources]), QUOTED]
    return "\n\n".join(filter(None, parts))


def _write_source(mark: str, document: Mapping[str, Any], quotes: bool) -> str:
    title = quote_title(title_text(document) or str(document.get("id") or ""))
    address = f" {break_tokens(str(document['url']))}" if document.get("url") else ""
    line = f"[{mark}] {title} ({place_text(document, quote_title)}){address}"
    sentence = document.get("sentence") or {"start": 0, "end": _BEGINNING}
    text = quote_text(str(document.get("content") or "")[sentence["start"] : sentence["end"]])
    return f"{line}\n{text}" if quotes and text else line
