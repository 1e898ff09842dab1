"""Which of two documents is newer: by their dates or else, as the weakest sign, by the versions in their file names."""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

_DATE = re.compile(r"[0-9]{4}(?:[^0-9]?[0-9]{2}){0,2}")
# A version at the end of a name: "v2", "version 2.1", "final", "final v2". A number alone may count copies.
_FINAL = r"(?P<final>final|endg\u00fcltig|endfassung|d\u00e9finiti(?:f|ve))"
_VERSION = re.compile(
    rf"[\W_]*(?<![^\W_])(?:{_FINAL}|(?:{_FINAL.replace('final>', 'first>')}[\W_]*)?"
    r"(?:v|ver|vers|version|rev)[\W_]{0,2}(?P<number>\d{1,3}(?:\.\d{1,3})?))[\W_]*$",
    re.IGNORECASE,
)
_PARTS = re.compile(r"[\W_]+")


class _Version(NamedTuple):
    family: tuple[str, str]  # the folder, and the name without the version
    rank: tuple[bool, int, int]


def is_newer(meta: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Check whether a document is newer than another.

    Their dates decide, by the part that both give: 2024 is neither before nor after 2024-05-03. If neither has a date,
    or both the same, and they are versions of a file in one folder, such as "lease v2" and "lease final", so do these.

    :param meta: The metadata of the document.
    :param other: The metadata of the other document.
    :returns: Whether the first is newer; False if nothing tells it.
    """
    date, before = date_of(meta), date_of(other)
    if date and before:
        common = min(len(date), len(before))
        if date[:common] != before[:common] or len(date) != len(before):
            return date[:common] > before[:common]
    if bool(date) != bool(before):
        return False
    version, earlier = version_of(meta), version_of(other)
    return version.family == earlier.family and bool(version.family[1]) and version.rank > earlier.rank


def is_edition(meta: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Check whether two documents of one source have file names that only differ in numbers and the version.

    So do the price lists of two years.
    """
    name, other_name = (
        _PARTS.sub(" ", re.sub(r"\d+", " ", version_of(file).family[1])).strip() for file in (meta, other)
    )
    return meta.get("source") == other.get("source") and name == other_name != ""


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
    return _Version(family, (bool(version["final"] or version["first"]), int(major), int(minor or 0)))
