"""Which of two documents is newer: by their dates or else, as the weakest sign, by the versions in their file names."""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

_DATE = re.compile(r"[0-9]{4}(?:[^0-9]?[0-9]{2}){0,2}")
_FINAL = r"final|endg\u00fcltig|endfassung|d\u00e9finiti(?:f|ve)"
# A version at the end of a name: "final" (the group `final`), "v2" or "version 2.1", also "final v2" (with the group
# `first`). A number alone may count copies.
_VERSION = re.compile(
    rf"""
    [\W_]* (?<![^\W_])
    (?: (?P<final> {_FINAL} )
      | (?: (?P<first> {_FINAL} ) [\W_]* )?
        (?: v | ver | vers | version | rev ) [\W_]{{0,2}} (?P<number> \d{{1,3}} (?: \.\d{{1,3}} )? )
    )
    [\W_]* $
    """,
    re.IGNORECASE | re.VERBOSE,
)
_PARTS = re.compile(r"[\W_]+")


class _Version(NamedTuple):
    family: tuple[str, str]  # the folder, and the name without the version
    rank: tuple[bool, int, int]  # whether it is final, and the parts of its number


def is_newer(meta: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Check whether a document is newer than another.

    Their dates decide, by the part that both give: 2024 is neither before nor after 2024-05-03. If neither has a date,
    or both have the same, the versions in their file names decide, such as "lease v2" and "lease final", if the files
    are in one folder and their names are otherwise the same.

    :param meta: The metadata of the document.
    :param other: The metadata of the other document.
    :returns: Whether the first is newer; False if nothing tells it.
    """
    date, before = date_of(meta), date_of(other)
    if date != before:
        # If only one of them has a date, the common part is empty, so neither is newer.
        common = min(len(date), len(before))
        return date[:common] > before[:common]
    version, earlier = version_of(meta), version_of(other)
    _, name = version.family
    return bool(name) and version.family == earlier.family and version.rank > earlier.rank


def is_edition(meta: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Check whether two documents of one source have file names that only differ in numbers and the version.

    So do the price lists of two years.
    """
    name = _name_without_numbers(meta)
    return meta.get("source") == other.get("source") and name == _name_without_numbers(other) and name != ""


def _name_without_numbers(meta: Mapping[str, object]) -> str:
    _, name = version_of(meta).family
    return _PARTS.sub(" ", re.sub(r"\d+", " ", name)).strip()


def date_of(meta: Mapping[str, object]) -> str:
    """Return the digits of a document's date, the year first; empty if it has none."""
    date = _DATE.match(str(meta.get("date") or ""))
    return re.sub("[^0-9]", "", date[0]) if date else ""


def version_of(meta: Mapping[str, object]) -> _Version:
    """Read the version in a document's file name. A name without one is the first version of the file."""
    path = meta.get("file_path")
    path = PurePath(path if isinstance(path, str) else "")
    version = _VERSION.search(path.stem)
    name = path.stem[: version.start()] if version else path.stem
    family = (str(path.parent), _PARTS.sub(" ", name).strip().casefold())
    if version is None:
        return _Version(family, (False, 0, 0))
    major, _, minor = (version["number"] or "0").partition(".")
    is_final = bool(version["final"] or version["first"])
    return _Version(family, (is_final, int(major), int(minor or 0)))
