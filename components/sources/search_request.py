"""A request to search a source, which is a named place such as an index or the web.

The request goes through the steps of a search in `RetrievalSource`. For a web search, the query is first cut to the
person's question. If the query is held back, which means that it is not sent, the trace and the audit log say why.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from haystack import Document

from prefrag.audit_log import AuditLogFailed, audit_held_back
from prefrag.components.state.state import RunError, Search, State
from prefrag.components.web.query_form import query_form
from prefrag.components.web.query_origin import NO_QUESTION, allowed_query, web_query


@dataclass
class SearchRequest:
    """A request to search a source, and the record of the search once it is done."""

    # The query. `fit_for_web` may change it.
    query: str
    # The number of documents to return.
    top_k: int
    # Haystack metadata filters, or None.
    filters: Any
    # Whether the source must not be searched.
    is_closed: bool
    # Whether the query leaves this machine.
    leaves_machine: bool
    # The state of the run. None if the source was called with a query alone.
    state: State | None = None
    # Further arguments for retrievers: `question`, and the documents that were `observed` so far.
    context: Mapping[str, Any] = field(default_factory=dict)
    # The documents that earlier steps found. They are moved behind new documents.
    already_observed: Sequence[Document] = ()
    # The record of the search, once it is done. It is marked as skipped if the query was not sent.
    search: Search | None = None

    def fit_for_web(self, source: str) -> None:
        """Cut the query to the person's question, write this in the trace, and give the query the form for the web.

        If the person has allowed the whole message as a query, the first query to the source is that message.

        :param source: The name of the source.
        """
        allowed, state = allowed_query.get(), self.state
        if state is not None and allowed and (source, allowed) not in {(s.source, s.query) for s in state.searches}:
            self.query = allowed
        elif state is not None:
            self.query, statements = web_query(self.query, state)
            if statements:
                self.state = state.with_event("left_out", source=source, text=" ".join(statements), **_offer(state))
        self.query = query_form(self.query)

    def hold_back(self, source: str, reason: str) -> None:
        """Record in the trace and in the audit log that the query was not sent, and why.

        :param source: The name of the source.
        :param reason: Why the query was not sent.
        """
        audit_held_back(source, self.query, reason)
        if self.state is not None:
            offer = _offer(self.state) if reason == NO_QUESTION else {}
            self.state = self.state.with_event("held_back", source=source, query=self.query, reason=reason, **offer)

    def refuse_unaudited(self, source: str, error: AuditLogFailed) -> Exception:
        """Make the error that ends the run if the audit log cannot be written, because nothing may then be sent.

        :param source: The name of the source.
        :param error: The error of the audit log.
        :returns: The same error, or a RunError with the state if there is a state.
        """
        if self.state is None:
            return error
        reason = "the audit log cannot be written"
        state = self.state.with_event("held_back", source=source, query=self.query, reason=reason)
        return RunError(str(error), state)

    @property
    def content(self) -> tuple[Any, ...]:
        """The values that identify this search in a recording of earlier runs."""
        context: dict[str, Any] = dict(self.context)
        if self.already_observed or "observed" in context:
            context["observed"] = [document.id for document in self.already_observed or context["observed"]]
        return self.query, self.top_k, dict(self.filters or {}), *([context] if context else [])


def _offer(state: State) -> dict[str, str]:
    """Return the whole message in the form in which the person may allow it as a query.

    The message is sent only if the request of a later run repeats it.
    """
    return {"offer": query_form(state.typed or state.question)}
