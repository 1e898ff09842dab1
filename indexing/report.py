"""The reports of an indexing, a listing and a deletion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from prefrag.components.errors import PrefragError
from prefrag.pipelines.trace_text import one_line


class CannotRead(PrefragError):
    """A file that cannot be converted; the message gives the reason and what to do."""


@dataclass(frozen=True)
class Progress:
    """The progress of an indexing; passages counted as written are safe on disk.

    :param path: The file that was processed last.
    :param bytes_done: Bytes of the finished files.
    :param bytes_total: Bytes of all files.
    :param written: Passages written so far, replacements included.
    :param unchanged: Passages that existed already.
    """

    path: str
    bytes_done: int
    bytes_total: int
    written: int
    unchanged: int


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Skipped:
    """A file or line that was skipped.

    :param path: The file.
    :param reason: Why, and what to do.
    :param line: The line of a corpus, from 1; None when it is the whole file.
    """

    path: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        """Write the place and the reason in one line."""
        # The name of a file may hold anything that a terminal would obey.
        return one_line(f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self.reason}")


@dataclass(frozen=True)
class PrunePlan:
    """What a pruning is about to delete.

    :param gone: The number of passages of each file that no longer exists.
    :param shortened: The number of passages of each corpus whose lines left it.
    """

    gone: dict[str, int]
    shortened: dict[str, int]

    @property
    def passages(self) -> int:
        """The number of all passages."""
        return sum(self.gone.values()) + sum(self.shortened.values())


OnPlan = Callable[[PrunePlan], None]


@dataclass
class IndexReport:
    """The counts of one indexing.

    :param files: Files and corpora that were read, unchanged ones included.
    :param unchanged_files: Those of them that gave nothing new.
    :param written: Passages written, replacements included.
    :param replaced: Written passages that replaced earlier ones.
    :param unchanged: Passages that existed already.
    :param deleted: Passages that were deleted without a replacement.
    :param pruned: Files that no longer exist, whose passages were deleted.
    :param vanished: Files below the indexed folders that no longer exist, and whose passages a pruning would delete.
    :param skipped: What was skipped, with the reason; at most the first 20 lines of each corpus.
    :param skipped_lines: The number of all lines that were skipped.
    :param other_kinds: The number of files in folders that are of no kind that is read, by suffix.
    :param seconds: The duration.
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
    skipped_lines: int = 0
    other_kinds: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


@dataclass
class IndexedFile:
    """The entry of one file in the list of an index.

    :param path: The file; None for passages that `index` did not write.
    :param kind: `file`, `corpus` or `other`.
    :param title: The title of a file, the name of a corpus.
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
    :param unknown: The targets that the index does not hold.
    """

    passages: int
    unknown: list[str]
