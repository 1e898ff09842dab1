"""List the spans of a passage that may be an answer: dates, numbers, names, quotations and short phrases.

A span is a part of the text. Patterns find the spans. The same text may be found by several patterns, and then the
first pattern counts.
"""

import re
from dataclasses import dataclass

from prefrag.components.reader.reader_input import passage_text
from prefrag.components.text.dates import ENGLISH_MONTHS
from prefrag.components.text.number_words import ONES, TEENS, TENS

# The kinds of spans. All but the first and the last are the names of patterns: ``title`` is the title of the passage,
# and ``read`` is a span that only the encoder proposed.
KINDS = ("title", "date", "year", "number", "quotation", "name", "short_name", "phrase", "read")
# The names of the months, as alternatives of a pattern.
_MONTHS = "|".join(ENGLISH_MONTHS)
# A year from 1000 to 2099. It matches "in 1966". It does not match "1966th" and "19660".
YEAR = re.compile(r"\b(?:1[0-9]{3}|20[0-9]{2})\b")
# A word inside a phrase, of at least three lower-case letters. A function word such as "of" does not match, so the
# phrase ends before it. It matches "harbour". It does not match "of".
_INSIDE = (
    r"(?!(?:from|of|the|and|with|by|in|on|at|for|that|which|who|was|were|is|are|to|as|or|but|has|had|have|it|he|she)\b)"
    r"[a-z-]{3,}"
)
# A day of a month, as "3" or "3rd".
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
# A date with a month. The alternatives match, in this order, "3 May 1966", "May 3rd, 1966", "May 1966" and "3 May".
_DATE = re.compile(
    rf"\b(?:{_DAY} (?:{_MONTHS}),? \d{{3,4}}|(?:{_MONTHS}) {_DAY}, ?\d{{3,4}}"
    rf"|(?:{_MONTHS}) \d{{4}}|\d{{1,2}} (?:{_MONTHS}))\b"
)
# A number in figures or in words. The word "one" alone is left out, because it mostly is no number. It matches
# "1,200.50", "3 million", "seven", "twenty-five" and "a hundred".
_NUMBER = re.compile(
    r"(?<![\w.])(?:\d[\d,.]*\d|\d)(?: (?:million|billion|thousand|percent))?(?!\w)"
    rf"|\b(?:(?:{'|'.join(TENS)})(?:-[a-z]+)?|{'|'.join((*ONES[1:], *TEENS))}|(?:a |one )?hundred)\b"
)
# Text in quotation marks, which is the group.
_QUOTATION = re.compile(r"[\"\u201c]\s?([^\"\u201d]{2,60}?)\s?[\"\u201d]")
# A capital letter, also with an accent.
_CAPITAL = r"[A-Z\u00c0-\u00de]"
# A word of a name, in which a full stop may stand. It matches "Ann", "O'Neill" and "St.".
_NAME_WORD = rf"{_CAPITAL}[\w'\u2019.-]*"
# Words with a capital letter. Small words or a comma may join them. It matches "Bank of the West" and "Brae, Kent".
_NAME = re.compile(
    rf"\b{_NAME_WORD}(?:(?: (?:of|the|de|von|van|and|&|der|la|du|al|for|in|on|del|di))*,? {_NAME_WORD})*"
)
# Only words with a capital letter. In "Bank of the West" it matches "Bank" and then "West".
_SHORT_NAME = re.compile(rf"\b{_CAPITAL}[\w'\u2019-]*(?: {_NAME_WORD})*")
# Up to three lower-case words behind an article, a possessive or a preposition. The words are the group. In "of grey
# stone" they are "grey stone".
_PHRASE = re.compile(rf"\b(?:an?|the|with|of|by|from|in|to|for|his|her|its|their) ({_INSIDE}(?: {_INSIDE}){{0,2}})\b")
# For each kind its pattern. If the pattern has a group, the span is the group, else all that matches. The order
# matters, because a span that several patterns match has the kind of the first one.
_PATTERNS = (
    ("date", _DATE),
    ("year", YEAR),
    ("number", _NUMBER),
    ("quotation", _QUOTATION),
    ("name", _NAME),
    ("short_name", _SHORT_NAME),
    ("phrase", _PHRASE),
)
# A text in brackets at the end of a title. It matches "Heat (1995 film)".
_END_PARENTHESIS = re.compile(r"\s*\(.*?\)\s*$")
# The border between two sentences, or between title and text. At least three lower-case letters must come before the
# full stop. So initials and abbreviations such as "J." and "St." do not match. It matches "the harbour. The hall". It
# does not match "St. Mary".
SENTENCE_BORDER = re.compile(r"[^\W\d_A-Z]{3}[.!?]\s+[A-Z\"\u201c]")
# A match of this border begins with three letters. A sentence ends behind them.
_LETTERS_BEFORE_STOP = 3
# Characters that are removed at both ends of a span.
_STRIPPED = " .,;:'\u2019\u2018-"
# Words that are no answer when they stand alone.
_JOINING_WORDS = (
    "a an the of in on at to for by from with and or is are was were be been did do it its this that these those "
    "his her their he she they there then than as has have had not into who which when where but if after before "
    "during while however although both some many most other such"
)
_NOT_ALONE = frozenset(_JOINING_WORDS.split())
# The maximum number of characters of a span.
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class SpanCandidate:
    """A span of a passage that may be the answer to the question.

    :param passage: The index of its passage.
    :param text: The span.
    :param kind: One of :data:`KINDS`. ``read`` means that the encoder proposed the span, and no pattern matched it.
    :param begin: The index of its first character in the text that the encoder reads:
        :func:`~prefrag.components.reader.reader_input.passage_text`, which is the title and the text.
    :param end: The index after its last character in the same text.
    """

    passage: int
    text: str
    kind: str
    begin: int
    end: int


def short_title(title: str) -> str:
    """Return a title without the parenthesis at its end.

    For example, ``short_title("Heat (1995 film)")`` returns ``"Heat"``.

    :param title: The title of a passage.
    :returns: The short title.
    """
    return _END_PARENTHESIS.sub("", title).strip()


def span_candidates(passage: int, title: str, text: str) -> list[SpanCandidate]:
    """List the spans of a passage that may be an answer.

    For example,
    ``[span.text for span in span_candidates(0, "", "Ann sang in May 1966.")]`` returns
    ``["May 1966", "1966", "Ann", "May"]``.

    :param passage: The index of the passage, which is put into each span.
    :param title: The title of the passage. It is the first span, unless it is empty or only the number of a record.
    :param text: The text of the passage.
    :returns: The spans, in the order of the patterns.
    """
    candidates: list[SpanCandidate] = []
    # The encoder reads the title before the text. So an index in the text grows by this many characters.
    shift = len(passage_text(title, text)) - len(text)
    is_title_read = shift > 0
    name = short_title(title)
    if is_title_read and name:
        candidates.append(SpanCandidate(passage, name, "title", 0, len(name)))

    seen: set[tuple[int, int]] = set()
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            begin, span = _trim(match)
            end = begin + len(span)
            if not _may_be_answer(span) or (begin, end) in seen:
                continue
            seen.add((begin, end))
            candidates.append(SpanCandidate(passage, span, kind, begin + shift, end + shift))
    return candidates


def _trim(match: re.Match[str]) -> tuple[int, str]:
    """Trim what a pattern matches to one sentence, without signs and the ending of a possessive.

    :param match: The match. Its group, if there is one, is trimmed.
    :returns: The index of the first character, and the span.
    """
    # The number of groups is 0 or 1, and group 0 is all that matches.
    group = match.re.groups
    begin, whole = match.start(group), match[group]
    border = SENTENCE_BORDER.search(whole)
    if border is not None:
        whole = whole[: border.start() + _LETTERS_BEFORE_STOP]

    span = whole.strip(_STRIPPED)
    begin += len(whole) - len(whole.lstrip(_STRIPPED))
    if span.endswith(("'s", "\u2019s")):
        span = span[:-2]
    return begin, span


def _may_be_answer(span: str) -> bool:
    """Check whether a span has a fitting length, and is no word such as "the" alone."""
    return 0 < len(span) <= _LONGEST and span.lower() not in _NOT_ALONE
