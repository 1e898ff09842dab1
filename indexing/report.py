"""Reports on indexing, listing and deleting documents, and on the progress of indexing."""

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


# If more files than this are skipped for the same reason, the message names only the first of them.
_MOST_NAMED = 5
TOO_DEEP = "it is nested too deeply"
# The reason for skipping a file that cannot be read without an optional package.
NEEDS_FILES = 'it needs packages that are not installed: run pip install "prefrag[files]"'


class CannotRead(PrefragError):
    """Raised when a file cannot be converted. The message says why, and what to do."""


@dataclass(frozen=True)
class Progress:
    """The progress of indexing. Passages that are counted as written are safe on disk."""

    path: str  # the file that was indexed last
    bytes_done: int
    bytes_total: int
    written: int  # passages
    unchanged: int  # passages


def group_by_reason(skipped: Sequence[Skipped]) -> list[str]:
    """Write a sentence for each skipped file or line, but only one sentence for many files with the same reason.

    This sentence names the first file and counts the others. For files that need missing packages, two are enough to
    share a sentence. A skipped line of a corpus always has its own sentence.
    """
    files = [skip for skip in skipped if skip.line is None]
    same = Counter(skip.reason for skip in files)
    named: list[str] = []
    seen: set[str] = set()
    for skip in skipped:
        more = same[skip.reason] - 1
        fewest = 1 if skip.reason == NEEDS_FILES else _MOST_NAMED
        if skip.line is not None or more < fewest:
            named.append(str(skip))
        elif skip.reason not in seen:
            seen.add(skip.reason)
            suffixes = {Path(other.path).suffix.lower() for other in files if other.reason == skip.reason} - {""}
            kinds = ", ".join(sorted(suffixes)) or "without a suffix"
            named.append(f"{skip}. And {more:,} more like this ({kinds}).")
    return named


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Skipped:
    """A file or line that was skipped."""

    path: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        """Write the path, the line number and the reason in one line."""
        # A file name may contain terminal control sequences.
        place = self.path if self.line is None else f"{self.path}, line {self.line}"
        return one_line(f"{place}: {self.reason}")


@dataclass(frozen=True)
class PrunePlan:
    """What is about to be deleted, because files or lines of corpora no longer exist."""

    gone: dict[str, int]  # the number of passages of each missing file
    shortened: dict[str, int]  # for each corpus: how many of its indexed passages are no longer in it

    @property
    def passages(self) -> int:
        """The total number of passages to delete."""
        return sum(self.gone.values()) + sum(self.shortened.values())


OnPlan = Callable[[PrunePlan], None]


@dataclass
class IndexReport:
    """What one call of :func:`prefrag.collections.indexing.index` has done."""

    files: int = 0  # all indexed files and corpora, changed or not
    unchanged_files: int = 0
    written: int = 0  # this and the next three fields count passages
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    pruned: list[str] = field(default_factory=list)  # the missing files whose passages were deleted
    vanished: list[str] = field(default_factory=list)  # the missing files whose passages are still in the index
    skipped: list[Skipped] = field(default_factory=list)
    read_in_part: list[Skipped] = field(default_factory=list)
    skipped_lines: int = 0
    other_kinds: Counter[str] = field(default_factory=Counter)  # the number of files of unsupported kinds, by suffix
    left_links: list[str] = field(default_factory=list)  # where links lead that lead out and were not followed
    unlinked: int = 0  # the passages that an earlier version had read through such links, and that were deleted
    seconds: float = 0.0

    def describe_links(self) -> str:
        """Say how many links were not followed, and how many passages deleted therefore; "" if all were followed."""
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
    """The entry of one file in the list of a collection."""

    path: str | None  # None for all passages that come from no file
    kind: str  # "file", "corpus" or "other"
    title: str  # the name of the file
    passages: int = 0


@dataclass(frozen=True)
class Deletion:
    """The result of a deletion."""

    passages: int
    unknown: list[str]  # the targets that the index does not contain


# For each corpus, at most this many skipped lines are listed in the report. Further lines are only counted.
MOST_NAMED_LINES = 20


class Tally:
    """Adds skipped files and lines to a report, and tells ``on_progress`` how far indexing has come."""

    def __init__(self, report: IndexReport, bytes_total: int, on_progress: OnProgress | None) -> None:
        self.report = report
        self.bytes_done = 0
        self._bytes_total = bytes_total
        self._on_progress = on_progress
        self._lines: Counter[str] = Counter()

    def advance(self, path: Path, bytes_done: int = 0) -> None:
        """Count ``bytes_done`` more bytes as done, and report the progress."""
        self.bytes_done += bytes_done
        if self._on_progress is not None:
            done = min(self.bytes_done, self._bytes_total)
            report = self.report
            self._on_progress(Progress(str(path), done, self._bytes_total, report.written, report.unchanged))

    def skip(self, path: Path, reason: str) -> None:
        """Report a file that is skipped."""
        self.report.skipped.append(Skipped(str(path), reason))

    def skip_line(self, path: Path, line: int, reason: str) -> None:
        """Report a skipped line. After the first 20 lines of a corpus, lines are only counted."""
        name = str(path)
        self._lines[name] += 1
        self.report.skipped_lines += 1
        if self._lines[name] <= MOST_NAMED_LINES:
            self.report.skipped.append(Skipped(name, reason, line))


@contextmanager
def indexing_bar(console: Console) -> Iterator[OnProgress]:
    """Show a progress bar during the block. Provides the ``on_progress`` function that moves the bar."""
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
            bar.update(
                task,
                completed=progress.bytes_done,
                total=progress.bytes_total,
                name=one_line(Path(progress.path).name),
                passages=counted(progress.written + progress.unchanged, "passage"),
            )

        yield show
