"""The component that skips retrieval for questions about well-known things.

A language model often knows well-known things without retrieval. How well known a thing is, is estimated from the
number of passages with its name.
"""

from collections.abc import Mapping
from itertools import islice

from haystack import Document, component

from prefrag.components.adaptive_rag.question_features import names_in
from prefrag.components.block import Block, check_whole_number
from prefrag.components.both_ways import as_blocking, call_component, gather
from prefrag.components.retrievers.provider import Retriever
from prefrag.components.state.state import State
from prefrag.components.text.term_statistics import passage_text
from prefrag.components.text.title_mentions import normalize_words

# The name of this component's event in the trace.
EVENT = "popularity"
# At most this many names of a question are counted. Each name needs a search, and a question of 4,000 characters could
# contain hundreds of names.
_MOST_NAMES = 8


@component
class PopularityRouter(Block):
    """Retrieve only if the entity in the question is less popular than a threshold (Adaptive Retrieval).

    The popularity of an entity is the number of passages that contain its name. If a question names several entities,
    the least popular of the first eight entities decides. If a question names no entity, the run always retrieves. The
    passages found here are only counted. They are not used for the answer.

    Usage example:
    ```python
    from prefrag.components.adaptive_rag.popularity_router import PopularityRouter
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
    from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever

    router = PopularityRouter(TantivyBM25Retriever(TantivyDocumentStore(index="mine")), threshold=20)
    ```
    """

    def __init__(self, retriever: Retriever, threshold: int = 10, depth: int = 100):
        """Set up the component.

        :param retriever: Any keyword retriever, such as BM25.
        :param threshold: Retrieval is skipped if at least this many passages contain the name. With 0, retrieval is
            skipped for every question with a name.
        :param depth: The number of passages to retrieve for each name. Only passages that contain the name are counted.
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
        """Count the passages for each name in the question, and choose the output.

        :param state: The state at the start of a run.
        :returns: A dictionary with the key ``retrieve`` or ``no_retrieval``: the state, with the counts in its trace.
        """
        different_names = dict.fromkeys(names_in(state.question))
        names = list(islice(different_names, _MOST_NAMES))
        try:
            retrieved = await gather(*(self._find(name, state.settings.filters) for name in names))
        except Exception as error:
            # The run retrieves as usual. If the index is broken, the search that follows also fails and reports the
            # error.
            return {"retrieve": state.with_event(EVENT, counts={}, retrieves=True, error=str(error))}
        counts = {}
        for name, documents in zip(names, retrieved, strict=True):
            counts[name] = count_passages_with_name(name, documents)
        is_known = bool(counts) and min(counts.values()) >= self.threshold
        state = state.with_event(EVENT, counts=counts, threshold=self.threshold, retrieves=not is_known)
        output = "no_retrieval" if is_known else "retrieve"
        return {output: state}

    run = as_blocking(run_async)

    async def _find(self, name: str, filters: Mapping[str, object] | None) -> list[Document]:
        """Retrieve the passages for a name."""
        arguments: dict[str, object] = {"query": name, "top_k": self.depth}
        if filters:
            arguments["filters"] = filters
        output = await call_component(self.retriever, arguments)
        return list(output["documents"])


def count_passages_with_name(name: str, documents: list[Document]) -> int:
    """Count the passages that contain a name, without regard to case and accents.

    For example, ``count_passages_with_name("Zoé", [Document(content="ZOE sails.")])`` returns ``1``.

    :param name: The name. It must stand in the title or the content as whole words.
    :param documents: The passages.
    :returns: The number of passages with the name.
    """
    wanted = f" {normalize_words(name)} "
    count = 0
    for document in documents:
        text = normalize_words(passage_text(document))
        if wanted in f" {text} ":
            count += 1
    return count
