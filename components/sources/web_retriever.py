"""The web, or the corpus that stands in for it."""

from __future__ import annotations

from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.core.serialization import component_to_dict

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_web_index
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.sources.retrieval_source import Retriever, accepted, asked


@component
class WebRetriever:
    """Searches the web, unless an index has been set in its place.

    The stand-in is the index named here, or in ``PREFRAG_WEB_INDEX``; while the local index is the demo, it is the
    demo's own, so that the demo needs no network. A query to a stand-in does not leave the house.
    """

    external = True

    def __init__(
        self,
        search: Retriever,
        index: str | None = None,
        demo_stand_in: bool = True,
        local_index: str | None = None,
    ):
        """
        :param search: The component that searches the web.
        :param index: The name of an index that stands in for the web.
        :param demo_stand_in: Let the demo's own web stand in while the embedded index is the demo; false where the
            house's documents are in another store.
        :param local_index: The name by which the embedded index is asked for, so that it is known whether that is the
            demo; None for ``PREFRAG_INDEX``, else ``default``, else the demo.
        """
        self.search = search
        self.index = index
        self.demo_stand_in = demo_stand_in
        self.local_index = local_index

    def to_dict(self) -> dict[str, Any]:
        """:returns: The component as plain values."""
        # Not every component has a `to_dict` of its own, DDGSWebSearch among them.
        return default_to_dict(
            self,
            search=component_to_dict(self.search, "search"),
            index=self.index,
            demo_stand_in=self.demo_stand_in,
            local_index=self.local_index,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> WebRetriever:
        """:param data: See :meth:`to_dict`. :returns: The component."""
        return default_from_dict(cls, data)

    @property
    def stays_in_house(self) -> bool:
        """:returns: Whether an index stands in for the web."""
        try:
            return self._chosen() is not self.search
        except (OSError, ValueError):
            # A stand-in is named but cannot be opened: the search fails, and the web is not asked in its place.
            return True

    @property
    def provider(self) -> str:
        """:returns: What answers, for the trace."""
        return "stand-in index" if self.stays_in_house else type(self.search).__name__

    def warm_up(self) -> None:
        """Make sure that the stand-in exists, if one is named, and warm up what will be asked.

        :raises FileNotFoundError: When a stand-in is named that does not exist.
        """
        chosen = self._chosen()
        if hasattr(chosen, "warm_up"):
            chosen.warm_up()

    @component.output_types(documents=list[Document])
    def run(self, query: str, top_k: int = 10) -> dict[str, list[Document]]:
        """
        :param query: The query.
        :param top_k: Results to give.
        :returns: ``documents``, best first.
        """
        chosen = self._chosen()
        return {"documents": chosen.run(query=query, **_count(chosen, top_k))["documents"]}

    @component.output_types(documents=list[Document])
    async def run_async(self, query: str, top_k: int = 10) -> dict[str, list[Document]]:
        """As :meth:`run`, without blocking the event loop."""
        chosen = self._chosen()
        return {"documents": (await asked(chosen, {"query": query, **_count(chosen, top_k)}))["documents"]}

    def _chosen(self) -> Retriever:
        # At every call, as the local store does: a server that started on the demo sees an index made since.
        path = resolve_web_index(self.index, local=self.local_index, demo=self.demo_stand_in)
        return self.search if path is None else TantivyBM25Retriever(TantivyDocumentStore(path=str(path)))


def _count(retriever: Retriever, top_k: int) -> dict[str, int]:
    # Some of Haystack's web searches take the number of results in their settings only.
    return {"top_k": top_k} if "top_k" in accepted(retriever) else {}
