"""Where a passage stands in its file, and what distinguishes the passages of one file."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from haystack import Document

from prefrag.components.text.sentences import cut_text

# The labels by which the metadata of a file or passage says that it is not current. Without a label it is current.
STANDINGS = ("superseded", "draft", "old")
SUPERSEDED, DRAFT, OLD = STANDINGS
# The metadata of a passage that spans several sections. Its value has a line for each section: the number of the
# character at which the section begins, a blank, and the path of its headings.
SECTIONS = "section_starts"
# The metadata of a passage that spans several pages or slides. Its value has a line for each page: the number of the
# character at which the page begins, a blank, and the number of the page.
PAGES = "page_starts"
# In the trace, the names of files and sections are cut to this length.
_MAX_CHARACTERS = 60


def heading_of(meta: Mapping[str, object], at: int | None = None) -> str | None:
    """Return the path of headings above a passage or, if it spans several sections, above the character at ``at``."""
    heading = meta.get("heading")
    if at is not None:
        heading = _last_before(meta.get(SECTIONS), at, heading)
    return heading if isinstance(heading, str) and heading else None


def place_of(document: Document, at: int | None = None) -> dict[str, str | int]:
    """Return the `page` (or slide) and the `line` of code of the character at ``at``, by default of the beginning.

    A place that the metadata does not tell is left out.
    """
    page, line = document.meta.get("page_number"), document.meta.get("line")
    if at is not None and type(page) is int:
        number = str(_last_before(document.meta.get(PAGES), at, page))
        if number.isdecimal():
            # Nothing limits the digits in metadata of other programs, and no file has more pages.
            page = int(number[:9])
    if at is not None and type(line) is int:
        line += (document.content or "").count("\n", 0, at)
    return {name: place for name, place in (("page", page), ("line", line)) if isinstance(place, str | int)}


def _last_before(starts: object, at: int, otherwise: object) -> object:
    """Find the last part of a passage that begins at or before ``at``; ``otherwise`` if no such part is listed."""
    last = otherwise
    for part in starts.split("\n") if isinstance(starts, str) else ():
        begin, blank, name = part.partition(" ")
        if blank and begin.isdecimal() and int(begin[:9]) <= at:
            last = name
    return last


def standing_of(meta: Mapping[str, object]) -> str | None:
    """Return the label of a passage ("superseded", "draft" or "old"); None for a current passage."""
    standing = meta.get("standing")
    return standing if standing in STANDINGS else None


def position_of(meta: Mapping[str, object]) -> dict[str, int] | None:
    """Return the number of a passage in its file, counted from 1, and the number of passages; None if unknown."""
    place, count = meta.get("split_id"), meta.get("split_count")
    if type(place) is not int or type(count) is not int:
        return None
    if not 0 <= place < count:
        return None
    return {"number": place + 1, "of": count}


def name_documents(field: str, documents: Sequence[Document]) -> dict[str, list[Any]]:
    """Name documents for the trace by their titles. If titles are equal, add the file, the heading or the number.

    Returns the titles under the name ``field`` and, if titles are equal, the additions under ``places``.
    """
    # Another store or component may have dates, numbers or lists for titles, and the trace is JSON.
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
    last = (heading_of(document.meta) or "").rpartition(" > ")[2]
    return "" if last == title else cut_text(last, _MAX_CHARACTERS)
