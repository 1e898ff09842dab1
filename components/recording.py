"""What sources and models gave, kept in one file, so that a run can be repeated without them."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args
from weakref import WeakValueDictionary

from haystack import Document, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage

from prefrag.components.errors import PrefragError

Mode = Literal["record", "replay", "reuse"]
Kind = Literal["search", "reply", "model"]
# What is told of a request that the recording does not hold: its end, as prompts begin alike.
_TOLD_CHARACTERS = 200


class NotRecorded(PrefragError, LookupError):
    """A recording that is replayed does not hold what is asked of it."""


@dataclass(frozen=True)
class Entry:
    """What came of one request.

    :param documents: What a source found, best first.
    :param replies: What a model replied.
    :param facts: What is known of a model: plain values by name.
    :param error: Why the request failed; then there is nothing else.
    """

    documents: tuple[Document, ...] = ()
    replies: tuple[ChatMessage, ...] = ()
    facts: Mapping[str, Any] | None = None
    error: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """:returns: The entry as plain values, without what it does not hold."""
        if self.error is not None:
            return {"error": self.error}
        if self.facts is not None:
            return {"facts": dict(self.facts)}
        if self.replies:
            return {"replies": [reply.to_dict() for reply in self.replies]}
        return {"documents": [document.to_dict(flatten=False) for document in self.documents]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Entry:
        """:param data: See :meth:`to_dict`. :returns: The entry."""
        [(kind, value)] = data.items()
        if kind == "documents":
            return cls(documents=tuple(Document.from_dict(document) for document in value))
        if kind == "replies":
            return cls(replies=tuple(ChatMessage.from_dict(reply) for reply in value))
        return cls(**{kind: value})


class Recording:
    """A JSON-lines file of searches and of models' replies, each found again by the content of its request.

    A request that was made twice with the same content has one entry: a model that would reply otherwise the second
    time cannot be told apart. With ``reuse`` the first reply stands for all of a run, so that a replay takes the same
    way.

    All recordings of one file in a process share what it holds, and write one whole line after another.

    :param path: The file; made when something is recorded first.
    :param mode: ``record`` asks and keeps what comes; ``replay`` plays what was kept, failures as well, and fails for
        the rest; ``reuse`` plays what was kept, asks again where that failed, and records the rest.
    :raises ValueError: For another mode, a broken file, or when there is nothing to replay.
    """

    def __init__(self, path: str, mode: Mode = "reuse"):
        if mode not in get_args(Mode):
            raise ValueError(f"The mode of a recording is '{mode}': set it to record, replay or reuse.")
        if mode == "replay" and not Path(path).is_file():
            raise ValueError(f"There is no recording at {path}: record one first (mode: record).")
        self.path = path
        self.mode: Mode = mode
        self._file = _opened(Path(path))
        self._file.refresh(mend=mode != "replay")

    def to_dict(self) -> dict[str, Any]:
        """:returns: The recording as plain values."""
        return default_to_dict(self, path=self.path, mode=self.mode)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Recording:
        """:param data: See :meth:`to_dict`. :returns: The recording."""
        return default_from_dict(cls, data)

    def play(self, kind: Kind, name: str, *content: Any) -> Entry | None:
        """
        :param kind: What was asked for.
        :param name: The source or the model.
        :param content: The request as plain JSON values; the first is what a person would recognise it by.
        :returns: What was kept; None when the source or the model has to be asked.
        :raises NotRecorded: With ``replay``, when the request was not recorded.
        """
        kept = None if self.mode == "record" else self._file.entries.get(_key(kind, name, content))
        if self.mode == "replay":
            if kept is None:
                told = f": {str(content[0]).strip()[-_TOLD_CHARACTERS:]}" if content else ""
                raise NotRecorded(f"The recording {self.path} does not hold this {kind} of {name}{told}")
            return kept
        return None if kept is None or kept.error is not None else kept

    def record(self, entry: Entry, kind: Kind, name: str, *content: Any) -> Entry:
        """Keep what came of a request; the other parameters are those of :meth:`play`.

        :param entry: What came of it.
        :returns: What is kept: with ``reuse`` the entry of the same request that was there before.
        """
        return self._file.add(_key(kind, name, content), entry, replace=self.mode == "record")


class _File:
    """What a file holds.

    :param path: The file.
    """

    def __init__(self, path: Path):
        self.path = path
        self.entries: dict[str, Entry] = {}
        self._lock = threading.Lock()
        self._read: tuple[int, int] | None = None

    def refresh(self, mend: bool) -> None:
        """Read the file unless it is as this process left it.

        :param mend: Cut off a last line that was never finished.
        """
        with self._lock:
            if self._read == (state := self._state()):
                return
            self.entries = {}
            if state is not None:
                self._load(mend)
            self._read = self._state()

    def add(self, key: str, entry: Entry, replace: bool) -> Entry:
        """:returns: What is kept under the key now."""
        with self._lock:
            kept = self.entries.get(key)
            if kept is not None and (kept == entry or (kept.error is None and not replace)):
                return kept
            line = json.dumps({"key": key, **entry.to_dict()}, ensure_ascii=False, default=str)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._append(f"{line}\n".encode("utf-8", "replace"))
            self._read = self._state()
            # As a replay will get it: JSON does not know every kind of metadata.
            return self._take(line)

    def _state(self) -> tuple[int, int] | None:
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def _load(self, mend: bool) -> None:
        # Not splitlines: web pages hold separators (U+2028, U+0085) that JSON leaves as they are within a line.
        *lines, torn = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                self._take(line)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f"Line {number} of the recording {self.path} is broken: {error}. Delete the line."
                ) from error
        if torn.strip():
            self._take_last(torn, mend)

    def _take_last(self, torn: bytes, mend: bool) -> None:
        try:
            self._take(torn)
        except (ValueError, KeyError, TypeError, AttributeError):
            # Its writer was killed in the middle of the line.
            if mend:
                os.truncate(self.path, self.path.stat().st_size - len(torn))
        else:
            # An editor has left out the end of the line.
            if mend:
                self._append(b"\n")

    def _append(self, line: bytes) -> None:
        # One unbuffered write: lines of several processes do not mix either.
        with self.path.open("ab", buffering=0) as file:
            file.write(line)

    def _take(self, line: bytes | str) -> Entry:
        data = json.loads(line)
        key = data.pop("key")
        entry = self.entries[key] = Entry.from_dict(data)
        return entry


_files: WeakValueDictionary[Path, _File] = WeakValueDictionary()
_files_lock = threading.Lock()


def _opened(path: Path) -> _File:
    path = path.resolve()
    with _files_lock:
        if (file := _files.get(path)) is None:
            file = _files[path] = _File(path)
        return file


def _key(kind: str, name: str, content: tuple[Any, ...]) -> str:
    request = json.dumps([name, *content], sort_keys=True, ensure_ascii=False, default=str)
    # A prompt is long, and the same in nearly all of its parts at every step.
    return f"{kind} {request if kind != 'reply' else hashlib.sha256(request.encode('utf-8', 'replace')).hexdigest()}"
