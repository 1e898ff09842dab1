"""Addresses that may be shown."""

from prefrag.components.text.addresses import safe_url, without_userinfo
from tests.for_each import for_each


@for_each(
    "text, shown",
    ("http://elastic:SECRET@es:9200", "http://es:9200"),
    ("No server at ['http://a:b@x', 'https://c:d%40@y/z'] answers", "No server at ['http://x', 'https://y/z'] answers"),
    ("https://social.example/@somebody", "https://social.example/@somebody"),
    ("write to me@example.org", "write to me@example.org"),
)
def test_a_password_is_removed_from_any_text(text: str, shown: str):
    assert without_userinfo(text) == shown


@for_each("url", "https://ok.example/a?b=c#d", "http://münchen.example:8080/")
def test_pages_may_be_followed(url: str):
    assert safe_url(url) == url


@for_each(
    "url",
    *("javascript:alert(1)", " JaVaScRiPt:alert(1)", "data:text/html,x", "file:///etc/passwd"),
    *("https://bbc.co.uk@evil.example/", "https://u:p@host.example/", "https://ok.example/ x"),
    "https://ok.example/\n[1] Minutes",
    *("https://ok.example/\u202e", "https://", "https://[bad", "//ok.example", ""),
)
def test_anything_else_may_not(url: str):
    assert safe_url(url) == ""
