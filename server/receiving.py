"""Receive uploaded files: straight to disk, within limits, under names that are only names."""

from __future__ import annotations

import asyncio
import re
import unicodedata
from contextlib import ExitStack
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fastapi import HTTPException, Request
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import MultipartParser, parse_options_header
from starlette.requests import ClientDisconnect

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

from prefrag.components.settings import settings

FIELD = "files"
MOST_FILES = 100
RECEIVE_SECONDS = 300.0
# A file system allows 255, and some of them count otherwise.
_NAME_BYTES = 200
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def most_upload_bytes() -> int:
    """Read how large the body of one upload may be."""
    return settings.max_upload_bytes


def read_name(sent: bytes) -> str:
    """Make the name of an uploaded file one that can be kept."""
    try:
        name = unicodedata.normalize("NFC", sent.decode("utf-8"))
    except UnicodeDecodeError:
        raise ValueError("its name is not UTF-8: rename it") from None
    name = name.replace("\\", "/").rpartition("/")[2]
    # Controls, format characters that turn the writing direction, surrogates and characters that nobody has assigned.
    if any(unicodedata.category(character).startswith("C") for character in name):
        raise ValueError("its name holds a control character: rename it")
    # Other spaces and line separators look like a space, and are not printed as one.
    name = " ".join(name.split()).rstrip(". ")
    if not name or name.startswith("."):
        raise ValueError("it has no name, or a hidden one: rename it")
    if len(name.encode()) > _NAME_BYTES or _RESERVED.fullmatch(name):
        raise ValueError(f"its name is reserved, or longer than {_NAME_BYTES} bytes: rename it")
    return name


async def receive_files(request: Request, folder: Path) -> list[tuple[str, str]]:
    """Write the files of a form to disk as they arrive."""
    limit = most_upload_bytes()
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
    with _Form(folder) as form:
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
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"The body is no form: {error}") from error
        except OSError as error:
            message = f"The upload cannot be kept ({error.strerror})."
            raise HTTPException(HTTPStatus.INSUFFICIENT_STORAGE, message) from error
        if not form.has_ended:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, "The body breaks off before the end of the form.")
        if not form.files:
            raise HTTPException(HTTPStatus.UNPROCESSABLE_ENTITY, f"There is no file in the form: field {FIELD}.")
        return form.refused


class _Form:
    """The files of a form while it is read; nothing of it is held in memory."""

    def __init__(self, folder: Path) -> None:
        self.files = 0
        self.refused: list[tuple[str, str]] = []
        self.has_ended = False
        self._folder = folder
        self._open = ExitStack()
        self._file: BinaryIO | None = None
        self._header_name, self._header = bytearray(), bytearray()
        self._disposition = b""

    @property
    def callbacks(self) -> MultipartCallbacks:
        return {
            "on_part_begin": self._begin_part,
            "on_header_field": lambda data, start, end: self._header_name.extend(data[start:end]),
            "on_header_value": lambda data, start, end: self._header.extend(data[start:end]),
            "on_header_end": self._end_header,
            "on_headers_finished": self._begin_file,
            "on_part_data": self._write,
            "on_part_end": self._end_file,
            "on_end": self._end,
        }

    def __enter__(self) -> _Form:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def _begin_part(self) -> None:
        self._disposition = b""

    def _end_header(self) -> None:
        if self._header_name.strip().lower() == b"content-disposition":
            self._disposition = bytes(self._header)
        self._header_name.clear()
        self._header.clear()

    def _begin_file(self) -> None:
        _, options = parse_options_header(self._disposition.decode("latin-1"))
        sent = options.get(b"filename")
        if sent is None or options.get(b"name") != FIELD.encode():
            raise HTTPException(
                HTTPStatus.UNPROCESSABLE_ENTITY, f"The form holds more than files in the field {FIELD}."
            )
        self.files += 1
        if self.files > MOST_FILES:
            message = f"The form holds more than {MOST_FILES} files: send fewer at once."
            raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)
        shown = sent.decode("utf-8", "replace")
        try:
            name = read_name(sent)
            # Exclusive: the first one of a name is taken.
            self._file = self._open.enter_context((self._folder / name).open("xb"))
        except FileExistsError:
            self.refused.append((shown, "another file of the form has this name: rename one of them"))
        except ValueError as error:
            self.refused.append((shown, str(error)))

    def _write(self, data: bytes, start: int, end: int) -> None:
        if self._file is not None:
            self._file.write(data[start:end])

    def _end_file(self) -> None:
        self._open.close()
        self._file = None

    def _end(self) -> None:
        self.has_ended = True
