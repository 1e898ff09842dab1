"""The steps of runs with a perfect judge: what the trees learn from, and what they are measured on."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Sequence
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
from prefrag.components.text.term_statistics import passage_text
from prefrag.evaluation.datasets.jsonl import SPLIT
from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import GoldQuestion, Passage, spoken
from prefrag.evaluation.simulated_reader.policy import queries
from prefrag.training.judge_classifier.remembered_terms import RememberedTerms

# How a corpus that does not say which source holds a passage is shared out, by weight.
_SHARES = {"local": 2, "web": 1, "both": 1}


@dataclass(frozen=True)
class JudgedStep:
    """A search of the preferred source, and whether it was worth keeping.

    :param question_id: The question of the run.
    :param question: Its text.
    :param step: How many searches went before.
    :param query: What was searched for.
    :param found: The passages that this gave, best first.
    :param observed: The passages that had been shown.
    :param features: What :func:`switch_features` counts of each passage not yet shown.
    :param needed: Of each of these passages, whether it is a gold one.
    """

    question_id: str
    question: str
    step: int
    query: str
    found: tuple[Document, ...]
    observed: tuple[Document, ...]
    features: tuple[dict[str, float], ...]
    needed: tuple[bool, ...]

    @property
    def keep(self) -> bool:
        """Whether it was worth keeping: a gold passage that had not been shown is among those found."""
        return any(self.needed)


@dataclass(frozen=True)
class TwoSources:
    """The indexes of the two sources of a corpus.

    :param local: The preferred one.
    :param web: The one to which the judge switches.
    """

    local: TantivyDocumentStore
    web: TantivyDocumentStore

    def swapped(self) -> TwoSources:
        """Return the same with the web as the preferred source."""
        return TwoSources(self.web, self.local)


@contextmanager
def two_sources(passages: Sequence[Document], seed: int, *, draw_all: bool = False) -> Iterator[TwoSources]:
    """Index a corpus as two sources that each hold what the other lacks.

    :param passages: The passages; ``meta["source_split"]`` says where one belongs: ``local``, ``web`` or ``both``.
    :param seed: Draws where passages belong that do not say so.
    :param draw_all: Draw it also for those that do.
    :returns: A context with the indexes, which are gone after it.
    :raises ValueError: When a passage is of another source, or a source would be empty.
    """
    draw = random.Random(seed)
    drawn = draw.choices(list(_SHARES), weights=list(_SHARES.values()), k=len(passages))
    given = [None if draw_all else passage.meta.get(SPLIT) for passage in passages]
    held = [str(source or share) for source, share in zip(given, drawn, strict=True)]
    if unknown := next((source for source in held if source not in _SHARES), None):
        raise ValueError(
            f"A passage of the corpus has the source '{unknown}': it must be {', '.join(_SHARES)} or none."
        )
    with tempfile.TemporaryDirectory(prefix="prefrag-train-") as folder:
        stores = {}
        for side in ("local", "web"):
            store = TantivyDocumentStore(path=str(Path(folder) / side))
            own = [passage for passage, share in zip(passages, held, strict=True) if share in (side, "both")]
            if not own:
                raise ValueError(f"No passage of the corpus is in the source '{side}': both need some (`source`).")
            store.write_documents(own)
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
    """Run questions as the simulated reader asks them, and keep what a perfect judge sees.

    Each search is of the preferred source. If a gold passage that had not been shown is among those found they are
    shown, otherwise what the other source finds is. A run ends when all gold passages have been shown.

    :param questions: The questions, with gold passages.
    :param sources: Where to search.
    :param texts: The gold passages by their id, as the reader knows them.
    :param plain: Ask without the sub-questions or facts of the dataset: the question, then with the title of a gold
        passage that was shown.
    :param judge_first_step: False keeps what the first search finds, as the pipelines do; it is still given here.
    :param top_k: Passages a search.
    :param most: Searches a question.
    :returns: The steps, question after question.
    """
    local, web = _searching(sources.local, top_k), _searching(sources.web, top_k)
    terms = RememberedTerms(sources.local)
    for question in questions:
        played = replace(question, decomposition=(), evidence_triples=()) if plain else question
        needed = frozenset(question.supporting_ids)
        gold = GoldQuestion(
            played,
            tuple(
                Passage(key, str(texts[key].meta.get("title") or ""), texts[key].content or "")
                for key in dict.fromkeys(question.supporting_ids)
            ),
        )
        observed: dict[str, Document] = {}
        tried: set[str] = set()
        for step in range(most):
            shown = needed & observed.keys()
            seen = " ".join(map(passage_text, observed.values()))
            query = next((query for query in queries(gold, shown, seen) if spoken(query) not in tried), None)
            if shown == needed or query is None:
                break
            tried.add(spoken(query))
            found = local.run(query=query)["documents"]
            new = tuple(document.id in needed for document in found if document.id not in observed)
            if found:
                before = list(observed.values())
                yield JudgedStep(
                    question.id,
                    question.question,
                    step,
                    query,
                    tuple(found),
                    tuple(before),
                    tuple(switch_features(question.question, query, found, before, step, terms)),
                    new,
                )
            if not (any(new) or (step == 0 and not judge_first_step and found)):
                found = web.run(query=query)["documents"] or found
            for document in found:
                observed.setdefault(document.id, document)


def _searching(store: TantivyDocumentStore, top_k: int) -> RetrievalSource:
    """Return a source that finds and sorts as the pipelines' embedded one does."""
    return RetrievalSource(
        "local",
        TantivyBM25Retriever(store),
        ranker=TitleMatchRanker(),
        candidates=50,
        top_k=top_k,
        retry_policy=RetryPolicy(timeout=60.0),
        strict=True,
    )
