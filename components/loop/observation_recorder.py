"""The component that turns the documents of a retrieval into an observation.

An observation is the part of the transcript that shows the model what its search found. The component stands after the
sources and, if there is one, after the judge.
"""

# No `from __future__ import annotations` here: it turns annotations into strings, in which Haystack misses Variadic.
from functools import reduce

from haystack import Document, component
from haystack.core.component.types import Variadic

from prefrag.components.block import check_whole_number
from prefrag.components.both_ways import as_async
from prefrag.components.state.observation import observe
from prefrag.components.state.state import Search, State, identity


@component
class ObservationRecorder:
    """Write the documents of a retrieval into the transcript (section 3.2, *Retrieval Source Observation*).

    The model sees the documents of the step's last retrieval. After a switch, these are the documents of the other
    source. With ``merge``, the model sees the documents of all retrievals of the step, beginning with the preferred
    source.
    """

    def __init__(self, merge: bool = False, max_documents: int | None = None):
        """Set up the component.

        :param merge: Show the documents of all searches of the step, not only those of the last search. This is for the
            search that follows a rejected answer.
        :param max_documents: The maximum number of different documents that the model is shown in a run (15 in IRCoT).
            None means no limit.
        :raises ValueError: When ``max_documents`` is less than 1.
        """
        check_whole_number(1, max_documents=max_documents)
        self.merge = merge
        self.max_documents = max_documents

    @component.output_types(state=State)
    def run(self, states: Variadic[State]) -> dict[str, State]:
        """Turn the documents of the last search, or of all searches, into the step's observation.

        :param states: The states after the searches that ran at the same time, one for each source.
        :returns: ``state`` with the observation.
        """
        # Sources reply in any order, but the trace and the observation must be the same in every run.
        state = reduce(State.merge, sorted(states, key=_places))

        # The searches whose documents are shown.
        searches = [search for search in state.step.searches if not search.skipped]
        if self.merge:
            order = (state.settings.preferred, *state.settings.sources)
            shown = sorted(searches, key=lambda search: order.index(search.source))
        else:
            shown = self._choose_last(searches)

        retrieved: list[Document] = []
        for search in shown:
            retrieved += search.documents
        documents = self._collect(state, retrieved)
        source = None
        if documents:
            source = "+".join(search.source for search in shown if search.documents)
        state = observe(state, documents, source)

        # If documents were retrieved but none are shown, a note tells the model why.
        needs_note = retrieved and not documents
        if not needs_note:
            return {"state": state}
        seen = {identity(document) for document in state.retrieved}
        if all(identity(document) in seen for document in retrieved):
            return {"state": state.with_last(note="Nothing new was found.")}
        note = f"New passages were found, but no more than {self.max_documents} are shown."
        return {"state": state.with_last(note=note)}

    run_async = as_async(run)

    def _collect(self, state: State, retrieved: list[Document]) -> list[Document]:
        """Choose the documents to show: all of them or, with a limit, the new ones that are still allowed."""
        if self.max_documents is None:
            return retrieved
        seen = {identity(document) for document in state.retrieved}
        new_documents = {}
        for document in retrieved:
            key = identity(document)
            if key not in seen:
                new_documents[key] = document
        most_new = max(0, self.max_documents - len(seen))
        return list(new_documents.values())[:most_new]

    def _choose_last(self, searches: list[Search]) -> list[Search]:
        """Choose the last search with documents or, if there is none, the last search.

        The result is a list with this search. It is empty if there are no searches.
        """
        with_documents = [search for search in searches if search.documents]
        candidates = with_documents or searches
        # The slice is empty if the list is empty.
        return candidates[-1:]


def _places(state: State) -> list[int]:
    """List the places of the searched sources in the order of the settings, by which states are sorted."""
    order = state.settings.sources
    return [order.index(search.source) for search in state.step.searches if not search.skipped]
