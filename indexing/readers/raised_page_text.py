"""Write the raised and lowered characters of HTML pages so that they change no number.

Without its raised look, the mark of a note becomes a part of the number before it: "19" with the note 1 would be read
as 191, and "10" with the exponent 6 as 106. :func:`write_raised` keeps them apart by a sign.
"""

import html
import re

# Matches a raised or lowered text, such as `<sup class="note">1</sup>`. The group "name" is "sup" or "sub", and
# "content" is "1". The length is limited, so that a page with very many opening tags is read soon.
_RAISED = re.compile(
    r"<(?P<name>su[pb])\b[^<>]{0,1000}>(?P<content>(?:(?!</?su[pb]\b).){0,500})</(?P=name)\s*>",
    re.IGNORECASE | re.DOTALL,
)
# Matches a fraction whose upper number is raised and whose lower number is lowered. Groups 1 and 2 are the numbers.
_FRACTION = re.compile(
    r"""
    <sup\b[^<>]{0,1000}> \s* (\d{1,4}) \s* </sup\s*>
    \s* (?: / | \u2044 | &frasl; | &\#8260; ) \s*
    <sub\b[^<>]{0,1000}> \s* (\d{1,4}) \s* </sub\s*>
    """,
    re.IGNORECASE | re.VERBOSE,
)
# Matches any tag.
_TAG = re.compile(r"<[^<>]*>")
# Matches the tags at the end of a text that do not separate words, such as `</b>`.
_INLINE_TAGS = re.compile(
    r"(?:</?(?:a|abbr|b|cite|code|em|font|i|mark|q|small|span|strong|u)\b[^<>]{0,200}>)+\Z", re.IGNORECASE
)
# Matches the opening tag of a link.
_LINK = re.compile(r"<a\b", re.IGNORECASE)
# This many characters before a raised text show whether it stands at a word.
_BEFORE = 300


def write_raised(page: str) -> str:
    """Write the raised and lowered characters of a page as plain text.

    A raised number gets the sign "^", or brackets if it links to a note. For example, ``10<sup>6</sup>`` becomes
    ``10^6``, and ``19<sup><a href="#n1">1</a></sup>`` becomes ``19[1]``. Raised letters stay as they are, as in
    ``3<sup>rd</sup>``, and so do numbers that stand at the beginning of a text, and lowered ones behind letters, as in
    ``H<sub>2</sub>O``. A fraction is separated from the number before it.

    :param page: The HTML of the page.
    :returns: The HTML without these elements. An element that holds another one of them stays.
    """
    if "<su" not in page.lower():
        return page
    page = _FRACTION.sub(_write_fraction, page)
    return _RAISED.sub(_write_one_raised, page)


def _write_fraction(fraction: re.Match[str]) -> str:
    """Write a fraction, such as "1/2", with a blank before it if it stands behind a number."""
    blank = " " if _character_before(fraction).isdigit() else ""
    return f"{blank}{fraction[1]}/{fraction[2]}"


def _write_one_raised(raised: re.Match[str]) -> str:
    """Write a raised or lowered text as a part of its line."""
    content = raised["content"]
    words = " ".join(html.unescape(_TAG.sub("", content)).split())
    has_digit = any(map(str.isdigit, words))
    before = _character_before(raised)
    if raised["name"].lower() == "sub":
        return f"_{html.escape(words)}" if has_digit and before.isdigit() else content

    is_bracketed = words.startswith(("[", "(")) and words.endswith(("]", ")"))
    is_linked = _LINK.search(content) is not None and (has_digit or len(words) == 1)
    if words and (is_bracketed or is_linked):
        return f"[{html.escape(words.strip('[]()'))}]"
    is_behind_word = before.isalnum() or before in tuple(")]%'\"\u2019\u201d.,:;!?")
    if not has_digit or not is_behind_word:
        return content
    return f"^({html.escape(words)})" if " " in words else f"^{html.escape(words)}"


def _character_before(part: re.Match[str]) -> str:
    """Return the character before a part of a page in the same line; "" if there is none."""
    begin = max(0, part.start() - _BEFORE)
    text_before = _INLINE_TAGS.sub("", part.string[begin : part.start()])
    return html.unescape(text_before)[-1:]
