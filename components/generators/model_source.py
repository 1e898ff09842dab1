"""Where a model is fetched from: a file of the Hugging Face hub, or an address, as the user types it."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from prefrag.components.generators.model_files import name_of_file, read_offers
from prefrag.components.generators.model_host import is_local
from prefrag.components.text.addresses import without_parameters, without_userinfo
from prefrag.components.text.one_line import one_line
from prefrag.errors import BadInput

_HUB = "https://huggingface.co"
_MAIN = "main"
_HUB_HOSTS = ("huggingface.co", "hf.co")
_PART_OF_NAME = r"\w[\w.-]*"
_REPOSITORY = re.compile(rf"{_PART_OF_NAME}/{_PART_OF_NAME}", re.ASCII)
_PATH = re.compile(rf"{_PART_OF_NAME}(?:/{_PART_OF_NAME})*", re.ASCII)
# In both, a revision is one part: "/" in it is written as %2F.
_FILE_OF_HUB = re.compile(r"hf:([^/]+/[^/@]+)(?:@([^/]+))?/(.+\.gguf)")
_PAGE_OF_FILE = re.compile(r"/([^/]+/[^/]+)/(?:resolve|blob)/([^/]+)/(.+\.gguf)")
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.gguf")
OR_OWN = ", or name the host in PREFRAG_LOCAL_HOSTS if it is yours"


@dataclass(frozen=True)
class Source:
    """Where a model is fetched from: a file in a repository of the hub, or an address."""

    name: str  # of the model
    repository: str = ""
    file: str = ""
    revision: str = _MAIN
    url: str = ""
    expected_bytes: int | None = None  # about, as the list of offered models states it
    licence: str = ""  # as the list of offered models states it

    def __str__(self) -> str:
        if self.repository:
            revision = "" if self.revision == _MAIN else f"@{quote(self.revision, safe='')}"
            return f"hf:{self.repository}{revision}/{self.file}"
        return without_parameters(without_userinfo(self.url))

    @property
    def host(self) -> str:
        """The host that is asked."""
        return urlsplit(self.url or hub_address()).hostname or ""


def hub_address() -> str:
    """Return the address of the hub: ``HF_ENDPOINT``, else that of Hugging Face."""
    return (os.environ.get("HF_ENDPOINT", "").strip() or _HUB).rstrip("/")


def read_source(text: str) -> Source:
    """Read what the user wants to fetch: the name of an offered model, ``hf:REPOSITORY/FILE`` or an address.

    ``hf:REPOSITORY@REVISION/FILE`` is a file of another revision than the newest.

    :param text: What the user typed.
    :returns: The source.
    :raises BadInput: When the text is none of these, or is an address that is not encrypted.
    """
    offer = next((offer for offer in read_offers() if offer.name == text), None)
    if offer:
        return Source(offer.name, offer.repository, offer.file, expected_bytes=offer.bytes, licence=offer.licence)
    source = _read_file_of_hub(_FILE_OF_HUB.fullmatch(text))
    if source:
        return source
    parts = urlsplit(text)
    if parts.scheme in ("http", "https") and parts.hostname:
        is_hub = parts.hostname in (*_HUB_HOSTS, urlsplit(hub_address()).hostname)
        if is_hub and (source := _read_file_of_hub(_PAGE_OF_FILE.fullmatch(parts.path))):
            return source
        if not is_safe(text):
            raise BadInput(f"Over http, anybody on the way can change the file: give an https address{OR_OWN}.")
        if not parts.path.endswith(".gguf"):
            raise BadInput(f"{without_userinfo(text)} does not end in .gguf: give the address of a GGUF file.")
        return _whole(Source(name_of_file(unquote(parts.path)), url=text))
    offered = ", ".join(offer.name for offer in read_offers())
    raise BadInput(
        f"'{one_line(text)}' is no model that can be fetched: give one of {offered}, or hf:REPOSITORY/FILE.gguf, the "
        "address of a GGUF file, or the path of one."
    )


def _read_file_of_hub(match: re.Match[str] | None) -> Source | None:
    """Read repository, revision and file; None where one of them cannot be the hub's."""
    if match is None:
        return None
    repository, revision, file = (unquote(part or _MAIN) for part in match.groups())
    if not _REPOSITORY.fullmatch(repository) or not _PATH.fullmatch(revision) or not _PATH.fullmatch(file):
        return None
    return _whole(Source(name_of_file(file), repository, file, revision=revision))


def _whole(source: Source) -> Source:
    if _SHARD.search(source.file or source.url):
        raise BadInput("This is one part of a model that is split into several files: give a model that is one file.")
    return source


def is_safe(url: str) -> bool:
    """Return whether nobody on the way can change what an address sends: it is encrypted, or on a host of one's own."""
    parts = urlsplit(url)
    return parts.scheme == "https" or is_local(parts.hostname or "")
