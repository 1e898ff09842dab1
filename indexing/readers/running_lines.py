"""Remove the headers, footers and page numbers that repeat on the pages of a document.

The reader of PDF files calls :func:`take_out_running_lines`. A header, footer or page number is one of the first or
last lines of its page. The same line stands on many pages, but the number of the page in it may differ.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

# A header or a footer has at most this many lines.
_MOST_LINES = 3
# A repeated line stands on at least this many pages. In a document with fewer pages, it stands on all pages, at least
# 2.
_LEAST_PAGES = 3
# Between the first and the last page with the line, at least this share of the pages has the line. The number is below
# one half, because some headers stand on every second page.
_LEAST_SHARE = 0.4
# A line with more characters than this is no header or footer.
_LONGEST = 200
# Matches a number that may be the number of a page.
_NUMBER = re.compile(r"\d{1,5}")
# Matches what may stand beside the numbers in a line with the number of the page. It matches "Page  of ", which is the
# rest of "Page 3 of 10". A line with other words beside a number, such as "Invoice No. 1001", is ordinary text.
_BESIDE = re.compile(r"(?:[\s/|.,()\[\]\u00b7\u2013\u2014-]|\b(?:page|seite|p|s|of|von)\b)*", re.IGNORECASE)

# A key shows what a line has in common with a line of another page. A key has one of two forms:
# 1. The line itself and None. Lines that are equal on all pages have the same key.
# 2. The line with # in the place of a number, and this number minus the number of its page. Pages are numbered from 0.
#    For example, "Page 3 of 10" on page 2 has the key ("Page # of 10", 1).
_Key = tuple[str, int | None]


def take_out_running_lines(pages: Sequence[list[str]]) -> None:
    """Remove the first and last lines of pages that repeat on many pages.

    The first occurrence of a repeated line stays, as a paragraph of its own. It may be the title of a chapter, the
    header of a table, or a footer with a fact such as the number of a bank account. A line with the number of the page
    is removed from every page.

    :param pages: The lines of each page, in the order of the page. They are changed in place: a removed line becomes
        "".
    """
    running = _running_keys(pages)
    # The repeated lines that stood on an earlier page.
    shown: set[str] = set()
    for number, lines in enumerate(pages):
        places = _filled_places(lines)
        # The positions of the lines of this page that are done. On a short page, a line is both a first and a last
        # line.
        done: set[int] = set()
        # Look at the first lines from the top down, and then at the last lines from the bottom up.
        last_places = list(reversed(places[-_MOST_LINES:]))
        for ends in (places[:_MOST_LINES], last_places):
            for place in ends:
                if place in done:
                    continue
                running_keys = [key for key in _keys(lines[place], number) if key in running]
                # A line that does not repeat is the border of the text. Lines behind it are text, even if they repeat.
                if not running_keys:
                    break
                line = lines[place].strip()
                _, page_offset = running_keys[0]
                has_page_number = page_offset is not None
                lines[place] = "" if has_page_number or line in shown else f"{line}\n"
                shown.add(line)
                done.add(place)


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
        outer = {*places[:_MOST_LINES], *places[-_MOST_LINES:]}
        keys_of_page: set[_Key] = set()
        for place in outer:
            keys_of_page.update(_keys(lines[place], number))
        for key in keys_of_page:
            pages_of[key].append(number)

    least = max(2, min(_LEAST_PAGES, pages_with_text))
    running: set[_Key] = set()
    for key, numbers in pages_of.items():
        pages_between = numbers[-1] - numbers[0] + 1
        if len(numbers) >= least and len(numbers) >= _LEAST_SHARE * pages_between:
            running.add(key)
    return running


def _keys(line: str, number: int) -> Iterator[_Key]:
    """Yield the keys of a line: the whole line, and the line without a number that may be the number of the page.

    For example, "Page 3 of 10" on the page with the number 2 gives ("Page 3 of 10", None), ("Page # of 10", 1) and
    ("Page 3 of #", 8).

    :param line: The line.
    :param number: The number of its page, from 0.
    """
    line = line.strip()
    if not line or len(line) > _LONGEST:
        return

    yield line, None
    if not _BESIDE.fullmatch(_NUMBER.sub(" ", line)):
        return

    numbers = list(_NUMBER.finditer(line))
    # The number of the page is one of the first two or of the last two numbers of its line.
    first_two, others = numbers[:2], numbers[2:]
    for digits in [*first_two, *others[-2:]]:
        before, behind = line[: digits.start()], line[digits.end() :]
        yield f"{before}#{behind}", int(digits[0]) - number
