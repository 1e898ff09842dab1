"""The administrator's setting for the web, ``PREFRAG_WEB``, and what closes the web for a single request."""

import os
from contextvars import ContextVar
from typing import Literal

from prefrag.components.settings import settings

WEB_SWITCH = "PREFRAG_WEB"
CLOSED_BY_REQUEST = "the web is closed by this request"
CLOSED_BY_KEY = "the web is closed for the key of this request"

# Why the web is closed for everything in this context, whatever the setting says; empty if the setting decides.
web_closed_by: ContextVar[str] = ContextVar("web_closed_by", default="")


def web_setting() -> Literal["on", "off", "ask"] | None:
    """Read the setting for the web: open, closed, or open only after the user has agreed (``ask``).

    Returns None if nothing is set. The choice stored with the index then decides. Always ``off`` if this request closes
    the web. An unknown value also means ``off``, so that no query is sent out because of a typing error.
    """
    if web_closed_by.get():
        return "off"
    return settings.web


def web_is_off() -> bool:
    """Check whether every external source is switched off, by the administrator or for this request."""
    return web_setting() == "off"


def explain_closed(index: str = "NAME") -> str:
    """Explain why the web is closed; ``index`` completes the command that opens the web for an index."""
    if reason := web_closed_by.get():
        return reason
    if web_is_off():
        return f"the web is closed by {WEB_SWITCH}={os.environ.get(WEB_SWITCH, '').strip()[:20]}"
    return f"the web is closed: open it with `prefrag index --web --index {index}` or {WEB_SWITCH}=on"
