"""The component that retrieves only for questions about things that are not well known."""

from itertools import islice
from typing import Any

from haystack import Document, component

from prefrag.components.adaptive_rag.question_features import names_in
from prefrag.components.block import Block, check_whole
from prefrag.components.both_ways import blocking, call_component, gather
from prefrag.components.state.state import State
from prefrag.components.text.term_statistics import passage_text
from prefrag.components.text.title_mentions import comparable

EVENT = "popularity"
# A question may be 4,000 characters long, and each name is a search.
_MOST_NAMES = 8


@component
class PopularityRouter(Block):
    """Retrieve only where the question's entity is less popular than a threshold (Adaptive Retrieval).

    Popularity is the number of passages that name the entity. If a question names several, the least popular of the
    first eight counts; a question that names nothing is always searched for. What is looked up here is only counted,
    never shown.

    ```python
    from prefrag.components.adaptive_rag.popularity_router import PopularityRouter
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
    from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever

    router = PopularityRouter(TantivyBM25Retriever(TantivyDocumentStore(index="mine")), threshold=20)
    ```
    """

    def __init__(self, retriever: Any, threshold: int = 10, depth: int = 100):
        """Set up the component.

        :param retriever: Any retriever of passages by words, such as BM25.
        :param threshold: The popularity, in passages, from which on nothing is retrieved; 0 never retrieves for a
            question that names something.
        :param depth: The number of passages in which a name is looked for, the best matches of its words.
        :raises ValueError: When a number makes no sense, or the threshold is over the depth and so never reached.
        """
        check_whole(0, threshold=threshold)
        check_whole(1, depth=depth)
        if threshold > depth:
            raise ValueError(f"threshold is {threshold} and depth {depth}: set threshold to at most depth.")
        self.retriever = retriever
        self.threshold = threshold
        self.depth = depth

    def warm_up(self) -> None:
        """Open the index."""
        if hasattr(self.retriever, "warm_up"):
            self.retriever.warm_up()

    @component.output_types(retrieve=State, no_retrieval=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """Count the passages that name what the question names.

        :param state: The state at the start of a run.
        :returns: The state under one output, with the counts in its trace.
        """
        names = list(islice(dict.fromkeys(names_in(state.question)), _MOST_NAMES))
        try:
            found = await gather(*(self._find(name, state.settings.filters) for name in names))
        except Exception as error:
            # The source that is searched next will report what is wrong with the index.
            return {"retrieve": state.with_event(EVENT, counts={}, retrieves=True, error=str(error))}
        counts = {name: count_naming(name, documents) for name, documents in zip(names, found, strict=True)}
        known = bool(counts) and min(counts.values()) >= self.threshold
        state = state.with_event(EVENT, counts=counts, threshold=self.threshold, retrieves=not known)
        return {"no_retrieval" if known else "retrieve": state}

    run = blocking(run_async)

    async def _find(self, name: str, filters: Any) -> list[Document]:
        asked = {"query": name, "top_k": self.depth} | ({"filters": filters} if filters else {})
        return list((await call_component(self.retriever, asked))["documents"])


def count_naming(name: str, documents: list[Document]) -> int:
    """Count the passages that contain a name, whatever its case and accents."""
    wanted = f" {comparable(name)} "
    return sum(wanted in f" {comparable(passage_text(document))} " for document in documents)
