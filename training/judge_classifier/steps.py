"""Simulate runs with a perfect judge, which knows the gold passages: those that are needed to answer a question.

Trees learn to judge like this judge, and are measured against its verdicts.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.judge.switch_features import switch_features
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from prefrag.components.text.term_statistics import TermStatistics, analyze_texts, passage_text
from prefrag.evaluation.datasets.jsonl import SPLIT
from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Passage, fold_words
from prefrag.evaluation.simulated_reader.queries import queries

# A passage without a field `source` is put into the local source, the web or both, at random. These are the weights of
# the draw.
_SHARES = {"local": 2, "web": 1, "both": 1}


@dataclass(frozen=True)
class JudgedStep:
    """A search of the preferred source (which is searched first), and which of the found passages are needed."""

    question_id: str
    question: str
    step: int  # the number of earlier searches
    query: str
    passages: tuple[Document, ...]  # the passages that the search found, best first
    observed: tuple[Document, ...]  # the passages that earlier steps have shown
    features: tuple[dict[str, float], ...]  # the `switch_features` of each passage found
    needed: tuple[bool, ...]  # for each passage found, whether it is needed

    @property
    def keep(self) -> bool:
        """Whether at least one of the passages is needed, so that a perfect judge keeps the results."""
        return any(self.needed)


@dataclass(frozen=True)
class TwoSources:
    """The indexes of the two sources of a corpus."""

    local: TantivyDocumentStore  # the index of the preferred source
    web: TantivyDocumentStore  # the index of the source that the judge switches to

    def swap(self) -> TwoSources:
        """Return the sources with the web as the preferred source."""
        return TwoSources(self.web, self.local)


@contextmanager
def two_sources(passages: Sequence[Document], seed: int, *, draw_all: bool = False) -> Iterator[TwoSources]:
    """Divide passages between two sources, and index them in a temporary folder.

    :param passages: The passages. Their field `source` says where they go: ``local``, ``web`` or ``both``. If it is
        missing, a draw decides.
    :param seed: The seed of the draw.
    :param draw_all: If True, the draw decides for all passages.
    :returns: A context manager, which returns the two sources.
    :raises ValueError: If a source is unknown, or would be empty.
    """
    draw = random.Random(seed)
    drawn_sources = draw.choices(list(_SHARES), weights=list(_SHARES.values()), k=len(passages))
    sources = []
    for passage, drawn_source in zip(passages, drawn_sources, strict=True):
        source = drawn_source if draw_all else str(passage.meta.get(SPLIT) or drawn_source)
        if source not in _SHARES:
            raise ValueError(
                f"A passage of the corpus has the source '{source}': set one of {', '.join(_SHARES)}, or leave it out."
            )
        sources.append(source)

    with tempfile.TemporaryDirectory(prefix="prefrag-train-") as folder:
        stores = {}
        for side in ("local", "web"):
            store = TantivyDocumentStore(path=str(Path(folder) / side))
            own_passages = [
                passage for passage, source in zip(passages, sources, strict=True) if source in (side, "both")
            ]
            if not own_passages:
                raise ValueError(f"The source '{side}' would be empty: some passages need this `source`, or `both`.")
            store.write_documents(own_passages)
            stores[side] = store
        yield TwoSources(**stores)


def simulated_steps(
    questions: Sequence[Question],
    sources: TwoSources,
    texts: dict[str, Document],
    *,
    plain: bool = False,
    judge_first_step: bool = True,
    top_k: int = 5,
    most: int = 3,
) -> Iterator[JudgedStep]:
    """Run questions with the queries of the simulated reader, and yield the steps that a perfect judge decides.

    Each step searches the preferred source. If it finds a gold passage that no earlier step has shown, its results are
    shown. Otherwise the results of the other source are shown. A run ends when all gold passages were shown, when no
    new query is left, or after ``most`` steps.

    :param questions: The questions.
    :param sources: The two sources. ``local`` is the preferred one.
    :param texts: The gold passages, by their ids.
    :param plain: If True, the sub-questions and triples of the questions are not used for queries.
    :param judge_first_step: If False, the first step shows what it finds in the preferred source, needed or not.
    :param top_k: The maximum number of passages that a search finds.
    :param most: The maximum number of steps of a run.
    :returns: The steps in which the preferred source has found passages.
    """
    local = make_source(sources.local, top_k)
    web = make_source(sources.web, top_k)
    terms = RememberedTerms(sources.local)
    for question in questions:
        gold = _with_gold_passages(question, texts, plain)
        needed_ids = frozenset(question.supporting_ids)
        observed: dict[str, Document] = {}
        tried_queries: set[str] = set()
        for step in range(most):
            shown_ids = needed_ids & observed.keys()
            observed_text = " ".join(map(passage_text, observed.values()))
            possible_queries = queries(gold, shown_ids, observed_text)
            query = next((query for query in possible_queries if fold_words(query) not in tried_queries), None)
            if shown_ids == needed_ids or query is None:
                break
            tried_queries.add(fold_words(query))
            documents = local.run(query=query)["documents"]
            needed = tuple(document.id in needed_ids and document.id not in observed for document in documents)
            if documents:
                observed_before = list(observed.values())
                features = switch_features(question.question, query, documents, observed_before, step, terms)
                yield JudgedStep(
                    question_id=question.id,
                    question=question.question,
                    step=step,
                    query=query,
                    passages=tuple(documents),
                    observed=tuple(observed_before),
                    features=tuple(features),
                    needed=needed,
                )

            # A perfect judge keeps new gold passages. If the first step is not judged, it keeps whatever it has found.
            keeps = any(needed)
            if step == 0 and not judge_first_step:
                keeps = bool(documents)
            if not keeps:
                documents = web.run(query=query)["documents"] or documents
            for document in documents:
                observed.setdefault(document.id, document)


def _with_gold_passages(question: Question, texts: Mapping[str, Document], plain: bool) -> GoldQuestion:
    """Return a question with its gold passages. If it is ``plain``, its sub-questions and triples are left out."""
    passages = []
    for key in dict.fromkeys(question.supporting_ids):
        title = str(texts[key].meta.get("title") or "")
        passages.append(Passage(key, title, texts[key].content or ""))
    reduced = replace(question, decomposition=(), evidence_triples=()) if plain else question
    return GoldQuestion(reduced, tuple(passages))


def make_source(store: TantivyDocumentStore, top_k: int) -> RetrievalSource:
    """Make a retrieval source that searches and ranks as the local source in the pipelines does.

    :param store: The index to search.
    :param top_k: The maximum number of passages that a search finds.
    :returns: The source.
    """
    return RetrievalSource(
        "local",
        TantivyBM25Retriever(store),
        ranker=TitleMatchRanker(),
        candidates=50,
        top_k=top_k,
        retry_policy=RetryPolicy(timeout=60.0),
    )


class RememberedTerms:
    """A cache of a store's term statistics. It splits each text only once, and looks up each word only once.

    Do not write to the store while the cache is in use.

    :param statistics: The store, or another object with term statistics.
    """

    def __init__(self, statistics: TermStatistics):
        self._statistics = statistics
        self._analysed: dict[str, list[str]] = {}
        self._total = 0
        self._frequencies: dict[str, int] = {}

    def analyze(self, text: str) -> list[str]:
        """Split a text into terms, as the index does.

        :param text: The text.
        :returns: The terms, in order.
        """
        return self.analyze_many([text])[0]

    def analyze_many(self, texts: list[str]) -> list[list[str]]:
        """Split each text into terms, as the index does.

        :param texts: The texts.
        :returns: For each text, its terms in order.
        """
        unknown = [text for text in dict.fromkeys(texts) if text not in self._analysed]
        self._analysed |= zip(unknown, analyze_texts(unknown, self._statistics), strict=True)
        return [self._analysed[text] for text in texts]

    def document_frequencies(self, words: Iterable[str]) -> tuple[int, Mapping[str, int]]:
        """Count the documents that contain each word.

        :param words: The words.
        :returns: The number of all documents, and for each word the number of documents that contain it.
        """
        words = list(words)
        unknown = [word for word in words if word not in self._frequencies]
        if unknown or not self._total:
            self._total, counted = self._statistics.document_frequencies(unknown)
            self._frequencies |= {word: counted.get(word, 0) for word in unknown}
        return self._total, {word: self._frequencies[word] for word in words}
