"""The component that runs the second retrieval stage of DR-RAG and selects documents.

The functions below the class are shared with `LinkedStages`, which runs both stages.
"""

import math
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import wait
from dataclasses import replace
from functools import partial

from haystack import Document, component

from prefrag.components.block import Block, check_whole_number
from prefrag.components.both_ways import as_blocking, call_in_thread, call_matching, gather
from prefrag.components.dr_rag.query_doc_concat import QueryDocConcat
from prefrag.components.pair_classifier.fill_by_rank import fill_by_rank
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.observation import observe
from prefrag.components.state.places import name_documents
from prefrag.components.state.state import RunError, Search, State, identity

# The source to search, and the state that contains the query.
SourceCall = tuple[RetrievalSource, State]


@component
class SecondStage(Block):
    """Run the second retrieval stage of DR-RAG, and select documents (section 2.2, equations 1, 3 and 4).

    In a pipeline, this component comes after the source that ran the first stage. The component joins the question with
    each of the first ``k1`` documents of the first stage, and searches with all these queries in parallel. Then it
    selects at most ``k`` documents, which is the ``top_k`` of the run. The selected documents become the observation,
    which the language model gets in its prompt.
    """

    def __init__(
        self,
        source: RetrievalSource,
        concat: QueryDocConcat | None = None,
        classifier: PairClassifier | None = None,
        k1: int | None = None,
        second_stage_depth: int = 10,
    ):
        """Set the components and the depths.

        :param source: The source of the second stage, which may be the same as in the first stage.
        :param concat: The maker of a query from the question and a document. If None, the query has the title and the
            content of the document.
        :param classifier: The component that selects documents, with its method ``cis`` or ``cfs``. If None, the ranks
            decide (the method QDC, equation 1).
        :param k1: The number of documents of the first stage that are used, at most ``k``. If None, half of ``k`` is
            used, rounded up.
        :param second_stage_depth: The number of documents that each query retrieves.
        :raises ValueError: When the source is not a RetrievalSource, or a number is under 1.
        """
        if not isinstance(source, RetrievalSource):
            raise ValueError("The second stage needs a source: put your retriever into a RetrievalSource.")
        check_whole_number(1, k1=k1, second_stage_depth=second_stage_depth)
        self.source = source
        self.concat = QueryDocConcat() if concat is None else concat
        self.classifier = classifier
        self.k1 = k1
        self.second_stage_depth = second_stage_depth

    def warm_up(self) -> None:
        """Warm up the source and the classifier."""
        self.source.warm_up()
        if self.classifier is not None:
            self.classifier.warm_up()

    @component.output_types(state=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Retrieve again, and select documents.

        :param state: The state after the first retrieval.
        :returns: A dictionary with the key ``state``: the state with the searches of the second stage and with the
            selected documents as its observation.
        :raises RunError: When the classifier fails or its model is not installed, or when local documents would be
            sent to an external source. The error contains the state.
        """
        state, documents, candidates = await self.gather_async(state)
        started = time.perf_counter()
        if self.classifier is None:
            return {"state": self._select(state, fill_by_rank(documents, candidates, state.settings.top_k))}
        # Without searches in the second stage, each document has an empty list.
        candidates = candidates or [[] for _ in documents]
        try:
            output = await self.classifier.run_async(state.question, documents, candidates, state.settings.top_k)
        except Exception as error:
            raise classifier_error(state, error) from error
        return {"state": self._select(state, **output, seconds=time.perf_counter() - started)}

    run = as_blocking(run_async)

    async def gather_async(self, state: State) -> tuple[State, list[Document], list[list[Document]]]:
        """Retrieve the documents from which the classifier selects. The training of the classifier also calls this.

        :param state: The state after the first retrieval.
        :returns: Three values: the state with the new searches, the documents of the first stage, and for each query
            its documents.
        :raises RunError: When local documents would be sent to an external source. The error contains the state.
        """
        documents = self._first_stage(state)
        calls = [(self.source, branch) for branch in self._second_searches(state, documents)]
        branches = await search_all(calls)
        state, candidates = self._with_candidates(state, branches)
        return state, documents, candidates

    gather = as_blocking(gather_async)

    def _first_stage(self, state: State) -> list[Document]:
        """Return the first documents of the current step, at most ``k1``."""
        top_k = state.settings.top_k
        # Without `k1`, half of the room is left for the second stage.
        most = min(top_k, self.k1 or math.ceil(top_k / 2))
        documents = {}
        for search in state.step.searches:
            for document in search.documents:
                documents[identity(document)] = document
        return list(documents.values())[:most]

    def _second_searches(self, state: State, documents: list[Document]) -> list[State]:
        """Return a state for each search of the second stage. If the documents fill the context, there is none."""
        if len(documents) >= state.settings.top_k:
            return []
        refuse_sending_local(state, self.source, documents)
        deep = replace(state, settings=replace(state.settings, top_k=self.second_stage_depth))
        queries = self.concat.run(state.question, documents)["queries"]
        return [deep.with_last(query=query) for query in queries]

    def _with_candidates(self, state: State, branches: Sequence[State]) -> tuple[State, list[list[Document]]]:
        """Add the searches of the second stage to the state, and return the state and each search's documents."""
        searches_before = len(state.step.searches)
        state = with_searches(state, branches)
        return state, [list(search.documents) for search in state.step.searches[searches_before:]]

    def _select(
        self, state: State, documents: list[Document], pairs: Sequence[Mapping[str, object]] = (), seconds: float = 0.0
    ) -> State:
        """Record the selection with its method and duration in seconds, and set the observation."""
        method = "qdc" if self.classifier is None else self.classifier.selection
        return with_selection(state, method, documents, pairs, seconds)


def refuse_sending_local(state: State, source: RetrievalSource, documents: Sequence[Document]) -> None:
    """Refuse to search an external source with the text of local documents.

    :param state: The state of the run.
    :param source: The source of the second stage.
    :param documents: The documents whose text is in the queries.
    :raises RunError: When the source is external and a document is from a local source. The error contains the state.
    """
    external_names = {source.name, *state.settings.external}
    local_names = {str(document.meta.get("source")) for document in documents} - external_names
    if source.external and local_names:
        raise RunError(
            f"The second stage would send documents of '{min(local_names)}' to the external source '{source.name}': "
            "give the second stage a local source.",
            state,
        )


async def search_all(calls: Sequence[SourceCall]) -> list[State]:
    """Make several searches, at the same time if this is faster.

    :param calls: The sources to search, each with the state that contains the query.
    :returns: The states after the searches, in the order of the calls.
    """
    return await call_matching(_search_in_threads, _search_async, calls)


def _search_in_threads(calls: Sequence[SourceCall]) -> list[State]:
    """Make the searches in threads, or one by one if all of them search an index in this process."""
    if all(source.embedded for source, _ in calls):
        return [source.run(state)["state"] for source, state in calls]
    running = [call_in_thread(partial(source.run, state)) for source, state in calls]
    # All searches are waited for, also after a failure. Each search ends by its own deadline, and no search may
    # continue after the run.
    wait(running)
    return [search.result()["state"] for search in running]


async def _search_async(calls: Sequence[SourceCall]) -> list[State]:
    """Make the searches at the same time in the event loop."""
    outputs = await gather(*(source.run_async(state) for source, state in calls))
    return [output["state"] for output in outputs]


def with_searches(state: State, branches: Sequence[State]) -> State:
    """Add the searches and events of parallel searches to the state with which they began.

    :param state: The state before the searches.
    :param branches: The states after each of the searches.
    :returns: The state with all searches and events.
    """
    searches_before = len(state.step.searches)
    events_before = len(state.events)
    searches: tuple[Search, ...] = state.step.searches
    events = state.events
    for branch in branches:
        searches += branch.step.searches[searches_before:]
        events += branch.events[events_before:]
    return replace(state.with_last(searches=searches), events=events)


def with_selection(
    state: State,
    method: str,
    documents: list[Document],
    pairs: Sequence[Mapping[str, object]] = (),
    seconds: float = 0.0,
) -> State:
    """Record a selection in the trace, and make the selected documents the observation.

    :param state: The state of the run.
    :param method: The name of the method of selection.
    :param documents: The selected documents.
    :param pairs: The scored pairs, as :class:`PairClassifier` returns them.
    :param seconds: The duration of the selection.
    :returns: The new state.
    """
    state = state.with_event(
        "selection",
        method=method,
        **name_documents("documents", documents),
        pairs=list(pairs),
        seconds=round(seconds, 4),
    )
    # The name of each source once, such as "local+web".
    sources = dict.fromkeys(str(document.meta["source"]) for document in documents)
    return observe(state, documents, "+".join(sources) or None)


def classifier_error(state: State, error: Exception) -> RunError:
    """Make the error that ends a run when the classifier fails.

    :param state: The state of the run.
    :param error: The error of the classifier.
    :returns: The error to raise, which contains the state.
    """
    state = state.with_event("error", caller="pair classifier", message=str(error))
    return RunError(str(error), state)
