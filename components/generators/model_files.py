"""The GGUF files that a user has fetched or named, each with where it comes from, and the memory that they need."""

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

_RECORD = "model.json"
_OFFERED = Path(__file__).with_name("offered_models.json")
_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,99}", re.ASCII)
_MAGIC = b"GGUF"
# A file of 1.12 GB took 1.11 GB for itself and 0.78 GB more, with a window of 4,096 tokens. The system can drop pages
# of the file and read them again, so a little less than the sum is demanded.
_SHARE, _FIXED = 1.25, 400_000_000


class NotEnoughMemory(PrefragError):
    """The error for a model that does not fit into the memory that is free. The message says what to do."""


class OfferedModel(BaseModel):
    """A model that `prefrag model get` offers. What the hub states of it is checked when it is fetched."""

    name: str
    repository: str
    file: str
    bytes: int  # about; the hub states it exactly
    licence: str
    good_for: str


class ModelFile(BaseModel):
    """A GGUF file that a user has fetched or named."""

    name: str
    path: Path
    source: str  # hf:REPOSITORY/FILE, an address, or the path
    bytes: int
    sha256: str = ""
    is_hash_stated: bool = False  # whether the source stated the hash, so that the file was compared with it
    commit: str = ""  # the hub's revision
    licence: str = ""  # as the hub states it; empty if it states none


@cache
def read_offers() -> list[OfferedModel]:
    """Read the models that are offered, the smallest first."""
    return TypeAdapter(list[OfferedModel]).validate_json(_OFFERED.read_bytes())


def models_directory() -> Path:
    """Return the folder of the models in the data folder."""
    return make_data_directory() / "models"


def list_model_files() -> list[ModelFile]:
    """List the models that were fetched or named and are still there, by name."""
    return sorted(_read_records(), key=lambda model: model.name)


def find_model_file(name: str) -> ModelFile | None:
    """Find a model by its name."""
    return next((model for model in _read_records() if model.name == name), None)


def make_model_folder(name: str) -> Path:
    """Make the folder of a model. Raises :class:`BadInput` if the name cannot be that of a folder."""
    if not _NAME.fullmatch(name):
        raise BadInput(f"'{name}' cannot be a model's name: use letters, digits, '.', '_' and '-'.")
    folder = models_directory() / name
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


def keep_model_file(model: ModelFile) -> None:
    """Store what is known of a file, so that it can be used by its name."""
    record = make_model_folder(model.name) / _RECORD
    draft = record.with_name(f"{_RECORD}.new")
    draft.write_text(model.model_dump_json(indent=2) + "\n", encoding="utf-8")
    draft.replace(record)


def add_local_file(path: Path) -> ModelFile:
    """Add a GGUF file that lies on this machine. It stays where it is.

    :param path: The path of the file.
    :returns: The model, under the name of its file.
    :raises Missing: When there is no such file.
    :raises BadInput: When it is no GGUF file, or when another file has the name.
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
    """Remove a model, and its file if it lies in the data folder. A file elsewhere stays.

    :param name: The name of the model.
    :returns: What was removed; None if only a part of it had been fetched.
    :raises Missing: When there is no model of that name.
    """
    folder = models_directory() / name
    if not _NAME.fullmatch(name) or not folder.is_dir():
        there = ", ".join(file.name for file in list_model_files()) or "none"
        raise Missing(f"There is no model '{name}' to remove. Those that were fetched or named: {there}.")
    model = find_model_file(name)
    shutil.rmtree(folder)
    return model


def is_own(model: ModelFile) -> bool:
    """Return whether the file lies in the data folder, so that it is deleted with its model."""
    return model.path.is_relative_to(models_directory())


def refuse_taken_name(name: str, source: str) -> None:
    """Raise :class:`BadInput` if the name belongs to a model from elsewhere."""
    other = find_model_file(name)
    if other is not None and other.source != source:
        raise BadInput(f"A model {name} is there already, from {other.source}: remove it first, or rename the file.")


def name_of_file(file: str) -> str:
    """Make a model's name from the name of its file."""
    return file.rpartition("/")[2].removesuffix(".gguf")


def is_gguf(path: Path) -> bool:
    """Return whether a file begins like a GGUF file."""
    try:
        with path.open("rb") as opened:
            return opened.read(len(_MAGIC)) == _MAGIC
    except OSError:
        return False


def needed_memory(file_bytes: int) -> int:
    """Estimate the memory in bytes that a model needs, from the size of its file."""
    return int(file_bytes * _SHARE) + _FIXED


def free_memory() -> int | None:
    """Return the memory in bytes that a new program may use; None if the system does not say."""
    if sys.platform == "linux":
        counts = [_read_meminfo(), _read_group()]
        return min((count for count in counts if count is not None), default=None)
    try:
        import psutil
    except ImportError:
        return None
    return int(psutil.virtual_memory().available)


def check_memory(path: Path) -> None:
    """Check that a model fits into the free memory before it is loaded.

    :param path: The GGUF file.
    :raises NotEnoughMemory: When it does not fit. Where the system does not say how much is free, nothing is refused.
    """
    free = free_memory()
    needed = needed_memory(path.stat().st_size)
    if free is not None and needed > free:
        raise NotEnoughMemory(
            f"{path.name} needs about {show_bytes(needed)} of memory, and {show_bytes(free)} are free: close other "
            "programs, or use a smaller model (`prefrag model get` lists some)."
        )


def show_bytes(count: int) -> str:
    """Write a number of bytes as people read it: 1.12 GB, 491 MB."""
    return f"{count / 1e9:.2f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _read_records() -> Iterator[ModelFile]:
    for record in models_directory().glob(f"*/{_RECORD}"):
        # A record that cannot be read stands for nothing; its file can be fetched again.
        with suppress(OSError, ValueError, ValidationError):
            model = ModelFile(**json.loads(record.read_text(encoding="utf-8")))
            if model.name == record.parent.name and model.path.is_file():
                yield model


def _read_meminfo() -> int | None:
    with suppress(OSError, ValueError, IndexError):
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        return int(text.split("MemAvailable:")[1].split()[0]) * 1024
    return None


def _read_group() -> int | None:
    """Return what the limit of a container leaves, if there is one. Cached files give way, so they count as free."""
    group = Path(os.sep, "sys", "fs", "cgroup")
    with suppress(OSError, ValueError, IndexError):
        limit = int((group / "memory.max").read_text(encoding="ascii"))
        used = int((group / "memory.current").read_text(encoding="ascii"))
        cached = int((group / "memory.stat").read_text(encoding="ascii").split("inactive_file")[1].split()[0])
        return max(limit - used + cached, 0)
    return None
