"""Index uploaded files in a process of their own, which can be stopped, and whose failures harm no question."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

from prefrag import indexing
from prefrag.components.document_stores.tantivy.index import index_exists, open_index
from prefrag.components.document_stores.tantivy.index_location import index_path, resolve_index
from prefrag.components.errors import PrefragError, error_kind
from prefrag.indexing.report import IndexReport, Skipped
from prefrag.server.collections import served_collection

# A file has five minutes, and an upload may hold several that are large.
INDEX_SECONDS = 900.0
# A converter holds a file in up to a hundred times its size.
_MOST_BYTES = 4_000_000_000
_NICENESS = 5


class IndexingFailed(PrefragError):
    """Report that uploaded files could not be indexed."""

    def __init__(self, message: str, http_status: int = HTTPStatus.INTERNAL_SERVER_ERROR):
        super().__init__(message)
        self.http_status = http_status


class IndexingProcess:
    """Runs the processes that index, so that they end with the server."""

    def __init__(self) -> None:
        self._running: set[subprocess.Popen[str]] = set()
        self._has_stopped = False

    def index(self, collection: str, files: Sequence[str]) -> IndexReport:
        """Index files and wait for the end."""
        process = subprocess.Popen(
            # Not the folder that the server was started in, which may hold modules of anybody.
            [sys.executable, "-P", "-m", __name__, collection, *files],
            env={**_without_secrets(), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            encoding="utf-8",
        )
        self._running.add(process)
        if self._has_stopped:
            process.kill()
        try:
            output, _ = process.communicate(timeout=INDEX_SECONDS)
        except subprocess.TimeoutExpired as error:
            message = f"The indexing was given up after {INDEX_SECONDS:g} s: send fewer or smaller files."
            raise IndexingFailed(message, HTTPStatus.GATEWAY_TIMEOUT) from error
        finally:
            process.kill()
            process.wait()
            self._running.discard(process)
        reply: dict[str, Any] = {
            "error": "The indexing broke off.",
            "status": HTTPStatus.INTERNAL_SERVER_ERROR,
        }
        with suppress(ValueError):
            reply = json.loads(output)
        if "error" in reply:
            raise IndexingFailed(str(reply["error"]), int(reply["status"]))
        return IndexReport(**{**reply, "skipped": [Skipped(**each) for each in reply["skipped"]]})

    def stop(self) -> None:
        """Stop what still runs, and whatever is begun later."""
        self._has_stopped = True
        for process in list(self._running):
            process.kill()


def index_files(collection: str, files: Sequence[str]) -> IndexReport:
    """Index files in this process."""
    # Only a corpus can have lost passages that no new one replaces.
    prune = any(file.lower().endswith(indexing.CORPUS_SUFFIX) for file in files)
    return indexing.index(files, index=collection, prune=prune, language=_choose_language(collection))


def main(collection: str, *files: str) -> None:
    """Index files and write the report to the standard output."""
    reply: dict[str, Any]
    _spare_the_server()
    try:
        reply = asdict(index_files(collection, files))
    except Exception as error:
        status = getattr(error, "http_status", error_kind(error).http_status)
        reply = {"error": str(error) or type(error).__name__, "status": status}
    json.dump(reply, sys.stdout)


def _without_secrets() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not re.search("KEY|SECRET|TOKEN|PASSWORD", name)}


def _spare_the_server() -> None:
    """Let questions go first, and a file that takes all memory end this process alone."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import resource

        os.nice(_NICENESS)
        # What a process allocates; an index that it maps does not count.
        resource.setrlimit(resource.RLIMIT_DATA, (_MOST_BYTES, _MOST_BYTES))


def _choose_language(collection: str) -> str | None:
    if index_exists(index_path(collection)):
        return None
    with suppress(FileNotFoundError):
        if served := open_index(resolve_index(served_collection())):
            return served.language
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
