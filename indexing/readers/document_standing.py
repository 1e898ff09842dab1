"""Find out whether a document or a passage says that it is superseded, a draft, or old.

A word such as "draft" counts only in certain forms: alone, in brackets, in capitals before a dash, at the end of a
name, after "status", or in a sentence such as "this page is obsolete". In other sentences it may mean something else,
as in "draft horse" or "old town". A document in which none of these forms is found counts as current.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath

from prefrag.components.state.places import DRAFT, OLD, SUPERSEDED

_OLD = ("old", "older", "obsolete", "outdated", "archived", "deprecated")
_STANDING_OF_WORD = {"superseded": SUPERSEDED, "draft": DRAFT, **dict.fromkeys(_OLD, OLD)}
_FOLDERS = {**_STANDING_OF_WORD, "drafts": DRAFT, "archive": OLD}
_WORD = f"(?P<word>{'|'.join(_STANDING_OF_WORD)})"
_CAPITALS = f"(?P<word>{'|'.join(_STANDING_OF_WORD).upper()})"
# Matches the version after the word, as in "draft 2" and "draft-v0.3", or the year, as in "older 2009".
_VERSION = r"(?:[-_. ]?(?:v?\d{1,2}(?:\.\d{1,3})?|(?:19|20)\d\d))?"
_BRACKETS = re.compile(rf"[(\[]{_WORD}{_VERSION}(?:[,;:][^)\]]*|\sby\s[^)\]]+)?[)\]]", re.IGNORECASE)
_AT_START = re.compile(rf"[\W_]*{_CAPITALS}{_VERSION}(?:\W*$|\s*[-\u2013\u2014:,;_](?=.*[a-z])|\sby\s)")
# Matches "Draft, not agreed" and "draft - budget". "old" is left out, because many ordinary sentences begin with it.
_LABEL = re.compile(
    rf"[\W_]*(?P<word>draft|superseded|obsolete|deprecated){_VERSION}(?:\W*$|\s*[:;,]\s|\s+[-\u2013\u2014]\s)",
    re.IGNORECASE,
)
# A name that ends in "a year old" does not say that the document is out of date.
_AGES = "".join(f"(?<!{unit})(?<!{unit}s)" for unit in ("year", "month", "week", "day"))
_AT_END = re.compile(rf"{_AGES}[-_.]\s*{_WORD}{_VERSION}$", re.IGNORECASE)
# In a name that is not all in capitals, a word in capitals is a label wherever it stands: "lease DRAFT 2 of May".
_LABEL_IN_NAME = re.compile(rf"(?=.*[a-z])(?:.*[\W_])?{_CAPITALS}(?![^\W_])")
_STATUS = re.compile(rf"\W*(?:document\s)?status\s*[:=|]\W*{_WORD}\b", re.IGNORECASE)
_SENTENCES = (
    re.compile(r"\W*(?P<word>superseded)\sby\s[^,.]{1,60}\.?", re.IGNORECASE),
    re.compile(rf"\W*this\s(?:document|version|page|file)\s(?:is|has\sbeen)\s(?:an?\s)?{_WORD}\b.*", re.IGNORECASE),
)
_ALONE = re.compile(r"(?P<word>superseded|obsolete|deprecated)", re.IGNORECASE)
# What a document says of itself stands in its first lines that are not blank, and these are not long.
_FIRST_LINES = 6
_LONGEST = 120  # characters
_Pattern = Callable[[str], re.Match[str] | None]
_LINES: Sequence[_Pattern] = (
    _AT_START.match,
    _LABEL.match,
    _STATUS.match,
    *(pattern.fullmatch for pattern in _SENTENCES),
)
_TITLES: Sequence[_Pattern] = (_BRACKETS.search, _AT_START.match, _LABEL.match)


def find_standing(
    meta: Mapping[str, object], text: str, title: str, name: str, folders: Iterable[str] = ()
) -> str | None:
    """Find what a document says about itself: `superseded`, `draft`, `old`, or None.

    ``text`` is its beginning, or empty for tables and programs. ``folders`` are the names of the folders above it.
    """
    fields = {str(key).casefold().replace("-", "_"): value for key, value in meta.items()}
    if fields.get("superseded_by") or fields.get("replaced_by"):
        return SUPERSEDED
    flag = next((standing for word, standing in _STANDING_OF_WORD.items() if fields.get(word) is True), None)
    stated = flag or _first_standing((_STATUS.match,), f"status: {fields.get('status')}")
    if stated:
        return stated
    beginning = text[: _FIRST_LINES * _LONGEST]
    lines = [line.strip() for line in beginning.splitlines() if line.strip()][:_FIRST_LINES]
    for before, line in zip(["", *lines], lines, strict=False):
        # Decision records state their status in the line below the heading "Status".
        labelled = f"status: {line}" if before.strip("#: ").casefold() == "status" else line
        stated = _first_standing(_LINES, labelled) if len(line) <= _LONGEST else None
        if stated:
            return stated
    stem = PurePath(name).stem
    # A folder may also be called `_old_`, so only letters and digits are compared.
    plain = (re.sub(r"[\W_]+", "", folder).casefold() for folder in folders)
    above = next((_FOLDERS[folder] for folder in plain if folder in _FOLDERS), None)
    return (
        _first_standing(_TITLES, title)
        or _first_standing((*_TITLES, _AT_END.search, _LABEL_IN_NAME.match), stem)
        or above
    )


def find_heading_standing(heading: str | None) -> str | None:
    """Find what the headings above a passage say about it: `superseded`, `draft`, `old`, or None."""
    parts = (heading or "").split(" > ")
    standings = (_first_standing((*_TITLES, _ALONE.fullmatch), part) for part in parts)
    return next(filter(None, standings), None)


def _first_standing(patterns: Sequence[_Pattern], text: str) -> str | None:
    for pattern in patterns:
        match = pattern(text)
        if match:
            return _STANDING_OF_WORD[match["word"].casefold()]
    return None
