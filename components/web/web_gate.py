"""The gate for every search that leaves this machine: which queries go out, and which pages may be shown."""

from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any

from prefrag.components.audit_log import audit_held_back
from prefrag.components.block import Block, check_whole
from prefrag.components.document_stores.web_consent import all_consent
from prefrag.components.recording import RECORDING
from prefrag.components.state.state import RunError, Search, State
from prefrag.components.state.web_switch import WEB_SWITCH, explain_closed, web_setting
from prefrag.components.web.domain_filter import DomainFilter
from prefrag.components.web.query_origin import find_origin

# Asks the user at a terminal, if there is one, whether a query may leave: called with the source and the query.
ask_person: ContextVar[Callable[[str, str], bool] | None] = ContextVar("ask_person", default=None)


class HeldBack(Exception):
    """A query is not sent; the message is the reason."""


class WebGate(Block):
    """Decide for each query of an external source whether it is sent.

    A query is sent only if the web is allowed, by ``PREFRAG_WEB`` or by the choice that is stored with every index of
    the pipeline, and not closed for this request. The query must be short, and made from a person's question, not a
    text that came with the question or was found. The last search of every source that is not external must have
    succeeded, so that no broken index sends questions out. ``pipelines.load`` sets the stores whose choices count.

    ```python
    from prefrag.components.web.web_gate import WebGate

    print(WebGate(max_characters=400).is_open)
    ```
    """

    def __init__(self, max_characters: int = 400, domains: DomainFilter | None = None):
        """Set the limit and the domains.

        :param max_characters: The most characters of a query.
        :param domains: Which web pages may be shown; by default all.
        :raises ValueError: When ``max_characters`` is under 1.
        """
        check_whole(1, max_characters=max_characters)
        self.max_characters = max_characters
        self.domains = DomainFilter() if domains is None else domains
        self.stores: list[Any] = []

    @property
    def is_open(self) -> bool:
        """Whether the web is allowed, or the user is asked about each query."""
        setting = web_setting()
        return all_consent(self.stores) if setting is None else setting != "off"

    def check(self, source: str, query: str, state: State | None) -> None:
        """Check whether a query may leave now; if a person is to be asked, this waits for the answer.

        :param source: The name of the external source.
        :param query: The query.
        :param state: The state of the run, if there is one.
        :raises HeldBack: When the web is closed, the query is too long or not made from a person's question, or a
            person refuses or cannot be asked.
        :raises RunError: When the last search of a source that is not external failed; the error holds the state.
        """
        if not self.is_open:
            raise HeldBack(explain_closed())
        if state is not None and (failed := _find_failed(state.searches, state.settings.external)):
            message = (
                f"The source '{failed.source}' failed: {str(failed.error).rstrip('.')}. So the query was not sent to "
                f"'{source}' in its place. Repair the source and ask again."
            )
            reason = f"'{failed.source}' failed"
            audit_held_back(source, query, reason)
            state = state.with_event("held_back", source=source, query=query, reason=reason)
            raise RunError(
                message, state.with_event("error", caller=f"source '{failed.source}'", message=str(failed.error))
            )
        if len(query) > self.max_characters:
            raise HeldBack(f"it has {len(query):,} characters, over the limit of {self.max_characters}")
        if state is not None and (reason := find_origin(query, state)):
            raise HeldBack(reason)
        if web_setting() == "ask":
            ask = ask_person.get()
            if ask is None:
                raise HeldBack(f"{WEB_SWITCH}=ask, and nobody can be asked here")
            if not ask(source, query):
                raise HeldBack("you did not allow it")


def _find_failed(searches: Iterable[Search], external: Iterable[str]) -> Search | None:
    """Find a source that is not external and whose last search failed as a whole."""
    last = {search.source: search for search in searches if not search.skipped and search.source not in external}
    return next((search for search in last.values() if search.error and search.provider in ("", RECORDING)), None)
