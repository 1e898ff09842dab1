"""Fetch a GGUF file from the Hugging Face hub or from an address: resumed, measured and compared with its hash."""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO
from urllib.parse import urlsplit

from prefrag.components.generators.model_files import (
    ModelFile,
    is_gguf,
    keep_model_file,
    make_model_folder,
    name_of_file,
    refuse_taken_name,
    show_bytes,
)
from prefrag.components.generators.model_source import OR_OWN, Source, hub_address, is_safe
from prefrag.components.text.one_line import one_line
from prefrag.errors import NO_ROOM, Missing, PrefragError
from prefrag.file_lock import hold_lock

if TYPE_CHECKING:
    import httpx

# Called with the bytes that have arrived, and those of the whole file; None if the server does not state them.
OnProgress = Callable[[int, int | None], None]

# The limit of one wait for a server, not of a download.
_SECONDS = 20.0
# The seconds before each attempt to fetch a file. A server that asks for more time is left to the user.
_WAITS = (0.0, 1.0, 2.0, 4.0, 8.0)
_MOST_REDIRECTS = 10
_LOCK_SECONDS = 1.0
# Room that stays free on the disk, for the rest of the system.
_SPARE_BYTES = 500_000_000
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LISTED = 12


class DownloadFailed(PrefragError):
    """The error when a model could not be fetched. The message says why, and what to do."""


@dataclass(frozen=True)
class Stated:
    """What a source states of a file, before the file is fetched."""

    url: str
    bytes: int | None
    sha256: str = ""
    commit: str = ""
    licence: str = ""
    etag: str = ""  # of the file at an address

    @property
    def version(self) -> str:
        """What tells this version of the file from others; empty if nothing is stated."""
        return self.sha256 or self.commit or self.etag


def ask_source(source: Source) -> Stated:
    """Ask the hub or the server for the size of the file, its SHA-256, its revision and its licence.

    :param source: Where the file is.
    :returns: What is stated; a size of None and an empty hash if none is.
    :raises DownloadFailed: When the source cannot be reached, or refuses.
    :raises Missing: When it has no such file.
    """
    from huggingface_hub import HfApi, hf_hub_url

    url = source.url or hf_hub_url(source.repository, source.file, revision=source.revision, endpoint=hub_address())
    try:
        answer, commit = _ask_head(source, url)
    except Exception as error:
        raise _explain(source, error) from error
    size = answer.headers.get("X-Linked-Size") or (
        answer.headers.get("Content-Length", "") if answer.is_success else ""
    )
    # Some servers state 0 where they do not know it.
    stated_bytes = (int(size) or None) if size.isdecimal() else None
    if not source.repository:
        # The redirects to a storage may hold for a short time only, so the address itself is asked again.
        return Stated(url, stated_bytes, etag=_strong_etag(answer))
    licence = ""
    # A mirror of the hub may have the files alone.
    with suppress(Exception):
        info = HfApi(endpoint=hub_address()).model_info(
            source.repository, revision=commit or source.revision, timeout=_SECONDS
        )
        licence = _read_licence(info)
    etag = (answer.headers.get("X-Linked-Etag") or answer.headers.get("ETag", "")).strip('"')
    sha256 = etag if _SHA256.fullmatch(etag) else ""
    url = hf_hub_url(source.repository, source.file, revision=commit or source.revision, endpoint=hub_address())
    return Stated(url, stated_bytes, sha256, commit, licence)


def download(source: Source, stated: Stated, on_progress: OnProgress = lambda arrived, total: None) -> ModelFile:
    """Fetch a file, continue one that was broken off, and compare it with the size and the hash that were stated.

    :param source: Where the file is.
    :param stated: What the source states of it.
    :param on_progress: Called as bytes arrive.
    :returns: The model, which is stored under its name.
    :raises DownloadFailed: When the disk has no room, the download breaks off, or the file is not what was stated.
        What has arrived before a break stays, and is continued by the next call if the version of the file is stated.
    """
    refuse_taken_name(source.name, str(source))
    folder = make_model_folder(source.name)
    with hold_lock(folder / ".lock", _LOCK_SECONDS, "fetching this model"):
        part = _find_part(source, stated, folder)
        arrived = part.stat().st_size if part.exists() else 0
        check_room(folder, (stated.bytes or 0) - arrived)
        try:
            _fetch(source, stated, part, on_progress)
        except Exception as error:
            raise _explain(source, error, part, goes_on=bool(stated.version)) from error
        digest = _hash(part)
        _check_file(source, stated, part, digest)
        target = folder / f"{name_of_file(source.file) or source.name}.gguf"
        part.replace(target)
        model = ModelFile(
            name=source.name,
            path=target,
            source=str(source),
            bytes=target.stat().st_size,
            sha256=digest,
            is_hash_stated=bool(stated.sha256),
            commit=stated.commit,
            licence=stated.licence,
        )
        keep_model_file(model)
    return model


def check_room(folder: Path, needed: int) -> None:
    """Check that the disk has room.

    :param folder: Where the file will be.
    :param needed: How many bytes are still to come.
    :raises DownloadFailed: When they do not fit, with half a gigabyte to spare.
    """
    free = shutil.disk_usage(folder).free
    if needed + _SPARE_BYTES > free:
        raise DownloadFailed(
            f"{show_bytes(needed)} are to come, and the disk of {folder} has only {show_bytes(free)} free "
            f"({show_bytes(_SPARE_BYTES)} are left for the system): make room, or set PREFRAG_DATA_DIR to a folder on "
            "another disk. Nothing was downloaded."
        )


def _client() -> httpx.Client:
    """Make a client that asks no address, also after a redirect, at which others could change what is sent."""
    import httpx
    from huggingface_hub import constants

    def refuse_unsafe(request: httpx.Request) -> None:
        if not is_safe(str(request.url)):
            raise DownloadFailed(
                f"{request.url.host} is not asked over https, so nothing is fetched: use https{OR_OWN}."
            )

    if constants.HF_HUB_OFFLINE:
        raise DownloadFailed("HF_HUB_OFFLINE forbids downloads: unset it, or name a file that is here already.")
    # What is compressed on the way could neither be measured nor be continued.
    headers = {"Accept-Encoding": "identity"}
    return httpx.Client(timeout=_SECONDS, headers=headers, event_hooks={"request": [refuse_unsafe]})


def _headers(source: Source) -> dict[str, str]:
    """Return what the hub is sent: the user's token, which httpx takes away when another host is asked."""
    from huggingface_hub.utils import build_hf_headers

    return build_hf_headers() if source.repository and is_safe(hub_address()) else {}


def _ask_head(source: Source, url: str) -> tuple[httpx.Response, str]:
    """Ask what is stated of a file. The hub states it when it redirects to its storage, other servers at the end.

    Returns the response, and the hub's revision, which an earlier one may have named.
    """
    with _client() as client:
        answer, commit = client.head(url, headers=_headers(source)), ""
        for _ in range(_MOST_REDIRECTS):
            commit = answer.headers.get("X-Repo-Commit", commit)
            if answer.next_request is None or "X-Linked-Etag" in answer.headers:
                break
            first_host, host = urlsplit(url).hostname, answer.next_request.url.host
            answer = client.send(answer.next_request)
            # A storage may answer a GET alone. Then nothing is stated.
            if answer.is_error and host != first_host:
                return answer, commit
        if answer.is_error:
            answer.raise_for_status()
    return answer, commit


def _fetch(source: Source, stated: Stated, part: Path, on_progress: OnProgress) -> None:
    """Fetch what is missing of a file. What is not known to be of the same version is fetched anew."""
    import httpx

    etag, headers = stated.etag, _headers(source)
    failure: Exception = DownloadFailed(f"{source.host} did not send the whole file: repeat the command later.")
    with _client() as client, part.open("ab") as opened:
        for wait in _WAITS:
            time.sleep(wait)
            if not (stated.sha256 or stated.commit or etag):
                _empty(opened)
            arrived = opened.tell()
            if arrived == stated.bytes:
                return
            ranged = {"Range": f"bytes={arrived}-"} if arrived else {}
            condition = {"If-Range": etag} if arrived and etag else {}
            asked = headers | ranged | condition
            try:
                with client.stream("GET", stated.url, headers=asked, follow_redirects=True) as answer:
                    # The hub's file is known by its hash or revision, and the places of its storage may name it anew.
                    if answer.status_code != 206 and not (stated.sha256 or stated.commit):
                        etag = _strong_etag(answer)
                    if _receive(answer, opened, stated, on_progress):
                        return
            except httpx.TransportError as error:
                failure = error
    raise failure


def _receive(answer: httpx.Response, opened: BinaryIO, stated: Stated, on_progress: OnProgress) -> bool:
    """Write what a server sends behind what has arrived, or in its place. Return whether the file is whole."""
    arrived = opened.tell()
    is_refused_range = answer.status_code == 416 and arrived > 0
    if not is_refused_range:
        answer.raise_for_status()
    content_range = answer.headers.get("Content-Range", "")
    if answer.status_code != 206 or not content_range.startswith(f"bytes {arrived}-"):
        arrived = _empty(opened)
        if is_refused_range or answer.status_code == 206:
            return False
    size = content_range.rpartition("/")[2] if answer.status_code == 206 else answer.headers.get("Content-Length", "")
    total = int(size) if size.isdecimal() else None
    if stated.bytes is not None and total is not None and total != stated.bytes:
        _empty(opened)
        raise DownloadFailed(
            f"The server sends {total:,} bytes, and stated {stated.bytes:,}: the file has changed. Repeat the command."
        )
    total = stated.bytes if total is None else total
    check_room(Path(opened.name).parent, (total or 0) - arrived)
    for chunk in answer.iter_raw():
        arrived += len(chunk)
        if total is not None and arrived > total:
            _empty(opened)
            raise DownloadFailed(f"The server sends more than the {total:,} bytes that it stated: it is not trusted.")
        opened.write(chunk)
        on_progress(arrived, total)
    return total is None or arrived == total


def _empty(opened: BinaryIO) -> int:
    opened.seek(0)
    return opened.truncate()


def _strong_etag(answer: httpx.Response) -> str:
    """Return the ETag that names the file to the byte; empty if there is none."""
    etag = answer.headers.get("ETag", "") if answer.is_success else ""
    return etag if etag.startswith('"') else ""


def _find_part(source: Source, stated: Stated, folder: Path) -> Path:
    """Find what has arrived of this version of the file. What may be of another is deleted: it would not go on."""
    version = hashlib.sha256(f"{source} {stated.version} {stated.bytes}".encode()).hexdigest()[:12]
    part = folder / f"{version}.part"
    for other in folder.glob("*.part"):
        is_too_large = stated.bytes is not None and other.stat().st_size > stated.bytes
        if other != part or not stated.version or is_too_large:
            other.unlink()
    return part


def _check_file(source: Source, stated: Stated, part: Path, digest: str) -> None:
    """Delete a file that is not what was stated, or no model, and raise."""
    if stated.sha256 and digest != stated.sha256:
        part.unlink()
        raise DownloadFailed(
            f"What arrived is not the file that {source.host} states: its SHA-256 is {digest}, not {stated.sha256}. "
            "It was deleted. Repeat the command; if it fails again, do not trust this source."
        )
    if not is_gguf(part):
        part.unlink()
        raise DownloadFailed(f"{source} is not a GGUF file, so it was deleted: give the address of the file itself.")


def _hash(path: Path) -> str:
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _read_licence(info: Any) -> str:
    named = [tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")]
    return one_line(", ".join(named))[:100]


def _explain(source: Source, error: Exception, part: Path | None = None, goes_on: bool = False) -> PrefragError:
    """Say in one sentence why a file could not be asked for or fetched, and what to do."""
    import httpx

    if isinstance(error, PrefragError):
        return error
    arrived = part.stat().st_size if part is not None and part.exists() else 0
    again = ""
    if arrived and goes_on:
        again = f" {show_bytes(arrived)} have arrived and stay: the same command goes on from there."
    elif arrived:
        again = " The server names no version of the file, so the same command fetches it anew."
    if isinstance(error, httpx.HTTPStatusError):
        return _explain_status(source, error, again)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return DownloadFailed(f"The disk is full: make room.{again}")
    if isinstance(error, OSError) and error.errno is not None:
        return DownloadFailed(f"The file could not be written ({error.strerror}).{again}")
    if "CERTIFICATE" in str(error).upper():
        return DownloadFailed(
            f"The certificate of {source.host} is not trusted here. If a proxy of your organisation reads what is "
            "encrypted, set SSL_CERT_FILE to its certificates."
        )
    if arrived:
        return DownloadFailed(f"The download broke off.{again}")
    return DownloadFailed(
        f"{source.host} cannot be reached: check the network, and HTTPS_PROXY if you are behind a proxy. Without a "
        "network, copy a GGUF file here and type: prefrag model use PATH"
    )


def _explain_status(source: Source, error: Any, again: str) -> PrefragError:
    status = error.response.status_code
    if status == 429:
        wait = str(error.response.headers.get("Retry-After") or "")
        when = f"in {wait} seconds" if wait.isdecimal() and len(wait) < 7 else "later"
        return DownloadFailed(f"{source.host} got too many requests from here: repeat the command {when}.{again}")
    # The hub says 401 of a repository that is not there, too.
    if status in (401, 403):
        return DownloadFailed(
            f"{source} is not open to everybody, or does not exist. If you have an account that may read it, set "
            f"HF_TOKEN to a token of it.{again}"
        )
    if status == 404:
        listed = _list_files(source)
        return Missing(f"There is no {source}{f': the repository has {listed}' if listed else ''}.")
    return DownloadFailed(f"{source.host} failed with status {status}: repeat the command later.{again}")


def _list_files(source: Source) -> str:
    from huggingface_hub import HfApi

    if not source.repository:
        return ""
    with suppress(Exception):
        info = HfApi(endpoint=hub_address()).model_info(source.repository, timeout=_SECONDS)
        names = [one_line(file.rfilename) for file in info.siblings or () if file.rfilename.endswith(".gguf")]
        return ", ".join(names[:_LISTED]) + (", ..." if len(names) > _LISTED else "") if names else "no GGUF file"
    return ""
