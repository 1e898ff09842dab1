"""A source that takes only text, for the tools of an Agent.

Haystack's ComponentTool describes the parameters of a component to a model. It cannot describe a `State`, which the
`run` of a `RetrievalSource` takes.
"""

from haystack import Document, component

from prefrag.components.block import Block
from prefrag.components.both_ways import as_blocking
from prefrag.components.retrievers.provider import Retrieved
from prefrag.components.sources.retrieval_source import RetrievalSource


@component
class TextSource(Block):
    """Search a :class:`RetrievalSource` with text. A ComponentTool can describe this to a model, unlike a state.

    ```python
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore
    from haystack.tools import ComponentTool
    from prefrag.components.sources.retrieval_source import RetrievalSource
    from prefrag.components.sources.text_source import TextSource

    source = RetrievalSource(name="local", retriever=InMemoryBM25Retriever(InMemoryDocumentStore()))
    print(ComponentTool(TextSource(source), name="search").parameters)
    ```
    """

    def __init__(self, source: RetrievalSource):
        """Set the source.

        :param source: The source, with its deadline, retries and gate.
        """
        self.source = source

    def warm_up(self) -> None:
        """Warm up the source."""
        self.source.warm_up()

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int | None = None) -> Retrieved:
        """Search with a query.

        :param query: A question or some words to look for.
        :param top_k: The number of documents to return; by default the source's own number.
        :returns: ``documents``, best first; none if the source is external and its gate is closed.
        :raises RuntimeError: When every attempt has failed.
        """
        return await self.source.run_async(query=query, top_k=top_k)

    run = as_blocking(run_async)
