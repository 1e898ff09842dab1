"""Receive uploaded documents, and delete uploaded collections.

An upload is a form of files (multipart/form-data). The files are written to disk as they arrive, so that a large upload
needs little memory. Names of files come from the client, so :func:`read_name` checks them.
"""

from __future__ import annotations

import asyncio
import re
import unicodedata
from contextlib import closing
from email.message import Message
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

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

# The name of the field of the form that has the files.
FIELD = "files"
# The maximum number of files in an upload. A form with more files is refused.
MOST_FILES = 100
# An upload must arrive within this many seconds. Otherwise it is refused.
RECEIVE_SECONDS = 300.0
# The maximum length of a name, in bytes of UTF-8. Some file systems allow 255 bytes, and others 255 characters. A name
# of 200 bytes has at most 200 characters, so it fits in both cases.
_NAME_BYTES = 200
# What browsers write for a quotation mark (%22), a line feed (%0A) and a carriage return (%0D) in the name of a file.
# They leave everything else as it is.
_BROWSER_ESCAPE = re.compile(rb"%(22|0A|0D)")


def read_name(sent: bytes) -> str:
    """Turn the name of an uploaded file into a name that can be stored.

    For example, ``read_name(b"docs/my  report.pdf")`` returns ``"my report.pdf"``.

    :param sent: The bytes of the name as they were sent. They should be UTF-8.
    :returns: The name without folders.
    :raises ValueError: If the file cannot be stored under this name. The message is the reason, for the user.
    """
    try:
        name = unicodedata.normalize("NFC", sent.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("its name is not UTF-8: rename it") from None
    _, _, name = name.replace("\\", "/").rpartition("/")
    # The Unicode categories that begin with C have no visible characters. A control character, such as a line feed,
    # would break lines of the log. A format character can reverse the text behind it, so that "gpj.exe" looks like
    # "exe.jpg". Halves of characters and unassigned characters belong to these categories, too.
    categories = [unicodedata.category(character) for character in name]
    if any(category.startswith("C") for category in categories):
        raise ValueError("its name has a control character: rename it")
    # Unusual spaces and line separators become plain spaces.
    name = " ".join(name.split()).rstrip(". ")
    if not name or name.startswith("."):
        raise ValueError("it has no name, or its name begins with a dot: rename it")
    if len(name.encode()) > _NAME_BYTES or is_windows_name(name):
        raise ValueError(f"its name is reserved, or longer than {_NAME_BYTES} bytes: rename it")
    return name


def _sent_name(disposition: str) -> bytes | None:
    """Read the name of a file from its header.

    Browsers write ``filename="a.txt"``. Some other programs write ``filename*=UTF-8''a.txt``, with an encoding.

    :param disposition: The value of the header ``Content-Disposition``.
    :returns: The bytes of the name, which should be UTF-8. None if the header has no name.
    """
    header = Message()
    header["content-disposition"] = disposition
    for key, value in header.get_params([], "content-disposition"):
        # With an encoding, the value is a tuple. Its text has a character for each byte that was sent, as in Latin-1.
        if key == "filename" and isinstance(value, tuple):
            charset, _, text = value
            if (charset or "").lower() == "iso-8859-1":
                # The name was sent in Latin-1, such as the byte E9 for "é". So the text is the name, and it gets the
                # bytes of UTF-8 here.
                return text.encode("utf-8", "replace")
            # The name was sent in UTF-8, the only other encoding that is allowed. For example, the bytes C3 A9 were
            # sent for "é", so the text is "Ã©". In Latin-1, it has the same bytes again.
            return text.encode("latin-1", "replace")
    _, options = parse_options_header(disposition)
    name = options.get(b"filename")
    # Resolve no other escape. The name of a file may really contain `%41`.
    return None if name is None else _BROWSER_ESCAPE.sub(_escaped_sign, name)


def _escaped_sign(escape: re.Match[bytes]) -> bytes:
    """Return the character for a match of `_BROWSER_ESCAPE`. For example, ``%22`` gives a quotation mark."""
    hexadecimal_number = escape[1]
    return bytes([int(hexadecimal_number, 16)])


def check_room(collection: Collection, arriving: int) -> None:
    """Refuse an upload if its collection is full, or if it needs a new collection and there are too many already.

    :param collection: The collection that gets the files. It need not exist.
    :param arriving: The size of the upload, in bytes.
    :raises HTTPException: With the status 507, if there is no room.
    """
    uploaded = collection.room()
    most_bytes = settings.max_collection_bytes
    most_files = settings.max_collection_files
    has_too_many_bytes = uploaded.bytes + arriving > most_bytes
    # The number of arriving files is not known yet, so only the files that are already there are counted.
    has_too_many_files = uploaded.files >= most_files
    if has_too_many_bytes or has_too_many_files:
        message = (
            f"The collection holds {uploaded.files:,} uploaded files with {uploaded.bytes:,} bytes; the limits are "
            f"{most_files:,} files (PREFRAG_MAX_COLLECTION_FILES) and {most_bytes:,} bytes "
            "(PREFRAG_MAX_COLLECTION_BYTES). Delete some files, or use another collection."
        )
        raise HTTPException(HTTPStatus.INSUFFICIENT_STORAGE, message)

    most_collections = settings.max_collections
    if uploaded.collections >= most_collections and not uploaded.is_there:
        message = (
            f"There are {uploaded.collections} uploaded collections; the limit is {most_collections} "
            "(PREFRAG_MAX_COLLECTIONS): delete one."
        )
        raise HTTPException(HTTPStatus.INSUFFICIENT_STORAGE, message)


async def receive_files(request: Request, folder: Path) -> tuple[dict[str, int], list[dict[str, object]]]:
    """Write the files of a form to disk as they arrive.

    :param request: The request whose body is the form.
    :param folder: The folder for the files.
    :returns: Two parts. Both have positions of files in the form, counted from 0.

        - The written files: the position of each file, by its name in the folder, as in ``{"report.pdf": 0}``.
        - The refused files: for each file its `name` as it was sent, the `reason` and its `position`, as in
          ``[{"name": ".profile", "reason": "its name begins ...", "position": 1}]``.

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

    bytes_received = 0
    form = _Form(folder)
    # Whatever happens, the file that is being written is closed at the end.
    with closing(form):
        try:
            parser = MultipartParser(options[b"boundary"], form.callbacks)
            async with asyncio.timeout(RECEIVE_SECONDS):
                async for chunk in request.stream():
                    bytes_received += len(chunk)
                    if bytes_received > limit:
                        raise too_large
                    parser.write(chunk)
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
        if form.number_of_files == 0:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"The form has no file in the field {FIELD}.")
        return form.positions, form.refused


class _Form:
    """Receives the files of a form and writes them to disk. It never has a whole file in memory.

    The parser of the form calls the methods in :attr:`callbacks`, in the order in which the parts of the form arrive.
    """

    def __init__(self, folder: Path) -> None:
        # How many files have begun to arrive.
        self.number_of_files = 0
        # The position of each written file in the form, by its name. The first file has the position 0.
        self.positions: dict[str, int] = {}
        # The refused files, each with its name, the reason and its position.
        self.refused: list[dict[str, object]] = []
        # Whether the end of the form has arrived.
        self.has_ended = False
        self._folder = folder
        # The file that is being written. None between two files, and while a refused file arrives.
        self._file: BinaryIO | None = None
        # The name and the value of the present header. They arrive in pieces.
        self._header_name = bytearray()
        self._header_value = bytearray()
        self._disposition = b""

    @property
    def callbacks(self) -> MultipartCallbacks:
        """The methods that the parser calls."""
        return {
            "on_header_field": self._add_to_name,
            "on_header_value": self._add_to_value,
            "on_header_end": self._end_header,
            "on_headers_finished": self._begin_file,
            "on_part_data": self._write,
            "on_part_end": self.close,
            "on_end": self._end,
        }

    def _add_to_name(self, data: bytes, start: int, end: int) -> None:
        self._header_name += data[start:end]

    def _add_to_value(self, data: bytes, start: int, end: int) -> None:
        self._header_value += data[start:end]

    def _end_header(self) -> None:
        """Store the header if it has the name of the file, and get ready for the next header."""
        if self._header_name.strip().lower() == b"content-disposition":
            self._disposition = bytes(self._header_value)
        self._header_name.clear()
        self._header_value.clear()

    def _begin_file(self) -> None:
        """Open a file for the part that begins, or refuse the file. The headers of the part have arrived."""
        disposition = self._disposition.decode("latin-1")
        _, options = parse_options_header(disposition)
        sent = _sent_name(disposition)
        if sent is None or options.get(b"name") != FIELD.encode():
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"The form may only hold files, in the field {FIELD}.")
        self._disposition = b""
        self.number_of_files += 1
        if self.number_of_files > MOST_FILES:
            message = f"The form has more than {MOST_FILES} files: send fewer at once."
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)

        position = self.number_of_files - 1
        shown = sent.decode("utf-8", "replace")
        try:
            name = read_name(sent)
            if not may_be_readable(Path(name)):
                raise ValueError(why_left_out(Path(name).suffix.lower()))
            # The mode "x" raises FileExistsError if there is such a file.
            self._file = (self._folder / name).open("xb")
            self.positions[name] = position
        except FileExistsError:
            self._refuse(shown, "another file in the form has the same name: rename one of them", position)
        except ValueError as error:
            self._refuse(shown, str(error), position)

    def _refuse(self, name: str, reason: str, position: int) -> None:
        self.refused.append({"name": name, "reason": reason, "position": position})

    def _write(self, data: bytes, start: int, end: int) -> None:
        # The content of a refused file is ignored.
        if self._file is not None:
            self._file.write(data[start:end])

    def close(self) -> None:
        """Close the file that is being written. Do nothing if there is none."""
        file = self._file
        self._file = None
        if file is not None:
            file.close()

    def _end(self) -> None:
        self.has_ended = True


class MayNotBeDeleted(BadInput):
    """The error when a collection may not be deleted, because it was made on the command line."""

    http_status = 403


def delete_collection(collection: Collection) -> int:
    """Delete a collection that an upload has made, with all documents in it.

    :param collection: The collection.
    :returns: How many passages it had.
    :raises MayNotBeDeleted: If no upload has made the collection.
    """
    with collection.change() as changes:
        _, deleted = collection.count()
        if not collection.is_uploaded:
            raise MayNotBeDeleted(
                "This collection was made on the command line and can only be deleted there. You can delete its "
                "documents here one by one."
            )
        # Delete the whole collection, and not only some of its files or passages.
        changes.make(drops=True)
    return deleted
