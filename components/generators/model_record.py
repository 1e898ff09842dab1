"""Store what is known of each model.

A :class:`ModelRecord` has the context window of a model, its size, the parameters that its server refuses, and the
result of its trial. All components of a process share the record of a model. Facts that stay true, such as the result
of the trial, are also stored in the file ``models.json`` of the data folder, for other processes.
"""

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
# The text with which the build of a model on Ollama begins.
OLLAMA = "Ollama"
# The seconds to wait for another process that writes the file of the records.
_LOCK_SECONDS = 5.0
# Matches the label of a size, such as "1.5B" and "8x7B". The groups are the number of experts (or None), the size, and
# its unit.
_SIZE = re.compile(r"(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,4})?)([KMBT])", re.IGNORECASE)
# The numbers that the units stand for, such as a billion for B.
_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
# The next two patterns match where a GGUF file states the size of its model. A GGUF file has for each fact a name, the
# number of the type of the value, and the value.
# Matches the label of the size, a text. Group 1 is the label, such as b"1.5B".
_LABEL = re.compile(rb"general\.size_label\x08\0\0\0[\x01-\x14]\0{7}([\w.]{1,20})")
# Matches the number of weights, a whole number of eight bytes. Group 1 is these bytes.
_COUNT = re.compile(rb"general\.parameter_count\x0a\0\0\0(.{8})", re.DOTALL)
# The number of bytes at the beginning of a GGUF file in which the size is searched.
_HEAD_BYTES = 1_000_000


class _StoredRecord(BaseModel):
    """The fields of a record that are stored in the data folder. :class:`ModelRecord` explains them."""

    build: str = ""
    parameters: int | None = None
    reply_format: str = ""
    reason: str = ""
    verdicts: tuple[int, int] | None = None


# Reads and writes the file of the records, which has a record for the name of each model.
_FILE = TypeAdapter(dict[str, _StoredRecord])


@dataclass
class ModelRecord:
    """What is known of one model on one server, or of one GGUF file. All callers of the model share the record.

    :param name: The address of the server and the name of the model, or the path of the file.
    :param build: The version of the program of the server, or of the file. Empty if it is not known.
    :param window: The maximum number of tokens of prompt and reply together, as the server states it. None if it is not
        known.
    :param has_answered: Whether the server was asked for these facts and has answered.
    :param silent_until: The time, in seconds of ``time.monotonic``, from which a server that did not answer may be
        asked again. 0 if the server has not been asked.
    :param refused: The parameters of calls that the server has refused and named.
    :param parameters: The number of weights of the model. None if it is not known.
    :param reply_format: The format that a trial has chosen for the model, ``text`` or ``steps``. Empty before the
        trial.
    :param reason: The reason for this format, in one sentence.
    :param verdicts: The number of right verdicts in a trial of the model as a judge, and the number of all verdicts.
        None before this trial.
    :param token_factor: The factor by which estimates of a prompt's tokens are too low for this model, at least 1.
    """

    name: str
    build: str = ""
    window: int | None = None
    has_answered: bool = False
    silent_until: float = 0.0
    refused: frozenset[str] = frozenset()
    parameters: int | None = None
    reply_format: str = ""
    reason: str = ""
    verdicts: tuple[int, int] | None = None
    token_factor: float = 1.0

    @property
    def is_ollama(self) -> bool:
        """Whether the model runs on Ollama."""
        return self.build.startswith(OLLAMA)

    @property
    def is_llama_cpp(self) -> bool:
        """Whether the server of the model is that of llama.cpp. Only the builds of llama.cpp and Ollama are known."""
        return self.has_answered and bool(self.build) and not self.is_ollama

    def learn_tokens(self, counted: int, estimated: int) -> None:
        """Correct the token factor by a prompt whose tokens the server has counted.

        The factor rises at once, and falls slowly.

        :param counted: The number of tokens that the server has counted.
        :param estimated: The number of tokens that was estimated without the factor.
        """
        # A token has at least one byte, and the estimate counts at least one token for three bytes. So the estimate is
        # at most three times too low.
        ratio = min(counted / estimated, 3.0)
        self.token_factor = max(1.0, ratio, (self.token_factor + ratio) / 2)

    def keep(self, **changes: object) -> None:
        """Change the record.

        Facts that stay true in other processes are also stored in the data folder, if this is possible.

        :param changes: The new values by the names of the fields.
        """
        for name, value in changes.items():
            setattr(self, name, value)
        if "build" in changes:
            self.recall()
        # If only the build or the number of weights has changed, nothing is stored.
        if changes.keys() & _StoredRecord.model_fields.keys() - {"build", "parameters"}:
            self._store()

    def recall(self) -> None:
        """Read what another process has stored of the same build of the model."""
        stored = _read_file().get(self.name)
        if stored is not None and stored.build == self.build:
            for name in _StoredRecord.model_fields:
                setattr(self, name, getattr(stored, name) or getattr(self, name))

    def _store(self) -> None:
        """Write the record into the file of the records. An error is ignored."""
        path = _path()
        try:
            with hold_lock(path.with_name(f"{path.name}.lock"), _LOCK_SECONDS, "storing what it knows of a model"):
                stored_records, own = _read_file(), {field.name: getattr(self, field.name) for field in fields(self)}
                # Facts that only another process has found out about the same build stay in the file.
                stored = stored_records.get(self.name)
                if stored is not None and stored.build == self.build:
                    more = {name: getattr(stored, name) for name in _StoredRecord.model_fields if not own[name]}
                    own |= {name: value for name, value in more.items() if value}
                draft = path.with_name(f"{path.name}.new")
                draft.write_bytes(_FILE.dump_json({**stored_records, self.name: _StoredRecord(**own)}, indent=2))
                draft.replace(path)
        except (OSError, PrefragError):
            # The next process will then try the model again.
            return


# The records of this process by the names of their models.
_records: dict[str, ModelRecord] = {}


def find_record(name: str, build: str | None = None, parameters: int | None = None) -> ModelRecord:
    """Find the record of a model, or make a new record.

    :param name: The name of the record, see :class:`ModelRecord`.
    :param build: The present build. If the record has another build, a new record is made. None accepts any build.
    :param parameters: The number of weights for a new record.
    :returns: The record, which all callers share.
    """
    record = _records.get(name)
    if record is None or build not in (None, record.build):
        record = _records[name] = ModelRecord(name)
        record.keep(build=build or "", parameters=parameters)
    return record


def find_record_of_file(path: str) -> ModelRecord:
    """Find the record of a GGUF file, or make a new record.

    :param path: The path of the file. A changed file has a new record.
    :returns: The record, which all callers share.
    """
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
    """Read the number of weights from a label.

    For example, ``read_size("1.5B")`` returns ``1_500_000_000``, and ``read_size("8x7B")`` returns
    ``56_000_000_000``.

    :param text: The label, or any other value.
    :returns: The number of weights. None if the value is no such label.
    """
    if not isinstance(text, str):
        return None
    label = _SIZE.fullmatch(text.strip())
    if label is None:
        return None
    experts, size, unit = label.groups()
    return int(int(experts or 1) * float(size) * _UNITS[unit.upper()])


def _weigh(file: Path) -> int | None:
    """Find the number of weights in a GGUF file.

    This is the number that the file states, or else the number in the label of its size. If the file states neither,
    one byte of the file counts as one weight.

    :returns: The number. None if the file is empty or cannot be read.
    """
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
    """Return the path of the file of the records."""
    return data_directory() / "models.json"


def _read_file() -> dict[str, _StoredRecord]:
    """Read the file of the records. Without a file, or if the file is damaged, there are none."""
    path = _path()
    try:
        return _FILE.validate_json(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is damaged"
        logger.warning("What is known of models cannot be read from %s (%s), so they are tried again.", path, reason)
        return {}
