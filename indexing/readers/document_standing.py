"""Find out whether a document or a passage says that it is superseded, a draft, or old.

In this module, these three are the standings of a document. The file converter stores the standing in the metadata of
each passage. A word such as "draft" shows a standing only in certain forms:

- alone, in brackets, or in capitals before a dash: "DRAFT", "Rules (draft)", "DRAFT - budget",
- at the end of a file name, or in capitals inside it: "rules-draft", "lease DRAFT 2 of May",
- at the end of a file name, or before it as in "draft of rules" and "DRAFT RULES", if the rest is the name of another
  file of the folder with the same suffix: "rules draft.txt" beside "rules.txt",
- after "status", or in a sentence such as "This page is obsolete".

In other sentences, the word may mean something else, as in "draft horse" or "old town". A document without any of these
forms counts as current.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath

from prefrag.components.state.places import DRAFT, OLD, SUPERSEDED

# The words that show the standing "old".
_OLD = ("old", "older", "obsolete", "outdated", "archived", "deprecated")
# The standing that each word shows.
_STANDING_OF_WORD = {"superseded": SUPERSEDED, "draft": DRAFT, **dict.fromkeys(_OLD, OLD)}
# The standing of the documents in a folder, by the name of the folder.
_FOLDERS = {**_STANDING_OF_WORD, "drafts": DRAFT, "archive": OLD}
# The pattern of one of the words. In each expression below, the group "word" is the word that shows the standing.
_WORD = f"(?P<word>{'|'.join(_STANDING_OF_WORD)})"
# The same pattern in capitals.
_CAPITALS = f"(?P<word>{'|'.join(_STANDING_OF_WORD).upper()})"
# The pattern of a version after the word, as in "draft 2" and "draft-v0.3", or of a year, as in "older 2009".
_VERSION = r"(?:[-_. ]?(?:v?\d{1,2}(?:\.\d{1,3})?|(?:19|20)\d\d))?"
# Matches a word in brackets, such as "(draft)", "(old 2009)" or "[superseded by v2]".
_BRACKETS = re.compile(rf"[(\[]{_WORD}{_VERSION}(?:[,;:][^)\]]*|\sby\s[^)\]]+)?[)\]]", re.IGNORECASE)
# Matches a word in capitals at the beginning. It must be alone ("DRAFT"), or stand before "by" ("SUPERSEDED by version
# 3"), or before a sign such as a dash and a text with small letters ("DRAFT - budget").
_AT_START = re.compile(rf"[\W_]*{_CAPITALS}{_VERSION}(?:\W*$|\s*[-\u2013\u2014:,;_](?=.*[a-z])|\sby\s)")
# Matches a word at the beginning in any letters, such as "Draft", "Draft, not agreed" or "draft - budget". The word
# "old" is left out, because many ordinary sentences begin with it.
_LABEL = re.compile(
    rf"[\W_]*(?P<word>draft|superseded|obsolete|deprecated){_VERSION}(?:\W*$|\s*[:;,]\s|\s+[-\u2013\u2014]\s)",
    re.IGNORECASE,
)
# The pattern of a place that is not behind an age. The file name "12-year-old" does not say that the document is old.
_AGES = "".join(f"(?<!{unit})(?<!{unit}s)" for unit in ("year", "month", "week", "day"))
# Matches a word at the end of a file name, such as "rules-draft" or "rules_old".
_AT_END = re.compile(rf"{_AGES}[-_.]\s*{_WORD}{_VERSION}$", re.IGNORECASE)
# Match a file name such as "rules old 2", "draft of rules" or "DRAFT RULES". It shows a standing only if another file
# has the rest of the name, "rules", because "nba draft" and "5 years old" are names of other things. In small letters,
# no word directly before the rest counts, because "old town" and "draft beer" may stand beside "town" and "beer". The
# group "rest" is the rest of the name.
_BESIDE_OTHER = (
    re.compile(rf"(?P<rest>.*[^\W_]){_AGES}[\W_]+{_WORD}{_VERSION}", re.IGNORECASE),
    re.compile(r"(?P<word>draft)[\W_]+of[\W_]+(?P<rest>[^\W_].*)", re.IGNORECASE),
    re.compile(rf"(?P<word>DRAFT){_VERSION}[\W_]+(?P<rest>[^\W_].*)"),
)
# Matches the signs between the words of a file name.
_SIGNS = re.compile(r"[\W_]+")
# Matches a word in capitals anywhere in a file name that also has small letters, such as "lease DRAFT 2 of May".
_LABEL_IN_NAME = re.compile(rf"(?=.*[a-z])(?:.*[\W_])?{_CAPITALS}(?![^\W_])")
# Matches a line such as "Status: draft" or "document status = obsolete".
_STATUS = re.compile(rf"\W*(?:document\s)?status\s*[:=|]\W*{_WORD}\b", re.IGNORECASE)
# Match sentences such as "Superseded by version 3" and "This page is obsolete".
_SENTENCES = (
    re.compile(r"\W*(?P<word>superseded)\sby\s[^,.]{1,60}\.?", re.IGNORECASE),
    re.compile(rf"\W*this\s(?:document|version|page|file)\s(?:is|has\sbeen)\s(?:an?\s)?{_WORD}\b.*", re.IGNORECASE),
)
# Matches a heading that is only such a word. "draft" and "old" are left out.
_ALONE = re.compile(r"(?P<word>superseded|obsolete|deprecated)", re.IGNORECASE)
# A document states its standing within this many lines at its beginning. Blank lines do not count.
_FIRST_LINES = 6
# A line with more characters than this does not state the standing.
_LONGEST = 120
# The method of a compiled expression that looks for a match in a text.
_Pattern = Callable[[str], re.Match[str] | None]
# The forms in which a line of a document may state its standing.
_LINES: Sequence[_Pattern] = (
    _AT_START.match,
    _LABEL.match,
    _STATUS.match,
    *(pattern.fullmatch for pattern in _SENTENCES),
)
# The forms in which a title, a file name or a heading may state the standing.
_TITLES: Sequence[_Pattern] = (_BRACKETS.search, _AT_START.match, _LABEL.match)
# The same forms, and those that only a file name has.
_FILE_NAMES: Sequence[_Pattern] = (*_TITLES, _AT_END.search, _LABEL_IN_NAME.match)


def find_standing(
    meta: Mapping[str, object],
    text: str,
    title: str,
    name: str,
    folders: Iterable[str] = (),
    names_beside: Callable[[], Iterable[str]] = tuple,
) -> str | None:
    """Find the standing that a document states about itself.

    It is looked for in this order: the front matter, the first lines, the title, the file name and the folders.

    :param meta: The front matter of the document. Its fields `superseded_by`, `replaced_by` and `status` are used, and
        fields such as `draft: true`.
    :param text: The beginning of the document. Empty for tables and programs, whose first lines say nothing.
    :param title: The title of the document.
    :param name: The file name, with its suffix.
    :param folders: The names of the folders that contain the file.
    :param names_beside: Returns the names of the files in the same folder. It is called only if the name of the file
        has a form such as "rules draft".
    :returns: "superseded", "draft" or "old"; None if the document states no standing.
    """
    path = PurePath(name)
    return (
        _standing_in_front_matter(meta)
        or _standing_in_lines(text)
        or _first_standing(_TITLES, title)
        or _first_standing(_FILE_NAMES, path.stem)
        or _standing_beside(path, names_beside)
        or _standing_of_folders(folders)
    )


def _standing_in_front_matter(meta: Mapping[str, object]) -> str | None:
    """Return the standing that the front matter of a document states; None if it states none."""
    fields = {str(key).casefold().replace("-", "_"): value for key, value in meta.items()}
    if fields.get("superseded_by") or fields.get("replaced_by"):
        return SUPERSEDED
    for word, standing in _STANDING_OF_WORD.items():
        if fields.get(word) is True:
            return standing
    return _first_standing((_STATUS.match,), f"status: {fields.get('status')}")


def _standing_in_lines(text: str) -> str | None:
    """Return the standing that one of the first lines of a document states; None if none of them does."""
    beginning = text[: _FIRST_LINES * _LONGEST]
    stripped = map(str.strip, beginning.splitlines())
    lines = list(filter(None, stripped))[:_FIRST_LINES]
    before = ""
    for line in lines:
        # Decision records have a heading "Status" and state the standing in the line below, as in "Superseded".
        is_below_status = before.strip("#: ").casefold() == "status"
        before = line
        if len(line) > _LONGEST:
            continue
        standing = _first_standing(_LINES, f"status: {line}" if is_below_status else line)
        if standing:
            return standing
    return None


def _standing_of_folders(folders: Iterable[str]) -> str | None:
    """Return the standing that the name of a folder shows, such as "old" for "_Old_"; None if no name shows one."""
    for folder in folders:
        # Only letters and digits of a folder name are compared, because a folder may also be called `_old_`.
        plain = re.sub(r"[\W_]+", "", folder).casefold()
        if plain in _FOLDERS:
            return _FOLDERS[plain]
    return None


def _standing_beside(name: PurePath, names_beside: Callable[[], Iterable[str]]) -> str | None:
    """Return the standing that a file name shows if another file of the folder has the rest of the name.

    The other file must have the same suffix.

    :param name: The file name.
    :param names_beside: Returns the names of the files in the same folder.
    :returns: "superseded", "draft" or "old"; None if the name shows no standing.
    """
    matches = [pattern.fullmatch(name.stem) for pattern in _BESIDE_OTHER]
    if not any(matches):
        return None
    suffix = name.suffix.casefold()
    paths = (PurePath(other) for other in names_beside())
    others = {_plain_name(path.stem) for path in paths if path.suffix.casefold() == suffix}
    for match in matches:
        if match and _plain_name(match["rest"]) in others:
            return _STANDING_OF_WORD[match["word"].casefold()]
    return None


def _plain_name(stem: str) -> str:
    """Return a file name in small letters with blanks for all other signs: "price list" for "Price_List"."""
    return _SIGNS.sub(" ", stem).strip().casefold()


def find_heading_standing(heading: str | None) -> str | None:
    """Find the standing that the headings above a passage state.

    For example, "Setup > Obsolete" gives "old", and "Setup > Old ways" gives None.

    :param heading: The headings above the passage, joined by " > ". None if there are none.
    :returns: "superseded", "draft" or "old"; None if the headings state no standing.
    """
    if heading is None:
        return None
    for part in heading.split(" > "):
        standing = _first_standing((*_TITLES, _ALONE.fullmatch), part)
        if standing:
            return standing
    return None


def _first_standing(patterns: Sequence[_Pattern], text: str) -> str | None:
    """Return the standing that the first matching form shows in a text; None if no form matches."""
    for pattern in patterns:
        match = pattern(text)
        if match:
            return _STANDING_OF_WORD[match["word"].casefold()]
    return None
