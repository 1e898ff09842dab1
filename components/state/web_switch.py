"""Decide whether web search is allowed.

The administrator's setting ``PREFRAG_WEB`` decides for all requests. A single request, or the key of a request, can
close the web, but cannot open it.
"""

import os
from contextvars import ContextVar
from typing import Literal

from prefrag.settings import settings

# The environment variable of the administrator's setting.
WEB_SWITCH = "PREFRAG_WEB"
# The reasons that `web_closed_by` can have.
CLOSED_BY_REQUEST = "the web is closed by this request"
CLOSED_BY_KEY = "the web is closed for the key of this request"

# The reason why the current request may not search the web, whatever the setting says; empty if the setting decides.
web_closed_by: ContextVar[str] = ContextVar("web_closed_by", default="")


def web_setting() -> Literal["on", "off", "ask"] | None:
    """Read whether web search is allowed.

    :returns: ``on``, ``off``, or ``ask`` if the user has to agree first. None if nothing is set: the choice that is
        stored with the collection then decides. If the current request forbids the web, the value is ``off``. An
        unknown value of the setting also counts as ``off``, because a typing error must not send queries to the web.
    """
    if web_closed_by.get():
        return "off"
    return settings.web


def web_is_off() -> bool:
    """Check whether every external source is switched off, by the administrator or for this request.

    :returns: True if they are off. False if they are on, if the user is asked, or if nothing is set.
    """
    return web_setting() == "off"


def explain_closed(collection: str = "NAME") -> str:
    """Explain why web search is not allowed.

    :param collection: The collection that is named in the command that opens the web.
    :returns: The reason. If neither the request nor the setting closes the web, it says how to open the web.
    """
    reason = web_closed_by.get()
    if reason:
        return reason
    if web_is_off():
        value = os.environ.get(WEB_SWITCH, "").strip()
        # A wrong value may be long.
        return f"the web is closed by {WEB_SWITCH}={value[:20]}"
    return f"the web is closed: open it with `prefrag index --web --collection {collection}` or {WEB_SWITCH}=on"
