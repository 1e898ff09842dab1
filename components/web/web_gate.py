"""The web gate, which decides which queries may be sent to the web, and which web pages may be shown.

`SourceRules` calls the gate before each search of an external source. An external source is a web search, or another
source that gets the queries over the network. The gate checks in this order that web search is allowed, that the local
sources work, and that the query was made from the person's question.
"""

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

# A function that asks the user at the terminal whether a query may be sent to a source. Its arguments are the source
# and the query. None if there is no terminal.
ask_person: ContextVar[Callable[[str, str], bool] | None] = ContextVar("ask_person", default=None)


class HeldBack(Exception):
    """The error that is raised when a query must not be sent. The message of the error is the reason."""


class WebGate(Block):
    """Decide whether a query may be sent to the web or another external source.

    A query may be sent if three conditions are met:

    1. Web search is allowed by the variable ``PREFRAG_WEB``. If the variable is not set, the user must have allowed
       web search for every collection in ``stores``. `SourceRules` fills this list. A single request can also forbid
       web search.
    2. The last search of every local source succeeded. Otherwise, all questions would go to the web while a collection
       is broken.
    3. The query is short, and its words come from a person's question.

    Usage example:
    ```python
    from prefrag.components.web.web_gate import WebGate

    print(WebGate(max_characters=400).is_open)
    ```
    """

    def __init__(self, max_characters: int = 400, domains: DomainFilter | None = None):
        """Set the limit and the domains.

        :param max_characters: The maximum number of characters of a query. A longer query is not sent.
        :param domains: The filter that decides which web pages may be shown. If None, all may be shown.
        :raises ValueError: When ``max_characters`` is under 1.
        """
        check_whole_number(1, max_characters=max_characters)
        self.max_characters = max_characters
        self.domains = DomainFilter() if domains is None else domains
        self.stores: list[object] = []

    @property
    def is_open(self) -> bool:
        """Whether web search is allowed.

        Also true with ``PREFRAG_WEB=ask``, although the user must then still allow each query.
        """
        setting = web_setting()
        if setting is None:
            return all_consent(self.stores)
        return setting != "off"

    def check(self, source: str, query: str, state: State | None) -> None:
        """Check whether a query may be sent now. If the user must be asked, wait for the answer.

        :param source: The name of the external source.
        :param query: The query.
        :param state: The state of the run. If None, the local sources and the origin of the query are not checked.
        :raises HeldBack: When web search is not allowed, or the query is too long, has hidden characters or was not
            made from a person's question. Also when the user refuses, or nobody can be asked.
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
        if state is not None:
            reason = reason_to_withhold(query, state)
            if reason:
                raise HeldBack(reason)
        if web_setting() == "ask":
            ask = ask_person.get()
            if ask is None:
                raise HeldBack(f"{WEB_SWITCH}=ask, and nobody can be asked here")
            if not ask(source, query):
                raise HeldBack("you did not allow it")


def _refuse_after_failure(source: str, query: str, state: State) -> None:
    """Raise RunError, and log the query as held back, if the last search of a local source failed."""
    failed = _find_failed(state.searches, state.settings.external)
    if failed is None:
        return
    error = str(failed.error).rstrip(".")
    message = (
        f"The source '{failed.source}' failed: {error}. For this reason, the query "
        f"was not sent to '{source}'. Repair the failed source and ask again."
    )
    reason = f"'{failed.source}' failed"
    audit_held_back(source, query, reason)
    state = state.with_event("held_back", source=source, query=query, reason=reason)
    state = state.with_event("error", caller=f"source '{failed.source}'", message=str(failed.error))
    raise RunError(message, state)


def _find_failed(searches: Iterable[Search], external: Iterable[str]) -> Search | None:
    """Find a last search of a local source that failed, or None if all of them succeeded.

    A failure counts if the whole source failed, and not if only one of its several retrievers failed.
    """
    last_of_source = {}
    for search in searches:
        if not search.skipped and search.source not in external:
            last_of_source[search.source] = search

    for search in last_of_source.values():
        if search.error and search.provider in ("", RECORDING):
            return search
    return None
