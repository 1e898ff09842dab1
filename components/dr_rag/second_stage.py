"""The component that runs DR-RAG's second retrieval stage and selects documents."""

import math
import time
from collections.abc import Sequence
from concurrent.futures import wait
from dataclasses import replace
from functools import partial
from typing import Any

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

    In a pipeline, this component comes after the source that ran the first stage. It joins the question with each of
    the first ``k1`` documents of that stage, and searches for all these queries in parallel. It selects at most ``k``
    documents (the ``top_k`` of the run). They become the observation, which the language model gets in its prompt.
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
        :param concat: Makes a query from the question and a document, by default from the document's title and content.
        :param classifier: Selects documents with its method ``cis`` or ``cfs``. Without a classifier, the ranks decide
            (the method QDC, equation 1).
        :param k1: How many documents of the first stage are used, at most ``k``; by default half of ``k``, rounded up.
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
        :returns: ``state`` with the second stage's searches and with the selected documents as its observation.
        :raises RunError: When the classifier fails or its model is not installed, or when local documents would be
            sent to an external source. The error contains the state.
        """
        state, documents, candidates = await self.gather_async(state)
        started = time.perf_counter()
        if self.classifier is None:
            return {"state": self._select(state, fill_by_rank(documents, candidates, state.settings.top_k))}
        try:
            candidates = candidates or [[] for _ in documents]
            output = await self.classifier.run_async(state.question, documents, candidates, state.settings.top_k)
        except Exception as error:
            raise classifier_error(state, error) from error
        return {"state": self._select(state, **output, seconds=time.perf_counter() - started)}

    run = as_blocking(run_async)

    async def gather_async(self, state: State) -> tuple[State, list[Document], list[list[Document]]]:
        """Retrieve the documents among which the classifier selects. The training of the classifier calls this too.

        :param state: The state after the first retrieval.
        :returns: Three values: the state with the new searches, the first stage's documents, and what each query found.
        :raises RunError: When local documents would be sent to an external source. The error contains the state.
        """
        documents = self._first_stage(state)
        branches = await search_all([(self.source, branch) for branch in self._second_searches(state, documents)])
        state, candidates = self._with_candidates(state, branches)
        return state, documents, candidates

    gather = as_blocking(gather_async)

    def _first_stage(self, state: State) -> list[Document]:
        k = state.settings.top_k
        documents = {identity(document): document for search in state.step.searches for document in search.documents}
        return list(documents.values())[: min(k, self.k1 or math.ceil(k / 2))]

    def _second_searches(self, state: State, documents: list[Document]) -> list[State]:
        if len(documents) >= state.settings.top_k:
            return []
        refuse_sending_local(state, self.source, documents)
        deep = replace(state, settings=replace(state.settings, top_k=self.second_stage_depth))
        queries = self.concat.run(state.question, documents)["queries"]
        return [deep.with_last(query=query) for query in queries]

    def _with_candidates(self, state: State, branches: Sequence[State]) -> tuple[State, list[list[Document]]]:
        before = len(state.step.searches)
        state = with_searches(state, branches)
        return state, [list(search.documents) for search in state.step.searches[before:]]

    def _select(
        self, state: State, documents: list[Document], pairs: Sequence[dict[str, Any]] = (), seconds: float = 0.0
    ) -> State:
        method = "qdc" if self.classifier is None else self.classifier.selection
        return with_selection(state, method, documents, pairs, seconds)


def refuse_sending_local(state: State, source: RetrievalSource, documents: Sequence[Document]) -> None:
    """Refuse to search an external source with the text of local documents."""
    external = {source.name, *state.settings.external}
    local = {str(document.meta.get("source")) for document in documents} - external
    if source.external and local:
        raise RunError(
            f"The second stage would send documents of '{min(local)}' to the external source '{source.name}': give the "
            "second stage a local source.",
            state,
        )


async def search_all(calls: Sequence[SourceCall]) -> list[State]:
    """Make several searches, at the same time if that is faster. Return their states in the order of the calls."""
    return await call_matching(_search_in_threads, _search_async, calls)


def _search_in_threads(calls: Sequence[SourceCall]) -> list[State]:
    if all(source.embedded for source, _ in calls):
        return [source.run(state)["state"] for source, state in calls]
    running = [call_in_thread(partial(source.run, state)) for source, state in calls]
    # Also after a failure, wait for all: each ends by its own deadline, and none may outlive the run.
    wait(running)
    return [search.result()["state"] for search in running]


async def _search_async(calls: Sequence[SourceCall]) -> list[State]:
    outputs = await gather(*(source.run_async(state) for source, state in calls))
    return [output["state"] for output in outputs]


def with_searches(state: State, branches: Sequence[State]) -> State:
    """Add the searches and events of ``branches`` to ``state``, from which these parallel searches started."""
    searches_before, events_before = len(state.step.searches), len(state.events)
    searches: tuple[Search, ...] = state.step.searches
    events = state.events
    for branch in branches:
        searches += branch.step.searches[searches_before:]
        events += branch.events[events_before:]
    return replace(state.with_last(searches=searches), events=events)


def with_selection(
    state: State, method: str, documents: list[Document], pairs: Sequence[dict[str, Any]] = (), seconds: float = 0.0
) -> State:
    """Record the selection, and make the selected documents the observation."""
    state = state.with_event(
        "selection",
        method=method,
        **name_documents("documents", documents),
        pairs=list(pairs),
        seconds=round(seconds, 4),
    )
    source = "+".join(dict.fromkeys(str(document.meta["source"]) for document in documents)) or None
    return observe(state, documents, source)


def classifier_error(state: State, error: Exception) -> RunError:
    """Make the error that ends a run when the classifier fails."""
    state = state.with_event("error", caller="pair classifier", message=str(error))
    return RunError(str(error), state)
