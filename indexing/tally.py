"""Keep the report of an indexing while it runs, and report its progress."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from prefrag.indexing.report import IndexReport, OnProgress, Progress, Skipped

# In a corpus with more broken lines, naming each adds nothing.
MOST_NAMED_LINES = 20


class Tally:
    """Keep the report of an indexing and report its progress.

    :param report: The report to fill.
    :param bytes_total: Bytes of all files.
    :param on_progress: Called with the progress after every write and every file.
    """

    def __init__(self, report: IndexReport, bytes_total: int, on_progress: OnProgress | None) -> None:
        self.report = report
        self.bytes_done = 0
        self._bytes_total = bytes_total
        self._on_progress = on_progress
        self._lines: Counter[str] = Counter()

    def advance(self, path: Path, bytes_done: int = 0) -> None:
        """Report progress."""
        self.bytes_done += bytes_done
        if self._on_progress is not None:
            done = min(self.bytes_done, self._bytes_total)
            report = self.report
            self._on_progress(Progress(str(path), done, self._bytes_total, report.written, report.unchanged))

    def skip(self, path: Path, reason: str) -> None:
        """Report a file that is skipped."""
        self.report.skipped.append(Skipped(str(path), reason))

    def skip_line(self, path: Path, line: int, reason: str) -> None:
        """Report a line that is skipped; after the first lines of a corpus they are only counted."""
        name = str(path)
        self._lines[name] += 1
        self.report.skipped_lines += 1
        if self._lines[name] <= MOST_NAMED_LINES:
            self.report.skipped.append(Skipped(name, reason, line))
