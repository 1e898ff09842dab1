"""A request to a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from haystack import Document

from prefrag.components.state.state import Search, State


@dataclass
class SearchRequest:
    """A request to a source, and the search that comes of it.

    :param query: The query.
    :param top_k: The number of documents to return.
    :param filters: Haystack metadata filter.
    :param is_closed: Whether the source may not be searched.
    :param leaves: Whether its query leaves this machine.
    :param state: The state that holds the query.
    :param context: The further arguments of retrievers: the ``question`` and the documents ``observed``.
    :param put_last: The observed documents that come behind the new ones.
    :param search: The search, once it is made or known not to be made.
    """

    query: str
    top_k: int
    filters: Any
    is_closed: bool
    leaves: bool
    state: State | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    put_last: Sequence[Document] = ()
    search: Search | None = None

    def hold_back(self, source: str, reason: str) -> None:
        """Write to the trace that the query is not sent.

        :param source: The name of the source.
        :param reason: The reason.
        """
        if self.state is not None:
            self.state = self.state.with_event("held_back", source=source, query=self.query, reason=reason)

    @property
    def content(self) -> tuple[Any, ...]:
        """The values by which a recording finds the search."""
        context: dict[str, Any] = dict(self.context)
        if self.put_last or "observed" in context:
            context["observed"] = [document.id for document in self.put_last or context["observed"]]
        return self.query, self.top_k, dict(self.filters or {}), *([context] if context else [])
