"""Make web addresses safe to show.

An address can contain a password, or the words of a query. The components, the server and the log messages remove
these parts with the functions of this module.
"""

import re
from urllib.parse import urlsplit

# The parameters of a URL: everything from the first "?" or "#" to the next blank.
# In "https://host.org/find?q=secret", the pattern matches "://host.org/find?q=secret", and group 1 is "://host.org/find".
_PARAMETERS = re.compile(r"(://[^\s?#]*)[?#]\S*")
# The user name and the password of a URL, with the "://" before them and the "@" after them.
# In "https://ada:key@host.org", the pattern matches "://ada:key@". It does not match in "https://host.org/@ada".
_USERINFO = re.compile(r"://[^\s/?#]*@")


def without_userinfo(text: str) -> str:
    """Remove user names and passwords from the URLs in a text.

    For example, ``without_userinfo("see https://ada:key@host.org/v1")`` returns ``"see https://host.org/v1"``.

    :param text: Any text, with or without URLs.
    :returns: The text, in which each URL has only its scheme, host, port, path and parameters.
    """
    return _USERINFO.sub("://", text)


def without_parameters(text: str) -> str:
    """Cut off the parameters of the URLs in a text, because parameters may contain the words of a query.

    For example, ``without_parameters("https://host.org/find?q=secret")`` returns ``"https://host.org/find(...)"``.

    :param text: Any text, with or without URLs.
    :returns: The text, in which ``(...)`` stands for the parameters of each URL.
    """
    return _PARAMETERS.sub(r"\1(...)", text)


def safe_url(url: str) -> str:
    """Return an untrusted URL if it is safe as a link, and otherwise an empty string.

    A safe URL is the address of a web page (http or https). It has no user name, no blank and no control character.
    For example, ``safe_url("javascript:alert(1)")`` returns ``""``.

    :param url: The URL from an untrusted text.
    :returns: The same URL, or an empty string if the URL is not safe.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""

    is_page = parts.scheme in ("http", "https") and bool(parts.hostname)
    has_user = "@" in parts.netloc
    has_blank = any(map(str.isspace, url))
    if not is_page or has_user or has_blank or not url.isprintable():
        return ""
    return url
