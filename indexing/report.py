"""Reports on indexing, listing and deleting documents, and on the progress of indexing.

The functions of ``prefrag.collections`` fill these reports. The command line, the server and the library show them or
return them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from prefrag.components.text.counted import counted
from prefrag.components.text.one_line import one_line
from prefrag.errors import PrefragError
from prefrag.settings import settings

if TYPE_CHECKING:
    from rich.console import Console


# If more files than this are skipped for the same reason, they share a sentence that names only the first of them.
_MOST_NAMED = 5
# The reason for skipping a file with too many levels, such as lists in lists.
TOO_DEEP = "it is nested too deeply"
# The reason for skipping a file that cannot be read without an optional package.
NEEDS_FILES = 'it needs packages that are not installed: run pip install "prefrag[files]"'


class CannotRead(PrefragError):
    """Raised when a file cannot be converted. The message says why, and what to do."""


@dataclass(frozen=True)
class Progress:
    """The progress of indexing.

    :param path: The file that was indexed last.
    :param bytes_done: How many bytes of the files are indexed.
    :param bytes_total: How many bytes the files have together.
    :param written: The number of passages that were written. They are safe on disk.
    :param unchanged: The number of passages that were in the index before.
    """

    path: str
    bytes_done: int
    bytes_total: int
    written: int
    unchanged: int


def group_by_reason(skipped: Sequence[Skipped]) -> list[str]:
    """Write a sentence for each skipped file or line, but only one sentence for many files with the same reason.

    For example, seven empty files give "0.txt: it is empty. And 6 more like this (.txt)." More than five other files
    with the same reason share a sentence. If packages are missing, two files are enough. A skipped line of a corpus
    always has its own sentence.

    :param skipped: The skipped files and lines.
    :returns: The sentences.
    """
    paths_by_reason: dict[str, list[str]] = {}
    for skip in skipped:
        if skip.line is None:
            paths_by_reason.setdefault(skip.reason, []).append(skip.path)

    sentences: list[str] = []
    written_reasons: set[str] = set()
    for skip in skipped:
        paths = paths_by_reason.get(skip.reason, [])
        most_alone = 1 if skip.reason == NEEDS_FILES else _MOST_NAMED
        has_own_sentence = skip.line is not None or len(paths) <= most_alone
        if has_own_sentence:
            sentences.append(str(skip))
        elif skip.reason not in written_reasons:
            written_reasons.add(skip.reason)
            sentences.append(f"{skip}. And {len(paths) - 1:,} more like this ({_list_suffixes(paths)}).")
    return sentences


def _list_suffixes(paths: Sequence[str]) -> str:
    """List the suffixes of files, as in ".doc, .txt"; "without a suffix" if no file has one."""
    suffixes = {Path(path).suffix.lower() for path in paths}
    return ", ".join(sorted(filter(None, suffixes))) or "without a suffix"


# A function that is told the progress.
OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Skipped:
    """A file that was skipped, or a line of a corpus.

    :param path: The path of the file.
    :param reason: Why it was skipped, as half a sentence such as "it is empty".
    :param line: The number of the line, from 1. None if the whole file was skipped.
    """

    path: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        """Write the path, the line number and the reason in one line, such as "a.jsonl, line 3: no text"."""
        # A file name may contain control sequences for terminals. `one_line` makes them harmless.
        place = self.path if self.line is None else f"{self.path}, line {self.line}"
        return one_line(f"{place}: {self.reason}")


@dataclass(frozen=True)
class PrunePlan:
    """What is about to be deleted, because files or lines of corpora no longer exist.

    :param gone: The number of passages of each missing file, by its path.
    :param shortened: For each corpus, the number of its indexed passages that are no longer in the file.
    """

    gone: dict[str, int]
    shortened: dict[str, int]

    @property
    def passages(self) -> int:
        """The total number of passages to delete."""
        return sum(self.gone.values()) + sum(self.shortened.values())


# A function that is told what is about to be deleted.
OnPlan = Callable[[PrunePlan], None]


@dataclass
class IndexReport:
    """What one call of :func:`prefrag.collections.indexing.index` has done.

    :param files: The number of all indexed files and corpora, changed or not.
    :param unchanged_files: The number of files that did not change since the last indexing.
    :param written: The number of passages that were written.
    :param replaced: The number of passages that were replaced.
    :param unchanged: The number of passages that did not change.
    :param deleted: The number of passages that were deleted.
    :param pruned: The missing files whose passages were deleted.
    :param vanished: The missing files whose passages are still in the index.
    :param skipped: The files and lines that were skipped.
    :param read_in_part: The files of which some parts could not be read.
    :param skipped_lines: The number of all skipped lines of corpora. ``skipped`` does not list all of them.
    :param other_kinds: The number of files of kinds that are not read, by suffix.
    :param left_links: The places to which links lead that lead out of the indexed folder and were not followed.
    :param unlinked: The number of passages that were deleted because an earlier version had read them through such
        links.
    :param seconds: How long the indexing took.
    """

    files: int = 0
    unchanged_files: int = 0
    written: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    pruned: list[str] = field(default_factory=list)
    vanished: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    read_in_part: list[Skipped] = field(default_factory=list)
    skipped_lines: int = 0
    other_kinds: Counter[str] = field(default_factory=Counter)
    left_links: list[str] = field(default_factory=list)
    unlinked: int = 0
    seconds: float = 0.0

    def describe_links(self) -> str:
        """Say how many links were not followed, and how many passages were deleted for this reason.

        :returns: The sentences; "" if all links were followed.
        """
        if not self.left_links:
            return ""
        deleted = f" Passages deleted that were read through them earlier: {self.unlinked:,}." if self.unlinked else ""
        advice = "" if settings.follow_links else " PREFRAG_FOLLOW_LINKS=on follows them."
        return f"Links not followed, as they lead out: {self.links_left:,}.{deleted}{advice}"

    @property
    def links_left(self) -> int:
        """The number of links that lead out of a folder and were not followed."""
        return len(self.left_links)


@dataclass(frozen=True)
class IndexedFile:
    """The entry of one file in the list of a collection.

    :param path: The path of the file. None for the entry of all passages that come from no file.
    :param kind: "file", "corpus" or "other".
    :param title: The name of the file.
    :param passages: The number of its passages.
    """

    path: str | None
    kind: str
    title: str
    passages: int = 0


@dataclass(frozen=True)
class Deletion:
    """The result of a deletion.

    :param passages: The number of deleted passages.
    :param unknown: The files that were to be deleted, but that the index does not contain.
    """

    passages: int
    unknown: list[str]


# For each corpus, at most this many skipped lines are listed in the report. Further lines are only counted.
MOST_NAMED_LINES = 20


class Tally:
    """Adds skipped files and lines to a report, and reports the progress of indexing."""

    def __init__(self, report: IndexReport, bytes_total: int, on_progress: OnProgress | None) -> None:
        """Start with nothing done.

        :param report: The report to fill.
        :param bytes_total: How many bytes the files to index have together.
        :param on_progress: A function that is called after each step. None if nobody wants to know the progress.
        """
        self.report = report
        self.bytes_done = 0
        self._bytes_total = bytes_total
        self._on_progress = on_progress
        self._lines: Counter[str] = Counter()

    def advance(self, path: Path, bytes_done: int = 0) -> None:
        """Count more bytes as done, and report the progress.

        :param path: The file that was indexed last.
        :param bytes_done: How many more bytes are done.
        """
        self.bytes_done += bytes_done
        if self._on_progress is not None:
            done = min(self.bytes_done, self._bytes_total)
            report = self.report
            self._on_progress(Progress(str(path), done, self._bytes_total, report.written, report.unchanged))

    def skip(self, path: Path, reason: str) -> None:
        """Add a skipped file to the report.

        :param path: The path of the file.
        :param reason: Why it is skipped.
        """
        self.report.skipped.append(Skipped(str(path), reason))

    def skip_line(self, path: Path, line: int, reason: str) -> None:
        """Add a skipped line of a corpus to the report. After the first 20 lines of a corpus, lines are only counted.

        :param path: The path of the corpus.
        :param line: The number of the line, from 1.
        :param reason: Why the line is skipped.
        """
        name = str(path)
        self._lines[name] += 1
        self.report.skipped_lines += 1
        if self._lines[name] <= MOST_NAMED_LINES:
            self.report.skipped.append(Skipped(name, reason, line))


@contextmanager
def indexing_bar(console: Console) -> Iterator[OnProgress]:
    """Show a progress bar during the block.

    :param console: The console of the library Rich.
    :returns: A context manager. It provides the function ``on_progress``, which moves the bar.
    """
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.fields[name]}", markup=False),
        bars.BarColumn(),
        bars.DownloadColumn(),
        bars.TextColumn("{task.fields[passages]}"),
        bars.TimeRemainingColumn(),
    )
    with bars.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None, name="", passages="")

        def show(progress: Progress) -> None:
            """Move the bar."""
            bar.update(
                task,
                completed=progress.bytes_done,
                total=progress.bytes_total,
                name=one_line(Path(progress.path).name),
                passages=counted(progress.written + progress.unchanged, "passage"),
            )

        yield show
