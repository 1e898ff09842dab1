"""Watch a folder while the server runs, and keep its collection (its index) up to date.

The command `prefrag FOLDER`, such as `prefrag ~/notes`, starts a server that follows this folder. A thread waits for
changes in the folder. It passes the changed paths to an indexing process, which updates the index. If the folder is
gone, for example because a drive was unplugged, nothing is deleted from the index.

The thread learns of changes from the library watchfiles, here "the watcher". There are three ways:

1. The system reports each change to the watcher.
2. If the system cannot do this, the watcher polls: it compares the files of the folder with those of five seconds ago.
3. If the watcher fails altogether, the whole folder is indexed every thirty seconds. Unchanged files are only checked.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from hayhooks.server.logger import log
from watchfiles import Change, watch
from watchfiles.main import FileChange

from prefrag.collections.changes.following import Drives, find_drives, is_mounted
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.text.counted import counted
from prefrag.components.text.one_line import one_line
from prefrag.errors import PrefragError
from prefrag.indexing.discovery import describe_kinds, is_passed_over
from prefrag.indexing.report import IndexReport, group_by_reason
from prefrag.server.library.collections import served_collection
from prefrag.server.library.indexing_process import IndexingProcesses

# The environment variable in which the command passes the folder to the serving process. Users do not set it.
FOLDER_VARIABLE = "_SERVE_FOLDER"
# Changes are collected until nothing has changed for this many milliseconds.
_QUIET_MS = 300
# Changes are never collected for longer than this many milliseconds.
_MOST_MS = 2_000
# If nothing changes for this many milliseconds, the watcher reports an empty set of changes. At this report, the thread
# starts the first indexing, or retries an indexing that has failed.
_LOOK_MS = 1_000
# The pause between two checks whether a missing folder is back, in seconds.
_AWAY_SECONDS = 2.0
# The pause before a failed indexing is retried for the first time, in seconds. It doubles with each further failure.
_FIRST_PAUSE = 2.0
# The longest pause before a failed indexing is retried, in seconds.
_LONGEST_PAUSE = 60.0
# The pause between two comparisons of a watcher that polls, in milliseconds.
_POLL_MS = 5_000
# The pause before the whole folder is indexed again, if the watcher fails altogether, in seconds.
_WITHOUT_WATCHER_SECONDS = 30.0
# If more paths than this change at once, the system may have failed to report some. So the whole folder is indexed.
_MOST_CHANGES = 2_000
# How many lines about skipped files are logged. Each line is about all files with the same reason.
_MOST_NAMED = 5


class FollowedFolder:
    """Watches a folder in a thread. When files in it change, an indexing process updates the collection.

    :param folder: The folder.
    :param collection: The collection that has the documents of the folder.
    :param indexing: The processes that index files.
    """

    def __init__(self, folder: Path, collection: LocalCollection, indexing: IndexingProcesses) -> None:
        self.collection = collection
        self._folder = folder
        self._indexing = indexing
        self._stopped = threading.Event()
        # Whether the watcher has to poll, because the system cannot report changes.
        self._polls = False
        # Whether the watcher has failed altogether, so that the whole folder is indexed at intervals.
        self._has_no_watcher = False
        # The lines about files that are not read, see `left_out` in `describe`.
        self._left_out: list[str] = []
        self._state: dict[str, object] = {"state": "reading", "bytes_done": 0, "bytes_total": 0}

    @classmethod
    def offered(cls, indexing: IndexingProcesses) -> FollowedFolder | None:
        """Make an object for the folder that `prefrag FOLDER` has offered to this process.

        The command offers the folder in an environment variable. The variable is removed here, so that programs which
        this process starts do not inherit it.

        :param indexing: The processes that index files.
        :returns: The object. None if there is no folder to follow, because the server was started by `prefrag serve`.
        """
        folder = os.environ.pop(FOLDER_VARIABLE, "")
        if not folder:
            return None
        collection = LocalCollection(served_collection())
        return cls(Path(folder), collection, indexing)

    def start(self) -> None:
        """Start following in a thread."""
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """Ask the thread to end, without waiting for it."""
        self._stopped.set()

    def describe(self) -> dict[str, object]:
        """Describe the progress for the page.

        :returns: A dictionary with the following keys:
            - `state`: `reading` (the files are being indexed), `following` (the index is up to date), `failed` (the
              indexing will be retried) or `away` (the folder is missing).
            - `bytes_done` and `bytes_total`: How much has been read. Only if the state is `reading`.
            - `left_out`: Lines about the files of kinds that are not read. The first line has their total, as in "3
              files of other kinds left out". Each further line has the number of files of one kind and the reason, as
              in "2 .zip: archives are not opened: unpack them". Only if there are such files.
        """
        state = {key: value for key, value in self._state.items() if key != "problem"}
        return {**state, "left_out": self._left_out} if self._left_out else state

    def _run(self) -> None:
        """Follow the folder until the server stops. After each failure, and while the folder is gone, try again."""
        while not self._stopped.is_set():
            try:
                # A file on a drive that was unplugged looks like a deleted file, but must stay in the index. So the
                # drives that are mounted in the folder now are noted.
                drives = find_drives(self._folder)
                self._follow(drives)
            except OSError as error:
                # If the folder is gone, polling would not help. This case is treated below.
                if self._is_there():
                    # Usually the system's limit on watched folders has been reached.
                    self._polls = True
                    self._fail(f"The folder cannot be watched ({error}), so it is scanned regularly instead.")
            except Exception as error:
                # For example, the watcher fails if a folder inside this one has a name that is not UTF-8. It would fail
                # again each time, and no file would be indexed any more. So the watcher is not used again.
                self._has_no_watcher = True
                self._fail(f"The folder cannot be watched ({error}), so it is scanned regularly instead.")
            if not self._is_there():
                if self._state["state"] != "away":
                    log.warning("{} is not there, or cannot be read. Nothing is deleted from the index.", self._folder)
                self._state = {"state": "away"}
            self._stopped.wait(_AWAY_SECONDS)

    def _fail(self, problem: str) -> None:
        """Set the state to `failed`, and log the problem unless the same problem was the last."""
        if self._state.get("problem") != problem:
            log.error("{}: {}", self._folder, one_line(problem))
        self._state = {"state": "failed", "problem": problem}

    def _is_there(self) -> bool:
        """Check whether the folder exists and can be read."""
        try:
            with os.scandir(self._folder):
                return True
        except OSError:
            return False

    def _follow(self, drives: Drives) -> None:
        """Index the whole folder, then its changes, until the folder is gone or the server stops."""
        # The paths that are still to be indexed. The path of the folder itself stands for everything in the folder.
        waiting = {str(self._folder)}
        pause = _FIRST_PAUSE
        next_try = 0.0
        sets_of_changes = self._report_all_at_intervals() if self._has_no_watcher else self._watch()
        for changes in sets_of_changes:
            if not is_mounted(str(self._folder), drives):
                return
            waiting.update(path for _, path in changes)
            if len(waiting) > _MOST_CHANGES:
                waiting.add(str(self._folder))
            if not waiting or time.monotonic() < next_try:
                continue

            problem = self._index(waiting, drives)
            if problem is None:
                waiting = set()
                pause = _FIRST_PAUSE
            elif self._stopped.is_set():
                return
            else:
                # The changes stay in `waiting`, so that they are tried again after the pause.
                self._fail(problem)
                next_try = time.monotonic() + pause
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _watch(self) -> Iterator[set[FileChange]]:
        """Report changes as they happen. The set is empty if nothing has changed for a while."""
        # With None, the watcher itself finds out whether it has to poll. For example, it polls in WSL.
        force_polling = True if self._polls else None
        return watch(
            self._folder,
            watch_filter=self._concerns,
            debounce=_MOST_MS,
            step=_QUIET_MS,
            stop_event=self._stopped,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=force_polling,
            poll_delay_ms=_POLL_MS,
            ignore_permission_denied=True,
        )

    def _report_all_at_intervals(self) -> Iterator[set[FileChange]]:
        """Report again and again that the folder has changed, which stands for everything in it."""
        while not self._stopped.is_set():
            yield {(Change.modified, str(self._folder))}
            self._stopped.wait(_WITHOUT_WATCHER_SECONDS)

    def _index(self, changed: set[str], drives: Drives) -> str | None:
        """Let an indexing process index the changed paths. Return what went wrong, or None if nothing did."""

        def show(done: int, total: int) -> None:
            # During a retry, the state stays `failed`. It has the problem, so `_fail` can see that the next problem is
            # the same, and does not log it again.
            if self._state["state"] != "failed":
                self._state = {"state": "reading", "bytes_done": done, "bytes_total": total}

        show(0, 0)
        try:
            report = self._indexing.follow(self.collection, self._folder, changed, drives, show)
        except PrefragError as error:
            return str(error)

        kinds = describe_kinds(report.other_kinds)
        # Only an indexing of the whole folder counts all of its files.
        if str(self._folder) in changed:
            self._left_out = kinds
        self._state = {"state": "following"}
        self._log(report, kinds)
        return None

    def _log(self, report: IndexReport, kinds: list[str]) -> None:
        """Log what an indexing has done, and which files it has left out or skipped.

        :param report: The report of the indexing.
        :param kinds: The lines about files of kinds that are not read, see `left_out` in :meth:`describe`.
        """
        done = _describe(report)
        if done:
            log.success("{}: {}", self.collection.name, done)
        about_links = report.describe_links()
        if about_links:
            log.warning("{}: {}", self.collection.name, about_links)
        if kinds:
            total, *lines_by_kind = kinds
            log.warning("{}: {}: {}", self.collection.name, total, "; ".join(lines_by_kind))
        for line in group_by_reason(report.skipped)[:_MOST_NAMED]:
            log.warning("Skipped {}", line)

    def _concerns(self, change: Change, path: str) -> bool:
        """Check whether a changed path is indexed. Hidden files, and folders such as node_modules, are not."""
        names = os.path.relpath(path, self._folder).split(os.sep)
        return not any(is_passed_over(name) for name in names)


def _describe(report: IndexReport) -> str:
    """Say what an indexing has done, as in "12 passages written, 1 file skipped". Empty if nothing was done."""
    parts = []
    if report.written:
        parts.append(f"{counted(report.written, 'passage')} written")
    if report.deleted:
        parts.append(f"{counted(report.deleted, 'passage')} deleted")
    if report.skipped:
        parts.append(f"{counted(len(report.skipped), 'file')} skipped")
    return ", ".join(parts)
