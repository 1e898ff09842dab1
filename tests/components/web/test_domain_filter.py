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


def test_all_are_allowed_by_default_and_denied_domains_win_over_allowed_ones():
    assert kept() == [0, 1, 2, 3, 4]
    assert kept(allowed=["example.org"], denied=["news.example.org"]) == [0]


@for_each(
    "domain",
    *("example.org", "Example.ORG", ".example.org", "https://example.org", "example.org/"),
    *("*.example.org", "//example.org:443/a?b"),
)
def test_denied_domains_drop_those_and_what_is_below_them_and_allowed_ones_keep_only_these(domain: str):
    assert kept(denied=[domain]) == [2, 3, 4]
    assert kept(allowed=[domain]) == [0, 1]


@for_each("written", "", "https://", "*", "example.*", "two words", False)
def test_what_is_no_domain_is_refused(written: Any):
    with pytest.raises(ValueError, match=r"is not a domain: give one such as example\.org"):
        DomainFilter(denied=[written])


@for_each("key", "url", "link")
@for_each("url", "example.org/a", "EXAMPLE.org", "example.org/to?url=https://other.org", "https://example.org./")
def test_domains_are_found_in_addresses_of_either_name_without_a_scheme_or_with_a_last_dot(url: str, key: str):
    page = document("a", **{key: url})
    assert document_url(page) == url
    assert not DomainFilter(denied=["example.org"]).allows(page)


def test_an_address_that_is_none_belongs_to_no_domain():
    broken = document("a", url="http://[broken")

    assert DomainFilter().allows(broken)
    assert DomainFilter(denied=["example.org"]).allows(broken)
    assert not DomainFilter(allowed=["example.org"]).allows(broken)


def test_survives_serialisation():
    data = DomainFilter(allowed=["Example.org"], denied=["*.bad.example.org"]).to_dict()

    assert data["init_parameters"] == {"allowed": ["example.org"], "denied": ["bad.example.org"]}
    assert DomainFilter.from_dict(data).to_dict() == data
