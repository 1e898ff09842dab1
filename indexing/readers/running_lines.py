"""Take the running headers, footers and page numbers out of the pages of a document, by repetition and place."""

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

# A header or a footer has at most this many lines, and stands on at least this many pages, or on all pages of fewer.
_MOST_LINES = 3
_LEAST_PAGES = 3
# From its first page to its last, it stands on at least this share of the pages. On every second page, it is one too.
_LEAST_SHARE = 0.4
_LONGEST = 200
_NUMBER = re.compile(r"\d{1,5}")
_WORD = re.compile(r"[^\W\d_]{2,}")
# A line with the number of the page and more than this many words also says something.
_FEW_WORDS = 3
_MOST_BELOW = 20

_Key = tuple[str, int | None]


def take_out_running_lines(pages: Sequence[list[str]]) -> None:
    """Empty the first and last lines of pages that many pages repeat, or repeat but for the number of the page.

    A header of the first page stays there, in a paragraph of its own, and so does the header row of a table that begins
    there. Another line that at least half of the pages have is put once below the last page: a footer may be the only
    place of, say, a bank account.

    :param pages: The lines of each page, as they stand on the page. They are changed in place.
    """
    filled = [[place for place, line in enumerate(lines) if line.strip()] for lines in pages]
    pages_of: dict[_Key, list[int]] = defaultdict(list)
    for number, (lines, places) in enumerate(zip(pages, filled, strict=True)):
        outer = {*places[:_MOST_LINES], *places[-_MOST_LINES:]}
        for key in {key for place in outer for key in _keys(lines[place], number)}:
            pages_of[key].append(number)
    most = sum(map(bool, filled))
    least = max(2, min(_LEAST_PAGES, most))
    running = {
        key: len(there)
        for key, there in pages_of.items()
        if len(there) >= least and len(there) >= _LEAST_SHARE * (there[-1] - there[0] + 1)
    }
    below: dict[str, None] = {}
    for number, (lines, places) in enumerate(zip(pages, filled, strict=True)):
        for is_top, ends in ((True, places[:_MOST_LINES]), (False, places[: -_MOST_LINES - 1 : -1])):
            for place in ends:
                repeated = [key for key in _keys(lines[place], number) if key in running]
                # Next to a line that does not repeat stands the text, even if that repeats.
                if not repeated:
                    break
                key = repeated[0]
                line, words = lines[place].strip(), len(_WORD.findall(lines[place]))
                is_kept = is_top and number == 0 and key[1] is None
                lines[place] = f"{line}\n" if is_kept else ""
                says_something = words > _FEW_WORDS if key[1] is not None else words
                if not is_kept and says_something and 2 * running[key] >= most and len(below) < _MOST_BELOW:
                    below.setdefault(line if key[1] is None else key[0])
    first = {line.strip() for line in pages[0]} if pages else set()
    for line in below:
        if line not in first:
            pages[-1].extend(("", line))


def _keys(line: str, number: int) -> Iterator[_Key]:
    """Yield what a line has in common with those of other pages: all of it, or all but the page's number."""
    line = line.strip()
    if not line or len(line) > _LONGEST:
        return
    yield line, None
    numbers = list(_NUMBER.finditer(line))
    # The number of the page is one of the first or of the last numbers of its line.
    for digits in [*numbers[:2], *numbers[2:][-2:]]:
        yield f"{line[: digits.start()]}#{line[digits.end() :]}", int(digits[0]) - number
