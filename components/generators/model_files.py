"""Store which GGUF files a user has, and estimate the memory that they need.

A GGUF file contains a language model for llama.cpp. The user has downloaded the file, or has named a file on this
machine. Each model has a folder in the data folder. In it, the file ``model.json`` has the facts about the model, and a
downloaded model file lies beside it.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from prefrag.components.document_stores.tantivy.index_location import make_data_directory
from prefrag.errors import BadInput, Missing, PrefragError

# The name of the file with the facts about a model.
_RECORD = "model.json"
# The list of the models that are offered for download.
_OFFERED = Path(__file__).with_name("offered_models.json")
# Matches the name of a model, which is also the name of its folder, such as "qwen2.5-0.5b". "../x" does not match.
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
# The first four bytes of every GGUF file.
_MAGIC = b"GGUF"
# The memory that a model needs is estimated as `_SHARE` times the size of its file, plus `_FIXED` bytes. A file of 1.12
# GB took 1.11 GB for itself and 0.78 GB more, with a context window of 4,096 tokens. The system can drop parts of the
# file from memory and read them again. So the estimate is a little less than this sum.
# The bytes of memory for each byte of the file.
_SHARE = 1.25
# The bytes of memory that a model of any size needs.
_FIXED = 400_000_000


class NotEnoughMemory(PrefragError):
    """The error for a model that does not fit into the memory that is free. The message says what to do."""


class OfferedModel(BaseModel):
    """A model that `prefrag model get` offers. The hub states its size and licence again when it is downloaded."""

    # The name by which users choose the model.
    name: str
    # The repository on the hub.
    repository: str
    # The path of the file in the repository.
    file: str
    # The approximate size of the file. The hub states the exact size.
    bytes: int
    licence: str
    # What the model is good for, in a few words for users.
    good_for: str


class ModelFile(BaseModel):
    """A GGUF file that a user has downloaded or named."""

    # The name by which users choose the model.
    name: str
    path: Path
    # Where the file comes from: `hf:REPOSITORY/FILE`, an address, or the path of a file that the user has named.
    source: str
    # The size of the file.
    bytes: int
    # The SHA-256 hash of the file. Empty for a file that the user has named.
    sha256: str = ""
    # Whether the source stated the hash, so that the file was compared with it.
    is_hash_stated: bool = False
    # The revision on the hub. Empty for other files.
    commit: str = ""
    # The licence, as the hub states it. Empty if it states none.
    licence: str = ""


@cache
def read_offers() -> list[OfferedModel]:
    """Read the list of the models that are offered.

    :returns: The models, the smallest first.
    """
    return TypeAdapter(list[OfferedModel]).validate_json(_OFFERED.read_bytes())


def models_directory() -> Path:
    """Return the folder of all models in the data folder. The data folder is made if it does not exist."""
    return make_data_directory() / "models"


def list_model_files() -> list[ModelFile]:
    """List the models that the user has downloaded or named, and whose files still exist.

    :returns: The models in the order of their names.
    """
    return sorted(_read_records(), key=lambda model: model.name)


def find_model_file(name: str) -> ModelFile | None:
    """Find a model by its name.

    :param name: The name.
    :returns: The model. None if the user has no model of this name.
    """
    return next((model for model in _read_records() if model.name == name), None)


def make_model_folder(name: str) -> Path:
    """Make the folder of a model, unless it exists.

    :param name: The name of the model.
    :returns: The folder.
    :raises BadInput: When the name cannot be the name of a folder.
    """
    if not _NAME.fullmatch(name):
        raise BadInput(f"'{name}' cannot be a model's name: use letters, digits, '.', '_' and '-'.")
    folder = models_directory() / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def keep_model_file(model: ModelFile) -> None:
    """Store the facts about a model, so that users can choose it by its name.

    :param model: The model.
    :raises BadInput: When the name cannot be the name of a folder.
    """
    record = make_model_folder(model.name) / _RECORD
    # The facts are written to another file first. So the record is never half written.
    draft = record.with_name(f"{_RECORD}.new")
    draft.write_text(model.model_dump_json(indent=2) + "\n", encoding="utf-8")
    draft.replace(record)


def add_local_file(path: Path) -> ModelFile:
    """Add a GGUF file that lies on this machine. The file stays where it is.

    :param path: The path of the file.
    :returns: The model. Its name is the name of the file.
    :raises Missing: When there is no such file.
    :raises BadInput: When the file is no GGUF file, or when another model has the name.
    """
    file = path.expanduser().absolute()
    if not file.is_file():
        raise Missing(f"There is no file {path}.")
    if not is_gguf(file):
        raise BadInput(f"{path} is not a GGUF file, the form in which llama.cpp runs models.")
    model = ModelFile(name=name_of_file(file.name), path=file, source=str(file), bytes=file.stat().st_size)
    refuse_taken_name(model.name, model.source)
    keep_model_file(model)
    return model


def remove_model_file(name: str) -> ModelFile | None:
    """Remove a model. Its file is deleted only if it lies in the data folder.

    :param name: The name of the model.
    :returns: The removed model. None if only a part of it had been downloaded.
    :raises Missing: When there is no model of this name.
    """
    folder = models_directory() / name
    if not _NAME.fullmatch(name) or not folder.is_dir():
        there = ", ".join(file.name for file in list_model_files()) or "none"
        raise Missing(f"There is no model '{name}' to remove. Those that were fetched or named: {there}.")
    model = find_model_file(name)
    shutil.rmtree(folder)
    return model


def is_own(model: ModelFile) -> bool:
    """Check whether the file of a model lies in the data folder, so that it is deleted with the model.

    :param model: The model.
    :returns: Whether the file lies there.
    """
    return model.path.is_relative_to(models_directory())


def refuse_taken_name(name: str, source: str) -> None:
    """Check that a name does not belong to a model from another source.

    :param name: The name of the new model.
    :param source: Where the new model comes from.
    :raises BadInput: When the name belongs to a model from another source.
    """
    other = find_model_file(name)
    if other is not None and other.source != source:
        raise BadInput(f"A model {name} is there already, from {other.source}: remove it first, or rename the file.")


def name_of_file(file: str) -> str:
    """Make the name of a model from the path of its file.

    For example, ``name_of_file("folder/tiny-q4.gguf")`` returns ``"tiny-q4"``.

    :param file: The path, with or without folders.
    :returns: The name of the file without its suffix.
    """
    _, _, name = file.rpartition("/")
    return name.removesuffix(".gguf")


def is_gguf(path: Path) -> bool:
    """Check whether a file begins like a GGUF file.

    :param path: The path of the file.
    :returns: Whether it begins with the bytes ``GGUF``. False if the file cannot be read.
    """
    try:
        with path.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def needed_memory(file_bytes: int) -> int:
    """Estimate the memory that a model needs, from the size of its file.

    For example, ``needed_memory(1_000_000_000)`` returns ``1_650_000_000``.

    :param file_bytes: The size of the file in bytes.
    :returns: The memory in bytes.
    """
    return int(file_bytes * _SHARE) + _FIXED


def free_memory() -> int | None:
    """Return the memory that a new program may use.

    :returns: The free memory in bytes. In a container, this is the smaller of the free memory of the machine and the
        rest of the limit of the container. None if the system does not say how much memory is free.
    """
    if sys.platform == "linux":
        counts = [_read_meminfo(), _read_group()]
        known_counts = [count for count in counts if count is not None]
        return min(known_counts, default=None)
    try:
        import psutil
    except ImportError:
        return None
    return int(psutil.virtual_memory().available)


def check_memory(path: Path) -> None:
    """Check that a model fits into the free memory before it is loaded.

    :param path: The GGUF file.
    :raises NotEnoughMemory: When the model does not fit. If the system does not say how much memory is free, no error
        is raised.
    """
    free = free_memory()
    needed = needed_memory(path.stat().st_size)
    if free is not None and needed > free:
        raise NotEnoughMemory(
            f"{path.name} needs about {show_bytes(needed)} of memory, and {show_bytes(free)} are free: close other "
            "programs, or use a smaller model (`prefrag model get` lists some)."
        )


def show_bytes(count: int) -> str:
    """Write a number of bytes in GB or MB.

    For example, ``show_bytes(1_120_000_000)`` returns ``"1.12 GB"``, and ``show_bytes(491_000_000)`` returns
    ``"491 MB"``.

    :param count: The number of bytes.
    :returns: The number with its unit. A GB is a billion bytes.
    """
    if count >= 1e9:
        return f"{count / 1e9:.2f} GB"
    return f"{count / 1e6:.0f} MB"


def _read_records() -> Iterator[ModelFile]:
    """Read the facts about all models whose files exist."""
    for record in models_directory().glob(f"*/{_RECORD}"):
        # A record that cannot be read is left out. Its model can be downloaded again.
        with suppress(OSError, ValueError, ValidationError):
            model = ModelFile(**json.loads(record.read_text(encoding="utf-8")))
            if model.name == record.parent.name and model.path.is_file():
                yield model


def _read_meminfo() -> int | None:
    """Return the bytes of memory that Linux says are available. None if they cannot be read."""
    with suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return _read_number_behind("MemAvailable:", text) * 1024
    return None


def _read_group() -> int | None:
    """Return the bytes of memory that a container may still use. None if there is no limit.

    Cached files count as free memory, because the system drops them when a program needs the memory.
    """
    group = Path(os.sep, "sys", "fs", "cgroup")
    with suppress(OSError, ValueError, IndexError):
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        statistics = (group / "memory.stat").read_text(encoding="ascii")
        cached = _read_number_behind("inactive_file", statistics)
        return max(limit - used + cached, 0)
    return None


def _read_number_behind(label: str, text: str) -> int:
    """Read the number behind a label. For example, ``_read_number_behind("Free:", "Free: 12 kB")`` returns ``12``.

    :raises IndexError: When the text has no such label, or nothing behind it.
    :raises ValueError: When no number stands behind the label.
    """
    behind = text.split(label)[1]
    first_word = behind.split()[0]
    return int(first_word)
