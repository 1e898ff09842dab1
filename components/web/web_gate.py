"""The gate that decides which queries may leave this machine, and which web pages may be shown."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar

from prefrag.audit_log import audit_held_back
from prefrag.components.block import Block, check_whole_number
from prefrag.components.document_stores.web_consent import all_consent
from prefrag.components.recording import RECORDING
from prefrag.components.state.state import RunError, Search, State
from prefrag.components.state.web_switch import WEB_SWITCH, explain_closed, web_setting
from prefrag.components.web.domain_filter import DomainFilter
from prefrag.components.web.query_form import query_form
from prefrag.components.web.query_origin import reason_to_withhold

# Asks the user at the terminal whether a query may be sent to a source. None if there is no terminal.
ask_person: ContextVar[Callable[[str, str], bool] | None] = ContextVar("ask_person", default=None)


class HeldBack(Exception):
    """The error when a query must not be sent. Its message is the reason."""


class WebGate(Block):
    """Decide whether a query may be sent to the web or another external source.

    First, web search must be allowed, by ``PREFRAG_WEB``. If that variable is not set, the user must have allowed it
    for every collection in ``stores``, which `SourceRules` fills in. A single request can also forbid web search.
    Second, the last search of every local source must have succeeded. Otherwise, all questions would go to the web
    while a collection is broken. Third, the query must be short, and its words must come from a person's question.

    ```python
    from prefrag.components.web.web_gate import WebGate

    print(WebGate(max_characters=400).is_open)
    ```
    """

    def __init__(self, max_characters: int = 400, domains: DomainFilter | None = None):
        """Set the limit and the domains.

        :param max_characters: The maximum number of characters of a query.
        :param domains: Which web pages may be shown; by default all.
        :raises ValueError: When ``max_characters`` is under 1.
        """
        check_whole_number(1, max_characters=max_characters)
        self.max_characters = max_characters
        self.domains = DomainFilter() if domains is None else domains
        self.stores: list[object] = []

    @property
    def is_open(self) -> bool:
        """Whether web search is allowed. Also true if the user must still allow each query (``PREFRAG_WEB=ask``)."""
        setting = web_setting()
        return all_consent(self.stores) if setting is None else setting != "off"

    def check(self, source: str, query: str, state: State | None) -> None:
        """Check whether a query may be sent now. If the user must be asked, wait for the answer.

        :param source: The name of the external source.
        :param query: The query.
        :param state: The state of the run, if there is one.
        :raises HeldBack: When web search is not allowed, the query is too long or not made from a person's question, or
            the user refuses or cannot be asked.
        :raises RunError: When the last search of a local source failed. The error contains the state.
        """
        if not self.is_open:
            raise HeldBack(explain_closed())
        if state is not None:
            _refuse_after_failure(source, query, state)
        if " ".join(query.split()) != query_form(query):
            raise HeldBack("some of its characters cannot be seen or stand for others: write it in plain characters")
        if len(query) > self.max_characters:
            raise HeldBack(f"it has {len(query):,} characters, over the limit of {self.max_characters}")
        reason = reason_to_withhold(query, state) if state is not None else None
        if reason:
            raise HeldBack(reason)
        if web_setting() == "ask":
            ask = ask_person.get()
            if ask is None:
                raise HeldBack(f"{WEB_SWITCH}=ask, and nobody can be asked here")
            if not ask(source, query):
                raise HeldBack("you did not allow it")


def _refuse_after_failure(source: str, query: str, state: State) -> None:
    """Raise RunError if the last search of a local source failed."""
    failed = _find_failed(state.searches, state.settings.external)
    if failed is None:
        return
    message = (
        f"The source '{failed.source}' failed: {str(failed.error).rstrip('.')}. For this reason, the query "
        f"was not sent to '{source}'. Repair the failed source and ask again."
    )
    reason = f"'{failed.source}' failed"
    audit_held_back(source, query, reason)
    state = state.with_event("held_back", source=source, query=query, reason=reason)
    state = state.with_event("error", caller=f"source '{failed.source}'", message=str(failed.error))
    raise RunError(message, state)


def _find_failed(searches: Iterable[Search], external: Iterable[str]) -> Search | None:
    """Find a local source whose last search failed. A failure of only one of several retrievers does not count."""
    last = {search.source: search for search in searches if not search.skipped and search.source not in external}
    for search in last.values():
        if search.error and search.provider in ("", RECORDING):
            return search
    return None
