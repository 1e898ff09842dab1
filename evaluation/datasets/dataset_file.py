"""Read the records of a published file of a dataset, and report invalid records.

The modules of the formats use :class:`DatasetFile`. It reads lines or JSON objects one at a time, from plain or
compressed files. Every error names the file and the number of the invalid record.
"""

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

Record = dict[str, Any]
"""A record of a dataset, as JSON gives it. Nothing is known of its values: see :meth:`DatasetFile.convert_records`."""

# The maximum length of one record. It is counted in bytes for a line, and in characters for an object of a JSON array.
# A longer record is an error.
MAX_RECORD_BYTES = 10_000_000
# The number of characters (about a million) that are read at once from a file with a JSON array.
_CHUNK = 1 << 20
# The blanks between two JSON values. It also matches where there is no blank.
_BLANK = re.compile(r"\s*")


class DatasetFile:
    """A file, folder or archive of a dataset.

    Files whose names end in ``.gz`` or ``.bz2`` are unpacked while they are read.

    :param path: The file, folder or archive. "~" stands for the user's home folder.
    :param folder: The folder of which this file is a part, if all files of the folder are read as one dataset. None if
        the file is read alone. The bytes that are read from the file are then also added to the folder's ``position``,
        which tells how much of the whole dataset was read.
    :raises FileNotFoundError: If there is no such file or folder.
    """

    def __init__(self, path: str | os.PathLike[str], folder: DatasetFile | None = None):
        self.path = Path(path).expanduser()
        # The number of bytes that were read from disk so far, from the file or from all files of the folder.
        self.position = 0
        self._folder = folder
        if not self.path.exists():
            raise FileNotFoundError(f"There is no file or folder {self.path}.")

    @property
    def is_archive(self) -> bool:
        """Whether the file is a tar archive."""
        return ".tar" in self.path.suffixes

    @property
    def suffix(self) -> str:
        """The last suffix of the file name in lower case, without the suffix of a compression.

        For example, the suffix of "x.tsv.gz" is ".tsv". The suffix is empty if the file name has none.
        """
        for suffix in reversed(self.path.suffixes):
            if suffix not in (".gz", ".bz2"):
                return suffix.lower()
        return ""

    def parts(self) -> list[Path]:
        """List the files of a folder, sorted by their paths.

        :returns: The files in the folder and in its subfolders. A file whose own name begins with a dot is left out.
            The files of a hidden subfolder are not left out. For a file, only the file itself.
        """
        if not self.path.is_dir():
            return [self.path]
        not_hidden = self.path.rglob("[!.]*")
        return sorted(part for part in not_hidden if part.is_file())

    def size(self) -> int:
        """Return the size on disk in bytes.

        :returns: The size of the file, or of all files of the folder together.
        """
        return sum(part.stat().st_size for part in self.parts())

    def digest(self) -> hashlib._Hash:
        """Compute the SHA-256 hash of the content.

        :returns: The hash object of :mod:`hashlib`. For a file, it covers the content. For a folder, it covers the
            names and the contents of its files.
        """
        if not self.path.is_dir():
            with self.path.open("rb") as content:
                return hashlib.file_digest(content, "sha256")

        hash_of_folder = hashlib.sha256()
        for part in self.parts():
            name = f"{part.relative_to(self.path)}\n"
            hash_of_part = DatasetFile(part).digest()
            # This `digest` is a method of hashlib. It returns the bytes of the hash.
            bytes_of_part = hash_of_part.digest()
            hash_of_folder.update(name.encode() + bytes_of_part)
        return hash_of_folder

    def members(self) -> Iterator[DatasetFile]:
        """Yield the files of a folder or of an archive.

        :returns: An iterator over the files. For a plain file, only the file itself.
        :raises ValueError: If an archive cannot be unpacked.
        """
        if self.path.is_dir():
            yield from (DatasetFile(part, self) for part in self.parts())
        elif self.is_archive:
            with self.open() as stream:
                try:
                    # The mode "r|" reads an archive from its beginning to its end, without jumps. It is the mode for an
                    # archive that is not compressed: `self.open` has unpacked it already.
                    with tarfile.open(fileobj=stream, mode="r|") as archive:
                        for member in archive:
                            stream_of_member = archive.extractfile(member)
                            if stream_of_member:
                                yield _Member(self.path / member.name, cast(BinaryIO, stream_of_member))
                except tarfile.TarError as error:
                    raise ValueError(f"{self.path} cannot be unpacked ({error}): fetch it again.") from error
        else:
            yield self

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file for reading. A compressed file is unpacked while it is read.

        The file is unpacked inside the caller's ``with`` block, so errors of unpacking occur there. They are changed to
        ValueError. Other errors of the block stay as they are. An OSError without an error number is the exception: it
        counts as an error of unpacking.

        :returns: A context manager with a stream of bytes.
        :raises ValueError: If this is a folder, or if the file cannot be unpacked.
        """
        if self.path.is_dir():
            raise ValueError(f"{self.path} is a folder: name a file in it.")
        with self.path.open("rb", buffering=0) as raw, self._explain_unpack_error():
            counted = _Counted(raw, self)
            buffered = cast(BinaryIO, io.BufferedReader(counted))
            yield _unpack(buffered, self.path.name)

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield each line that is not blank.

        :returns: An iterator over pairs: the number of the line in the file, from 1, and the line.
        :raises ValueError: If a line is longer than ``MAX_RECORD_BYTES``.
        """
        with self.open() as stream:
            number = 0
            while line := stream.readline(MAX_RECORD_BYTES + 1):
                number += 1
                if len(line) > MAX_RECORD_BYTES:
                    raise self.error("line", number, f"it has more than {MAX_RECORD_BYTES // 10**6} MB")
                if line.strip():
                    yield number, line

    def json_lines(self) -> Iterator[tuple[int, object]]:
        """Yield the JSON value of each line that is not blank.

        :returns: An iterator over pairs: the number of the line in the file, from 1, and the value.
        :raises ValueError: If a line is not JSON.
        """
        for number, line in self.lines():
            try:
                value = json.loads(line.decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise self.error("line", number, f"it is not JSON ({error})") from error
            yield number, value

    def json_array(self) -> Iterator[tuple[int, object]]:
        """Yield the objects of a JSON array one at a time. The array is never in memory as a whole.

        :returns: An iterator over pairs: the number of the object, from 1, and the object.
        :raises ValueError: If the file is not a JSON array, or one of its values is not an object.
        """
        with self.open() as stream:
            text = _JsonText(io.TextIOWrapper(stream, encoding="utf-8-sig"))
            number = 1
            try:
                text.take("[")
                # `peek` returns an empty text at the end of the file. So without a "]" at the end, `take` or `value`
                # raises an error.
                while text.peek() != "]":
                    if number > 1:
                        text.take(",")
                    yield number, text.value()
                    number += 1
            except ValueError as error:
                raise self.error("record", number, str(error)) from error

    def json(self) -> object:
        """Read the file as one JSON value.

        :returns: The value.
        :raises ValueError: If the file is not JSON.
        """
        with self.open() as stream:
            try:
                return json.loads(stream.read().decode("utf-8-sig"))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{self.path} is not JSON ({error}).") from error

    def convert_records(
        self, records: Iterable[tuple[int, object]], convert: Callable[[Any], Iterable[T]], unit: str
    ) -> Iterator[T]:
        """Convert the records of this file to questions or passages.

        The records must have the published form. This is the form that the authors of the dataset published, with
        certain keys and types of values.

        :param records: The number and content of each record.
        :param convert: Converts a record to no, one or several results. It may raise KeyError, TypeError,
            AttributeError, IndexError or ValueError for a record that does not have the published form.
        :param unit: What a record is called in an error. With the unit "line", an error names "line 3", for example.
        :returns: An iterator over the results for all records.
        :raises ValueError: If a record is invalid. The error names the file, the unit and the number of the record.
        """
        for number, record in records:
            try:
                results = list(convert(record))
            except KeyError as error:
                raise self.error(unit, number, f"it lacks {error}") from error
            except (TypeError, AttributeError, IndexError) as error:
                raise self.error(unit, number, f"it does not have the published form ({error})") from error
            except ValueError as error:
                raise self.error(unit, number, str(error)) from error
            yield from results

    def count(self, read: int) -> None:
        """Count bytes that were read: in this file, and in the folder that contains the file.

        :param read: The number of bytes.
        """
        self.position += read
        if self._folder is not None:
            self._folder.count(read)

    def error(self, unit: str, number: int, reason: str) -> ValueError:
        """Make the error for an invalid record.

        :param unit: What a record is called, for example "line".
        :param number: The number of the record, from 1.
        :param reason: What is wrong with the record, without a full stop.
        :returns: The error, which the caller raises.
        """
        return ValueError(f"{self.path}, {unit} {number}: {reason}.")

    @contextmanager
    def _explain_unpack_error(self) -> Iterator[None]:
        """Change each error of unpacking to a ValueError that names the file."""
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
    """Read a text of a record.

    For example, ``text_of({"id": " q1 "}, "id")`` returns ``"q1"``.

    :param record: The record.
    :param key: The key of the text.
    :returns: The text, without blanks at its start and end.
    :raises KeyError: If the record lacks the key.
    :raises ValueError: If the value is not a text, is blank, or cannot be encoded as UTF-8.
    """
    value = record[key]
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"'{key}' must be text, and not empty")
    check_unicode(value, key)
    return value.strip()


def check_unicode(text: str, key: str) -> None:
    """Check that a text can be encoded as UTF-8.

    :param text: The text.
    :param key: The key of the text in its record, which the error names.
    :raises ValueError: If the text has half of a surrogate pair.
    """
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"'{key}' holds half of a surrogate pair, which is not text: take it out") from error


class _Member(DatasetFile):
    """A file in an archive. It can only be read once, while the archive is open."""

    def __init__(self, path: Path, stream: BinaryIO):
        # The constructor of DatasetFile is not called, because it would look for the path on disk. There is only the
        # archive. What is read from a member is counted for the archive, so the member's own position stays 0.
        self.path = path
        self.position = 0
        self._folder = None
        self._packed = stream

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the file for reading. Its bytes count in the archive's ``position``."""
        with self._explain_unpack_error():
            yield _unpack(self._packed, self.path.name)


class _Counted(io.RawIOBase):
    """A file that reports each number of bytes that is read from it to its :class:`DatasetFile`."""

    def __init__(self, raw: io.FileIO, file: DatasetFile):
        self._raw = raw
        self._file = file

    def readable(self) -> bool:
        """Say that the stream can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer, and report their number."""
        count = self._raw.readinto(buffer) or 0
        self._file.count(count)
        return count


def _unpack(stream: BinaryIO, name: str) -> BinaryIO:
    """Return a stream that unpacks another, or the same stream if the name has no suffix of a compression."""
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(fileobj=stream))
    if name.endswith(".bz2"):
        return cast(BinaryIO, bz2.BZ2File(stream))
    return stream


class _JsonText:
    """A text of JSON that is read in chunks, one value at a time.

    ``_buffer`` holds a part of the text: what was read from the file and was not dropped yet. ``_position`` is the
    position in the buffer of the next character to parse.
    """

    def __init__(self, text: io.TextIOWrapper):
        self._text = text
        self._buffer = ""
        self._position = 0
        self._decoder = json.JSONDecoder()

    def peek(self) -> str:
        """Return the next character that is not blank, without moving past it. At the end, return an empty text."""
        while True:
            blank = _BLANK.match(self._buffer, self._position)
            if blank:
                self._position = blank.end()
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._read_chunk():
                return ""

    def take(self, character: str) -> None:
        """Move past the next character that is not blank. Raise ValueError if it is not ``character``."""
        next_character = self.peek()
        if next_character != character:
            in_words = repr(next_character) if next_character else "the end"
            raise ValueError(f"expected '{character}', not {in_words}")
        self._position += 1

    def value(self) -> object:
        """Parse the next JSON object and move past it. Raise ValueError if there is no valid object.

        An object whose end was not read yet looks like invalid JSON. So after an error, a chunk is read and the object
        is parsed again, until the maximum length of a record is exceeded or the file ends.
        """
        if self.peek() != "{":
            raise ValueError("it is not a JSON object")

        while True:
            try:
                value, self._position = self._decoder.raw_decode(self._buffer, self._position)
                return value
            except (ValueError, RecursionError) as error:
                invalid = ValueError(f"it is not JSON ({getattr(error, 'msg', error)})")
                n_unparsed = len(self._buffer) - self._position
                if n_unparsed > MAX_RECORD_BYTES:
                    raise invalid from error
                has_more = self._read_chunk()
                if not has_more:
                    raise invalid from error

    def _read_chunk(self) -> bool:
        """Drop the text that was parsed, and add the next chunk to the rest. Return False at the end of the file."""
        chunk = self._text.read(_CHUNK)
        self._buffer = self._buffer[self._position :] + chunk
        self._position = 0
        return bool(chunk)
