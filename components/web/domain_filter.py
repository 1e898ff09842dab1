"""The filter of web pages by the domain of their address."""

import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from haystack import Document

from prefrag.components.block import Block

_WITH_HOST = re.compile(r"([a-z][a-z0-9+.-]*:)?//", re.IGNORECASE)


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
        """Check whether a document may be shown. If only some domains are allowed, it must have an address."""
        if not self.allowed and not self.denied:
            return True
        host = _host(document_url(document))
        return (not self.allowed or _is_within(host, self.allowed)) and not _is_within(host, self.denied)


def document_url(document: Document) -> str:
    """Read a document's address, which Haystack's web searches store in ``meta`` as ``url`` or ``link``."""
    return str(document.meta.get("url") or document.meta.get("link") or "")


def _host(url: str) -> str:
    # Without a scheme or slashes in front, urlsplit would read the host as part of the path.
    try:
        return (urlsplit(url if _WITH_HOST.match(url) else f"//{url}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def _domain(written: str) -> str:
    """Extract the domain from an address, or from a domain with or without a wildcard in front."""
    domain = _host(written.strip()).removeprefix("*").strip(".") if isinstance(written, str) else ""
    if not domain or re.search(r"[*\s]", domain):
        raise ValueError(f"'{written}' is not a domain: give one such as example.org.")
    return domain


def _is_within(host: str, domains: Sequence[str]) -> bool:
    return any(f".{host}".endswith(f".{domain}") for domain in domains)
