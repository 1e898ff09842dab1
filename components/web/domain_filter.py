"""Filter web pages by the domain of their address.

The web gate uses the filter for the pages that a web search returns. A page of a denied domain must not pass because
its address is written in an unusual way. So an address is read as a browser reads it, and not only as standards say.
"""

import re
from collections.abc import Sequence
from urllib.parse import unquote, urlsplit

import idna
from haystack import Document

from prefrag.components.block import Block

# The part of an address before the host. Browsers allow any number of slashes after "https:", and backslashes in place
# of slashes. In each of "https://example.org", "https:example.org" and "//example.org", all before "example.org"
# matches. In "example.org", nothing is before the host.
_BEFORE_HOST = re.compile(r"(?:https?:[/\\]*|(?:[a-z][a-z0-9+.-]*:)?[/\\]{2,})?", re.IGNORECASE)
# A character that no host may have: a control character, a blank, or one such as "%" and "@". The host of an address
# with such a character cannot be read. Matches: "exa mple.org". Does not match: "example.org".
_FORBIDDEN = re.compile(r"[\0-\x20\x7f#%/<>?@\\^|]")
# A character that browsers leave out of an address: a tab or a line break. Matches: "exam\nple.org".
_IGNORED = re.compile(r"[\t\r\n]")


class DomainFilter(Block):
    """Decide which documents may be shown, by the domain of their ``url``.

    Every domain includes its subdomains: ``example.org`` also stands for ``news.example.org``.

    Usage example:
    ```python
    from haystack import Document
    from prefrag.components.web.domain_filter import DomainFilter

    page = Document(content="A page.", meta={"url": "https://news.example.org/a"})
    print(DomainFilter(denied=["example.org"]).allows(page))  # False
    ```
    """

    def __init__(self, allowed: Sequence[str] = (), denied: Sequence[str] = ()):
        """Set the domains.

        A domain may be written as ``example.org``, as ``*.example.org`` or as an address of the domain.

        :param allowed: The domains whose documents may be shown. If empty, the documents of all domains may be shown.
        :param denied: The domains whose documents must not be shown. A domain in both lists is denied.
        :raises ValueError: When an entry is not a domain.
        """
        self.allowed = [_domain(domain) for domain in allowed]
        self.denied = [_domain(domain) for domain in denied]

    def allows(self, document: Document) -> bool:
        """Check whether a document may be shown.

        Without allowed and denied domains, every document may be shown. Otherwise, the document must have an address
        with a host that can be read.

        :param document: The document, with its address in ``meta`` as ``url`` or ``link``.
        :returns: True if the document may be shown.
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
    """Read the address of a document. Haystack's web searches store the address in ``meta`` as ``url`` or ``link``.

    :param document: The document.
    :returns: The address, or an empty text if the document has none.
    """
    return str(document.meta.get("url") or document.meta.get("link") or "")


def _host(url: str) -> str | None:
    """Read the host of an address as a browser looks the host up. Return None if the host cannot be read.

    International names are written in ASCII. For example, ``_host("https://bücher.example/a")`` returns
    ``"xn--bcher-kva.example"``.
    """
    one_line_url = _IGNORED.sub("", url.strip())
    from_host = _BEFORE_HOST.sub("", one_line_url, count=1)
    try:
        written = urlsplit("//" + from_host.replace("\\", "/")).hostname or ""
        name = idna.uts46_remap(unquote(written, errors="strict"), std3_rules=False)
        labels = name.strip(".").split(".")
        host = ".".join(map(_ascii_label, labels))
    except ValueError:
        return None
    return None if _FORBIDDEN.search(host) else host


def _ascii_label(label: str) -> str:
    """Write one part of the name of a host in ASCII. Raise ValueError if this is impossible.

    For example, ``_ascii_label("bücher")`` returns ``"xn--bcher-kva"``.
    """
    # Labels in ASCII stay as they are. Hosts with a "_" exist, but `alabel` would refuse the "_".
    return label if label.isascii() else idna.alabel(label).decode()


def _domain(written: str) -> str:
    """Extract the domain from an address, or from a domain with or without a wildcard in front.

    For example, ``_domain("*.example.org")`` returns ``"example.org"``.
    """
    host = _host(written) if isinstance(written, str) else None
    domain = (host or "").removeprefix("*").strip(".")
    if not domain or "*" in domain:
        raise ValueError(f"'{written}' is not a domain: give one such as example.org.")
    return domain


def _is_within(host: str, domains: Sequence[str]) -> bool:
    """Check whether a host is one of the domains or a subdomain of one.

    For example, ``_is_within("news.example.org", ["example.org"])`` returns ``True``, and
    ``_is_within("myexample.org", ["example.org"])`` returns ``False``.
    """
    return any(f".{host}".endswith(f".{domain}") for domain in domains)
