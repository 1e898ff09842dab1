"""Decide which of two documents is newer.

The dates of the documents decide. If the dates do not tell, the versions in the file names decide, such as "lease v2".
A version in a file name is the weaker sign.
"""

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import NamedTuple

# A date at the beginning of a text, the year first: "2024", "2024-05", "2024-05-03", "20240503". "May 2024" does not
# match.
_DATE = re.compile(r"[0-9]{4}(?:[^0-9]?[0-9]{2}){0,2}")
# Words for a final version, in English, German and French: "final", "Endfassung", "définitif".
_FINAL = r"final|endg\u00fcltig|endfassung|d\u00e9finiti(?:f|ve)"
# A version at the end of a file's name, without its suffix:
# - "lease final": the group `final` is "final";
# - "lease v2" and "lease-version 2.1": the group `number` is "2" or "2.1";
# - "lease final v2": the group `first` is "final", and `number` is "2".
# "lease 2" does not match, because a number alone may count copies.
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
# The signs between the words of a name, such as "-" or "_".
_PARTS = re.compile(r"[\W_]+")


class _Version(NamedTuple):
    """The version of a file, for the comparison with other versions of the same file."""

    # The folder, and the name without the version, in lower case. Only files of one family are compared.
    family: tuple[str, str]
    # Whether the version is final, then the parts of its number. The higher rank is the newer version.
    rank: tuple[bool, int, int]


def is_newer(meta: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Check whether a document is newer than another.

    The dates decide, by the part that both dates have. So 2024-05-03 is newer than 2023, but 2024 is neither before nor
    after 2024-05-03. If neither document has a date, or both have the same, the versions in the file names decide:
    "lease final" is newer than "lease v2". The files must be in one folder, and their names must otherwise be the same.

    :param meta: The metadata of the document.
    :param other: The metadata of the other document.
    :returns: True if the first document is newer. False if it is not, or if nothing tells which one is newer.
    """
    date = date_of(meta)
    other_date = date_of(other)
    if date != other_date:
        # If only one of them has a date, the common part is empty, so neither is newer.
        common_length = min(len(date), len(other_date))
        return date[:common_length] > other_date[:common_length]

    version = version_of(meta)
    other_version = version_of(other)
    _, name = version.family
    if not name or version.family != other_version.family:
        return False
    return version.rank > other_version.rank


def is_edition(meta: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Check whether two documents look like two editions of one document, such as the price lists of two years.

    Both must come from one source, and their file names may differ only in numbers and the version. For example,
    "prices 2023.pdf" and "prices 2024.pdf" are editions.

    :param meta: The metadata of the one document.
    :param other: The metadata of the other document.
    :returns: True if they are editions. False if they are not, or if they have no file names.
    """
    if meta.get("source") != other.get("source"):
        return False
    name = _name_without_numbers(meta)
    return name != "" and name == _name_without_numbers(other)


def _name_without_numbers(meta: Mapping[str, object]) -> str:
    """Return the name of a document's file without version and numbers: "prices" for "Prices_2023 v2.pdf"."""
    _, name = version_of(meta).family
    without_numbers = re.sub(r"\d+", " ", name)
    return _PARTS.sub(" ", without_numbers).strip()


def date_of(meta: Mapping[str, object]) -> str:
    """Return the digits of a document's date, the year first.

    For example, the date "2024-05-03" gives "20240503".

    :param meta: The metadata of the document. Its field ``date`` has the date.
    :returns: The digits. Empty if the document has no date, or if the date does not begin with the year.
    """
    date = _DATE.match(str(meta.get("date") or ""))
    if date is None:
        return ""
    return re.sub("[^0-9]", "", date.group())


def version_of(meta: Mapping[str, object]) -> _Version:
    """Read the version in a document's file name.

    For example, "lease final v2.1.pdf" has the rank ``(True, 2, 1)``. A name without a version counts as the first
    version of the file, and has the rank ``(False, 0, 0)``.

    :param meta: The metadata of the document. Its field ``file_path`` has the path of the file.
    :returns: The version.
    """
    file_path = meta.get("file_path")
    path = PurePath(file_path if isinstance(file_path, str) else "")
    version = _VERSION.search(path.stem)
    # The version stands at the end of the name.
    name = path.stem[: version.start()] if version else path.stem
    plain_name = _PARTS.sub(" ", name).strip().casefold()
    family = (str(path.parent), plain_name)
    if version is None:
        return _Version(family, (False, 0, 0))

    major, _, minor = (version["number"] or "0").partition(".")
    is_final = bool(version["final"] or version["first"])
    return _Version(family, (is_final, int(major), int(minor or 0)))
