"""What an indexing, a listing or a deletion reports."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Progress:
    """How far an indexing is. What it counts as written is safe on disk.

    :param path: The file that was worked on last.
    :param bytes_done: Bytes of the files that are done.
    :param bytes_total: Bytes of all files.
    :param written: Passages written so far, those in the place of earlier ones included.
    :param unchanged: Passages that were there already.
    """

    path: str
    bytes_done: int
    bytes_total: int
    written: int
    unchanged: int


OnProgress = Callable[[Progress], None]


@dataclass(frozen=True)
class Skipped:
    """Something that was passed over.

    :param path: The file.
    :param reason: Why, and what to do.
    :param line: The line of a corpus, from 1; None when it is the whole file.
    """

    path: str
    reason: str
    line: int | None = None

    def __str__(self) -> str:
        """Give where and why in one line."""
        return f"{self.path}{'' if self.line is None else f', line {self.line}'}: {self.reason}"


@dataclass
class IndexReport:
    """What an indexing did.

    :param files: Files and corpora that were read, the unchanged ones included.
    :param unchanged_files: Those of them that gave nothing new.
    :param written: Passages written, those in the place of earlier ones included.
    :param replaced: Those of the written that took the place of earlier ones.
    :param unchanged: Passages that were there already.
    :param deleted: Passages that went without another in their place.
    :param pruned: Files that are gone, and whose passages went with them.
    :param skipped: What was passed over, with the reason; of one corpus the first 20 lines.
    :param skipped_lines: All lines of corpora that were passed over.
    :param seconds: How long it took.
    """

    files: int = 0
    unchanged_files: int = 0
    written: int = 0
    replaced: int = 0
    unchanged: int = 0
    deleted: int = 0
    pruned: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    skipped_lines: int = 0
    seconds: float = 0.0


@dataclass
class IndexedFile:
    """What an index holds of one file.

    :param path: The file; None for passages that were not brought by `index`.
    :param kind: `file`, `corpus` or `other`.
    :param title: The title of a file, the name of a corpus.
    :param passages: How many passages it has.
    """

    path: str | None
    kind: str
    title: str
    passages: int = 0


@dataclass(frozen=True)
class Deletion:
    """What a deletion did.

    :param passages: How many passages went.
    :param unknown: What was to be deleted and is not there.
    """

    passages: int
    unknown: list[str]
