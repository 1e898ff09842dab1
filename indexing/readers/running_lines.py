"""Take the running headers, footers and page numbers out of the pages of a document, by repetition and place."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

# A header or a footer has at most this many lines, and stands on at least this many pages, or on all pages of fewer.
_MOST_LINES = 3
_LEAST_PAGES = 3
# From its first page to its last, it stands on at least this share of the pages. On every second page, it is one too.
_LEAST_SHARE = 0.4
_LONGEST = 200  # characters
_NUMBER = re.compile(r"\d{1,5}")
# What a line with the number of the page may hold besides; another line with a number, as "Invoice No. 1001", is text.
_BESIDE = re.compile(r"(?:[\s/|.,()\[\]\u00b7\u2013\u2014-]|\b(?:page|seite|p|s|of|von)\b)*", re.IGNORECASE)

# What a line has in common with lines of other pages: the line, and None; or the line with # in the place of one of its
# numbers, and how much this number is larger than that of the page.
_Key = tuple[str, int | None]


def take_out_running_lines(pages: Sequence[list[str]]) -> None:
    """Empty the first and last lines of pages that many pages repeat, or repeat but for the number of the page.

    Where such a line stands first it stays, in a paragraph of its own: it may be the title of a chapter, the header row
    of a table, or a footer that is the only place of, say, a bank account. Only a page's number leaves every page.

    :param pages: The lines of each page, as they stand on the page. They are changed in place.
    """
    filled = [[place for place, line in enumerate(lines) if line.strip()] for lines in pages]
    pages_of: dict[_Key, list[int]] = defaultdict(list)
    for number, (lines, places) in enumerate(zip(pages, filled, strict=True)):
        outer = {*places[:_MOST_LINES], *places[-_MOST_LINES:]}
        keys_of_page: set[_Key] = set()
        for place in outer:
            keys_of_page.update(_keys(lines[place], number))
        for key in keys_of_page:
            pages_of[key].append(number)
    pages_with_text = sum(map(bool, filled))
    least = max(2, min(_LEAST_PAGES, pages_with_text))
    running: set[_Key] = set()
    for key, numbers in pages_of.items():
        pages_between = numbers[-1] - numbers[0] + 1
        if len(numbers) >= least and len(numbers) >= _LEAST_SHARE * pages_between:
            running.add(key)
    shown: set[str] = set()
    for number, (lines, places) in enumerate(zip(pages, filled, strict=True)):
        done: set[int] = set()
        for ends in (places[:_MOST_LINES], places[: -_MOST_LINES - 1 : -1]):
            for place in ends:
                if place in done:
                    continue
                repeated = next((key for key in _keys(lines[place], number) if key in running), None)
                # Next to a line that does not repeat stands the text, even if that repeats.
                if repeated is None:
                    break
                line = lines[place].strip()
                is_numbered = repeated[1] is not None
                lines[place] = "" if is_numbered or line in shown else f"{line}\n"
                shown.add(line)
                done.add(place)


def _keys(line: str, number: int) -> Iterator[_Key]:
    """Yield what a line has in common with those of other pages: all of it, or all but the page's number."""
    line = line.strip()
    if not line or len(line) > _LONGEST:
        return
    yield line, None
    if not _BESIDE.fullmatch(_NUMBER.sub(" ", line)):
        return
    numbers = list(_NUMBER.finditer(line))
    # The number of the page is one of the first or of the last numbers of its line.
    for digits in [*numbers[:2], *numbers[2:][-2:]]:
        yield f"{line[: digits.start()]}#{line[digits.end() :]}", int(digits[0]) - number
