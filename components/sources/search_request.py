"""A request to search a source, which is a named place such as an index or the web.

The request goes through the steps of a search in `RetrievalSource`. Before a web search, text that the person only
states, such as a pasted letter, is left out of the query, so that only the question is sent. If the query is held back,
which means that it is not sent at all, the trace and the audit log say why.
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
    filters: Mapping[str, object] | None
    # Whether the source must not be searched.
    is_closed: bool
    # Whether the query leaves this machine.
    leaves_machine: bool
    # The state of the run. None if the source was called with a query alone.
    state: State | None = None
    # Further arguments for retrievers. If a retriever takes them, these are `question`, the question of the run, and
    # `observed`, the documents that earlier steps found.
    context: Mapping[str, object] = field(default_factory=dict)
    # The documents that earlier steps found, if the source moves them behind new documents. Otherwise empty.
    already_observed: Sequence[Document] = ()
    # The record of the search, once it is done. It is marked as skipped if the query was not sent.
    search: Search | None = None

    def fit_for_web(self, source: str) -> None:
        """Give the query the form for the web, without the text that the person only states.

        The trace says what was left out of the query. If the person has allowed the whole message as a query, the first
        query to each source is that message, as it is.

        :param source: The name of the source.
        """
        state = self.state
        if state is not None:
            allowed_message = allowed_query.get()
            if allowed_message and not _was_sent(state, source, allowed_message):
                self.query = allowed_message
            else:
                self.query, left_out_sentences = web_query(self.query, state)
                if left_out_sentences:
                    left_out = " ".join(left_out_sentences)
                    self.state = state.with_event("left_out", source=source, text=left_out, **_offer(state))
        self.query = query_form(self.query)

    def hold_back(self, source: str, reason: str) -> None:
        """Record in the trace and in the audit log that the query was not sent, and why.

        :param source: The name of the source.
        :param reason: Why the query was not sent.
        """
        audit_held_back(source, self.query, reason)
        if self.state is not None:
            # If no question was found in the message, the person is asked whether the whole message may be sent.
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
    def content(self) -> tuple[object, ...]:
        """What the search is made from: the query and its arguments.

        A recording stores the documents of each search under this content. A later run with the same content gets them
        without a search.
        """
        context: dict[str, Any] = dict(self.context)
        observed = self.already_observed or context.get("observed")
        if observed is not None:
            context["observed"] = [document.id for document in observed]
        content = (self.query, self.top_k, dict(self.filters or {}))
        if context:
            return (*content, context)
        return content


def _was_sent(state: State, source: str, query: str) -> bool:
    """Check whether a source was searched with a query in this run."""
    return any(search.source == source and search.query == query for search in state.searches)


def _offer(state: State) -> dict[str, str]:
    """Return the text that the person is asked to allow as a query: the whole message, in the form for the web.

    Nothing is sent now. If the person agrees, the person's next request has this text as its allowed query.
    """
    return {"offer": query_form(state.typed or state.question)}
