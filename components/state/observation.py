"""The observation of a step: the documents that a model is shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from haystack import Document

from prefrag.components.state.state import Identity, State, identity


def observe(state: State, documents: Iterable[Document], source: str | None) -> State:
    """Make documents the observation of the last step.

    :param state: The state after the retrieval.
    :param documents: The documents for the model; of equal ones only the first is shown.
    :param source: The source (or sources, joined by ``+``) that they are from.
    :returns: The state with the observation.
    """
    shown: dict[Identity, Document] = {}
    for document in documents:
        shown.setdefault(identity(document), replace(document, meta={**document.meta, "step": len(state.steps)}))
    # The advice makes sense only for a model that chose the words of the query.
    advice = " Try other words." if state.step.reply else ""
    note = "" if shown else f"No passages were found.{advice}"
    state = state.with_last(documents=tuple(shown.values()), source=source, observed=True, note=note)
    return state.with_event(
        "observation",
        source=source,
        documents=[document.meta.get("title") or document.id for document in shown.values()],
    )
