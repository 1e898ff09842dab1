"""The observation of a step: the documents that the model is shown after the step."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from haystack import Document

from prefrag.components.state.places import name_documents
from prefrag.components.state.state import Identity, State, identity


def observe(state: State, documents: Iterable[Document], source: str | None) -> State:
    """Record documents as the observation of the last step.

    :param state: The state, whose last step has made the searches.
    :param documents: The documents to show. Repeated documents are left out.
    :param source: The name of the source, or several names joined by ``+``. None if there is no source.
    :returns: The state with the observation, and an event in the trace.
    """
    shown: dict[Identity, Document] = {}
    for document in documents:
        meta = {**document.meta, "step": len(state.steps)}
        shown.setdefault(identity(document), replace(document, meta=meta))

    # The advice makes sense only if a model wrote the query. A step of the extractive reader has no reply.
    advice = " Try other words." if state.step.reply else ""
    note = "" if shown else f"No passages were found.{advice}"
    state = state.with_last(documents=tuple(shown.values()), source=source, observed=True, note=note)
    return state.with_event("observation", source=source, **_name_for_trace(state, shown))


def _name_for_trace(state: State, shown: dict[Identity, Document]) -> dict[str, object]:
    """Name the documents that are shown and, if they are the smaller part, the found documents that are left out.

    ``same_as`` says that an earlier event already lists the same documents: ``selection``, or the searches (``found``).
    """
    named: dict[str, Any] = name_documents("documents", list(shown.values()))
    last_event = state.events[-1] if state.events else None
    if shown and last_event is not None and last_event.kind == "selection":
        if last_event.data.get("documents") == named["documents"]:
            named["same_as"] = "selection"
        return named

    # The documents that the searches of this step have found.
    sources = (state.step.source or "").split("+")
    found_documents = {}
    for search in state.step.searches:
        if search.source in sources:
            found_documents.update({identity(document): document for document in search.documents})
    if not shown or not shown.keys() <= found_documents.keys():
        return named

    left_out = [document for key, document in found_documents.items() if key not in shown]
    if not left_out:
        return {**named, "same_as": "found"}
    if len(left_out) < len(shown):
        # All are named in one call, so that documents with the same title get names that tell them apart.
        names = name_documents("titles", [*left_out, *shown.values()])
        places = names.get("places") or [""] * len(names["titles"])
        full_names = []
        for title, place in zip(names["titles"], places, strict=True):
            full_names.append(f"{title} ({place})" if place else title)
        named["left_out"] = full_names[: len(left_out)]
    return named
