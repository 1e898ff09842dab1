"""The component that skips retrieval for questions about well-known things."""

from itertools import islice
from typing import Any

from haystack import Document, component

from prefrag.components.adaptive_rag.question_features import names_in
from prefrag.components.block import Block, check_whole_number
from prefrag.components.both_ways import as_blocking, call_component, gather
from prefrag.components.state.state import State
from prefrag.components.text.term_statistics import passage_text
from prefrag.components.text.title_mentions import normalize_words

EVENT = "popularity"
# Each name costs a search, and a question of 4,000 characters could contain hundreds of names.
_MOST_NAMES = 8


@component
class PopularityRouter(Block):
    """Retrieve only if the question's entity is less popular than a threshold (Adaptive Retrieval).

    Popularity is the number of passages that name the entity. If a question names several entities, the least popular
    among the first eight decides. If it names none, the run always retrieves. The passages found here are only counted:
    the answer does not use them.

    ```python
    from prefrag.components.adaptive_rag.popularity_router import PopularityRouter
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
    from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever

    router = PopularityRouter(TantivyBM25Retriever(TantivyDocumentStore(index="mine")), threshold=20)
    ```
    """

    def __init__(self, retriever: Any, threshold: int = 10, depth: int = 100):
        """Set up the component.

        :param retriever: Any keyword retriever, such as BM25.
        :param threshold: Retrieval is skipped if at least this many passages contain the name. With 0, it is skipped
            for every question with a name.
        :param depth: How many passages to retrieve for each name. Only passages that contain the name are counted.
        :raises ValueError: When a number is out of range, or the threshold is above the depth and can never be reached.
        """
        check_whole_number(0, threshold=threshold)
        check_whole_number(1, depth=depth)
        if threshold > depth:
            raise ValueError(f"threshold is {threshold}: set it to at most depth, which is {depth}.")
        self.retriever = retriever
        self.threshold = threshold
        self.depth = depth

    def warm_up(self) -> None:
        """Open the index."""
        if hasattr(self.retriever, "warm_up"):
            self.retriever.warm_up()

    @component.output_types(retrieve=State, no_retrieval=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """For each name in the question, count the passages that contain it. Then choose the output.

        :param state: The state at the start of a run.
        :returns: The state under ``retrieve`` or ``no_retrieval``, with the counts in its trace.
        """
        names = list(islice(dict.fromkeys(names_in(state.question)), _MOST_NAMES))
        try:
            retrieved = await gather(*(self._find(name, state.settings.filters) for name in names))
        except Exception as error:
            # Retrieve as usual: if the index is broken, the search that follows fails too and reports the error.
            return {"retrieve": state.with_event(EVENT, counts={}, retrieves=True, error=str(error))}
        counts = {
            name: count_passages_with_name(name, documents) for name, documents in zip(names, retrieved, strict=True)
        }
        is_known = bool(counts) and min(counts.values()) >= self.threshold
        state = state.with_event(EVENT, counts=counts, threshold=self.threshold, retrieves=not is_known)
        return {"no_retrieval" if is_known else "retrieve": state}

    run = as_blocking(run_async)

    async def _find(self, name: str, filters: Any) -> list[Document]:
        asked = {"query": name, "top_k": self.depth} | ({"filters": filters} if filters else {})
        return list((await call_component(self.retriever, asked))["documents"])


def count_passages_with_name(name: str, documents: list[Document]) -> int:
    """Count the passages that contain a name, ignoring case and accents."""
    wanted = f" {normalize_words(name)} "
    return sum(wanted in f" {normalize_words(passage_text(document))} " for document in documents)
