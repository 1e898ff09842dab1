"""The retriever that searches the web, or a local index in place of the web.

A local index in place of the web is called a stand-in. The demo and tests use one, because a query to a stand-in stays
on this machine and needs no network.
"""

from haystack import Document, component

from prefrag.components.block import Block
from prefrag.components.both_ways import as_blocking, call_component
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_web_index
from prefrag.components.retrievers.provider import Retrieved, Retriever, select_arguments, supported_arguments
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever


@component
class WebRetriever(Block):
    """Search the web, or a stand-in: a local index in place of the web.

    ``index`` or ``PREFRAG_WEB_INDEX`` names the stand-in. If neither is set and the local index is ``demo``, the
    stand-in is ``demo-web``, so that the demo needs no network. Otherwise, the web is searched.
    """

    external = True

    def __init__(
        self, search: Retriever, index: str | None = None, demo_stand_in: bool = True, local_index: str | None = None
    ):
        """Set the web search and its stand-in. Neither of them is opened yet.

        :param search: The component that searches the web.
        :param index: The name of the stand-in. If None, the value of ``PREFRAG_WEB_INDEX`` is used.
        :param demo_stand_in: Whether ``demo-web`` is the stand-in while the local index is ``demo``. Use False if the
            local documents are in a store that is not an embedded index.
        :param local_index: The name of the local index. If None, the value of ``PREFRAG_INDEX`` is used. If this
            variable is not set either, the name is the user's own default index, or ``demo`` if the user has none.
        """
        self.search = search
        self.index = index
        self.demo_stand_in = demo_stand_in
        self.local_index = local_index

    @property
    def stays_local(self) -> bool:
        """Whether the searches use a stand-in, so that queries stay on this machine."""
        try:
            return self._choose() is not self.search
        except (OSError, ValueError):
            # If the stand-in cannot be opened, the search must fail. The query must not go to the web instead.
            return True

    @property
    def provider(self) -> str:
        """The name of the searched index or web search, for the trace."""
        return "stand-in index" if self.stays_local else type(self.search).__name__

    def warm_up(self) -> None:
        """Warm up the stand-in or the web search. If the settings name a stand-in, its index must exist."""
        chosen = self._choose()
        if hasattr(chosen, "warm_up"):
            chosen.warm_up()

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int = 10) -> Retrieved:
        """Search the web or its stand-in.

        :param query: The query.
        :param top_k: The maximum number of results. A web search that takes this number only in its settings ignores
            the parameter.
        :returns: A dictionary with the key ``documents``: the results, best first.
        """
        chosen = self._choose()
        # Some of Haystack's web searches take the number of results only in their settings.
        arguments = select_arguments(supported_arguments(chosen), query=query, top_k=top_k)
        output = await call_component(chosen, arguments)
        return {"documents": output["documents"]}

    run = as_blocking(run_async)

    def _choose(self) -> Retriever:
        """Return the stand-in, or the web search if there is no stand-in."""
        # The choice is made at every call. The user of a running server may make an index, which then replaces the
        # demo.
        path = resolve_web_index(self.index, local=self.local_index, demo=self.demo_stand_in)
        if path is None:
            return self.search
        return TantivyBM25Retriever(TantivyDocumentStore(path=str(path)))
