"""A request to search a source, which is a named place such as an index or the web."""

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

    query: str
    top_k: int
    filters: Any
    is_closed: bool  # true if the source must not be searched
    leaves_machine: bool  # whether the query leaves this machine
    state: State | None = None
    # Further arguments for retrievers: ``question``, and the documents that were ``observed`` so far.
    context: Mapping[str, Any] = field(default_factory=dict)
    already_observed: Sequence[Document] = ()  # documents that earlier steps found, to be moved behind new documents
    search: Search | None = None  # the record of the search; marked as skipped if the query was not sent

    def fit_for_web(self, source: str) -> None:
        """Leave the person's statements out of the query, tell so in the trace, and write the query in its one form.

        If the person has allowed the whole message, the first query to the source is that message.
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
        """Record in the trace and in the audit log that the query was not sent, and why."""
        audit_held_back(source, self.query, reason)
        if self.state is not None:
            offer = _offer(self.state) if reason == NO_QUESTION else {}
            self.state = self.state.with_event("held_back", source=source, query=self.query, reason=reason, **offer)

    def refuse_unaudited(self, source: str, error: AuditLogFailed) -> Exception:
        """Make the error that ends the run if the audit log cannot be written, because nothing may then be sent."""
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
    """Return the whole message as the person may allow it. It is sent only in a run whose request repeats it."""
    return {"offer": query_form(state.typed or state.question)}
