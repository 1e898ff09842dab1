"""What is known of a model: its window, what its server refuses, its size, and whether it can do what a run asks."""

import logging
import re
from dataclasses import dataclass, fields
from pathlib import Path

from pydantic import BaseModel, TypeAdapter

from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.errors import PrefragError
from prefrag.file_lock import hold_lock

logger = logging.getLogger(__name__)
# A model with fewer weights than this counts as small, as long as it has not been tried.
SMALL = 4_000_000_000
OLLAMA = "Ollama"  # how the build of a model on Ollama begins
_LOCK_SECONDS = 5.0
_SIZE = re.compile(r"(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,4})?)([KMBT])", re.IGNORECASE)
_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
# Where a GGUF file states the size of its model: the name, the number of the type (text or count), and the value.
_LABEL = re.compile(rb"general\.size_label\x08\0\0\0[\x01-\x14]\0{7}([\w.]{1,20})")
_COUNT = re.compile(rb"general\.parameter_count\x0a\0\0\0(.{8})", re.DOTALL)
_HEAD_BYTES = 1_000_000


class _Kept(BaseModel):
    """What the data folder stores of a model."""

    build: str = ""
    parameters: int | None = None
    reply_format: str = ""
    reason: str = ""
    verdicts: tuple[int, int] | None = None


_FILE = TypeAdapter(dict[str, _Kept])


@dataclass
class ModelRecord:
    """What is known of one model on one server, or of one file. All callers of the model share it."""

    name: str  # the server's address and the model's name, or the path of the file
    build: str = ""  # the version of the server's program, or of the file; empty if it is unknown
    window: int | None = None  # the tokens of prompt and reply together, as the server states them
    has_answered: bool = False  # whether the server was asked for these facts, and answered
    silent_until: float = 0.0  # the time from which a server that did not answer may be asked again
    refused: frozenset[str] = frozenset()  # the parameters of calls that the server has named and refused
    parameters: int | None = None  # the number of weights
    reply_format: str = ""  # the format for which a trial found the model able; empty before the trial
    reason: str = ""  # why this format, in one sentence
    verdicts: tuple[int, int] | None = None  # how many verdicts of the model were right, of how many
    token_factor: float = 1.0  # by how much the estimate of a prompt's tokens is too low for this model; at least 1

    @property
    def is_ollama(self) -> bool:
        """Whether the model runs on Ollama."""
        return self.build.startswith(OLLAMA)

    @property
    def is_llama_cpp(self) -> bool:
        """Whether the model's server is that of llama.cpp, the only other one whose build is learnt."""
        return self.has_answered and bool(self.build) and not self.is_ollama

    def learn_tokens(self, counted: int, estimated: int) -> None:
        """Correct estimates by a prompt that the server has counted. The factor rises at once and falls slowly."""
        # A token has at least one byte, and the estimate counts at least a token for three bytes.
        ratio = min(counted / estimated, 3.0)
        self.token_factor = max(1.0, ratio, (self.token_factor + ratio) / 2)

    def keep(self, **changes: object) -> None:
        """Change the record. What stays true in other processes is stored in the data folder, if that is possible."""
        for name, value in changes.items():
            setattr(self, name, value)
        if "build" in changes:
            self.recall()
        if changes.keys() & _Kept.model_fields.keys() - {"build", "parameters"}:
            self._store()

    def recall(self) -> None:
        """Read what another process has stored of this build."""
        stored = _read_file().get(self.name)
        if stored is not None and stored.build == self.build:
            for name in _Kept.model_fields:
                setattr(self, name, getattr(stored, name) or getattr(self, name))

    def _store(self) -> None:
        path = _path()
        try:
            with hold_lock(path.with_name(f"{path.name}.lock"), _LOCK_SECONDS, "storing what it knows of a model"):
                stored_records, own = _read_file(), {field.name: getattr(self, field.name) for field in fields(self)}
                # What another process has found out of the same build stays.
                stored = stored_records.get(self.name)
                if stored is not None and stored.build == self.build:
                    more = {name: getattr(stored, name) for name in _Kept.model_fields if not own[name]}
                    own |= {name: value for name, value in more.items() if value}
                draft = path.with_name(f"{path.name}.new")
                draft.write_bytes(_FILE.dump_json({**stored_records, self.name: _Kept(**own)}, indent=2))
                draft.replace(path)
        except (OSError, PrefragError):
            # The model is then tried again in the next process.
            return


_records: dict[str, ModelRecord] = {}


def find_record(name: str, build: str | None = None, parameters: int | None = None) -> ModelRecord:
    """Find the record of a model. If ``build`` is another than that of the record, a new record is begun."""
    record = _records.get(name)
    if record is None or build not in (None, record.build):
        record = _records[name] = ModelRecord(name)
        record.keep(build=build or "", parameters=parameters)
    return record


def find_record_of_file(path: str) -> ModelRecord:
    """Find the record of a GGUF file."""
    file = Path(path).absolute()
    try:
        status = file.stat()
    except OSError:
        return find_record(str(file))
    build = f"{status.st_size} bytes of {status.st_mtime_ns}"
    record = _records.get(str(file))
    if record is not None and record.build == build:
        return record
    return find_record(str(file), build, _weigh(file))


def read_size(text: object) -> int | None:
    """Read the number of weights from a label such as 1.5B or 8x7B; None if there is none."""
    if not isinstance(text, str):
        return None
    label = _SIZE.fullmatch(text.strip())
    if label is None:
        return None
    experts, size, unit = label.groups()
    return int(int(experts or 1) * float(size) * _UNITS[unit.upper()])


def _weigh(file: Path) -> int | None:
    """Count the weights in a GGUF file, from what the file states, else from its size: about a byte for each weight."""
    try:
        with file.open("rb") as opened:
            head = opened.read(_HEAD_BYTES)
        count = _COUNT.search(head)
        if count:
            return int.from_bytes(count[1], "little")
        label = _LABEL.search(head)
        size = read_size(label[1].decode()) if label else None
        # An empty file has no weights.
        return size or file.stat().st_size or None
    except OSError:
        return None


def _path() -> Path:
    return data_directory() / "models.json"


def _read_file() -> dict[str, _Kept]:
    path = _path()
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged"
        logger.warning("What is known of models cannot be read from %s (%s), so they are tried again.", path, reason)
        return {}
