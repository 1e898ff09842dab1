"""Watch the folder of `prefrag FOLDER` while the server runs, and keep its collection (its index) up to date."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
# Changes are collected until nothing has changed for `_QUIET_MS`, but never for longer than `_MOST_MS`.
_QUIET_MS = 300
_MOST_MS = 2_000
# If nothing changes for this time, the watcher wakes up anyway: for the first indexing, and to retry a failed one.
_LOOK_MS = 1_000
_AWAY_SECONDS = 2.0  # between two checks whether a missing folder is back
# The pause in seconds before a failed indexing is retried. It doubles each time.
_FIRST_PAUSE = 2.0
_LONGEST_PAUSE = 60.0
_POLL_MS = 5_000  # between two scans of a folder that cannot be watched
_SCAN_SECONDS = 30.0  # between two scans if the watcher cannot even poll
# If more files than this change at once, the system may have failed to report some, so the whole folder is scanned.
_MOST_CHANGES = 2_000
_MOST_NAMED = 5  # how many lines about skipped files are logged


class FollowedFolder:
    """Watches a folder in a thread. When files in it change, an indexing process updates the collection."""

    def __init__(self, folder: Path, collection: LocalCollection, indexing: IndexingProcesses) -> None:
        self.collection = collection
        self._folder = folder
        self._indexing = indexing
        self._stopped = threading.Event()
        self._polls = False
        self._scans = False
        self._left_out: list[str] = []
        self._state: dict[str, Any] = {"state": "reading", "bytes_done": 0, "bytes_total": 0}

    @classmethod
    def offered(cls, indexing: IndexingProcesses) -> FollowedFolder | None:
        """Return a watcher if this process was started by `prefrag FOLDER`, or None if by `prefrag serve`."""
        folder = os.environ.pop(FOLDER_VARIABLE, "")
        return cls(Path(folder), LocalCollection(served_collection()), indexing) if folder else None

    def start(self) -> None:
        """Start following in a thread."""
        threading.Thread(target=self._run, daemon=True).start()

    def stop(self) -> None:
        """Ask the thread to end, without waiting for it."""
        self._stopped.set()

    def describe(self) -> dict[str, Any]:
        """Return the progress. `state` is `reading`, `following`, `failed` (is retried) or `away` (folder missing).

        `left_out` says how many files of other kinds are not read, and then for each kind why; missing if none is.
        """
        state = {key: value for key, value in self._state.items() if key != "problem"}
        return {**state, "left_out": self._left_out} if self._left_out else state

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._follow(find_drives(self._folder))
            except OSError as error:
                if self._is_there():
                    # Usually the system's limit on watched folders has been reached.
                    self._polls = True
                    self._fail(f"The folder cannot be watched ({error}), so it is scanned regularly instead.")
            except Exception as error:
                # For example, the watcher fails at a folder whose name is not UTF-8, which would keep out all others.
                self._scans = True
                self._fail(f"The folder cannot be watched ({error}), so it is scanned regularly instead.")
            if not self._is_there():
                if self._state["state"] != "away":
                    log.warning("{} is not there, or cannot be read. Nothing is deleted from the index.", self._folder)
                self._state = {"state": "away"}
            self._stopped.wait(_AWAY_SECONDS)

    def _fail(self, problem: str) -> None:
        if self._state.get("problem") != problem:
            log.error("{}: {}", self._folder, one_line(problem))
        self._state = {"state": "failed", "problem": problem}

    def _is_there(self) -> bool:
        try:
            with os.scandir(self._folder):
                return True
        except OSError:
            return False

    def _follow(self, drives: Drives) -> None:
        """Index the whole folder, then its changes, until the folder is gone or the server stops."""
        waiting = {str(self._folder)}  # the paths to index
        pause, next_try = _FIRST_PAUSE, 0.0
        for changes in self._scan() if self._scans else self._watch():
            if not is_mounted(str(self._folder), drives):
                return
            waiting.update(path for _, path in changes)
            if len(waiting) > _MOST_CHANGES:
                waiting.add(str(self._folder))
            if not waiting or time.monotonic() < next_try:
                continue
            problem = self._index(waiting, drives)
            if problem is None:
                waiting, pause = set(), _FIRST_PAUSE
            elif self._stopped.is_set():
                return
            else:
                # The changes stay in `waiting`, so that they are tried again after the pause.
                self._fail(problem)
                next_try = time.monotonic() + pause
                pause = min(2 * pause, _LONGEST_PAUSE)

    def _watch(self) -> Iterator[set[FileChange]]:
        return watch(
            self._folder,
            watch_filter=self._concerns,
            debounce=_MOST_MS,
            step=_QUIET_MS,
            stop_event=self._stopped,
            rust_timeout=_LOOK_MS,
            yield_on_timeout=True,
            raise_interrupt=False,
            force_polling=self._polls or None,
            poll_delay_ms=_POLL_MS,
            ignore_permission_denied=True,
        )

    def _scan(self) -> Iterator[set[FileChange]]:
        """Report at intervals that anything in the folder may have changed."""
        while not self._stopped.is_set():
            yield {(Change.modified, str(self._folder))}
            self._stopped.wait(_SCAN_SECONDS)

    def _index(self, changed: set[str], drives: Drives) -> str | None:
        """Let the indexing process index the changed paths. Return what went wrong, or None."""

        def show(done: int, total: int) -> None:
            if self._state["state"] != "failed":
                self._state = {"state": "reading", "bytes_done": done, "bytes_total": total}

        if self._state["state"] != "failed":
            show(0, 0)
        try:
            report = self._indexing.follow(self.collection, self._folder, changed, drives, show)
        except PrefragError as error:
            return str(error)
        kinds = describe_kinds(report.other_kinds)
        # A look at some changes does not count the other files of the folder.
        if str(self._folder) in changed:
            self._left_out = kinds
        self._state = {"state": "following"}
        sentence = _describe(report)
        if sentence:
            log.success("{}: {}", self.collection.name, sentence)
        about_links = report.describe_links()
        if about_links:
            log.warning("{}: {}", self.collection.name, about_links)
        if kinds:
            log.warning("{}: {}: {}", self.collection.name, kinds[0], "; ".join(kinds[1:]))
        for line in group_by_reason(report.skipped)[:_MOST_NAMED]:
            log.warning("Skipped {}", line)
        return None

    def _concerns(self, change: Change, path: str) -> bool:
        """Check whether a changed path is indexed. Hidden files, and folders such as node_modules, are not."""
        return not any(map(is_passed_over, os.path.relpath(path, self._folder).split(os.sep)))


def _describe(report: IndexReport) -> str:
    counts = {"written": report.written, "deleted": report.deleted}
    done = [f"{counted(number, 'passage')} {what}" for what, number in counts.items() if number]
    skipped = [f"{counted(len(report.skipped), 'file')} skipped"] if report.skipped else []
    return ", ".join(done + skipped)
