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
# The first word of a record's field `build` if the model runs on Ollama, as in "Ollama 0.5.1".
OLLAMA = "Ollama"
# The seconds to wait for another process that writes the file of the records.
_LOCK_SECONDS = 5.0
# Matches the label of a size, such as "1.5B" and "8x7B". The groups are the number of experts (or None), the size, and
# its unit.
_SIZE = re.compile(r"(?:(\d{1,3})x)?(\d{1,4}(?:\.\d{1,4})?)([KMBT])", re.IGNORECASE)
# The numbers that the units stand for, such as a billion for B.
_UNITS = {"K": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}
# The next two patterns match where a GGUF file states the size of its model. A GGUF file has for each fact a name, the
# type of the value, and the value. The type is a number of four bytes. All numbers begin with their lowest byte.
# The type of a text, 8. Before the text stands its length, a number of eight bytes.
_TEXT_TYPE = rb"\x08\0\0\0"
# Matches the length of a text of 1 to 20 bytes.
_LENGTH_OF_TEXT = rb"[\x01-\x14]\0{7}"
# The type of a whole number of eight bytes, 10.
_NUMBER_TYPE = rb"\x0a\0\0\0"
# Matches the label of the size, a text. Group 1 is the label, such as b"1.5B".
_LABEL = re.compile(rb"general\.size_label" + _TEXT_TYPE + _LENGTH_OF_TEXT + rb"([\w.]{1,20})")
# Matches the number of weights. Group 1 is the eight bytes of this number.
_COUNT = re.compile(rb"general\.parameter_count" + _NUMBER_TYPE + rb"(.{8})", re.DOTALL)
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
    :param build: The version of the model's server, such as ``Ollama 0.5.1``. For a GGUF file, its size and the time of
        its last change. Empty if neither is known.
    :param window: The maximum number of tokens of prompt and reply together, as the server states it. None if it is not
        known.
    :param has_answered: Whether the server was asked for these facts and has answered.
    :param silent_until: The time, in seconds of ``time.monotonic``, from which a server that did not answer may be
        asked again. 0 if the server has not been asked.
    :param refused: The generation parameters, such as ``top_p``, because of which the server has refused a call. Only
        those that the error of the server named are listed.
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
        """Whether the model runs on the server of llama.cpp.

        Only two kinds of servers state a build: llama.cpp and Ollama. So a build that is not Ollama's is llama.cpp's.
        """
        return self.has_answered and bool(self.build) and not self.is_ollama

    def learn_tokens(self, counted: int, estimated: int) -> None:
        """Correct the token factor by a prompt whose tokens the server has counted.

        The factor rises at once, and falls slowly.

        :param counted: The number of tokens that the server has counted.
        :param estimated: The number of tokens that was estimated without the factor.
        """
        # The estimate counts at least one token for every three bytes. Even if each byte is a token, there are three
        # times as many tokens. So a higher ratio is an error of the server.
        ratio = min(counted / estimated, 3.0)
        # If the ratio is higher than the factor, the ratio becomes the factor. If it is lower, the mean of both does.
        mean = (self.token_factor + ratio) / 2
        self.token_factor = max(1.0, ratio, mean)

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
        stored_names = _StoredRecord.model_fields.keys() - {"build", "parameters"}
        if changes.keys() & stored_names:
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
                records = _read_file()
                facts = {field.name: getattr(self, field.name) for field in fields(self)}
                # Facts that only another process has found out about the same build stay in the file.
                earlier = records.get(self.name)
                if earlier is not None and earlier.build == self.build:
                    for name in _StoredRecord.model_fields:
                        earlier_value = getattr(earlier, name)
                        if earlier_value and not facts[name]:
                            facts[name] = earlier_value
                records[self.name] = _StoredRecord(**facts)
                # The records are written to another file first. So the file is never half written.
                draft = path.with_name(f"{path.name}.new")
                draft.write_bytes(_FILE.dump_json(records, indent=2))
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
    has_other_build = record is not None and build is not None and build != record.build
    if record is None or has_other_build:
        record = ModelRecord(name)
        _records[name] = record
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
        size_of_label = read_size(label[1].decode()) if label else None
        if size_of_label:
            return size_of_label
        # An empty file has no weights.
        return file.stat().st_size or None
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
