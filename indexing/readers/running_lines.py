"""Remove the headers, footers and page numbers that repeat on the pages of a document.

The reader of PDF files calls :func:`take_out_running_lines`. A header, footer or page number is one of the first or
last lines of its page. The same line stands on many pages, but the number of the page in it may differ. A number in a
line with other words is the number of the page in these cases only, because "Chapter 3" and "Invoice No. 1001" go up
with the page, too:

- It stands behind a word such as "page".
- It stands before the number of the last page, as in "3/10" or "3 of 10".
- It stands at the beginning or at the end of its line, behind a wide gap (:data:`GAP`) or a bar.
- It stands on the outer side of facing pages: first on the left pages and last on the right pages.
"""

import re
from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from prefrag.components.text.sentences import ends_with_stop

# A header or a footer has at most this many lines.
MOST_LINES = 3
# A repeated line stands on at least this many pages. In a document with fewer pages, it stands on all pages, at least
# 2.
_LEAST_PAGES = 3
# Between the first and the last page with the line, at least this share of the pages has the line. The number is below
# one half, because some headers stand on every second page.
_LEAST_SHARE = 0.4
# A line with more characters than this is no header or footer.
_LONGEST = 200
# The last line of a page is full if it has more than this share of the characters of the longest line of the page.
_FULL = 0.6
# The sign that stands for a wide gap in the first and last lines of a page. A blank is written in its place.
GAP = "\t"
# Matches a number that may be the number of a page: digits, or small Roman numerals below 100. Roman capitals are the
# numbers of chapters and poems.
_DIGITS = r"\d{1,5}"
_ROMAN = r"(?<![^\W_])(?=[ivxl])(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})(?![^\W_])"
_NUMBER = re.compile(rf"{_DIGITS}|{_ROMAN}")
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}
# Matches what may stand beside the numbers in a line with the number of the page. It matches "Page  of ", which is the
# rest of "Page 3 of 10".
_PAGE_WORD = r"(?:page|seite|sheet|blatt|p|s)"
_BESIDE = re.compile(rf"(?:[\s/|.,()\[\]\u00b7\u2013\u2014-]|\b(?:{_PAGE_WORD}|of|von)\b)*", re.IGNORECASE)
# Matches the number of the page behind a word for a page, as in "Handbook 2026 Page 3", but not in "Ann's 3".
_NAMED = re.compile(rf"(?<![\w'\u2019])(?i:{_PAGE_WORD})\b\.?\s*(?P<number>{_DIGITS}\b|{_ROMAN})")
# Matches a number before a second number, as in "Version 1.2 - 3/10" and "Rules (3 of 10)". Does not match "Part 3 of
# 10", which may be a heading, and the date "3/5/2026". A browser prints the numbers behind the address of the page or
# the name of its file, as in "https://port.example/fees 3/10" and "fees.html 3/10".
_COUNTED = re.compile(
    r"(?:^|[^\w\s.:]\s*|\d\s+|(?<!\S)(?=\S*\w[./:]\w)\S+\w\s+)"
    rf"(?P<number>{_DIGITS})\s*(?:/|of\b|von\b)\s*(?P<last>{_DIGITS})\b(?![/.]\d)",
    re.IGNORECASE,
)
# Matches what stands between two parts of a line: a wide gap, a bar or a dot in the middle of the line.
_BORDER = re.compile(rf"{GAP}|\s[|\u00b7\u2022]\s")
# The signs beside the number of a page and its words, as in "# | Harbour rules". They stand on the other side of facing
# pages.
_BORDER_SIGNS = "#|\u00b7\u2022 \t"
# Matches the end of a text that ends in an English or German word with which no sentence ends. They are articles,
# prepositions and conjunctions, as in "is paid by the" and "wird vom".
_OPEN_END = re.compile(
    r"\b(?:an?|the|and|or|of|by|from|with|as|at|into|than|that|which|whose"
    r"|d(?:er|ie|as|em|en|es)|eine?[mnrs]?|und|oder|sowie|von|vom|zum|zur|im|am|beim|bei|mit|f\u00fcr|durch|dass)\s*$"
)
# Matches words with a number before or behind them, as in "102 Harbour rules" and "The fees 103".
_OUTER = re.compile(rf"(?P<first>{_DIGITS})\s+(?=[^\W\d_])(?P<behind>.+)|(?P<before>.+[^\W\d_])\s+(?P<last>{_DIGITS})")

# Matches the day and the second at which a page was printed, behind a word. Each page may have another one. The rows
# of a log begin with such a time.
_STAMP = re.compile(r"(?<=[^\W\d_] )\d{1,4}[-./]\d{1,2}[-./]\d{1,4},? \d{1,2}:\d\d:\d\d")

# The words of a line without the number of its page. A line is repeated if the same words stood on an earlier page. ""
# if the line has only the number of the page.
_Words = str


class _Key(NamedTuple):
    """What a line has in common with a line of another page. There are four kinds of keys.

    1. The line itself. Lines that are equal on all pages have the same key.
    2. The line with # in the place of a number, and the offset of this number. For example, "Page 3 of 10" on page 2
       has the key ("Page # of 10", 1).
    3. Only # and the offset, for the number of the page in a line with other words. So the other words may differ, as
       in "Fees - page 3" and "Moorings - page 4".
    4. The words before or behind a number, its offset and its side, for a line on facing pages.

    :param words: The line or its words.
    :param offset: The number in the line minus the number of its page, which counts from 0. None for the first kind.
    :param side: The place of the number on facing pages: "first" or "last". "" for the other kinds.
    """

    words: str
    offset: int | None = None
    side: str = ""


class _RunningLine(NamedTuple):
    """A line that repeats on many pages.

    :param page: The number of its page, from 0.
    :param place: The position of the line on the page.
    :param words: Its words without the number of the page.
    :param is_header: Whether it is one of the first lines of the page. Otherwise it is one of the last lines.
    """

    page: int
    place: int
    words: _Words
    is_header: bool


def take_out_running_lines(pages: Sequence[list[str]]) -> None:
    """Remove the first and last lines of pages that repeat on many pages.

    One occurrence of a repeated line stays, as a paragraph of its own. It may be the title of a chapter, the header of
    a table, or a footer with a fact such as the number of a bank account. It is the first occurrence that cuts no
    sentence in two, as a footer does if a sentence goes on on the next page. Lines that differ in the number of the
    page only are repeated, too. A line with nothing but the number of the page is removed from every page.

    :param pages: The lines of each page, in the order of the page. They are changed in place: a removed line becomes
        "". A header that would cut a sentence everywhere may be added to the beginning of an earlier line.
    """
    running_keys = _running_keys(pages)
    # The repeated lines by their words.
    lines_of_words: dict[_Words, list[_RunningLine]] = defaultdict(list)
    # The positions of the lines of each page that have text and do not repeat, and these lines.
    text_places: list[list[int]] = []
    texts: list[list[str]] = []
    for number, lines in enumerate(pages):
        running_lines = _running_lines(lines, number, len(pages), running_keys)
        for line in running_lines:
            lines_of_words[line.words].append(line)
        running_places = {line.place for line in running_lines}
        text_places.append([place for place in _filled_places(lines) if place not in running_places])
        texts.append([lines[place] for place in text_places[-1]])
    # The numbers of the pages whose last sentence goes on on the next page.
    unfinished = {number for number, (text, next_text) in enumerate(pairwise(texts)) if _goes_on(text, next_text)}

    # The headers that move above a line, by the page and the position of this line.
    moved: dict[tuple[int, int], list[str]] = defaultdict(list)
    for words, running_lines in lines_of_words.items():
        line, is_within_sentence = _occurrence_to_keep(running_lines, unfinished)
        shown = f"\n{pages[line.page][line.place].strip()}\n"
        for page, place, _, _ in running_lines:
            pages[page][place] = ""
        if words and is_within_sentence:
            moved[_begin_of_paragraph(line.page - 1, pages, text_places, unfinished)].append(shown)
        elif words:
            pages[line.page][line.place] = shown
    # The line stays a single item, because the positions of the lines must stay as they are.
    for (page, place), headers in moved.items():
        pages[page][place] = "".join([*headers, pages[page][place]])

    for lines in pages:
        for place in _filled_places(lines):
            lines[place] = lines[place].replace(GAP, " ")


def _running_lines(
    lines: Sequence[str], number: int, page_count: int, running_keys: Container[_Key]
) -> list[_RunningLine]:
    """Return the repeated lines of a page.

    :param lines: The lines of the page.
    :param number: The number of the page, from 0.
    :param page_count: The number of pages.
    :param running_keys: The keys of the lines that repeat.
    """
    places = _filled_places(lines)
    # On a short page, a line is both a first and a last line. Then it is a first line.
    running_lines: dict[int, _RunningLine] = {}
    # Look at the first lines from the top down, and then at the last lines from the bottom up.
    last_places = list(reversed(places[-MOST_LINES:]))
    for ends, is_header in ((places[:MOST_LINES], True), (last_places, False)):
        for place in ends:
            if place in running_lines:
                continue
            words_of_keys = [words for key, words in _keys(lines[place], number, page_count) if key in running_keys]
            # A line that does not repeat is the border of the text. Lines behind it are text, even if they repeat.
            if not words_of_keys:
                break
            running_lines[place] = _RunningLine(number, place, words_of_keys[0], is_header)
    return list(running_lines.values())


def _occurrence_to_keep(lines: Sequence[_RunningLine], unfinished: Container[int]) -> tuple[_RunningLine, bool]:
    """Choose the occurrence of a repeated line that stays.

    :param lines: The occurrences, in the order of their pages.
    :param unfinished: The numbers of the pages whose last sentence goes on on the next page.
    :returns: The occurrence, and whether it moves above the paragraph that goes on on its page. That happens to a
        header that stands within a sentence on all of its pages. Behind the text of its pages, it would look like the
        title of the next text. A footer within sentences stays in its place.
    """
    for line in lines:
        page_before = line.page - 1 if line.is_header else line.page
        if page_before not in unfinished:
            return line, False
    for line in lines:
        if line.is_header:
            return line, True
    return lines[0], False


def _begin_of_paragraph(
    page: int, pages: Sequence[Sequence[str]], text_places: Sequence[Sequence[int]], unfinished: Container[int]
) -> tuple[int, int]:
    """Find the line with which the last paragraph of a page begins. It may be a line of an earlier page.

    It stands below a blank line, or below a line that ends with its sentence.

    :param page: The number of the page, which has text.
    :param pages: The lines of each page.
    :param text_places: The positions of the lines of each page that have text and do not repeat.
    :param unfinished: The numbers of the pages whose last sentence goes on on the next page.
    :returns: The number of the page and the position of the line.
    """
    while True:
        places = text_places[page]
        for place_above, place in reversed(list(pairwise(places))):
            if place - place_above > 1 or ends_with_stop(pages[page][place_above]):
                return page, place
        if page - 1 not in unfinished:
            return page, places[0]
        page -= 1


def _goes_on(text: Sequence[str], next_text: Sequence[str]) -> bool:
    """Check whether a sentence at the end of a page goes on on the next page.

    Headings, the rows of a table and the lines of a list end without a full stop, too. So one of two conditions must be
    true. Either the last word is one with which no sentence ends, as in "is paid by the". Or the last line is full or
    ends in a comma, and the next page begins with a small letter. A comma may also stand before a table.

    :param text: The lines of the page, without the repeated lines.
    :param next_text: The same of the next page.
    """
    if not text or not next_text or ends_with_stop(text[-1]):
        return False
    if _OPEN_END.search(text[-1]):
        return True
    is_full = len(text[-1]) > _FULL * max(map(len, text))
    has_comma = text[-1].rstrip().endswith(",")
    return (is_full or has_comma) and next_text[0].lstrip()[0].islower()


def _filled_places(lines: Sequence[str]) -> list[int]:
    """Return the positions of the lines with text on a page."""
    return [place for place, line in enumerate(lines) if line.strip()]


def _running_keys(pages: Sequence[Sequence[str]]) -> set[_Key]:
    """Return the keys that the first or last lines of enough pages have."""
    # The numbers of the pages that have a key in one of their first or last lines.
    pages_of: dict[_Key, list[int]] = defaultdict(list)
    pages_with_text = 0
    for number, lines in enumerate(pages):
        places = _filled_places(lines)
        pages_with_text += bool(places)
        outer = {*places[:MOST_LINES], *places[-MOST_LINES:]}
        keys_of_page: set[_Key] = set()
        for place in outer:
            keys_of_page.update(key for key, _ in _keys(lines[place], number, len(pages)))
        for key in keys_of_page:
            pages_of[key].append(number)

    least = max(2, min(_LEAST_PAGES, pages_with_text))
    running: set[_Key] = set()
    for key, numbers in pages_of.items():
        pages_between = numbers[-1] - numbers[0] + 1
        if not key.side and len(numbers) >= least and len(numbers) >= _LEAST_SHARE * pages_between:
            running.add(key)
    return running | _facing_keys(pages_of)


def _facing_keys(pages_of: Mapping[_Key, Sequence[int]]) -> set[_Key]:
    """Return the keys of lines on facing pages: the number stands first on every left page and last on every right one.

    :param pages_of: The numbers of the pages that have a key.
    """
    # The keys by their offset, their side and whether their pages are even (0) or odd (1).
    facing: dict[tuple[int | None, str, int], list[_Key]] = defaultdict(list)
    for key, numbers in pages_of.items():
        remainders = {number % 2 for number in numbers}
        if key.side and len(numbers) > 1 and len(remainders) == 1:
            facing[key.offset, key.side, remainders.pop()].append(key)

    running: set[_Key] = set()
    for (offset, side, remainder), keys in facing.items():
        other_side = "last" if side == "first" else "first"
        if (offset, other_side, 1 - remainder) in facing:
            running.update(keys)
    return running


def _keys(line: str, number: int, page_count: int) -> Iterator[tuple[_Key, _Words]]:
    """Yield the keys of a line: the whole line, and the line without a number that may be the number of the page.

    For example, "Page 3 of 10" on the page with the number 2 gives "Page 3 of 10", ("Page # of 10", 1) and
    ("Page 3 of #", 8).

    :param line: The line.
    :param number: The number of its page, from 0.
    :param page_count: The number of pages.
    :returns: The keys, and the words of the line for each key.
    """
    line = line.strip()
    if not line or len(line) > _LONGEST:
        return

    plain = _STAMP.sub("#", line)
    yield _Key(plain), plain
    if _has_only_numbers(line):
        for match in _outer_numbers(line):
            yield _Key(_without(line, match.span()), _value(match[0]) - number), ""
        return

    places = [match.span("number") for match in _NAMED.finditer(line)]
    for match in _COUNTED.finditer(line):
        # The number of the last page, if the first number is that of this page.
        last_number = int(match["number"]) + page_count - 1 - number
        if int(match["last"]) == last_number:
            places.append(match.span("number"))
    borders = [match.span() for match in _BORDER.finditer(line)]
    outer_parts = [(0, borders[0][0]), (borders[-1][1], len(line))] if borders else []
    for begin, end in outer_parts:
        if _has_only_numbers(line[begin:end]):
            numbers = _outer_numbers(line[begin:end])
            places += [(begin + match.start(), begin + match.end()) for match in numbers]
    for begin, end in places:
        words = _without(line, (begin, end)).strip(_BORDER_SIGNS)
        yield _Key("#", _value(line[begin:end]) - number), words

    outer = _OUTER.fullmatch(line)
    if outer:
        side = "first" if outer["first"] else "last"
        words = outer["behind"] or outer["before"]
        yield _Key(words, int(outer[side]) - number, side), words


def _has_only_numbers(line: str) -> bool:
    """Check whether a line or a part of it has numbers and no words but those beside the number of a page."""
    return bool(_BESIDE.fullmatch(_NUMBER.sub(" ", line)))


def _outer_numbers(line: str) -> list[re.Match[str]]:
    """Return the first two and the last two numbers of a line. The number of the page is one of them."""
    numbers = list(_NUMBER.finditer(line))
    first_two, others = numbers[:2], numbers[2:]
    return [*first_two, *others[-2:]]


def _without(line: str, place: tuple[int, int]) -> str:
    """Return a line with # in the place of a number."""
    begin, end = place
    return f"{line[:begin]}#{line[end:]}"


def _value(number: str) -> int:
    """Return the value of a number in digits or in Roman numerals."""
    if number.isdecimal():
        return int(number)
    values = [_ROMAN_DIGITS[letter] for letter in number]
    # A letter before a greater one is subtracted, as in "ix".
    return sum(-value if value < following else value for value, following in pairwise([*values, 0]))
