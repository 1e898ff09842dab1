"""Read the records of a published file of a dataset, and report invalid records."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import os
import re
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar, cast

T = TypeVar("T")

MAX_RECORD_BYTES = 10_000_000  # a longer record is an error
_CHUNK = 1 << 20
_BLANK = re.compile(r"\s*")


class DatasetFile:
    """A file, folder or archive of a dataset.

    Files that end in ``.gz`` or ``.bz2`` are unpacked while they are read. ``position`` counts the bytes read from
    disk so far, from the file or from all files of the folder.
    """

    def __init__(self, path: str | os.PathLike[str], whole: DatasetFile | None = None):
        self.path = Path(path).expanduser()
        self.position = 0
        self._whole = whole
        if not self.path.exists():
            raise FileNotFoundError(f"There is no file or folder {self.path}.")

    @property
    def is_archive(self) -> bool:
        """Whether the file is a tar archive."""
        return ".tar" in self.path.suffixes

    @property
    def suffix(self) -> str:
        """The last suffix of the file name, except for the suffix of a compression: ``.tsv`` for ``x.tsv.gz``."""
        return next((suffix.lower() for suffix in reversed(self.path.suffixes) if suffix not in (".gz", ".bz2")), "")

    def parts(self) -> list[Path]:
        """List the files of a folder in order, without hidden files. For a file, list only the file itself."""
        if not self.path.is_dir():
            return [self.path]
        return sorted(part for part in self.path.rglob("[!.]*") if part.is_file())

    def size(self) -> int:
        """Return the size on disk in bytes."""
        return sum(part.stat().st_size for part in self.parts())

    def digest(self) -> hashlib._Hash:
        """Return the SHA-256 hash of the file's content, or of the names and contents of the folder's files."""
        if not self.path.is_dir():
            with self.path.open("rb") as content:
                return hashlib.file_digest(content, "sha256")
        digest = hashlib.sha256()
        for part in self.parts():
            digest.update(f"{part.relative_to(self.path)}\n".encode() + DatasetFile(part).digest().digest())
        return digest

    def members(self) -> Iterator[DatasetFile]:
        """Yield the files of a folder or an archive, or the file itself."""
        if self.path.is_dir():
            yield from (DatasetFile(part, self) for part in self.parts())
        elif self.is_archive:
            with self.open() as stream:
                try:
                    with tarfile.open(fileobj=stream, mode="r|") as archive:
                        for member in archive:
                            packed = archive.extractfile(member)
                            if packed:
                                yield _Member(self.path / member.name, cast(BinaryIO, packed))
                except tarfile.TarError as error:
                    raise ValueError(f"{self.path} cannot be unpacked ({error}): fetch it again.") from error
        else:
            yield self

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file for reading, unpacked."""
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a folder: name a file in it.")
        with self.path.open("rb", buffering=0) as raw, self._explain_unpack_error():
            yield _unpack(cast(BinaryIO, io.BufferedReader(_Counted(raw, self))), self.path.name)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line that is not blank, with its number."""
        with self.open() as stream:
            number = 0
            while line := stream.readline(MAX_RECORD_BYTES + 1):
                number += 1
                if len(line) > MAX_RECORD_BYTES:
                    raise self.error("line", number, f"it has more than {MAX_RECORD_BYTES // 10**6} MB")
                if line.strip():
                    yield number, line

    def json_lines(self) -> Iterator[tuple[int, Any]]:
        """Yield the JSON value of each line, with the line's number."""
        for number, line in self.lines():
            try:
                value = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise self.error("line", number, f"it is not JSON ({error})") from error
            yield number, value

    def json_array(self) -> Iterator[tuple[int, Any]]:
        """Yield the objects of a JSON array with their numbers, without holding them all in memory."""
        with self.open() as stream:
            text = _JsonText(io.TextIOWrapper(stream, encoding="utf-8-sig"))
            number = 1
            try:
                text.take("[")
                while text.next() != "]":
                    if number > 1:
                        text.take(",")
                    yield number, text.value()
                    number += 1
            except ValueError as error:
                raise self.error("record", number, str(error)) from error

    def json(self) -> Any:
        """Read the file as one JSON value."""
        with self.open() as stream:
            try:
                return json.loads(stream.read().decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{self.path} is not JSON ({error}).") from error

    def convert_records(
        self, records: Iterable[tuple[int, Any]], convert: Callable[[Any], Iterable[T]], unit: str
    ) -> Iterator[T]:
        """Convert records. The error for an invalid record names its ``unit`` and number, for example "line 3"."""
        for number, record in records:
            try:
                things = list(convert(record))
            except KeyError as error:
                raise self.error(unit, number, f"it lacks {error}") from error
            except (TypeError, AttributeError, IndexError) as error:
                raise self.error(unit, number, f"it does not have the published form ({error})") from error
            except ValueError as error:
                raise self.error(unit, number, str(error)) from error
            yield from things

    def count(self, read: int) -> None:
        """Add ``read`` bytes to the position in this file, and in the folder that contains the file."""
        self.position += read
        if self._whole is not None:
            self._whole.count(read)

    def error(self, unit: str, number: int, reason: str) -> ValueError:
        """Make the error for an invalid record."""
        return ValueError(f"{self.path}, {unit} {number}: {reason}.")

    @contextmanager
    def _explain_unpack_error(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(f"{self.path} cannot be unpacked ({error}): fetch it again.") from error
        except OSError as error:
            # If the data is not bz2, the module bz2 raises an OSError without an error number.
            if error.errno is None:
                raise ValueError(f"{self.path} cannot be unpacked ({error}): fetch it again.") from error
            raise


def text_of(record: Any, key: str) -> str:
    """Return the text under ``key``, stripped. Raise ValueError if the value is empty or not text."""
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"'{key}' must be text, and not empty")
    check_unicode(value, key)
    return value.strip()


def check_unicode(text: str, key: str) -> None:
    """Raise ValueError if a text cannot be encoded as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"'{key}' holds half of a surrogate pair, which is not text: take it out") from error


class _Member(DatasetFile):
    def __init__(self, path: Path, packed: BinaryIO):
        self.path = path
        self._packed = packed

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        with self._explain_unpack_error():
            yield _unpack(self._packed, self.path.name)


class _Counted(io.RawIOBase):
    def __init__(self, raw: io.FileIO, file: DatasetFile):
        self._raw = raw
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        count = self._raw.readinto(buffer) or 0
        self._file.count(count)
        return count


def _unpack(stream: BinaryIO, name: str) -> BinaryIO:
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream))
    if name.endswith(".bz2"):
        return cast(BinaryIO, bz2.BZ2File(stream))
    return stream


class _JsonText:
    def __init__(self, text: io.TextIOWrapper):
        self._text = text
        self._buffer = ""
        self._position = 0
        self._decoder = json.JSONDecoder()

    def next(self) -> str:
        """Return the next character that is not blank, without moving past it. At the end, return an empty text."""
        while True:
            blank = _BLANK.match(self._buffer, self._position)
            if blank:
                self._position = blank.end()
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._more():
                return ""

    def take(self, character: str) -> None:
        if self.next() != character:
            raise ValueError(f"expected '{character}', not {repr(self.next()) if self.next() else 'the end'}")
        self._position += 1

    def value(self) -> Any:
        if self.next() != "{":
            raise ValueError("it is not a JSON object")
        while True:
            try:
                value, self._position = self._decoder.raw_decode(self._buffer, self._position)
                return value
            except (ValueError, RecursionError) as error:
                # Incomplete JSON looks like invalid JSON, so read on, up to the limit for one record.
                if len(self._buffer) - self._position > MAX_RECORD_BYTES or not self._more():
                    raise ValueError(f"it is not JSON ({getattr(error, 'msg', error)})") from error

    def _more(self) -> bool:
        chunk = self._text.read(_CHUNK)
        self._buffer, self._position = self._buffer[self._position :] + chunk, 0
        return bool(chunk)
