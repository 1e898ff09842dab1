"""Make web addresses safe to show."""

import re
from urllib.parse import urlsplit

_PARAMETERS = re.compile(r"(://[^\s?#]*)[?#]\S*")
_USERINFO = re.compile(r"://[^\s/?#]*@")


def without_userinfo(text: str) -> str:
    """Remove user names and passwords from the URLs in a text."""
    return _USERINFO.sub("://", text)


def without_parameters(text: str) -> str:
    """Cut the URLs in a text where their parameters begin, which may hold the words of a query."""
    return _PARAMETERS.sub(r"\1(...)", text)


def safe_url(url: str) -> str:
    """Return an untrusted URL if it is safe as a link (a web page, no user name, no blanks), else an empty string."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    is_page = parts.scheme in ("http", "https") and parts.hostname and "@" not in parts.netloc
    return url if is_page and url.isprintable() and not any(map(str.isspace, url)) else ""
