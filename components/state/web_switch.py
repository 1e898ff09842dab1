"""Whether web search is allowed: the administrator's setting ``PREFRAG_WEB``, and the limits of a single request."""

import os
from contextvars import ContextVar
from typing import Literal

from prefrag.settings import settings

WEB_SWITCH = "PREFRAG_WEB"
CLOSED_BY_REQUEST = "the web is closed by this request"
CLOSED_BY_KEY = "the web is closed for the key of this request"

# The reason why the current request may not search the web, whatever the setting says; empty if the setting decides.
web_closed_by: ContextVar[str] = ContextVar("web_closed_by", default="")


def web_setting() -> Literal["on", "off", "ask"] | None:
    """Read whether web search is ``on``, ``off``, or allowed only after the user has agreed (``ask``).

    Returns None if nothing is set: the choice that is stored with the collection then decides. Returns ``off`` if the
    request itself forbids the web, and also for an unknown value, because a typing error must not let queries out.
    """
    if web_closed_by.get():
        return "off"
    return settings.web


def web_is_off() -> bool:
    """Check whether every external source is switched off, by the administrator or for this request."""
    return web_setting() == "off"


def explain_closed(collection: str = "NAME") -> str:
    """Explain why web search is not allowed. The text may name the command that allows it for ``collection``."""
    reason = web_closed_by.get()
    if reason:
        return reason
    if web_is_off():
        return f"the web is closed by {WEB_SWITCH}={os.environ.get(WEB_SWITCH, '').strip()[:20]}"
    return f"the web is closed: open it with `prefrag index --web --collection {collection}` or {WEB_SWITCH}=on"
