"""Record the results of sources and models in a file, so that a run can be repeated without calling them.

A request is a search or a call of a model. Each line of the file has the key of a request, which is made from its
content, and the outcome of the request.
"""

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

# The name of the provider in the trace if the documents come from a recording.
RECORDING = "recording"
# How a recording is used. `Recording` describes the modes.
Mode = Literal["record", "replay", "reuse"]
# What an entry is about: a search, the properties of a source, a model's reply, or the properties of a model.
Kind = Literal["search", "source", "reply", "model"]
# A message about a missing request shows at most this many characters of the request. They are taken from its end,
# because the beginnings of prompts are alike.
_REPORTED_CHARACTERS = 200


class NotRecorded(PrefragError, LookupError):
    """The error when a replayed recording does not contain a request."""


@dataclass(frozen=True)
class Entry:
    """The outcome of one request. Only one of its fields is set."""

    # The documents that a source found, best first.
    documents: tuple[Document, ...] = ()
    # The replies of a model.
    replies: tuple[ChatMessage, ...] = ()
    # The properties of a model or a source: plain values by name.
    facts: Mapping[str, object] | None = None
    # Why the request failed.
    error: str | None = None

    def to_dict(self) -> dict[str, object]:
        """Serialise the entry.

        :returns: A dictionary with one key: ``error``, ``facts``, ``replies`` or ``documents``.
        """
        if self.error is not None:
            return {"error": self.error}
        if self.facts is not None:
            return {"facts": dict(self.facts)}
        if self.replies:
            return {"replies": [reply.to_dict() for reply in self.replies]}
        return {"documents": [document.to_dict(flatten=False) for document in self.documents]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Entry:
        """Make an entry from its serialised form.

        :param data: The output of :meth:`to_dict`.
        :returns: The entry.
        """
        [(kind, value)] = data.items()
        if kind == "documents":
            return cls(documents=tuple(Document.from_dict(document) for document in value))
        if kind == "replies":
            return cls(replies=tuple(ChatMessage.from_dict(reply) for reply in value))
        return cls(**{kind: value})


class Recording(Block):
    """A file of searches and model replies in JSON lines. Each entry is found by the content of its request.

    If a request is repeated and gets another reply, only one of the replies is replayed later. With ``reuse``, this is
    the first reply. The recorded run itself also gets the first reply every time, so a replay takes the same steps.
    With ``record``, the last reply is replayed.

    All :class:`Recording` objects for the same file in a process share the entries. They write only whole lines.

    :param path: The file. It is created when an entry is first recorded.
    :param mode: When a source or model is called:
        - ``record`` always calls, and records the results.
        - ``replay`` never calls. It returns the recorded results, also failures.
        - ``reuse`` returns recorded results, and calls only for missing and failed results.
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

        :param kind: What the request is about.
        :param name: The name of the source or the model.
        :param content: The values that identify the request, such as the query. The message of an error shows the
            first value.
        :returns: The outcome.
        :raises NotRecorded: With ``replay``, when the recording does not contain the request.
        """
        if self.mode == "record":
            return None

        entry = self._file.entries.get(_key(kind, name, content))
        if self.mode == "replay":
            if entry is None:
                request = ""
                if content:
                    end_of_request = str(content[0]).strip()[-_REPORTED_CHARACTERS:]
                    request = f": {end_of_request}"
                raise NotRecorded(f"The recording {self.path} does not contain this {kind} of {name}{request}")
            return entry

        # A request that has failed is repeated.
        if entry is None or entry.error is not None:
            return None
        return entry

    def record(self, entry: Entry, kind: Kind, name: str, *content: object) -> Entry:
        """Record the outcome of a request. With ``reuse``, an earlier outcome without an error stays.

        :param entry: The outcome.
        :param kind: What the request is about.
        :param name: The name of the source or the model.
        :param content: The values that identify the request.
        :returns: The outcome that is now in the recording, as a replay returns it.
        """
        return self._file.add(_key(kind, name, content), entry, replace=self.mode == "record")


class _File:
    """The entries of a file, which all recordings of this file in the process share."""

    def __init__(self, path: Path):
        self.path = path
        self.entries: dict[str, Entry] = {}
        self._lock = threading.Lock()
        # The state of the file when it was last read or written here.
        self._read: tuple[int, int] | None = None

    def refresh(self, repair: bool) -> None:
        """Read the file if it has changed since this process last read or wrote it.

        ``repair`` tells whether an incomplete last line may be cut off or completed in the file.
        """
        with self._lock:
            state = self._state()
            if self._read == state:
                return
            self.entries = {}
            if state is not None:
                self._load(repair)
            self._read = self._state()

    def add(self, key: str, entry: Entry, replace: bool) -> Entry:
        """Write an entry, unless an earlier entry of the key stays. Return the entry that is now in the file.

        Without ``replace``, an earlier entry stays if it has no error.
        """
        with self._lock:
            earlier = self.entries.get(key)
            if earlier is not None:
                # An error is always replaced, because the call has now been repeated.
                stays = earlier.error is None and not replace
                if stays or earlier == entry:
                    return earlier
            line = json.dumps({"key": key, **entry.to_dict()}, ensure_ascii=False, default=str)
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._append(f"{line}\n".encode("utf-8", "replace"))
            self._read = self._state()
            # The entry is returned as a replay will read it. In JSON, some values of metadata, such as dates, become
            # text.
            return self._read_line(line)

    def _state(self) -> tuple[int, int] | None:
        """Return the time of the last change and the size of the file in bytes; None if there is no file."""
        try:
            stat = self.path.stat()
        except FileNotFoundError:
            return None
        return stat.st_mtime_ns, stat.st_size

    def _load(self, repair: bool) -> None:
        """Read all lines of the file. Raise ValueError if a line other than the last is broken."""
        # `splitlines` would also split at other line separators (U+2028, U+0085). Web pages contain them, and JSON
        # leaves them unchanged.
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
        """Read a last line without a line break. With ``repair``, cut it off if it is incomplete, or complete it."""
        try:
            self._read_line(torn)
        except (ValueError, KeyError, TypeError, AttributeError):
            # The process that wrote this line was killed before the line was complete.
            if repair:
                os.truncate(self.path, self.path.stat().st_size - len(torn))
        else:
            # An editor removed the line break at the end of the file.
            if repair:
                self._append(b"\n")

    def _append(self, line: bytes) -> None:
        """Write a line to the end of the file."""
        # The line is written in one piece and without a buffer, so that the lines of several processes do not mix.
        with self.path.open("ab", buffering=0) as file:
            file.write(line)

    def _read_line(self, line: bytes | str) -> Entry:
        """Add the entry of a line to ``entries``, and return the entry."""
        data = json.loads(line)
        key = data.pop("key")
        entry = Entry.from_dict(data)
        self.entries[key] = entry
        return entry


# The files that recordings of this process use. A file that no recording uses any more is dropped.
_files: WeakValueDictionary[Path, _File] = WeakValueDictionary()
_files_lock = threading.Lock()


def _open(path: Path) -> _File:
    """Return the shared object for a file."""
    path = path.resolve()
    with _files_lock:
        file = _files.get(path)
        if file is None:
            file = _File(path)
            _files[path] = file
        return file


def _key(kind: str, name: str, content: tuple[object, ...]) -> str:
    """Make the key of a request from its kind, its name and its content.

    For example, ``_key("search", "local", ("tides", 5))`` returns ``'search ["local", "tides", 5]'``.
    """
    request = json.dumps([name, *content], sort_keys=True, ensure_ascii=False, default=str)
    if kind == "reply":
        # The keys of replies have a hash in place of the content, because prompts are long.
        request = hashlib.sha256(request.encode("utf-8", "replace")).hexdigest()
    return f"{kind} {request}"
