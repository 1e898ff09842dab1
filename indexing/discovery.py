"""Find the files to index. Links are resolved, so that each file is found once."""

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
from prefrag.indexing.report import IndexReport, Skipped

CORPUS_SUFFIX = ".jsonl"
OTHER_KIND = (
    f"it is of a kind that is not read (what is read: {', '.join(filter(None, FORMATS))}, {CORPUS_SUFFIX}, text "
    f"without a suffix, and {COMPRESSED} files with a single text)"
)
LIST_SUFFIX = ".json"
_KNOWN_SUFFIXES = {*filter(None, FORMATS), COMPRESSED, CORPUS_SUFFIX}
# Folders that are skipped, because tools fill them with thousands of files that the user did not write.
_TOOL_FOLDERS = {"node_modules", "bower_components", "site-packages", "__pycache__"}
# Maps each reason for leaving files out to the suffixes of these files.
_REASONS = {
    reason: suffixes.split()
    for reason, suffixes in {
        "pictures hold no text": ".png .jpg .jpeg .gif .bmp .tif .tiff .webp .svg .heic .ico .psd .ai .raw",
        "sound and films hold no text": ".mp3 .m4a .wav .flac .ogg .mp4 .mov .avi .mkv .webm",
        "archives are not opened: unpack them": ".zip .tar .tgz .gz .bz2 .xz .zst .7z .rar .jar .iso .dmg",
        "from before Office 2007: save them as .docx, .xlsx or .pptx": ".doc .xls .ppt",
        "save them as .docx, .xlsx or .pptx": ".pages .numbers",
        "save the mails as .eml or .mbox": ".msg .pst .ost",
    }.items()
}
# The maximum number of kinds of files to name among those that are left out.
_MOST_KINDS = 10
# A JSON file is a corpus if a passage stands in so many bytes at its beginning.
_LIST_BEGINNING_BYTES = 1_000_000
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*(?=\{)")

# The folders in which files may lie: the top folder and, below a link that leads out of it, the folder to which the
# link leads.
_Fences = tuple[Path, ...]


@dataclass(frozen=True)
class FoundFile:
    """A file to index."""

    path: Path  # the path of the file in the index
    size: int  # in bytes
    is_corpus: bool
    source: Path | None = None  # for an upload: where the file is until it is moved to ``path``
    folders: tuple[str, ...] = ()  # the names of the folders between the indexed folder and the file


def find_files(
    paths: Iterable[str | os.PathLike[str]], report: IndexReport, top: Path | None = None, links: bool = False
) -> Iterator[FoundFile]:
    """Find each file to index once. Its `folders` are its parent folders below ``top`` (default: the given path).

    A link that leads out of ``top`` is followed if ``links`` is true, but links that lead on from there never are. The
    report counts the links that are left. An entry that cannot be read is reported, and the others are found.
    """
    places = [Path(path).expanduser() for path in paths]
    missing = [printable(path) for path in places if not os.path.exists(path)]
    if missing:
        raise FileNotFoundError(f"There is no file or folder {' and no '.join(missing)}. Nothing was indexed.")
    seen: set[str] = set()
    for path in places:
        top_of_path = path if top is None else top
        above = real_path(top_of_path)
        for candidate, real in _walk(path, top_of_path, links, seen, report):
            try:
                can_be_read = _can_be_read(real)
                if candidate is not path and not can_be_read and not _can_be_read(candidate):
                    # Only count such files, because nobody expects the pictures in a folder of texts to be read.
                    report.other_kinds[printable(real.suffix.lower())] += 1
                    continue
                status = real.stat()
                str(real).encode()
            except OSError as error:
                reason = f"it cannot be read ({error.strerror})"
            except UnicodeEncodeError:
                reason = "its name is not UTF-8: rename it"
            else:
                if not can_be_read:
                    reason = OTHER_KIND
                elif not stat.S_ISREG(status.st_mode):
                    # Reading a pipe or a device might never end.
                    reason = "it is not a regular file"
                else:
                    folders = real.parent.relative_to(above).parts if real.parent.is_relative_to(above) else ()
                    yield FoundFile(real, status.st_size, is_corpus(real), folders=folders)
                    continue
            report.skipped.append(Skipped(printable(real), reason))


def is_passed_over(folder: str) -> bool:
    """Check whether a subfolder with this name is skipped."""
    return folder.startswith(".") or folder in _TOOL_FOLDERS


def may_be_readable(path: Path) -> bool:
    """Check by the name of a file whether it may be of a kind that can be read."""
    return path.suffix.lower() == CORPUS_SUFFIX or form_of(path) is not None


def why_left_out(suffix: str) -> str:
    """Say why files with this suffix are left out."""
    if not suffix:
        return "not text, empty, or a private key or credentials"
    return next((reason for reason, suffixes in _REASONS.items() if suffix in suffixes), "of a kind that is not read")


def describe_kinds(others: Counter[str]) -> list[str]:
    """Say how many files of other kinds were left out and then, for the commonest kinds, how many and why.

    ``others`` are the numbers of files by their suffixes.
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
    """Check whether a file is a corpus: a JSONL file, or a JSON file with a list whose first item is a passage."""
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
    """Resolve the links in a path. The index identifies a file by the resulting path."""
    return Path(os.path.realpath(os.path.expanduser(path)))


def printable(path: str | os.PathLike[str]) -> str:
    """Escape the bytes of a path that are not UTF-8, so that the path can be printed and stored."""
    return os.fspath(path).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def _can_be_read(path: Path) -> bool:
    if not may_be_readable(path):
        return False
    # A name such as README or LGPL-2.1 does not show the kind of file, so the file's beginning is checked.
    return path.suffix.lower() in _KNOWN_SUFFIXES or _is_text(path)


def _is_text(path: Path) -> bool:
    # Opening a pipe might wait forever.
    if not stat.S_ISREG(path.stat().st_mode):
        return False
    with path.open("rb") as stream:
        return looks_like_text(stream.read(BEGINNING_BYTES))


def _walk(path: Path, top: Path, links: bool, seen: set[str], report: IndexReport) -> Iterator[tuple[Path, Path]]:
    """Yield each file, with its real path. No folder is visited twice, so loops of links end."""
    fences: _Fences | None = (real_path(top),)
    for folder in [*reversed(path.parents), path]:
        if fences is not None and folder.is_relative_to(top):
            fences = _widen(real_path(folder), fences, links)
    if fences is None:
        report.left_links.append(printable(real_path(path)))
        return
    folders = [(path, fences)]
    if os.path.isdir(path):
        seen.add(str(real_path(path)))
    while folders:
        folder, fences = folders.pop()
        below = []
        for entry in _list(folder, report):
            try:
                real = real_path(entry)
            except OSError as error:
                report.skipped.append(Skipped(printable(entry), f"it cannot be read ({error.strerror})"))
                continue
            if str(real) in seen:
                continue
            inner = _widen(real, fences, links)
            if inner is None:
                report.left_links.append(printable(real))
            else:
                seen.add(str(real))
                if not os.path.isdir(real):
                    yield entry, real
                elif entry.name not in _TOOL_FOLDERS:
                    below.append((entry, inner))
        folders += reversed(below)


def _list(path: Path, report: IndexReport) -> list[Path]:
    """List a folder in order, without hidden entries. A file is its own list."""
    if not os.path.isdir(path):
        return [path]
    try:
        return [path / name for name in sorted(os.listdir(path)) if not name.startswith(".")]
    except OSError as error:
        report.skipped.append(Skipped(printable(path), f"the folder cannot be read ({error.strerror})"))
        return []


def _widen(real: Path, fences: _Fences, links: bool) -> _Fences | None:
    """Return the folders in which a path and what lies below it may be, or None if it is behind a link not to follow.

    ``real`` is the path without its links. ``fences`` are the folders for the path above it.
    """
    if any(map(real.is_relative_to, fences)):
        return fences
    # Only one link that leads out of the top folder is followed, and none behind it.
    may_lead_out = links and len(fences) == 1
    return (*fences, real) if may_lead_out else None
