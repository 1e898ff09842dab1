"""The filter of web pages by the domain of their address."""

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

import idna
from haystack import Document

from prefrag.components.block import Block

# What stands before the host. Browsers take any number of slashes after "https:", and a backslash for a slash.
_BEFORE_HOST = re.compile(r"(?:https?:[/\\]*|(?:[a-z][a-z0-9+.-]*:)?[/\\]{2,})?", re.IGNORECASE)
# Characters that no host may have, so that an address with one cannot be read.
_FORBIDDEN = re.compile(r"[\0-\x20\x7f#%/<>?@\\^|]")
# Characters that browsers leave out of an address.
_IGNORED = re.compile(r"[\t\r\n]")


class DomainFilter(Block):
    """Drop documents by the domain of their ``url``. Every domain includes its subdomains.

    ```python
    from haystack import Document
    from prefrag.components.web.domain_filter import DomainFilter

    page = Document(content="A page.", meta={"url": "https://news.example.org/a"})
    print(DomainFilter(denied=["example.org"]).allows(page))
    ```
    """

    def __init__(self, allowed: Sequence[str] = (), denied: Sequence[str] = ()):
        """Set the domains.

        :param allowed: Keep only documents of these domains; empty allows all.
        :param denied: Drop documents of these domains, even if they are also allowed.
        :raises ValueError: When an entry is not a domain.
        """
        self.allowed = [_domain(domain) for domain in allowed]
        self.denied = [_domain(domain) for domain in denied]

    def allows(self, document: Document) -> bool:
        """Check whether a document may be shown.

        If only some domains are allowed, it must have an address. An address that cannot be read is not shown.
        """
        if not self.allowed and not self.denied:
            return True
        host = _host(document_url(document))
        if host is None:
            return False
        if _is_within(host, self.denied):
            return False
        return not self.allowed or _is_within(host, self.allowed)


def document_url(document: Document) -> str:
    """Read a document's address, which Haystack's web searches store in ``meta`` as ``url`` or ``link``."""
    return str(document.meta.get("url") or document.meta.get("link") or "")


def _host(url: str) -> str | None:
    """Read the host of an address as a browser looks it up, or None if it cannot be read.

    International names are written in ASCII: "bücher.example" is "xn--bcher-kva.example".
    """
    rest = _BEFORE_HOST.sub("", _IGNORED.sub("", url.strip()), count=1)
    try:
        written = urlsplit("//" + rest.replace("\\", "/")).hostname or ""
        name = idna.uts46_remap(unquote(written, errors="strict"), std3_rules=False)
        host = ".".join(map(_ascii_label, name.strip(".").split(".")))
    except ValueError:
        return None
    return None if _FORBIDDEN.search(host) else host


def _ascii_label(label: str) -> str:
    """Write a part of a host's name in ASCII; raises ValueError if that is impossible."""
    # Names in ASCII stay as they are: hosts with a "_" exist, but `alabel` would refuse them.
    return label if label.isascii() else idna.alabel(label).decode()


def _domain(written: str) -> str:
    """Extract the domain from an address, or from a domain with or without a wildcard in front."""
    host = _host(written) if isinstance(written, str) else None
    domain = (host or "").removeprefix("*").strip(".")
    if not domain or "*" in domain:
        raise ValueError(f"'{written}' is not a domain: give one such as example.org.")
    return domain


def _is_within(host: str, domains: Sequence[str]) -> bool:
    return any(f".{host}".endswith(f".{domain}") for domain in domains)
