"""Make a simulated web as noisy as the real web.

A corpus in place of the web is cleaner than the real web. This module cuts its passages to snippets. It also inserts
junk passages, which have nothing to do with the query.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from haystack import Document, component

from prefrag.components.block import Block
from prefrag.components.both_ways import as_blocking
from prefrag.components.text.term_statistics import passage_text, words
from prefrag.components.web.web_retriever import WebRetriever
from prefrag.evaluation.datasets import load_questions, read_passages
from prefrag.evaluation.datasets.jsonl import SPLIT
from prefrag.evaluation.simulated_reader.gold import cut_to_sentences
from prefrag.evaluation.simulated_reader.policy import draw

# Junk is drawn from this number of passages of a corpus. The number is large enough for variety, and small enough to
# fit into memory.
_POOL = 2_000
# The maximum number of passages that are drawn until one is accepted as junk. If none is, the real result stays.
_TRIES = 50


@component
class NoisyWeb(Block):
    """Make a corpus in place of the web look like a search engine, which shows snippets and some junk.

    At each rank of the results, a junk passage is inserted with the probability ``junk``. The real results then move
    down, and the last of them drop off the list. Junk passages come from the same corpus. They are not gold passages,
    and share no word of four letters or more with the query.

    All draws depend only on the seed, the query and the rank. So the same query always gets the same results.
    """

    def __init__(
        self,
        web: WebRetriever,
        sentences: int = 0,
        junk: float = 0.0,
        corpus: str | None = None,
        questions: str | None = None,
        format: str = "auto",
        seed: int = 0,
    ):
        """Create a NoisyWeb component.

        :param web: The retriever that searches the corpus in place of the web.
        :param sentences: The number of sentences that are shown of each passage. 0 means all.
        :param junk: The probability, from 0 to 1, that a rank gets a junk passage.
        :param corpus: The file from which junk passages are drawn. It may be None if ``junk`` is 0.
        :param questions: The file of questions, whose gold passages are never used as junk.
        :param format: The format of the file of questions. "auto" means that it is detected.
        :param seed: The seed of all draws.
        :raises ValueError: If junk is wanted but no corpus is named.
        """
        if junk and corpus is None:
            raise ValueError("Junk passages are drawn from a corpus: set corpus.")
        self.web = web
        self.sentences = sentences
        self.junk = junk
        self.corpus = corpus
        self.questions = questions
        self.format = format
        self.seed = seed

    @property
    def stays_local(self) -> bool:
        """Whether an index replaces the web, so that queries stay on this machine."""
        return self.web.stays_local

    @property
    def provider(self) -> str:
        """The name of the web search in the trace."""
        return f"noisy {self.web.provider}"

    def warm_up(self) -> None:
        """Warm up the retriever, and read the passages from which junk is drawn."""
        self.web.warm_up()
        self._pool()

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int = 10) -> dict[str, list[Document]]:
        """Search, and add noise to the results.

        :param query: The query.
        :param top_k: The maximum number of results.
        :returns: A dictionary with the key ``documents``: the results, some of which may be junk.
        """
        result = await self.web.run_async(query, top_k)
        return {"documents": self._add_noise(query, result["documents"])}

    run = as_blocking(run_async)

    def _pool(self) -> Sequence[Document]:
        """Return the passages from which junk is drawn. They are empty if there is no junk."""
        if not self.junk or self.corpus is None:
            return ()
        return _read_pool(self.corpus, self.questions, self.format)

    def _add_noise(self, query: str, pages: list[Document]) -> list[Document]:
        """Insert junk passages among the results, and cut all of them to snippets."""
        documents = self._mix(query, pages)
        return [replace(page, content=cut_to_sentences(page.content or "", self.sentences)) for page in documents]

    def _mix(self, query: str, pages: list[Document]) -> Iterator[Document]:
        """Yield as many documents as there are results. Some are junk, the others the first results in order."""
        remaining = iter(pages)
        used_ids = {document.id for document in pages}
        query_words = set(words(query))
        for place, displaced in enumerate(pages):
            junk = None
            if draw(self.seed, "web junk", query, place) < self.junk:
                junk = self._draw_junk(query, query_words, place, used_ids)
            if junk is None:
                yield next(remaining)
            else:
                used_ids.add(junk.id)
                # Some pipelines merge lists by score. So a junk passage gets the score of the result whose rank it
                # takes.
                yield replace(junk, score=displaced.score)

    def _draw_junk(self, query: str, query_words: set[str], place: int, used_ids: set[str]) -> Document | None:
        """Draw a passage that was not used yet and shares no word with the query. Return None if none was drawn."""
        pool = self._pool()
        if not pool:
            return None
        for attempt in range(_TRIES):
            position = int(draw(self.seed, "web passage", query, place, attempt) * len(pool))
            passage = pool[position]
            if passage.id not in used_ids and query_words.isdisjoint(words(passage_text(passage))):
                return passage
        return None


@lru_cache(maxsize=4)
def _read_pool(corpus: str, questions: str | None, format: str) -> tuple[Document, ...]:
    """Read the first passages of a corpus from which junk may be drawn.

    Gold passages are left out, and so are passages that belong only to the local source.
    """
    gold: set[str] = set()
    if questions is not None:
        for question in load_questions(questions, format=format):
            gold.update(question.supporting_ids)

    passages = read_passages(corpus)
    candidates = (passage for passage in passages if passage.id not in gold and passage.meta.get(SPLIT) != "local")
    # Only the beginning of the corpus is read.
    return tuple(islice(candidates, _POOL))
