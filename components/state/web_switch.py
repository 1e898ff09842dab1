"""The administrator's setting of the web, ``PREFRAG_WEB``."""

from __future__ import annotations

import os
from typing import Literal

WEB_SWITCH = "PREFRAG_WEB"
WEB_CLOSED = f"the web is closed: allow it with `prefrag index --web` or {WEB_SWITCH}=on"

_SETTINGS: dict[str, Literal["on", "ask"]] = {"on": "on", "true": "on", "yes": "on", "1": "on", "ask": "ask"}


def web_setting() -> Literal["on", "off", "ask"] | None:
    """Read the setting.

    A value that is not understood closes the web, so that no query is sent out because of a typing error.

    :returns: ``on``, ``off``, or ``ask`` for a question before each query; None where nothing is set, so that the
        answer kept with the index decides.
    """
    value = os.environ.get(WEB_SWITCH, "").strip().lower()
    return _SETTINGS.get(value, "off") if value else None


def web_is_off() -> bool:
    """Check whether the administrator has switched off every external source.

    :returns: Whether it is.
    """
    return web_setting() == "off"
