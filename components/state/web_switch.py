"""The administrator's setting for the web, ``PREFRAG_WEB``, and what closes the web for a single request."""

import os
from contextvars import ContextVar
from typing import Literal

from prefrag.components.settings import settings

WEB_SWITCH = "PREFRAG_WEB"
WEB_CLOSED = f"the web is closed: allow it with `prefrag index --web --index NAME` or {WEB_SWITCH}=on"
CLOSED_BY_REQUEST = "this request closes the web"
CLOSED_BY_KEY = "the key of this request may not use the web"

# Why the web is closed for everything in this context, whatever the setting says; empty if the setting decides.
web_closed_by: ContextVar[str] = ContextVar("web_closed_by", default="")


def web_setting() -> Literal["on", "off", "ask"] | None:
    """Read whether the web is open, closed or asked about.

    A value that is not understood closes the web, so that a typing error sends no query out. None if nothing is set:
    then the answer kept with the index decides. Always ``off`` if this request closes the web.
    """
    if web_closed_by.get():
        return "off"
    return settings.web


def web_is_off() -> bool:
    """Check whether every external source is switched off, by the administrator or for this request."""
    return web_setting() == "off"


def explain_closed() -> str:
    """Explain why the web is closed."""
    if reason := web_closed_by.get():
        return reason
    text = os.environ.get(WEB_SWITCH, "").strip()
    return f"the web is closed by {WEB_SWITCH}={text[:20]}" if web_is_off() else WEB_CLOSED
