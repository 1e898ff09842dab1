"""Write uploaded documents to disk as they arrive, check whether there is room for them, and delete collections."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from contextlib import ExitStack
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from fastapi import HTTPException, Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

from prefrag.collections.collection import Collection
from prefrag.components.document_stores.tantivy.index_location import is_windows_name
from prefrag.errors import BadInput
from prefrag.indexing.discovery import may_be_readable, why_left_out
from prefrag.settings import settings

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

FIELD = "files"
MOST_FILES = 100
RECEIVE_SECONDS = 300.0
# The maximum length of a name. File systems allow 255 bytes, but some of them count other units than bytes of UTF-8.
_NAME_BYTES = 200
# What browsers write for a quotation mark and for line breaks in the name of a file. They leave all else as it is.
_BROWSER_ESCAPE = re.compile(rb"%(22|0A|0D)")


def read_name(sent: bytes) -> str:
    """Turn the name of an uploaded file into a name that can be stored, or raise ValueError with the reason."""
    try:
        name = unicodedata.normalize("NFC", sent.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("its name is not UTF-8: rename it") from None
    name = name.replace("\\", "/").rpartition("/")[2]
    # The Unicode categories that begin with C: control characters, surrogates, unassigned characters, and characters
    # that control the format, some of which reverse the text.
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise ValueError("its name has a control character: rename it")
    # Unusual spaces and line separators become plain spaces.
    name = " ".join(name.split()).rstrip(". ")
    if not name or name.startswith("."):
        raise ValueError("it has no name, or its name begins with a dot: rename it")
    if len(name.encode()) > _NAME_BYTES or is_windows_name(name):
        raise ValueError(f"its name is reserved, or longer than {_NAME_BYTES} bytes: rename it")
    return name


def _sent_name(disposition: str) -> bytes | None:
    """Read the name of a file from its header. Returns the bytes of the name, which should be UTF-8, or None.

    Browsers write `filename="a.txt"`, and other programs also `filename*=UTF-8''a.txt` with an encoding.
    """
    header = Message()
    header["content-disposition"] = disposition
    for key, value in header.get_params([], "content-disposition"):
        # With an encoding, the value is a tuple, whose text has one character for each byte.
        if key == "filename" and isinstance(value, tuple):
            charset, _, text = value
            is_latin = (charset or "").lower() == "iso-8859-1"
            # In Latin-1, the characters are those of the name, and become UTF-8 here. In UTF-8, the only other encoding
            # that is allowed, they stand for the bytes of the name.
            return text.encode("utf-8", "replace") if is_latin else text.encode("latin-1", "replace")
    _, options = parse_options_header(disposition)
    name = options.get(b"filename")
    # No other escape is resolved: the name of a file may hold `%41`.
    return None if name is None else _BROWSER_ESCAPE.sub(_escaped_sign, name)


def _escaped_sign(escape: re.Match[bytes]) -> bytes:
    return bytes([int(escape[1], 16)])


def check_room(collection: Collection, arriving: int) -> None:
    """Refuse an upload if its collection is full, or if it needs a new collection but there are too many already."""
    room = collection.room()
    most_bytes, most_files = settings.max_collection_bytes, settings.max_collection_files
    # The number of arriving files is not known yet.
    if room.bytes + arriving > most_bytes or room.files >= most_files:
        message = (
            f"The collection holds {room.files:,} uploaded files with {room.bytes:,} bytes; the limits are "
            f"{most_files:,} files (PREFRAG_MAX_COLLECTION_FILES) and {most_bytes:,} bytes "
            "(PREFRAG_MAX_COLLECTION_BYTES). Delete some files, or use another collection."
        )
        raise HTTPException(HTTPStatus.INSUFFICIENT_STORAGE, message)
    collections, most = room.collections, settings.max_collections
    if collections >= most and not room.is_there:
        message = (
            f"There are {collections} uploaded collections; the limit is {most} (PREFRAG_MAX_COLLECTIONS): delete one."
        )
        raise HTTPException(HTTPStatus.INSUFFICIENT_STORAGE, message)


async def receive_files(request: Request, folder: Path) -> tuple[dict[str, int], list[dict[str, Any]]]:
    """Write the files of a form to disk as they arrive.

    :returns: For each file, by its name in the folder, its position in the form, counted from 0. Then the refused
        files, each with its `name` as it was sent, the `reason` and its `position`.
    :raises HTTPException: If the body is too large, too slow, or not a form of files.
    """
    limit = settings.max_upload_bytes
    too_large = HTTPException(
        HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"The upload is larger than {limit:,} bytes: send fewer files at once."
    )
    kind, options = parse_options_header(request.headers.get("content-type", ""))
    if kind != b"multipart/form-data" or not options.get(b"boundary"):
        raise HTTPException(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"Send the files as multipart/form-data, field {FIELD}.")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > limit:
        raise too_large
    received = 0
    form = _Form(folder)
    with form.open_file:
        try:
            parser = MultipartParser(options[b"boundary"], form.callbacks)
            async with asyncio.timeout(RECEIVE_SECONDS):
                async for part in request.stream():
                    received += len(part)
                    if received > limit:
                        raise too_large
                    parser.write(part)
        except TimeoutError as error:
            message = f"The upload did not arrive within {RECEIVE_SECONDS:g} seconds."
            raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, message) from error
        except (FormParserError, ClientDisconnect) as error:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"The body is not a form: {error}") from error
        except OSError as error:
            message = f"The upload cannot be stored ({error.strerror})."
            raise HTTPException(HTTPStatus.INSUFFICIENT_STORAGE, message) from error
        if not form.has_ended:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "The body breaks off before the end of the form.")
        if not form.files:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"The form has no file in the field {FIELD}.")
        return form.positions, form.refused


class _Form:
    """Receives the files of a form and writes them to disk, without holding a whole file in memory."""

    def __init__(self, folder: Path) -> None:
        self.files = 0  # how many have begun
        self.positions: dict[str, int] = {}
        self.refused: list[dict[str, Any]] = []
        self.has_ended = False
        self.open_file = ExitStack()  # closes the present file, and is used again for the next
        self._folder = folder
        self._file: BinaryIO | None = None  # None before the first file, after each, and for a refused one
        # The name and the value of the present header, which arrive in pieces.
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._disposition = b""

    @property
    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_header_field": self._add_to_name,
            "on_header_value": self._add_to_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._begin_file,
            "on_part_data": self._write,
            "on_part_end": self._end_file,
            "on_end": self._end,
        }

    def _add_to_name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _add_to_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _end_header(self) -> None:
        if self._header_name.strip().lower() == b"content-disposition":
            self._disposition = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _begin_file(self) -> None:
        disposition = self._disposition.decode("latin-1")
        _, options = parse_options_header(disposition)
        sent = _sent_name(disposition)
        if sent is None or options.get(b"name") != FIELD.encode():
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"The form may only hold files, in the field {FIELD}.")
        self._disposition = b""
        self.files += 1
        if self.files > MOST_FILES:
            message = f"The form has more than {MOST_FILES} files: send fewer at once."
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        shown = sent.decode("utf-8", "replace")
        try:
            name = read_name(sent)
            if not may_be_readable(Path(name)):
                raise ValueError(why_left_out(Path(name).suffix.lower()))
            file = (self._folder / name).open("xb")
            self._file = self.open_file.enter_context(file)
            self.positions[name] = self.files - 1
        except FileExistsError:
            self._refuse(shown, "another file in the form has the same name: rename one of them")
        except ValueError as error:
            self._refuse(shown, str(error))

    def _refuse(self, name: str, reason: str) -> None:
        self.refused.append({"name": name, "reason": reason, "position": self.files - 1})

    def _write(self, data: bytes, start: int, end: int) -> None:
        # What a refused file holds is passed over.
        if self._file is not None:
            self._file.write(data[start:end])

    def _end_file(self) -> None:
        self.open_file.close()
        self._file = None

    def _end(self) -> None:
        self.has_ended = True


class MayNotBeDeleted(BadInput):
    """The error when an index may not be deleted, because no upload made it or because it is the default."""

    http_status = 403


def delete_collection(collection: Collection) -> int:
    """Delete a collection that an upload made, with all documents in it. Return how many passages it had."""
    with collection.change() as changes:
        _, deleted = collection.count()
        if not collection.is_uploaded:
            raise MayNotBeDeleted(
                "This collection was made on the command line and can only be deleted there. You can delete its "
                "documents here one by one."
            )
        changes.make(drops=True)
    return deleted
