"""Addresses that may be shown."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

_USERINFO = re.compile(r"://[^\s/?#]*@")


def without_userinfo(text: str) -> str:
    """Remove user names and passwords from the URLs in a text.

    :param text: A URL, or a text that may hold some.
    :returns: The text without them.
    """
    return _USERINFO.sub("://", text)


def safe_url(url: str) -> str:
    """Keep a stranger's URL only where a reader may follow it.

    :param url: A URL, or any other text.
    :returns: The URL of a page, or nothing where it is none, or hides its host behind a user name.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_page = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    return url if is_page and url.isprintable() and not any(map(str.isspace, url)) else ""
