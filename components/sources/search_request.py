"""A request to a source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from haystack import Document

from prefrag.components.audit_log import AuditLogFailed, audit, audit_held_back
from prefrag.components.state.state import RunError, Search, State


@dataclass
class SearchRequest:
    """A request to a source, and the search that comes of it.

    :param query: The query.
    :param top_k: The number of documents to return.
    :param filters: Haystack metadata filter.
    :param is_closed: Whether the source may not be searched.
    :param leaves_machine: Whether its query leaves this machine.
    :param state: The state that holds the query.
    :param context: The further arguments of retrievers: the ``question`` and the documents ``observed``.
    :param put_last: The observed documents that come behind the new ones.
    :param search: The search, once it is made or known not to be made.
    """

    query: str
    top_k: int
    filters: Any
    is_closed: bool
    leaves_machine: bool
    state: State | None = None
    context: Mapping[str, Any] = field(default_factory=dict)
    put_last: Sequence[Document] = ()
    search: Search | None = None

    def hold_back(self, source: str, reason: str) -> None:
        """Write to the trace and to the audit log that the query is not sent."""
        audit_held_back(source, self.query, reason)
        if self.state is not None:
            self.state = self.state.with_event("held_back", source=source, query=self.query, reason=reason)

    def audit(self, event: str, source: str, **data: str) -> None:
        """Write to the audit log that the query is about to leave this machine."""
        try:
            audit(event, source=source, **data, query=self.query)
        except AuditLogFailed as error:
            if self.state is None:
                raise
            state = self.state.with_event(
                "held_back", source=source, query=self.query, reason="the audit log cannot be written"
            )
            raise RunError(str(error), state) from error

    @property
    def content(self) -> tuple[Any, ...]:
        """The values by which a recording finds the search."""
        context: dict[str, Any] = dict(self.context)
        if self.put_last or "observed" in context:
            context["observed"] = [document.id for document in self.put_last or context["observed"]]
        return self.query, self.top_k, dict(self.filters or {}), *([context] if context else [])
