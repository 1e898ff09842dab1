"""Find where a passage stands in its file: its headings, its page, its line and its number.

The trace uses these places to distinguish passages that have the same title.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TypedDict

from haystack import Document

from prefrag.components.text.sentences import cut_text

# The labels by which the metadata of a file or passage says that it is not current. Without a label it is current.
STANDINGS = ("superseded", "draft", "old")
SUPERSEDED, DRAFT, OLD = STANDINGS
# The metadata field of a passage that spans several sections. Its value has one line for each section. The line has the
# position of the character at which the section begins, a blank, and the path of the headings: "120 Museum > Prices".
SECTIONS = "section_starts"
# The metadata field of a passage that spans several pages or slides. Its value has one line for each page. The line has
# the position of the character at which the page begins, a blank, and the number of the page: "120 4".
PAGES = "page_starts"
# In the trace, the names of files and sections are cut to this number of characters.
_MAX_CHARACTERS = 60


class Place(TypedDict, total=False):
    """Where something stands in its file. A key is left out if its value is not known.

    :param page: The number of the page or slide.
    :param line: The line in a file of code.
    """

    page: str | int
    line: str | int


class Position(TypedDict):
    """The position of a passage in its file.

    :param number: The number of the passage, counted from 1.
    :param of: How many passages the file has.
    """

    number: int
    of: int


def heading_of(meta: Mapping[str, object], at: int | None = None) -> str | None:
    """Return the path of headings above a passage, or above one of its characters.

    :param meta: The metadata of the passage.
    :param at: The position of a character in the passage, counted from 0. If the passage spans several sections, it
        selects the section. None stands for the beginning of the passage.
    :returns: The headings, such as "Museum > Prices". None if the passage has none.
    """
    heading = meta.get("heading")
    if at is not None:
        heading = _last_before(meta.get(SECTIONS), at, heading)
    return heading if isinstance(heading, str) and heading else None


def place_of(document: Document, at: int | None = None) -> Place:
    """Return the page and the line of a passage, or of one of its characters.

    :param document: The passage.
    :param at: The position of a character in the passage, counted from 0. None stands for the beginning.
    :returns: ``page`` is the number of the page or slide. ``line`` is the line in a file of code. A key is left out if
        the metadata does not tell its value.
    """
    page, line = document.meta.get("page_number"), document.meta.get("line")
    if at is not None and type(page) is int:
        number = str(_last_before(document.meta.get(PAGES), at, page))
        if number.isdecimal():
            # The metadata may come from other programs and have any number of digits. No file has more pages than nine
            # digits can count.
            page = int(number[:9])
    if at is not None and type(line) is int:
        line += (document.content or "").count("\n", 0, at)
    place: Place = {}
    if isinstance(page, str | int):
        place["page"] = page
    if isinstance(line, str | int):
        place["line"] = line
    return place


def _last_before(starts: object, at: int, otherwise: object) -> object:
    """Find the last part of a passage that begins at or before the position ``at``.

    ``starts`` has the lines of :data:`SECTIONS` or :data:`PAGES`. For example, of "0 Museum" and "120 Prices", the last
    at position 130 is "Prices". If no part begins there, ``otherwise`` is returned.
    """
    last = otherwise
    for part in starts.split("\n") if isinstance(starts, str) else ():
        begin, blank, name = part.partition(" ")
        if blank and begin.isdecimal() and int(begin[:9]) <= at:
            last = name
    return last


def standing_of(meta: Mapping[str, object]) -> str | None:
    """Return the label of a passage that is not current.

    :param meta: The metadata of the passage.
    :returns: "superseded", "draft" or "old". None if the passage is current.
    """
    standing = meta.get("standing")
    return standing if standing in STANDINGS else None


def position_of(meta: Mapping[str, object]) -> Position | None:
    """Return the number of a passage in its file, and how many passages the file has.

    :param meta: The metadata of the passage, with the fields that Haystack's splitter writes.
    :returns: ``number``, counted from 1, and ``of``, the number of passages. None if they are unknown.
    """
    place, count = meta.get("split_id"), meta.get("split_count")
    if type(place) is not int or type(count) is not int:
        return None
    if not 0 <= place < count:
        return None
    return {"number": place + 1, "of": count}


def name_documents(field: str, documents: Sequence[Document]) -> dict[str, list[str]]:
    """Name documents for the trace by their titles. If some titles are equal, also say what distinguishes them.

    For example, two passages with the title "Lease" of the files "lease 2023.pdf" and "lease 2024.pdf" give
    ``{"titles": ["Lease", "Lease"], "places": ["lease 2023.pdf", "lease 2024.pdf"]}``.

    :param field: The key under which the titles are returned.
    :param documents: The documents.
    :returns: The titles. If some titles are equal, ``places`` has one text for each document: the file, the heading or
        the number of the passage. It is empty for a document whose title no other document has.
    """
    # Another store or component may use dates, numbers or lists as titles. The trace is JSON, so it needs texts.
    titles = [str(document.meta.get("title") or document.id) for document in documents]
    counts = Counter(titles)
    if len(counts) == len(titles):
        return {field: titles}

    files_of_title: dict[str, set[str]] = defaultdict(set)
    for title, document in zip(titles, documents, strict=True):
        files_of_title[title].add(_file(document))

    parts = []
    for title, document in zip(titles, documents, strict=True):
        file = _file(document) if len(files_of_title[title]) > 1 else ""
        parts.append((title, file, _last_heading(document, title)))
    alike = Counter(parts)

    places = []
    for part, document in zip(parts, documents, strict=True):
        title, file, heading = part
        position = position_of(document.meta)
        number = ""
        if position and (not heading or alike[part] > 1):
            number = f"passage {position['number']}"
        is_alone = counts[title] == 1
        places.append("" if is_alone else ", ".join(filter(None, (file, heading, number))))
    return {field: titles, "places": places}


def _file(document: Document) -> str:
    """Return the name of a passage's file; empty if it has none."""
    path = document.meta.get("file_path")
    return PurePath(path).name[:_MAX_CHARACTERS] if isinstance(path, str) else ""


def _last_heading(document: Document, title: str) -> str:
    """Return the lowest heading above a passage; empty if there is none, or if it is only the title."""
    last = (heading_of(document.meta) or "").rpartition(" > ")[2]
    return "" if last == title else cut_text(last, _MAX_CHARACTERS)
