"""The retriever that finds passages by words and by mentioned titles, and ranks them by the scores of passage pairs.

A passage mentions a title if the title of another passage stands in its text. A mention links the two passages, which
is useful for questions that need two passages. The steps of a search are:

1. Find documents by the words of the query, and documents whose titles the query mentions.
2. Choose the documents to search for titles: the latest observed documents, which earlier steps of the run found, and
   the best new documents.
3. Find the documents whose titles these documents mention.
4. Score pairs of documents with the pair classifier, and rank all new documents.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol

from haystack import Document, component
from haystack.errors import FilterError

from prefrag.components.block import Block, check_range, check_whole_number
from prefrag.components.both_ways import as_blocking, call_component, gather, in_thread_async
from prefrag.components.pair_classifier.pair_scorer import PairScorer
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.retrievers.provider import (
    Retrieved,
    Retriever,
    apply_filters,
    count_lookups,
    select_arguments,
    supported_arguments,
)
from prefrag.components.retrievers.search_settings import wanted_top_k
from prefrag.components.state.filters import Filters
from prefrag.components.state.state import Identity, identity
from prefrag.components.text.term_statistics import TermStatistics

logger = logging.getLogger(__name__)


class Links(Protocol):
    """Any component that finds the passages that a query or other passages mention."""

    def run(
        self,
        query: str = "",
        documents: list[Document] | None = None,
        top_k: int | None = None,
        filters: Filters | None = None,
    ) -> Retrieved:
        """Find the passages whose titles a query or documents mention.

        :param query: A text that may mention titles. Empty if only the documents are searched.
        :param documents: Documents that may mention titles. They are not returned themselves.
        :param top_k: The maximum number of passages. None stands for the component's own number.
        :param filters: Haystack metadata filters. None searches all passages.
        :returns: A dictionary with the key ``documents``.
        """


@component
class LinkedRetriever(Block):
    """Find passages by words and by titles that a text mentions, and rank each by its best pair with another passage.

    Three kinds of text are searched for titles: the query, the best documents for the query, and the observed
    documents, which earlier steps found. Every candidate is paired with every document that was searched for titles,
    because a question with two hops needs two passages. A classifier (section 2.2.2 of DR-RAG) estimates the
    probability that the question needs both passages. The score of a candidate is the score of its best pair plus a
    bonus for its rank in the search by words.

    A :class:`RetrievalSource` passes the question and the observed documents to this retriever. Observed documents may
    be found again. A source with ``observed_last`` puts them after the new documents.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.retrievers.linked_retriever import LinkedRetriever
    from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
    from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever

    store = TantivyDocumentStore(path="my-index")
    store.write_documents([Document(content="A square in Vienna.", meta={"title": "Karlsplatz"})])
    retriever = LinkedRetriever(TantivyBM25Retriever(store), TitleMentionRetriever(store))
    observed = [Document(content="The Karlskirche stands at Karlsplatz.", meta={"title": "Karlskirche"})]
    print(retriever.run("Where is the Karlskirche?", observed=observed)["documents"])
    ```
    """

    def __init__(
        self,
        retriever: Retriever,
        links: Links,
        engine: PairScorer | None = None,
        top_k: int = 10,
        candidates: int = 20,
        first_stage_depth: int = 6,
        link_depth: int = 20,
        observed_depth: int = 10,
        rank_weight: float = 1.0,
    ) -> None:
        """Set the components, and how many documents each step of a search uses.

        :param retriever: The retriever that finds documents by words, or by vectors.
        :param links: The retriever that finds documents by mentioned titles: a :class:`TitleMentionRetriever` over
            the same store.
        :param engine: The scorer of pairs. If None, the shipped decision trees are used, with the word counts of the
            store.
        :param top_k: The maximum number of documents to return.
        :param candidates: The number of documents found by words that are paired. Further documents get only the bonus
            for their rank.
        :param first_stage_depth: The number of documents found by words that are searched for titles. It is also the
            maximum number of documents that are added because the query mentions their titles.
        :param link_depth: The maximum number of documents that are added because the searched documents mention their
            titles.
        :param observed_depth: The number of the latest observed documents that are searched for titles.
        :param rank_weight: The bonus of the best document found by words. The second document gets half of the bonus,
            the third document a third, and so on. Scores of pairs are from 0 to 1, so the order by words decides if the
            bonus is large.
        :raises ValueError: When a component has no `run` or `score`, or a number is invalid.
        """
        for part, label in ((retriever, "retriever"), (links, "links")):
            if not callable(getattr(part, "run", None)):
                raise ValueError(f"`{label}` has no `run`: give a Haystack component.")
        if engine is not None and not callable(getattr(engine, "score", None)):
            raise ValueError("The engine has no `score(question, pairs)`: give a pair scorer.")
        check_whole_number(
            1, top_k=top_k, candidates=candidates, first_stage_depth=first_stage_depth, link_depth=link_depth
        )
        check_whole_number(0, observed_depth=observed_depth)
        check_range(0, 1e6, rank_weight=rank_weight)
        self.retriever = retriever
        self.links = links
        self.engine = TreePairScorer(term_statistics=_term_statistics(retriever)) if engine is None else engine
        self.top_k = top_k
        self.candidates = candidates
        self.first_stage_depth = first_stage_depth
        self.link_depth = link_depth
        self.observed_depth = observed_depth
        self.rank_weight = rank_weight
        self._supported = supported_arguments(retriever)

    def warm_up(self) -> None:
        """Warm up the components and load the classifier. If the index has no titles, only a warning is logged.

        :raises FileNotFoundError: When the index or the file of the classifier does not exist.
        """
        for part in (self.retriever, self.engine):
            if hasattr(part, "warm_up"):
                part.warm_up()
        try:
            if hasattr(self.links, "warm_up"):
                self.links.warm_up()
        except FileNotFoundError:
            raise
        except Exception as error:
            self._log_failed_links(error)

    @property
    def document_store(self) -> object:
        """The store of the retriever, which counts words. None if the retriever has no store."""
        return getattr(self.retriever, "document_store", None)

    @component.output_types(documents=list[Document], errors=list[str], lookups=int)
    async def run_async(
        self,
        query: str,
        top_k: int | None = None,
        filters: Filters | None = None,
        question: str | None = None,
        observed: list[Document] | None = None,
    ) -> Retrieved:
        """Find documents by words and by mentioned titles.

        :param query: Any text.
        :param top_k: The maximum number of documents to return. If None, the `top_k` of the constructor is used.
        :param filters: Haystack metadata filters. If a retriever takes no filters, they are applied to its
            documents here. None searches all documents.
        :param question: The question of the user, for which pairs are scored. If None, the query is used.
        :param observed: The documents of earlier steps, from any source. An observed document is returned only if this
            search finds it again. None means that there are none.
        :returns: A dictionary with the following keys:
            - `documents`: The documents with their scores, best first.
            - `errors`: The error messages if `links` failed.
            - `lookups`: The number of queries that all components sent.
        :raises ValueError: When top_k is under 1, or the engine returns too few or too many scores.
        :raises FilterError: When a component cannot apply the filters.
        :raises FileNotFoundError: When there is no trained classifier.
        """
        most = wanted_top_k(self.top_k, top_k)
        errors: list[str] = []
        arguments = select_arguments(self._supported, query=query, top_k=max(self.candidates, most), filters=filters)
        outputs = await gather(
            call_component(self.retriever, arguments),
            self._call_links(errors, query=query, top_k=self.first_stage_depth, filters=filters),
        )
        output_by_words, _ = outputs
        output_by_words["documents"] = apply_filters(self.retriever, output_by_words["documents"], filters)

        leading = self._choose_leading(outputs, observed or [])
        # After a failure, a second call of `links` would most likely fail, too.
        if not errors:
            outputs.append(await self._call_links(errors, documents=leading, top_k=self.link_depth, filters=filters))
        documents = await self._rank_async(question or query, leading, outputs)
        return {"documents": documents[:most], "errors": errors, "lookups": sum(map(count_lookups, outputs))}

    run = as_blocking(run_async)

    async def _call_links(self, errors: list[str], **arguments: object) -> Retrieved:
        """Find documents by mentioned titles. After a failure, add a message to ``errors`` and return no documents."""
        try:
            output = await call_component(self.links, arguments)
            return {**output, "documents": list(output["documents"])}
        except FilterError:
            raise
        except Exception as error:
            errors.append(self._log_failed_links(error))
            return {"documents": []}

    def _log_failed_links(self, error: Exception) -> str:
        """Log that passages are not searched by title, and return the message."""
        reason = str(error) or type(error).__name__
        message = f"{type(self.links).__name__}: {reason}"
        logger.warning("A linked search continues without passages that are mentioned by title. %s", message)
        return message

    def _choose_leading(self, outputs: Sequence[Retrieved], observed: Sequence[Document]) -> list[Document]:
        """Choose the documents to search for titles: the latest observed documents, then the best new documents."""
        by_words, mentioned = (output["documents"] for output in outputs)
        first_latest = max(0, len(observed) - self.observed_depth)
        latest = observed[first_latest:]
        seen = {identity(document) for document in observed}
        best = [*by_words[: self.first_stage_depth], *mentioned]
        best_new = [document for document in best if identity(document) not in seen]
        # The dictionary has each document once.
        leading = {identity(document): document for document in (*latest, *best_new)}
        return list(leading.values())

    def _rank(self, question: str, leading: Sequence[Document], outputs: Sequence[Retrieved]) -> list[Document]:
        """Rank all found documents by the scores of their best pairs and their ranks by words.

        ``leading`` are the documents that were searched for titles. They are one document of each pair.
        """
        by_words, *lists_of_mentioned = (output["documents"] for output in outputs)
        mentioned = list(chain.from_iterable(lists_of_mentioned))
        candidates = by_words[: self.candidates]
        paired = {identity(document): document for document in (*leading, *candidates, *mentioned)}
        scores = self._best_pairs(question, leading, paired)

        for rank, document in enumerate(by_words, start=1):
            key = identity(document)
            bonus = self.rank_weight / rank
            scores[key] = scores.get(key, 0.0) + bonus
        unique = {identity(document): document for document in (*by_words, *mentioned)}
        scored = [replace(document, score=scores[key]) for key, document in unique.items()]
        return sorted(scored, key=lambda document: -(document.score or 0.0))

    # `_rank` runs in a thread, because the word counts may come from a server.
    _rank_async = in_thread_async(_rank)

    def _best_pairs(
        self, question: str, leading: Sequence[Document], documents: Mapping[Identity, Document]
    ) -> dict[Identity, float]:
        """Return for each document the score of its best pair.

        Each of the leading documents, which are among ``documents``, is paired with all others.
        """
        pairs: list[tuple[Identity, Identity]] = []
        for document in leading:
            first = identity(document)
            pairs += [(first, second) for second in documents if second != first]
        scores: list[float] = []
        if pairs:
            pairs_of_documents = [(documents[first], documents[second]) for first, second in pairs]
            scores = self.engine.score(question, pairs_of_documents)
        if len(scores) != len(pairs):
            raise ValueError(f"The pair classifier gave {len(scores)} scores for {len(pairs)} pairs.")

        best = dict.fromkeys(documents, 0.0)
        for pair, score in zip(pairs, scores, strict=True):
            for key in pair:
                best[key] = max(best[key], float(score))
        return best


def _term_statistics(retriever: Any) -> TermStatistics | None:
    """Return the object that counts words: the retriever itself or its store. Return None if neither can count."""
    for part in (retriever, getattr(retriever, "document_store", None)):
        if callable(getattr(part, "document_frequencies", None)):
            return part
    return None
