"""Read the encoding, the title or all words of an HTML page. Haystack's converter returns only the main text."""

import html
import re

# The closing tag of a title must be at most this many characters after its opening tag.
_TITLE_CHARACTERS = 50_000
# libxml2, which reads the pages, keeps no more levels than this.
_MOST_LEVELS = 255
_TAG = re.compile(r"</?(?!(?:br|hr|img|input|link|meta|wbr|col|area|base|source|track)\b)[a-zA-Z]")
_DECLARED_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)


def declared_charset(data: bytes) -> str | None:
    """Find the encoding that a page declares near its beginning."""
    declared = _DECLARED_CHARSET.search(data[:2048])
    return declared[1].decode() if declared else None


def html_title(text: str) -> str:
    """Find the title of a page, or else its first heading."""
    for tag in ("title", "h1"):
        # Only the first opening tag is tried. Otherwise a page with very many opening tags would take hours.
        if (start := re.search(rf"<{tag}\b[^>]{{0,1000}}>", text, re.IGNORECASE)) and (
            end := re.compile(rf"</{tag}\s*>", re.IGNORECASE).search(text, start.end(), start.end() + _TITLE_CHARACTERS)
        ):
            title = html.unescape(re.sub(r"<[^<>]*>", "", text[start.end() : end.start()])).strip()
            if title:
                return title
    return ""


def is_nested_deeply(page: str) -> bool:
    """Check whether so many elements of a page are open at once that the reader gives up."""
    depth = 0
    for tag in _TAG.finditer(page):
        depth += -1 if tag[0].startswith("</") else 1
        if depth > _MOST_LEVELS:
            return True
    return False


def without_tags(page: str) -> str:
    """Remove the tags of a page, and begin a new line at each paragraph, list item, heading and the like."""
    # A match contains no second opening tag. Otherwise a page with very many unclosed tags would take hours.
    page = re.sub(r"<(script|style|head)\b(?:(?!<\1\b).)*?</\1\s*>", " ", page, flags=re.IGNORECASE | re.DOTALL)
    page = re.sub(r"<(?:br|p|div|li|tr|h[1-6])\b[^<>]{0,1000}>", "\n", page, flags=re.IGNORECASE)
    return re.sub(r"\n\s*", "\n", html.unescape(re.sub(r"<[^<>]{0,5000}>", " ", page))).strip()
