"""The component that runs both stages of DR-RAG, and searches by words and by titles.

The searches of a stage run at the same time. Each search begins with the same state, and the results of all searches
are then added to this state.
"""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from haystack import Document, component

from prefrag.components.block import Block, check_whole_number
from prefrag.components.both_ways import as_blocking
from prefrag.components.dr_rag.open_question_query import OpenQuestionQuery
from prefrag.components.dr_rag.query_doc_concat import QueryDocConcat
from prefrag.components.dr_rag.second_stage import (
    SourceCall,
    classifier_error,
    refuse_sending_local,
    search_all,
    with_searches,
    with_selection,
)
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.state import Identity, State, identity


@component
class LinkedStages(Block):
    """Run both retrieval stages of DR-RAG and select documents. Both stages also find documents by mentioned titles.

    The first stage searches for the question, and finds documents whose titles the question mentions. For each of these
    documents, the second stage makes three searches:

    1. A search with the question joined with the document (section 2.2.1 of DR-RAG).
    2. A search with the names in the document and the words of the question that are not in the document.
    3. A search for documents whose titles the document mentions.

    From all these documents, a :class:`PairClassifier` selects the documents for the prompt of the language model.
    """

    def __init__(
        self,
        source: RetrievalSource,
        links: RetrievalSource,
        classifier: PairClassifier | None = None,
        concat: QueryDocConcat | None = None,
        open_question: OpenQuestionQuery | None = None,
        first_stage_depth: int = 6,
        second_stage_depth: int = 8,
    ):
        """Set the components and the depths.

        :param source: The source that finds documents by words.
        :param links: The source that finds documents whose titles a text mentions, with a
            :class:`TitleMentionRetriever`. It must have the same name as ``source``.
        :param classifier: The component that selects documents, and its method of selection (see
            :class:`PairClassifier`). If None, boosted decision trees and the method ``fill`` are used. With the methods
            of the paper, ``cis`` and ``cfs``, the first stage keeps at most ``top_k`` / 2 documents, rounded up.
        :param concat: The maker of the second-stage queries of the paper. If None, the defaults of
            :class:`QueryDocConcat` apply.
        :param open_question: The maker of the queries with names and open words. If None, the search with these queries
            is left out.
        :param first_stage_depth: The number of documents that each search of the first stage retrieves.
        :param second_stage_depth: The number of documents that each search of the second stage retrieves.
        :raises ValueError: When a source is not a RetrievalSource, or a number is under 1.
        """
        for name, part in (("source", source), ("links", links)):
            if not isinstance(part, RetrievalSource):
                raise ValueError(f"`{name}` is not a RetrievalSource: put your retriever into a RetrievalSource.")
        check_whole_number(1, first_stage_depth=first_stage_depth, second_stage_depth=second_stage_depth)
        self.source = source
        self.links = links
        self.classifier = PairClassifier(selection="fill") if classifier is None else classifier
        self.concat = QueryDocConcat() if concat is None else concat
        self.open_question = open_question
        self.first_stage_depth = first_stage_depth
        self.second_stage_depth = second_stage_depth

    def warm_up(self) -> None:
        """Warm up the sources and the classifier."""
        for part in (self.source, self.links, self.classifier):
            part.warm_up()

    @component.output_types(state=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Retrieve in both stages and select documents.

        :param state: The state whose query is the question.
        :returns: A dictionary with the key ``state``: the state with the searches of both stages. The selected
            documents are its observation, which is what the language model gets.
        :raises RunError: When the classifier is missing or fails, or local documents would be sent to an external
            source. The error contains the state.
        """
        state, documents, candidates = await self.gather_async(state)
        started = time.perf_counter()
        try:
            output = await self.classifier.run_async(state.question, documents, candidates, state.settings.top_k)
        except Exception as error:
            raise classifier_error(state, error) from error
        return {"state": self._select(state, output, started)}

    run = as_blocking(run_async)

    async def gather_async(self, state: State) -> tuple[State, list[Document], list[list[Document]]]:
        """Retrieve the documents from which the classifier selects. The training of the classifier also calls this.

        :param state: The state whose query is the question.
        :returns: Three values: the state with the searches, the documents of the first stage, and for each of these
            documents its candidates from the second stage.
        :raises RunError: When local documents would be sent to an external source. The error contains the state.
        """
        first_branches = await search_all(self._first_calls(state))
        state, documents = self._first_stage(state, first_branches)
        second_branches = await search_all(self._second_calls(state, documents))
        state, candidates = self._second_stage(state, documents, second_branches)
        return state, documents, candidates

    gather = as_blocking(gather_async)

    def _first_calls(self, state: State) -> list[SourceCall]:
        """List the searches of the first stage."""
        stage_state = _with_depth(state, self.first_stage_depth)
        return [(self.source, stage_state), (self.links, stage_state)]

    def _first_stage(self, state: State, branches: Sequence[State]) -> tuple[State, list[Document]]:
        """Add the searches of the first stage to the state, and return the state and the documents of this stage."""
        searches_before = len(state.step.searches)
        state = with_searches(state, branches)
        new_searches = state.step.searches[searches_before:]
        documents = list(_unique(search.documents for search in new_searches).values())
        if self.classifier.selection == "fill":
            return state, documents
        # The methods `cis` and `cfs` select all documents of the first stage. So these may take at most half of the
        # `top_k` places, and the rest is left for the second stage.
        return state, documents[: math.ceil(state.settings.top_k / 2)]

    def _second_calls(self, state: State, documents: list[Document]) -> list[SourceCall]:
        """List the searches of the second stage, grouped by kind. Each group has one search per document.

        :meth:`_second_stage` relies on this order of the searches.
        """
        for source in (self.source, self.links):
            refuse_sending_local(state, source, documents)
        stage_state = _with_depth(state, self.second_stage_depth)
        calls: list[SourceCall] = []
        for document in documents:
            calls.append((self.links, stage_state.with_last(query=document.content or "")))
        for maker in (self.open_question, self.concat):
            if maker is not None:
                for query in maker.run(state.question, documents)["queries"]:
                    calls.append((self.source, stage_state.with_last(query=query)))
        return calls

    def _second_stage(
        self, state: State, documents: Sequence[Document], branches: Sequence[State]
    ) -> tuple[State, list[list[Document]]]:
        """Add the searches of the second stage to the state, and return the state and each document's candidates."""
        searches_before = len(state.step.searches)
        state = with_searches(state, branches)
        rankings = [search.documents for search in state.step.searches[searches_before:]]
        candidates = []
        for place, document in enumerate(documents):
            # Each group of searches has one for each document, in the order of the documents. For the documents A and
            # B, the rankings are those of A, B, A, B and so on. So those of B have the places 1, 3 and so on.
            rankings_of_document = rankings[place :: len(documents)]
            unique = _unique(rankings_of_document)
            unique.pop(identity(document), None)
            candidates.append(list(unique.values()))
        return state, candidates

    def _select(self, state: State, output: dict[str, Any], started: float) -> State:
        """Record the output of the classifier, which began at ``started``, and set the observation."""
        return with_selection(
            state,
            method=self.classifier.selection,
            documents=output["documents"],
            pairs=output["pairs"],
            seconds=time.perf_counter() - started,
        )


def _with_depth(state: State, depth: int) -> State:
    """Return the state with ``depth`` as the number of documents of each search."""
    return replace(state, settings=replace(state.settings, top_k=depth))


def _unique(rankings: Iterable[Iterable[Document]]) -> dict[Identity, Document]:
    """Collect the documents of several rankings by identity, in order and each once."""
    documents: dict[Identity, Document] = {}
    for ranking in rankings:
        for document in ranking:
            documents.setdefault(identity(document), document)
    return documents
