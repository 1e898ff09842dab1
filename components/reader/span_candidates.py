"""The spans of a passage that may be an answer: dates, numbers, names, quotations, and short phrases."""

import re
from dataclasses import dataclass

from prefrag.components.reader.reader_input import passage_text

KINDS = ("title", "date", "year", "number", "quotation", "name", "short_name", "phrase", "read")
_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
# Matches a word inside a phrase. A function word such as "of" does not match, so the phrase ends before it.
_INSIDE = (
    r"(?!(?:from|of|the|and|with|by|in|on|at|for|that|which|who|was|were|is|are|to|as|or|but|has|had|have|it|he|she)\b)"
    r"[a-z-]{3,}"
)
_PATTERNS = (
    (
        "date",
        re.compile(
            rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{_MONTHS}),? \d{{3,4}}"
            rf"|(?:{_MONTHS}) \d{{1,2}}(?:st|nd|rd|th)?, ?\d{{3,4}}|(?:{_MONTHS}) \d{{4}}|\d{{1,2}} (?:{_MONTHS}))\b"
        ),
    ),
    ("year", YEAR),
    (
        "number",
        re.compile(
            r"(?<![\w.])(?:\d[\d,.]*\d|\d)(?: (?:million|billion|thousand|percent))?(?!\w)"
            r"|\b(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:-[a-z]+)?|two|three|four|five|six|seven"
            r"|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
            r"|(?:a |one )?hundred)\b"
        ),
    ),
    ("quotation", re.compile(r"[\"\u201c]\s?([^\"\u201d]{2,60}?)\s?[\"\u201d]")),
    (
        "name",
        re.compile(
            r"\b[A-Z\u00c0-\u00de][\w'\u2019.-]*(?:(?: (?:of|the|de|von|van|and|&|der|la|du|al|for|in|on|del|di))*"
            r",? [A-Z\u00c0-\u00de][\w'\u2019.-]*)*"
        ),
    ),
    ("short_name", re.compile(r"\b[A-Z\u00c0-\u00de][\w'\u2019-]*(?: [A-Z\u00c0-\u00de][\w'\u2019.-]*)*")),
    (
        "phrase",
        re.compile(rf"\b(?:an?|the|with|of|by|from|in|to|for|his|her|its|their) ({_INSIDE}(?: {_INSIDE}){{0,2}})\b"),
    ),
)
_END_PARENTHESIS = re.compile(r"\s*\(.*?\)\s*$")
# The border between two sentences, or between title and text. At least three lower-case letters must come before the
# full stop, so that it does not match after initials and abbreviations such as "J." or "St.".
SENTENCE_BORDER = re.compile(r"[^\W\d_A-Z]{3}[.!?]\s+[A-Z\"\u201c]")
_STRIPPED = " .,;:'\u2019\u2018-"
_JOINING_WORDS = (
    "a an the of in on at to for by from with and or is are was were be been did do it its this that these those "
    "his her their he she they there then than as has have had not into who which when where but if after before "
    "during while however although both some many most other such"
)
_NOT_ALONE = frozenset(_JOINING_WORDS.split())
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class SpanCandidate:
    """A span of a passage that may be the answer to the question."""

    passage: int  # the index of its passage
    text: str
    kind: str  # one of `KINDS`; `read` means that the encoder proposed the span, and no pattern matched it
    begin: int  # the index of its first character in the `passage_text` (title and text), which the encoder reads
    end: int  # the index after its last character there


def short_title(title: str) -> str:
    """Return a title without the parenthesis at its end: ``Heat (1995 film)`` becomes ``Heat``."""
    return _END_PARENTHESIS.sub("", title).strip()


def span_candidates(passage: int, title: str, text: str) -> list[SpanCandidate]:
    """List the spans of a passage that may be an answer."""
    found: list[SpanCandidate] = []
    shift = len(passage_text(title, text)) - len(text)
    name = short_title(title)
    if shift and name:
        found.append(SpanCandidate(passage, name, "title", 0, len(name)))
    seen: set[tuple[int, int]] = set()
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            begin, end = match.span(match.re.groups)
            whole = text[begin:end]
            border = SENTENCE_BORDER.search(whole)
            if border is not None:
                # Up to the three letters before the full stop, with which the match begins.
                whole = whole[: border.start() + 3]
            span = whole.strip(_STRIPPED)
            begin += len(whole) - len(whole.lstrip(_STRIPPED))
            if span.endswith(("'s", "\u2019s")):
                span = span[:-2]
            place = (begin, len(span))
            if not 0 < len(span) <= _LONGEST:
                continue
            if span.lower() in _NOT_ALONE or place in seen:
                continue
            seen.add(place)
            found.append(SpanCandidate(passage, span, kind, begin + shift, begin + shift + len(span)))
    return found
