"""Download a GGUF file from the Hugging Face hub or from an address.

A download has two steps. :func:`ask_source` asks the source for the size, the hash and the version of the file.
:func:`download` then fetches the file and compares it with these facts. A file of several gigabytes takes long. So a
download that breaks off is continued where it stopped, if the version of the file is known.
"""

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

# A function that is called with the number of bytes that have arrived and the number of bytes of the whole file. The
# second number is None if the server does not state it.
OnProgress = Callable[[int, int | None], None]

# The maximum number of seconds of one wait for a server. The whole download may take longer.
_SECONDS = 20.0
# The seconds to wait before each attempt to fetch a file. There are as many attempts as numbers. If a server asks for a
# longer wait, the user has to repeat the command.
_WAITS = (0.0, 1.0, 2.0, 4.0, 8.0)
# The maximum number of redirects that are followed in search of the facts about a file.
_MOST_REDIRECTS = 10
# The seconds to wait for another process that fetches the same model.
_LOCK_SECONDS = 1.0
# The number of bytes that stay free on the disk, for the rest of the system.
_SPARE_BYTES = 500_000_000
# Matches a SHA-256 hash, which has 64 hexadecimal digits.
_SHA256 = re.compile(r"[0-9a-f]{64}")
# The maximum number of files of a repository that an error message lists.
_LISTED = 12


class DownloadFailed(PrefragError):
    """The error when a model could not be downloaded. The message says why, and what to do."""


@dataclass(frozen=True)
class Stated:
    """The facts that a source states about a file, before the file is downloaded.

    :param url: The address of the file.
    :param bytes: The size of the file. None if the source does not state it.
    :param sha256: The SHA-256 hash of the file. Empty if the source does not state it.
    :param commit: The revision of the repository on the hub. Empty for a file at another address.
    :param licence: The licence, as the hub states it. Empty if it states none.
    :param etag: The ETag of a file at another address. An ETag is a label that a server gives to a version of a file.
    """

    url: str
    bytes: int | None
    sha256: str = ""
    commit: str = ""
    licence: str = ""
    etag: str = ""

    @property
    def version(self) -> str:
        """The hash or label that distinguishes this version of the file from others. Empty if there is none."""
        return self.sha256 or self.commit or self.etag


def ask_source(source: Source) -> Stated:
    """Ask the hub or another server for the facts about a file: size, SHA-256 hash, revision and licence.

    :param source: The place of the file.
    :returns: The facts. Facts that the server does not state are None or empty.
    :raises DownloadFailed: When the source cannot be reached, or refuses the request.
    :raises Missing: When the source has no such file.
    """
    from huggingface_hub import HfApi, hf_hub_url

    url = source.url or hf_hub_url(source.repository, source.file, revision=source.revision, endpoint=hub_address())
    try:
        answer, commit = _ask_head(source, url)
    except Exception as error:
        raise _explain(source, error) from error

    stated_bytes = _read_size(answer)
    if not source.repository:
        # A redirect to a storage server may be valid for a short time only. So the download starts at the address
        # itself.
        return Stated(url, stated_bytes, etag=_strong_etag(answer))

    licence = ""
    # An error is ignored here, because a mirror of the hub may have only the files, and no information about them.
    with suppress(Exception):
        info = HfApi(endpoint=hub_address()).model_info(
            source.repository, revision=commit or source.revision, timeout=_SECONDS
        )
        licence = _read_licence(info)

    # The hub states the hash of a large file as its ETag.
    etag = answer.headers.get("X-Linked-Etag") or answer.headers.get("ETag", "")
    hash_or_label = etag.strip('"')
    sha256 = hash_or_label if _SHA256.fullmatch(hash_or_label) else ""
    # The download starts at the address of this very revision, because the repository may change in the meantime.
    url_of_revision = hf_hub_url(
        source.repository, source.file, revision=commit or source.revision, endpoint=hub_address()
    )
    return Stated(url_of_revision, stated_bytes, sha256, commit, licence)


def _read_size(answer: httpx.Response) -> int | None:
    """Read the size of a file from the headers of a response. None if they do not state it."""
    size = answer.headers.get("X-Linked-Size")
    if not size and answer.is_success:
        size = answer.headers.get("Content-Length")
    if not size or not size.isdecimal():
        return None
    # Some servers state a size of 0 if they do not know the size.
    return int(size) or None


def download(source: Source, stated: Stated, on_progress: OnProgress = lambda arrived, total: None) -> ModelFile:
    """Download a file, and compare it with the size and the hash that the source states.

    A download that broke off earlier is continued, if the source states the version of the file.

    :param source: The place of the file.
    :param stated: The facts that the source states about the file.
    :param on_progress: A function that is called whenever bytes arrive.
    :returns: The model, which is stored under its name.
    :raises BadInput: When the name of the model is taken, or cannot be the name of a folder.
    :raises DownloadFailed: When the disk has no room, when the download breaks off, or when the file differs from the
        stated facts. After a download that broke off, the bytes that have arrived stay on the disk.
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
            raise _explain(source, error, part, can_resume=bool(stated.version)) from error

        digest = _hash(part)
        _check_file(source, stated, part, digest)
        # A source that is an address has no path of a file in a repository.
        file_name = name_of_file(source.file) or source.name
        target = folder / f"{file_name}.gguf"
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
    """Check that the disk has room for a download.

    :param folder: The folder of the file.
    :param needed: The number of bytes that have not arrived yet.
    :raises DownloadFailed: When less than half a gigabyte would stay free.
    """
    free = shutil.disk_usage(folder).free
    if needed + _SPARE_BYTES > free:
        raise DownloadFailed(
            f"{show_bytes(needed)} are to come, and the disk of {folder} has only {show_bytes(free)} free "
            f"({show_bytes(_SPARE_BYTES)} are left for the system): make room, or set PREFRAG_DATA_DIR to a folder on "
            "another disk. Nothing was downloaded."
        )


def _client() -> httpx.Client:
    """Make an HTTP client that sends requests only to safe addresses, also after a redirect.

    An address is safe if nobody on the network can change the reply, see :func:`is_safe`.

    :raises DownloadFailed: When the variable ``HF_HUB_OFFLINE`` forbids downloads.
    """
    import httpx
    from huggingface_hub import constants

    def refuse_unsafe(request: httpx.Request) -> None:
        """Raise an error before a request to an unsafe address is sent."""
        if not is_safe(str(request.url)):
            raise DownloadFailed(
                f"{request.url.host} is not asked over https, so nothing is fetched: use https{OR_OWN}."
            )

    if constants.HF_HUB_OFFLINE:
        raise DownloadFailed("HF_HUB_OFFLINE forbids downloads: unset it, or name a file that is here already.")
    # The server must not compress the file. The progress of a compressed download could not be measured, and the
    # download could not be continued.
    headers = {"Accept-Encoding": "identity"}
    return httpx.Client(timeout=_SECONDS, headers=headers, event_hooks={"request": [refuse_unsafe]})


def _headers(source: Source) -> dict[str, str]:
    """Return the headers for the hub, with the token of the user. No headers are sent to other servers.

    After a redirect to another host, httpx removes the token.
    """
    from huggingface_hub.utils import build_hf_headers

    if source.repository and is_safe(hub_address()):
        return build_hf_headers()
    return {}


def _ask_head(source: Source, url: str) -> tuple[httpx.Response, str]:
    """Send a HEAD request for a file, and follow redirects until the facts about the file arrive.

    The hub states the facts in its redirect to its storage server. Other servers state them in the last response.

    :returns: The response with the facts, and the revision of the hub. An earlier response may have named the revision.
    """
    first_host = urlsplit(url).hostname
    commit = ""
    with _client() as client:
        answer = client.head(url, headers=_headers(source))
        for _ in range(_MOST_REDIRECTS):
            commit = answer.headers.get("X-Repo-Commit", commit)
            if answer.next_request is None or "X-Linked-Etag" in answer.headers:
                break
            next_host = answer.next_request.url.host
            answer = client.send(answer.next_request)
            # A storage server may answer only GET requests. Then no facts are known.
            if answer.is_error and next_host != first_host:
                return answer, commit
        if answer.is_error:
            answer.raise_for_status()
    return answer, commit


def _fetch(source: Source, stated: Stated, part: Path, on_progress: OnProgress) -> None:
    """Fetch the part of a file that has not arrived yet.

    If bytes on the disk may belong to another version of the file, the whole file is fetched again.

    :param part: The file on the disk with the bytes that have arrived.
    :raises Exception: When all attempts have failed.
    """
    import httpx

    etag = stated.etag
    headers = _headers(source)
    failure: Exception = DownloadFailed(f"{source.host} did not send the whole file: repeat the command later.")
    # The version of a file of the hub is its hash or its revision. The version of any other file is its ETag.
    has_version_of_hub = bool(stated.sha256 or stated.commit)
    with _client() as client, part.open("ab") as opened:
        for wait in _WAITS:
            time.sleep(wait)
            # Without a version, nobody can tell whether the bytes that have arrived still fit.
            if not has_version_of_hub and not etag:
                _empty(opened)
            arrived = opened.tell()
            if arrived == stated.bytes:
                return

            request_headers = dict(headers)
            if arrived:
                request_headers["Range"] = f"bytes={arrived}-"
            if arrived and etag:
                # With this header, the server sends the whole file if its version has changed.
                request_headers["If-Range"] = etag
            try:
                with client.stream("GET", stated.url, headers=request_headers, follow_redirects=True) as answer:
                    # Status 206 means that the server sends only a part. Any other reply may have a new version. The
                    # storage servers of the hub may give the same file different ETags, so these are not read.
                    if answer.status_code != 206 and not has_version_of_hub:
                        etag = _strong_etag(answer)
                    if _receive(answer, opened, stated, on_progress):
                        return
            except httpx.TransportError as error:
                failure = error
    raise failure


def _receive(answer: httpx.Response, opened: BinaryIO, stated: Stated, on_progress: OnProgress) -> bool:
    """Write the bytes that a server sends behind the bytes that have arrived.

    If the server sends the whole file and not the missing part, the earlier bytes are replaced.

    :returns: Whether the file is complete.
    :raises DownloadFailed: When the size of the file differs from the stated size, or when the disk has no room.
    """
    arrived = opened.tell()
    # Status 416 means that the requested range does not exist, and status 206 that the server sends a part of the file.
    is_refused_range = answer.status_code == 416 and arrived > 0
    is_part = answer.status_code == 206
    if not is_refused_range:
        answer.raise_for_status()

    # A part begins with the first missing byte. Otherwise, the bytes that have arrived are worthless.
    content_range = answer.headers.get("Content-Range", "")
    is_missing_part = is_part and content_range.startswith(f"bytes {arrived}-")
    if not is_missing_part:
        arrived = _empty(opened)
        if is_refused_range or is_part:
            return False

    # The size of the whole file stands behind the slash of the range, as in "bytes 4-9/10".
    _, _, size_in_range = content_range.rpartition("/")
    size = size_in_range if is_part else answer.headers.get("Content-Length", "")
    total = int(size) if size.isdecimal() else None
    if stated.bytes is not None and total is not None and total != stated.bytes:
        _empty(opened)
        raise DownloadFailed(
            f"The server sends {total:,} bytes, and stated {stated.bytes:,}: the file has changed. Repeat the command."
        )
    if total is None:
        total = stated.bytes
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
    """Delete the content of a file, and return its new size, which is 0."""
    opened.seek(0)
    return opened.truncate()


def _strong_etag(answer: httpx.Response) -> str:
    """Return the ETag of a response if it is a strong one, and otherwise an empty text.

    Two files with the same strong ETag have the same bytes. A weak ETag, such as ``W/"abc"``, does not promise this.
    """
    etag = answer.headers.get("ETag", "") if answer.is_success else ""
    return etag if etag.startswith('"') else ""


def _find_part(source: Source, stated: Stated, folder: Path) -> Path:
    """Return the path for the bytes that have arrived of this version of the file.

    Bytes that may belong to another version are deleted, because a download could not continue them.
    """
    digest = hashlib.sha256(f"{source} {stated.version} {stated.bytes}".encode()).hexdigest()
    # Twelve digits are enough to tell the versions of one model apart.
    part = folder / f"{digest[:12]}.part"
    for path in folder.glob("*.part"):
        is_other_version = path != part or not stated.version
        is_too_large = stated.bytes is not None and path.stat().st_size > stated.bytes
        if is_other_version or is_too_large:
            path.unlink()
    return part


def _check_file(source: Source, stated: Stated, part: Path, digest: str) -> None:
    """Check a downloaded file. A wrong file is deleted.

    :raises DownloadFailed: When the hash differs from the stated hash, or when the file is not a GGUF file.
    """
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
    """Compute the SHA-256 hash of a file."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _read_licence(info: Any) -> str:
    """Read the licences from the tags of a repository. The tag ``license:mit`` becomes ``mit``."""
    licences = [tag.removeprefix("license:") for tag in info.tags or () if tag.startswith("license:")]
    return one_line(", ".join(licences))[:100]


def _explain(source: Source, error: Exception, part: Path | None = None, can_resume: bool = False) -> PrefragError:
    """Make the error that tells the user why a request failed, and what to do.

    :param part: The file on the disk with the bytes that have arrived, or None.
    :param can_resume: Whether the next download can continue these bytes.
    """
    import httpx

    if isinstance(error, PrefragError):
        return error

    arrived = 0
    if part is not None and part.exists():
        arrived = part.stat().st_size
    resume_note = ""
    if arrived and can_resume:
        resume_note = f" {show_bytes(arrived)} have arrived and stay: the same command goes on from there."
    elif arrived:
        resume_note = " The server names no version of the file, so the same command fetches it anew."

    if isinstance(error, httpx.HTTPStatusError):
        return _explain_status(source, error, resume_note)
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return DownloadFailed(f"The disk is full: make room.{resume_note}")
    if isinstance(error, OSError) and error.errno is not None:
        return DownloadFailed(f"The file could not be written ({error.strerror}).{resume_note}")
    if "CERTIFICATE" in str(error).upper():
        return DownloadFailed(
            f"The certificate of {source.host} is not trusted here. If a proxy of your organisation reads what is "
            "encrypted, set SSL_CERT_FILE to its certificates."
        )
    if arrived:
        return DownloadFailed(f"The download broke off.{resume_note}")
    return DownloadFailed(
        f"{source.host} cannot be reached: check the network, and HTTPS_PROXY if you are behind a proxy. Without a "
        "network, copy a GGUF file here and type: prefrag model use PATH"
    )


def _explain_status(source: Source, error: Any, resume_note: str) -> PrefragError:
    """Make the error for a refusal with an HTTP status.

    :param resume_note: A sentence for the user that says how a repeated command goes on, or an empty text.
    """
    status = error.response.status_code
    if status == 429:
        wait = str(error.response.headers.get("Retry-After") or "")
        # The header may also be a date, or a number that nobody means.
        is_number_of_seconds = wait.isdecimal() and len(wait) < 7
        when = f"in {wait} seconds" if is_number_of_seconds else "later"
        return DownloadFailed(f"{source.host} got too many requests from here: repeat the command {when}.{resume_note}")
    # The hub sends status 401 also for a repository that does not exist.
    if status in (401, 403):
        return DownloadFailed(
            f"{source} is not open to everybody, or does not exist. If you have an account that may read it, set "
            f"HF_TOKEN to a token of it.{resume_note}"
        )
    if status == 404:
        listed = _list_files(source)
        advice = f": the repository has {listed}" if listed else ""
        return Missing(f"There is no {source}{advice}.")
    return DownloadFailed(f"{source.host} failed with status {status}: repeat the command later.{resume_note}")


def _list_files(source: Source) -> str:
    """List the GGUF files in the repository of a source, for an error message. Empty if they are not known."""
    from huggingface_hub import HfApi

    if not source.repository:
        return ""
    with suppress(Exception):
        info = HfApi(endpoint=hub_address()).model_info(source.repository, timeout=_SECONDS)
        names = [one_line(file.rfilename) for file in info.siblings or () if file.rfilename.endswith(".gguf")]
        if not names:
            return "no GGUF file"
        listed = names[:_LISTED]
        if len(names) > _LISTED:
            listed.append("...")
        return ", ".join(listed)
    return ""
