"""Find the files to index in the folders that a user names.

Links are resolved, so that each file is found only once. Unless the user wants it, no link is followed that leads out
of the named folder. Most files are the user's own documents. A corpus is a file that already has passages: a JSONL file
with one passage in each line, or a JSON file with a list of passages.
"""

import json
import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from prefrag.components.text.counted import counted
from prefrag.components.text.one_line import one_line
from prefrag.indexing.file_forms import COMPRESSED, FORMATS, form_of
from prefrag.indexing.readers.text_decoding import BEGINNING_BYTES, looks_like_text
from prefrag.indexing.report import CannotRead, IndexReport, Skipped

# A file with this suffix is a corpus.
CORPUS_SUFFIX = ".jsonl"
# The suffixes of the files that can be read, apart from corpora and compressed files.
_FORM_SUFFIXES = [suffix for suffix in FORMATS if suffix]
# The reason for skipping a file of a kind that is not read.
OTHER_KIND = (
    f"it is of a kind that is not read (what is read: {', '.join(_FORM_SUFFIXES)}, {CORPUS_SUFFIX}, text "
    f"without a suffix, and {COMPRESSED} files with a single text)"
)
# A file with this suffix is a corpus if it has a list of passages. Otherwise it is an ordinary JSON file.
LIST_SUFFIX = ".json"
# For a file with one of these suffixes, the name alone shows that it can be read.
_KNOWN_SUFFIXES = {*_FORM_SUFFIXES, COMPRESSED, CORPUS_SUFFIX}
# Folders with these names are skipped. Tools fill them with thousands of files that the user did not write.
_TOOL_FOLDERS = {"node_modules", "bower_components", "site-packages", "__pycache__"}
# Hidden files begin with a dot. Files that Microsoft Office makes while a document is open begin with the other signs.
_HIDDEN = (".", "~$")
# The suffixes of the files that are left out, with blanks between them, by the reason.
_REASONS = {
    "pictures hold no text": ".png .jpg .jpeg .gif .bmp .tif .tiff .webp .svg .heic .ico .psd .ai .raw",
    "sound and films hold no text": ".mp3 .m4a .wav .flac .ogg .mp4 .mov .avi .mkv .webm",
    "archives are not opened: unpack them": ".zip .tar .tgz .gz .bz2 .xz .zst .7z .rar .jar .iso .dmg",
    "from before Office 2007: save them as .docx, .xlsx or .pptx": ".doc .xls .ppt",
    "save them as .docx, .xlsx or .pptx": ".pages .numbers",
    "save the mails as .eml or .mbox": ".msg .pst .ost",
}
# At most this many kinds of files that are left out are named.
_MOST_KINDS = 10
# A JSON file is a corpus if its first passage ends within this many bytes.
_LIST_BEGINNING_BYTES = 1_000_000
# Matches the beginning of a list of objects in JSON. It matches in ` [ {"id"`, but not in `["id"]`.
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*(?=\{)")

# The folders in which a file may really be, without links. The first is the top folder. Behind a link that leads out of
# the top folder, the second is the folder to which this link leads.
_AllowedFolders = tuple[Path, ...]


@dataclass(frozen=True)
class FoundFile:
    """A file to index.

    :param path: The path of the file in the index.
    :param size: The size in bytes.
    :param is_corpus: Whether the file is a corpus.
    :param source: For an uploaded file, the path where it is until it is moved to ``path``. None for other files.
    :param folders: The names of the folders between the indexed folder and the file.
    """

    path: Path
    size: int
    is_corpus: bool
    source: Path | None = None
    folders: tuple[str, ...] = ()


def find_files(
    paths: Iterable[str | os.PathLike[str]], report: IndexReport, top: Path | None = None, links: bool = False
) -> Iterator[FoundFile]:
    """Find the files to index.

    An entry that cannot be read is added to the report, and does not stop the search.

    :param paths: The files and folders to search.
    :param report: The report. Skipped files and links that are not followed are added to it.
    :param top: The folder that links may not lead out of. None stands for each path itself.
    :param links: Whether to follow a link that leads out of ``top``. A link that leads on from there is never followed.
    :returns: The files, each once.
    :raises FileNotFoundError: If one of the paths does not exist.
    """
    places = [Path(path).expanduser() for path in paths]
    missing = [printable(path) for path in places if not os.path.exists(path)]
    if missing:
        raise FileNotFoundError(f"There is no file or folder {' and no '.join(missing)}. Nothing was indexed.")

    # The real paths of all files and folders that were found.
    seen: set[str] = set()
    for path in places:
        top_of_path = path if top is None else top
        above = real_path(top_of_path)
        for candidate, real in _walk(path, top_of_path, links, seen, report):
            # For a file, `_walk` yields the path itself. For a folder, it yields other paths.
            is_named_by_user = candidate is path
            try:
                can_be_read = _can_be_read(real)
                # A link may have another name than its file. If either can be read, the user expects it to be read.
                is_expected = can_be_read or is_named_by_user or _can_be_read(candidate)
                if not is_expected:
                    # Such files are only counted. Nobody expects the pictures in a folder of texts to be read.
                    report.other_kinds[printable(real.suffix.lower())] += 1
                    continue
                size = _size_of_readable(real, can_be_read)
            except OSError as error:
                report.skipped.append(Skipped(printable(real), f"it cannot be read ({error.strerror})"))
                continue
            except CannotRead as error:
                report.skipped.append(Skipped(printable(real), str(error)))
                continue

            folders = real.parent.relative_to(above).parts if real.parent.is_relative_to(above) else ()
            yield FoundFile(real, size, is_corpus(real), folders=folders)


def _size_of_readable(path: Path, is_of_known_kind: bool) -> int:
    """Return the size of a file in bytes.

    :param path: The path without links.
    :param is_of_known_kind: Whether the file is of a kind that can be read.
    :raises OSError: If the file cannot be examined.
    :raises CannotRead: If the file cannot be indexed for another reason.
    """
    status = path.stat()
    try:
        str(path).encode()
    except UnicodeEncodeError as error:
        raise CannotRead("its name is not UTF-8: rename it") from error
    if not is_of_known_kind:
        raise CannotRead(OTHER_KIND)
    # Reading a pipe or a device might never end.
    if not stat.S_ISREG(status.st_mode):
        raise CannotRead("it is not a regular file")
    return status.st_size


def is_passed_over(folder: str) -> bool:
    """Check whether a subfolder is skipped.

    :param folder: The name of the folder.
    :returns: Whether the folder is hidden or is a folder of tools, such as "node_modules".
    """
    return folder.startswith(".") or folder in _TOOL_FOLDERS


def may_be_readable(path: Path) -> bool:
    """Check by the name of a file whether it may be of a kind that can be read.

    :param path: The path of the file. The file is not opened.
    :returns: False if no file with such a name can be read.
    """
    return path.suffix.lower() == CORPUS_SUFFIX or form_of(path) is not None


def why_left_out(suffix: str) -> str:
    """Say why files with this suffix are left out.

    For example, ".png" gives "pictures hold no text".

    :param suffix: The suffix in small letters, with its dot; "" for files without a suffix.
    :returns: The reason.
    """
    if not suffix:
        return "not text, empty, or a private key or credentials"
    for reason, suffixes in _REASONS.items():
        if suffix in suffixes.split():
            return reason
    return "of a kind that is not read"


def describe_kinds(others: Counter[str]) -> list[str]:
    """Say how many files of other kinds were left out, and why.

    For example, ``Counter({".png": 3})`` gives "3 files of other kinds left out" and "3 .png: pictures hold no text".

    :param others: The number of files that were left out, by their suffixes.
    :returns: A line with the total, and a line for each of the most frequent kinds. Empty if no file was left out.
    """
    if not others:
        return []
    lines = [f"{counted(others.total(), 'file')} of other kinds left out"]
    for suffix, files in others.most_common(_MOST_KINDS):
        lines.append(one_line(f"{files:,} {suffix or 'without a suffix'}: {why_left_out(suffix)}"))
    if len(others) > _MOST_KINDS:
        lines.append(counted(len(others) - _MOST_KINDS, "other kind"))
    return lines


def is_corpus(path: Path) -> bool:
    """Check whether a file is a corpus.

    :param path: The path of the file. A JSON file is opened.
    :returns: Whether it is a JSONL file, or a JSON file with a list whose first item has the keys "id" and "text".
    """
    suffix = path.suffix.lower()
    if suffix != LIST_SUFFIX:
        return suffix == CORPUS_SUFFIX
    try:
        with path.open("rb") as stream:
            beginning = stream.read(_LIST_BEGINNING_BYTES).decode("utf-8-sig", "ignore")
        opening = _LIST_OF_OBJECTS.match(beginning)
        if opening is None:
            return False
        first, _ = json.JSONDecoder().raw_decode(beginning, opening.end())
    except (OSError, ValueError, RecursionError):
        return False
    return bool(first.keys() >= {"id", "text"})


def real_path(path: str | os.PathLike[str]) -> Path:
    """Resolve the links in a path. The index identifies a file by the resulting path.

    :param path: The path. It may begin with "~" for the user's home folder.
    :returns: The absolute path without links.
    """
    return Path(os.path.realpath(os.path.expanduser(path)))


def printable(path: str | os.PathLike[str]) -> str:
    """Escape the bytes of a path that are not UTF-8, so that the path can be printed and stored.

    :param path: The path.
    :returns: The path with a backslash, an x and two hexadecimal digits for each such byte.
    """
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _can_be_read(path: Path) -> bool:
    """Check by the name of a file, and if necessary by its beginning, whether it is of a kind that can be read."""
    if not may_be_readable(path):
        return False
    # A name such as README or LGPL-2.1 does not show the kind of file. So the beginning of the file is checked.
    return path.suffix.lower() in _KNOWN_SUFFIXES or _is_text(path)


def _is_text(path: Path) -> bool:
    """Check by the beginning of a file whether it is text."""
    # Opening a pipe might wait forever.
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    with path.open("rb") as stream:
        return looks_like_text(stream.read(BEGINNING_BYTES))


def _walk(path: Path, top: Path, links: bool, seen: set[str], report: IndexReport) -> Iterator[tuple[Path, Path]]:
    """Yield each file in a folder and its subfolders. No folder is visited twice, so loops of links end.

    :param path: The folder. A file is also possible, and is then the only result.
    :param top: The folder that links may not lead out of.
    :param links: Whether to follow a link that leads out of ``top``.
    :param seen: The real paths of all files and folders that were found. New ones are added.
    :param report: The report. Links that are not followed and entries that cannot be read are added to it.
    :returns: The path of each file as it was found, and its real path without links.
    """
    allowed_at_path = _folders_allowed_from(top, path, links)
    if allowed_at_path is None:
        report.left_links.append(printable(real_path(path)))
        return

    # The folders that are still to be visited, each with the folders that are allowed for it.
    waiting = [(path, allowed_at_path)]
    if os.path.isdir(path):
        seen.add(str(real_path(path)))
    while waiting:
        folder, allowed = waiting.pop()
        below = []
        for entry in _list(folder, report):
            try:
                real = real_path(entry)
            except OSError as error:
                report.skipped.append(Skipped(printable(entry), f"it cannot be read ({error.strerror})"))
                continue
            if str(real) in seen:
                continue

            allowed_below = _folders_allowed_at(real, allowed, links)
            if allowed_below is None:
                report.left_links.append(printable(real))
                continue
            seen.add(str(real))
            if not os.path.isdir(real):
                yield entry, real
            elif entry.name not in _TOOL_FOLDERS:
                below.append((entry, allowed_below))
        # The last folder is visited next, so the order is reversed.
        waiting += reversed(below)


def _list(path: Path, report: IndexReport) -> list[Path]:
    """Return the entries of a folder in alphabetical order, without hidden entries. For a file, return only the file.

    If the folder cannot be read, it is added to the report.
    """
    if not os.path.isdir(path):
        return [path]
    try:
        return [path / name for name in sorted(os.listdir(path)) if not name.startswith(_HIDDEN)]
    except OSError as error:
        report.skipped.append(Skipped(printable(path), f"the folder cannot be read ({error.strerror})"))
        return []


def _folders_allowed_from(top: Path, path: Path, links: bool) -> _AllowedFolders | None:
    """Return the folders that are allowed for a path, as :func:`_folders_allowed_at` does.

    The folders between the top folder and the path may be links, too.

    :param top: The folder that links may not lead out of.
    :param path: The path.
    :param links: Whether to follow a link that leads out of ``top``.
    """
    allowed: _AllowedFolders | None = (real_path(top),)
    for folder in [*reversed(path.parents), path]:
        if allowed is not None and folder.is_relative_to(top):
            allowed = _folders_allowed_at(real_path(folder), allowed, links)
    return allowed


def _folders_allowed_at(real: Path, allowed: _AllowedFolders, links: bool) -> _AllowedFolders | None:
    """Return the folders that are allowed for a path and for everything below it.

    :param real: The path without links.
    :param allowed: The folders that are allowed for the folder above the path.
    :param links: Whether to follow a link that leads out of the top folder.
    :returns: The allowed folders; None if the path is behind a link that is not followed.
    """
    if any(map(real.is_relative_to, allowed)):
        return allowed
    # A link that leads out of the top folder may be followed, but no further link behind it.
    may_lead_out = links and len(allowed) == 1
    return (*allowed, real) if may_lead_out else None
