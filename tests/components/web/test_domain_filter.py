"""Which web pages may be shown."""

from typing import Any

import pytest

from prefrag.components.web.domain_filter import DomainFilter, document_url
from tests.components.samples import document
from tests.for_each import for_each

ADDRESSES = (
    "https://example.org/a",
    "http://News.Example.org:8080/b",
    "https://notexample.org",
    "https://other.net",
    "",
)


def kept(**domains: list[str]) -> list[int]:
    domain_filter = DomainFilter(**domains)
    return [number for number, url in enumerate(ADDRESSES) if domain_filter.allows(document("a", url=url))]


def test_denied_domains_win_and_all_are_allowed_by_default():
    assert kept() == [0, 1, 2, 3, 4]
    assert kept(allowed=["example.org"], denied=["news.example.org"]) == [0]


@for_each(
    "domain",
    *("example.org", "Example.ORG", ".example.org", "https://example.org", "example.org/"),
    *("*.example.org", "//example.org:443/a?b"),
)
def test_domains_are_denied_or_allowed_with_all_below(domain: str):
    assert kept(denied=[domain]) == [2, 3, 4]
    assert kept(allowed=[domain]) == [0, 1]


@for_each("written", "", "https://", "*", "example.*", "two words", "i\u2764.ws", "%ff.example", False)
def test_what_is_no_domain_is_refused(written: Any):
    with pytest.raises(ValueError, match=r"is not a domain: give one such as example\.org"):
        DomainFilter(denied=[written])


@for_each("key", "url", "link")
@for_each("url", "example.org/a", "EXAMPLE.org", "example.org/to?url=https://other.org", "https://example.org./")
def test_domains_are_read_from_addresses_of_any_form(url: str, key: str):
    page = document("a", **{key: url})
    assert document_url(page) == url
    assert not DomainFilter(denied=["example.org"]).allows(page)


@for_each(
    "domain",
    *("b\u00fccher.example", "bu\u0308cher.example", "xn--bcher-kva.example", "XN--BCHER-KVA.example."),
    *("B\u00dcCHER\uff0eexample", "*.b\u00fccher.example", "https://b\u00fccher.example/a"),
)
@for_each(
    "url",
    *("https://xn--bcher-kva.example/a", "https://www.b\u00fccher.example/", "bu\u0308cher.example/a"),
    *("https://B\u00dcCHER.EXAMPLE.:443", "https://b\u00fccher\u3002example", "//ann@b%C3%BCcher.example"),
)
def test_every_spelling_of_an_international_name_is_one_domain(domain: str, url: str):
    assert not DomainFilter(denied=[domain]).allows(document("a", url=url))
    assert DomainFilter(allowed=[domain]).allows(document("a", url=url))


@for_each(
    "url",
    *("https://\uff45xample.org/", "https://exa\u00admple.org/", "https://ex%61mple.org/", "ht\ttps://example.org"),
    *(" https://example.org/", "https:example.org", "https:/example.org", "\\\\example.org\\a", "HTTPS:///example.org"),
    "https://example.org\\@other.net/",
)
def test_a_page_belongs_to_the_domain_that_a_browser_opens(url: str):
    assert not DomainFilter(denied=["example.org"]).allows(document("a", url=url))
    assert not DomainFilter(allowed=["other.net"]).allows(document("a", url=url))


@for_each("host", "my_shop.example.org", "r3---sn.example.org", "-a.example.org")
def test_a_host_that_is_no_strict_name_is_below_its_domain(host: str):
    assert DomainFilter(allowed=["example.org"]).allows(document("a", url=f"https://{host}/"))


@for_each(
    "url",
    *("http://[broken", "https://i\u2764.ws/", "https://other.net%2Fexample.org/", "https://example.org%20.net/"),
    *("https://\ufffd.net", "https://%ff.net", "https://a b/", "https://\u00fc_.net"),
)
def test_an_address_that_cannot_be_read_is_shut_out_by_any_list(url: str):
    broken = document("a", url=url)

    assert DomainFilter().allows(broken)
    assert not DomainFilter(denied=["example.org"]).allows(broken)
    assert not DomainFilter(allowed=["example.org"]).allows(broken)


def test_survives_serialisation():
    data = DomainFilter(allowed=["Example.org"], denied=["*.bad.example.org"]).to_dict()

    assert data["init_parameters"] == {"allowed": ["example.org"], "denied": ["bad.example.org"]}
    assert DomainFilter.from_dict(data).to_dict() == data
