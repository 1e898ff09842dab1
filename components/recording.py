"""Record the results of sources and models in a file, so that a run can be repeated without calling them."""

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

from haystack import Document
from haystack.dataclasses import ChatMessage

from prefrag.components.block import Block, check_choice
from prefrag.errors import PrefragError

# The provider's name in the trace when the documents come from a recording.
RECORDING = "recording"
Mode = Literal["record", "replay", "reuse"]
Kind = Literal["search", "source", "reply", "model"]
# A message about a missing request shows only this many characters, from the request's end: prompts begin alike.
_REPORTED_CHARACTERS = 200


class NotRecorded(PrefragError, LookupError):
    """The error when a replayed recording does not contain a request."""


@dataclass(frozen=True)
class Entry:
    """The outcome of one request."""

    documents: tuple[Document, ...] = ()  # the documents that a source found, best first
    replies: tuple[ChatMessage, ...] = ()
    facts: Mapping[str, Any] | None = None  # the properties of a model or a source: plain values by name
    error: str | None = None  # why the request failed; if set, the other fields are empty

    def to_dict(self) -> dict[str, Any]:
        """Serialise the entry."""
        if self.error is not None:
            return {"error": self.error}
        if self.facts is not None:
            return {"facts": dict(self.facts)}
        if self.replies:
            return {"replies": [reply.to_dict() for reply in self.replies]}
        return {"documents": [document.to_dict(flatten=False) for document in self.documents]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Entry:
        """Make an entry from its serialised form."""
        [(kind, value)] = data.items()
        if kind == "documents":
            return cls(documents=tuple(Document.from_dict(document) for document in value))
        if kind == "replies":
            return cls(replies=tuple(ChatMessage.from_dict(reply) for reply in value))
        return cls(**{kind: value})


class Recording(Block):
    """A JSON-lines file of searches and model replies. Each entry is found by the content of its request.

    If a request is repeated and gets another reply, only one reply is replayed: the first with ``reuse``, the last with
    ``record``. With ``reuse``, the run itself also gets the first reply every time, so a replay takes the same steps.

    All :class:`Recording` objects for the same file in a process share the entries. They write only whole lines.

    :param path: The file; created when something is first recorded.
    :param mode: ``record`` always calls the source or model, and records the result. ``replay`` never calls: it returns
        what was recorded, even failures. ``reuse`` returns recorded results, and calls only for missing results.
    :raises ValueError: For an unknown mode, a broken file, or a replay without a file.
    """

    def __init__(self, path: str, mode: Mode = "reuse"):
        check_choice(get_args(Mode), mode=mode)
        if mode == "replay" and not Path(path).is_file():
            raise ValueError(f"There is no recording at {path}: record one first (mode: record).")
        self.path = path
        self.mode: Mode = mode
        self._file = _open(Path(path))
        self._file.refresh(repair=mode != "replay")

    def play(self, kind: Kind, name: str, *content: object) -> Entry | None:
        """Return the recorded outcome of a request, or None if the source or the model must be called.

        With ``replay``, raise :class:`NotRecorded` instead of returning None. The message shows ``content[0]``.
        """
        entry = None if self.mode == "record" else self._file.entries.get(_key(kind, name, content))
        if self.mode == "replay":
            if entry is None:
                request = f": {str(content[0]).strip()[-_REPORTED_CHARACTERS:]}" if content else ""
                raise NotRecorded(f"The recording {self.path} does not contain this {kind} of {name}{request}")
            return entry
        return None if entry is None or entry.error is not None else entry

    def record(self, entry: Entry, kind: Kind, name: str, *content: object) -> Entry:
        """Record the outcome of a request. With ``reuse``, keep and return an earlier outcome if there is one."""
        return self._file.add(_key(kind, name, content), entry, replace=self.mode == "record")


class _File:
    def __init__(self, path: Path):
        self.path = path
        self.entries: dict[str, Entry] = {}
        self._lock = threading.Lock()
        self._read: tuple[int, int] | None = None

    def refresh(self, repair: bool) -> None:
        """Read the file if it has changed since this process last read or wrote it."""
        with self._lock:
            state = self._state()
            if self._read == state:
                return
            self.entries = {}
            if state is not None:
                self._load(repair)
            self._read = self._state()

    def add(self, key: str, entry: Entry, replace: bool) -> Entry:
        with self._lock:
            earlier = self.entries.get(key)
            if earlier is not None:
                # An error is replaced in any case: the call has now been repeated.
                stays = earlier.error is None and not replace
                if stays or earlier == entry:
                    return earlier
            line = json.dumps({"key": key, **entry.to_dict()}, ensure_ascii=False, default=str)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._append(f"{line}\n".encode("utf-8", "replace"))
            self._read = self._state()
            # Return the entry as a replay will read it: in JSON, some values of metadata, such as dates, become text.
            return self._read_line(line)

    def _state(self) -> tuple[int, int] | None:
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def _load(self, repair: bool) -> None:
        # Do not use `splitlines`: web pages contain other line separators (U+2028, U+0085), which JSON leaves as is.
        *lines, torn = self.path.read_bytes().split(b"\n")
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                self._read_line(line)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ValueError(
                    f"Line {number} of the recording {self.path} is broken: {error}. Delete the line."
                ) from error
        if torn.strip():
            self._read_last_line(torn, repair)

    def _read_last_line(self, torn: bytes, repair: bool) -> None:
        try:
            self._read_line(torn)
        except (ValueError, KeyError, TypeError, AttributeError):
            # The process that wrote this line was killed halfway through.
            if repair:
                os.truncate(self.path, self.path.stat().st_size - len(torn))
        else:
            # An editor removed the line break at the end of the file.
            if repair:
                self._append(b"\n")

    def _append(self, line: bytes) -> None:
        # Write the line in one piece and without a buffer, so that the lines of several processes do not mix.
        with self.path.open("ab", buffering=0) as file:
            file.write(line)

    def _read_line(self, line: bytes | str) -> Entry:
        data = json.loads(line)
        key = data.pop("key")
        entry = self.entries[key] = Entry.from_dict(data)
        return entry


_files: WeakValueDictionary[Path, _File] = WeakValueDictionary()
_files_lock = threading.Lock()


def _open(path: Path) -> _File:
    path = path.resolve()
    with _files_lock:
        file = _files.get(path)
        if file is None:
            file = _files[path] = _File(path)
        return file


def _key(kind: str, name: str, content: tuple[Any, ...]) -> str:
    request = json.dumps([name, *content], sort_keys=True, ensure_ascii=False, default=str)
    # Use hashes as the keys of replies, because prompts are long.
    return f"{kind} {request if kind != 'reply' else hashlib.sha256(request.encode('utf-8', 'replace')).hexdigest()}"
