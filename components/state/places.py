"""Where a passage stands in its file, and what distinguishes the passages of one file."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

from haystack import Document

from prefrag.components.text.sentences import cut_text

# The labels by which the metadata of a file or passage says that it is not current. Without a label it is current.
SUPERSEDED, DRAFT, OLD = STANDINGS = ("superseded", "draft", "old")
# Of a passage in several sections, metadata with a line for each: where it begins, a blank, and its headings.
SECTIONS = "section_starts"
# Of a passage on several pages or slides, metadata with a line for each: where it begins, a blank, and its number.
PAGES = "page_starts"
_MAX_CHARACTERS = 60


def heading_of(meta: Mapping[str, object], at: int | None = None) -> str | None:
    """Return the path of headings above a passage or, if it spans several sections, above the character at ``at``."""
    heading = meta.get("heading") if at is None else _last_before(meta.get(SECTIONS), at, meta.get("heading"))
    return heading if isinstance(heading, str) and heading else None


def place_of(document: Document, at: int | None = None) -> dict[str, str | int]:
    """Return the `page` (or slide) and the `line` of code of the character at ``at``, by default of the beginning.

    A place that the metadata does not tell is left out.
    """
    page, line = document.meta.get("page_number"), document.meta.get("line")
    if at is not None and type(page) is int:
        number = str(_last_before(document.meta.get(PAGES), at, page))
        page = int(number[:9]) if number.isdecimal() else page
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
    if type(place) is not int or type(count) is not int or not 0 <= place < count:
        return None
    return {"number": place + 1, "of": count}


def name_documents(field: str, documents: Sequence[Document]) -> dict[str, list[Any]]:
    """Name documents for the trace by their titles. If titles are equal, add the file, the heading or the number."""
    # Another store or component may have dates, numbers or lists for titles, and the trace is JSON.
    titles = [str(document.meta.get("title") or document.id) for document in documents]
    counts = Counter(titles)
    if len(counts) == len(titles):
        return {field: titles}
    files = Counter(
        title for title, _ in {(title, _file(document)) for title, document in zip(titles, documents, strict=True)}
    )
    parts = [
        [title, _file(document) if files[title] > 1 else "", _last_heading(document, title)]
        for title, document in zip(titles, documents, strict=True)
    ]
    alike = Counter(map(tuple, parts))
    places = []
    for (title, file, heading), passage in zip(parts, documents, strict=True):
        position = position_of(passage.meta)
        is_needed = position and (not heading or alike[title, file, heading] > 1)
        number = f"passage {position['number']}" if position and is_needed else ""
        places.append(", ".join(filter(None, (file, heading, number))) if counts[title] > 1 else "")
    return {field: titles, "places": places}


def _file(document: Document) -> str:
    path = document.meta.get("file_path")
    return PurePath(path).name[:_MAX_CHARACTERS] if isinstance(path, str) else ""


def _last_heading(document: Document, title: str) -> str:
    last = (heading_of(document.meta) or "").rpartition(" > ")[2]
    return "" if last == title else cut_text(last, _MAX_CHARACTERS)
