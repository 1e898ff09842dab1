"""Read where a model is to be downloaded from.

The user types the name of an offered model, a file of the Hugging Face hub, or an address. :func:`read_source` turns
this text into a :class:`Source`.
"""

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

# The address of the Hugging Face hub.
_HUB = "https://huggingface.co"
# The revision of a repository that is taken if the user names none. It is the newest one.
_MAIN = "main"
# The names of the hosts of the hub.
_HUB_HOSTS = ("huggingface.co", "hf.co")
# Matches one part of a path, such as "Qwen2.5-0.5B". It does not match "..", because a letter or digit must come first.
_PART_OF_NAME = r"\w[\w.-]*"
# Matches the name of a repository, which has two parts, such as "Qwen/Qwen2.5-0.5B-Instruct-GGUF".
_REPOSITORY = re.compile(rf"{_PART_OF_NAME}/{_PART_OF_NAME}", re.ASCII)
# Matches a path of one part or more, such as "folder/model.gguf" and "main".
_PATH = re.compile(rf"{_PART_OF_NAME}(?:/{_PART_OF_NAME})*", re.ASCII)
# The groups of the next two patterns are the repository, the revision and the file. If a revision contains "/", this
# sign is written as %2F.
# Matches a file of the hub as users type it, such as "hf:org/model/file.gguf" and "hf:org/model@v2/file.gguf".
_FILE_OF_HUB = re.compile(r"hf:([^/]+/[^/@]+)(?:@([^/]+))?/(.+\.gguf)")
# Matches the path of an address on the hub, such as "/org/model/resolve/main/file.gguf".
_PAGE_OF_FILE = re.compile(r"/([^/]+/[^/]+)/(?:resolve|blob)/([^/]+)/(.+\.gguf)")
# Matches the end of the name of one part of a split model, such as "-00001-of-00002.gguf".
_SHARD = re.compile(r"-\d{5}-of-\d{5}\.gguf")
# Advice for users whose host has no https, as a part of error messages.
OR_OWN = ", or name the host in PREFRAG_LOCAL_HOSTS if it is yours"


@dataclass(frozen=True)
class Source:
    """The place from which a model is downloaded: a file in a repository of the hub, or an address.

    :param name: The name of the model.
    :param repository: The repository on the hub. Empty for an address.
    :param file: The path of the file in the repository. Empty for an address.
    :param revision: The revision of the repository.
    :param url: The address. Empty for a file of the hub.
    :param expected_bytes: The approximate size, as the list of offered models states it. None for other models.
    :param licence: The licence, as the list of offered models states it. Empty for other models.
    """

    name: str
    repository: str = ""
    file: str = ""
    revision: str = _MAIN
    url: str = ""
    expected_bytes: int | None = None
    licence: str = ""

    def __str__(self) -> str:
        if self.repository:
            if self.revision == _MAIN:
                return f"hf:{self.repository}/{self.file}"
            revision = quote(self.revision, safe="")
            return f"hf:{self.repository}@{revision}/{self.file}"
        return without_parameters(without_userinfo(self.url))

    @property
    def host(self) -> str:
        """The host from which the model is downloaded."""
        return urlsplit(self.url or hub_address()).hostname or ""


def hub_address() -> str:
    """Return the address of the hub.

    :returns: The address in the variable ``HF_ENDPOINT``, or else the address of Hugging Face.
    """
    return (os.environ.get("HF_ENDPOINT", "").strip() or _HUB).rstrip("/")


def read_source(text: str) -> Source:
    """Read where the user wants to download a model from.

    The text may be:

    - the name of an offered model, such as ``qwen2.5-1.5b``
    - ``hf:REPOSITORY/FILE`` for a file of the hub, or ``hf:REPOSITORY@REVISION/FILE`` for another revision than the
      newest
    - the address of a GGUF file

    For example, ``read_source("hf:org/model@v2/a/file.gguf").revision`` returns ``"v2"``.

    :param text: The text that the user has typed.
    :returns: The source.
    :raises BadInput: When the text is none of these, or when it is an address without encryption.
    """
    offer = next((offer for offer in read_offers() if offer.name == text), None)
    if offer:
        return Source(offer.name, offer.repository, offer.file, expected_bytes=offer.bytes, licence=offer.licence)

    source = _read_file_of_hub(_FILE_OF_HUB.fullmatch(text))
    if source:
        return source

    try:
        parts = urlsplit(text)
    except ValueError as error:
        raise BadInput(f"{one_line(text)} is not an address: {error}.") from error
    if parts.scheme in ("http", "https") and parts.hostname:
        is_hub = parts.hostname in (*_HUB_HOSTS, urlsplit(hub_address()).hostname)
        if is_hub:
            source = _read_file_of_hub(_PAGE_OF_FILE.fullmatch(parts.path))
            if source:
                return source
        if not is_safe(text):
            raise BadInput(f"Over http, anybody on the way can change the file: give an https address{OR_OWN}.")
        if not parts.path.endswith(".gguf"):
            raise BadInput(f"{without_userinfo(text)} does not end in .gguf: give the address of a GGUF file.")
        return _check_whole(Source(name_of_file(unquote(parts.path)), url=text))

    offered = ", ".join(offer.name for offer in read_offers())
    raise BadInput(
        f"'{one_line(text)}' is no model that can be fetched: give one of {offered}, or hf:REPOSITORY/FILE.gguf, the "
        "address of a GGUF file, or the path of one."
    )


def _read_file_of_hub(match: re.Match[str] | None) -> Source | None:
    """Read repository, revision and file from a match. None if there is no match, or if a part has a wrong form."""
    if match is None:
        return None
    # Only the revision may be missing.
    repository, revision, file = (unquote(part or _MAIN) for part in match.groups())
    if not _REPOSITORY.fullmatch(repository):
        return None
    if not _PATH.fullmatch(revision) or not _PATH.fullmatch(file):
        return None
    return _check_whole(Source(name_of_file(file), repository, file, revision=revision))


def _check_whole(source: Source) -> Source:
    """Return a source, unless its file is only one part of a split model.

    :raises BadInput: When the file is such a part.
    """
    if _SHARD.search(source.file or source.url):
        raise BadInput("This is one part of a model that is split into several files: give a model that is one file.")
    return source


def is_safe(url: str) -> bool:
    """Check that nobody on the network can change what an address sends.

    The address must be encrypted (https), or its host must be this machine or in ``PREFRAG_LOCAL_HOSTS``. For example,
    ``is_safe("https://example.org")`` returns ``True``.

    :param url: The address.
    :returns: Whether the address is safe.
    """
    parts = urlsplit(url)
    return parts.scheme == "https" or is_local(parts.hostname or "")
