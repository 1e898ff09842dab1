"""The retriever that searches the web, or an index in its place."""

from haystack import Document, component

from prefrag.components.block import Block
from prefrag.components.both_ways import blocking, call_component
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_web_index
from prefrag.components.retrievers.provider import Retriever, select_arguments, supported_arguments
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever


@component
class WebRetriever(Block):
    """Search the web, or an index that stands in for it.

    The stand-in is the index named by ``index``, or by ``PREFRAG_WEB_INDEX``. While the local index is the demo, the
    web corpus of the demo stands in, so that the demo needs no network. A query to a stand-in stays local.
    """

    external = True

    def __init__(
        self,
        search: Retriever,
        index: str | None = None,
        demo_stand_in: bool = True,
        local_index: str | None = None,
    ):
        """Set the web search and its stand-in; neither is opened yet.

        :param search: The component that searches the web.
        :param index: The name of an index that stands in for the web.
        :param demo_stand_in: Whether the web corpus of the demo stands in while the embedded index is the demo; false
            if the local documents are in another store.
        :param local_index: The name of the embedded index, which shows whether it is the demo; None for
            ``PREFRAG_INDEX``, else ``default``, else the demo.
        """
        self.search = search
        self.index = index
        self.demo_stand_in = demo_stand_in
        self.local_index = local_index

    @property
    def stays_local(self) -> bool:
        """Whether an index stands in for the web, so that queries stay local."""
        try:
            return self._choose() is not self.search
        except (OSError, ValueError):
            # A stand-in that cannot be opened must fail: it must not be replaced by the web.
            return True

    @property
    def provider(self) -> str:
        """The name of what is searched, for the trace."""
        return "stand-in index" if self.stays_local else type(self.search).__name__

    def warm_up(self) -> None:
        """Check that the stand-in exists, if one is named, and warm up what will be searched."""
        chosen = self._choose()
        if hasattr(chosen, "warm_up"):
            chosen.warm_up()

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int = 10) -> dict[str, list[Document]]:
        """Search the web or its stand-in.

        :param query: The query.
        :param top_k: The number of results to return.
        :returns: ``documents``, best first.
        """
        chosen = self._choose()
        # Some of Haystack's web searches take the number of results only in their settings.
        arguments = select_arguments(supported_arguments(chosen), query=query, top_k=top_k)
        return {"documents": (await call_component(chosen, arguments))["documents"]}

    run = blocking(run_async)

    def _choose(self) -> Retriever:
        # Chosen at every call, so that a server that started on the demo finds an index made later.
        path = resolve_web_index(self.index, local=self.local_index, demo=self.demo_stand_in)
        return self.search if path is None else TantivyBM25Retriever(TantivyDocumentStore(path=str(path)))
