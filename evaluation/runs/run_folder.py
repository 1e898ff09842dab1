"""Read and write the folder of a run.

The folder has the settings of the run, its metrics and its predictions. The predictions are JSON lines in the order in
which the questions finish. A run can be stopped at any moment and continued.
"""

import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from prefrag.evaluation.question import PredictionLine
from prefrag.evaluation.settings_file import write_settings
from prefrag.file_lock import take_lock

# One line for each question that is finished.
PREDICTIONS = "predictions.jsonl"
# The averages over all questions, written at the end.
METRICS = "metrics.json"
# The description of the pipeline, the model and the questions.
CONFIG = "config.json"
# All settings that `prefrag evaluate --experiment` needs to repeat the run.
EXPERIMENT = "experiment.yaml"
# The settings in `config.json` that may be paths. Two paths count as equal if they lead to the same file.
PATHS = ("corpus", "pipeline", "questions", "replayed", "web")
# The settings in `config.json` that may change when a stopped run is continued.
FREE = ("concurrency", "gold_missing", "haystack_version", "limit", "ray", "retries", "started", "workers")


class RunFolder:
    """The folder of a run, which can be stopped at any moment and continued.

    :param path: The folder. It need not exist yet.
    """

    def __init__(self, path: Path):
        self.path = path

    def check(self, config: Mapping[str, object]) -> None:
        """Check that the folder has no run with other settings. Nothing is written.

        :param config: The settings of the run that is about to start.
        :raises ValueError: If the folder has a run with other settings, or predictions without settings.
        """
        config_before = self.config()
        if config_before is None:
            if (self.path / PREDICTIONS).exists():
                raise ValueError(f"{self.path} holds predictions without a {CONFIG}: choose another output folder.")
            return

        # A setting that an older version did not record counts as different, unless its value is off or empty now.
        differences = []
        for key in sorted({*config_before, *config} - {*FREE}):
            if not _is_same(key, config_before.get(key), _plain(config.get(key))):
                value_before = _as_json(config_before[key]) if key in config_before else "not recorded"
                differences.append(f"{key} was {value_before} and is now {_as_json(config.get(key))}")
        if differences:
            raise ValueError(
                f"{self.path} holds a run with other settings: {'; '.join(differences)}. Choose another output "
                "folder, or continue that run with its own settings."
            )

    def config(self) -> dict[str, object] | None:
        """Read the settings of the run.

        :returns: The content of `config.json`. None if the folder has no run.
        :raises ValueError: If the file is not a JSON object.
        """
        path = self.path / CONFIG
        if not path.is_file():
            return None
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ValueError(f"{path} is not valid JSON ({error}): choose another output folder.") from error
        if not isinstance(config, dict):
            raise ValueError(f"{path} is not a JSON object: choose another output folder.")
        return config

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Make the folder, and keep other processes from running an evaluation into it.

        :returns: A context manager that holds the lock.
        :raises ValueError: If the folder cannot be written, or another process uses it.
        """
        with _explain_write_error(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            # The folder itself is locked, because a lock file would stay behind. On Windows, only a file can be locked.
            if os.name == "nt":
                descriptor = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT)
            else:
                descriptor = os.open(self.path, os.O_RDONLY)
        try:
            if not take_lock(descriptor):
                raise ValueError(
                    f"Another process is running an evaluation into {self.path}: wait for it to end, or choose another "
                    "output folder."
                )
            yield
        finally:
            os.close(descriptor)

    def open(self, config: Mapping[str, object]) -> None:
        """Write the settings of a run to the folder.

        :param config: The content of `config.json`.
        :raises ValueError: If the folder cannot be written.
        """
        with _explain_write_error(self.path):
            self._write(CONFIG, config)

    def keep_experiment(self, experiment: object) -> None:
        """Write all settings that are needed to repeat the experiment.

        :param experiment: The dataclass with the settings.
        """
        replace_file(self.path / EXPERIMENT, write_settings(experiment))

    def predictions(self, ids: Collection[str]) -> list[PredictionLine]:
        """Read the predictions that are finished, and cut off an unfinished last line of the file.

        :param ids: The ids of all questions of the run.
        :returns: The predictions in the order of the file. If a question has several, the last one counts.
        :raises ValueError: If a line is not a prediction, or its question is not in the run.
        """
        path = self.path / PREDICTIONS
        by_id: dict[str, PredictionLine] = {}
        for number, line in enumerate(read_lines(path), start=1):
            if not line.strip():
                continue
            try:
                prediction = json.loads(line)
                by_id[prediction["id"]] = prediction
                for key, kind in (("question", str), ("answers", list), ("scores", dict), ("result", dict)):
                    if not isinstance(prediction.get(key), kind):
                        raise ValueError(f"its '{key}' is not a {kind.__name__}")
            except (ValueError, TypeError, KeyError) as error:
                raise ValueError(
                    f"{path}, line {number}, is not a prediction ({error}): delete the line to run its question again."
                ) from error
            if prediction["id"] not in ids:
                raise ValueError(
                    f"{path}, line {number}, is for the question '{prediction['id']}', which is not in this run: raise "
                    "the limit, give the questions of that run, or choose another output folder."
                )
        return list(by_id.values())

    def rewrite(self, predictions: Iterable[PredictionLine]) -> None:
        """Replace the file by one with only these predictions.

        :param predictions: The predictions that stay.
        """
        replace_file(self.path / PREDICTIONS, predictions)

    def add(self, prediction: PredictionLine) -> None:
        """Append a prediction. After this call, the prediction is safe even if the process is killed.

        :param prediction: The prediction.
        """
        add_line(self.path / PREDICTIONS, prediction)

    def begin(self) -> None:
        """Delete the metrics of an earlier call, because they will not include the next predictions."""
        (self.path / METRICS).unlink(missing_ok=True)

    def finish(self, metrics: Mapping[str, object]) -> None:
        """Write the metrics to ``metrics.json``.

        :param metrics: The metrics of all predictions.
        """
        self._write(METRICS, metrics)

    def _write(self, name: str, values: Mapping[str, object]) -> None:
        """Write values to a JSON file in the folder."""
        replace_file(self.path / name, json.dumps(values, ensure_ascii=False, indent=2, default=str) + "\n")


@contextmanager
def _explain_write_error(path: Path) -> Iterator[None]:
    """Change an error of writing to a ValueError that says what to do."""
    try:
        yield
    except OSError as error:
        raise ValueError(f"Nothing can be written to {path} ({error}): choose another output folder.") from error


def read_lines(path: Path) -> list[bytes]:
    """Read the lines of a file, and cut off an unfinished last line from the file.

    :param path: The file.
    :returns: The lines without their line breaks. Empty if there is no such file.
    """
    if not path.is_file():
        return []
    *lines, unfinished = path.read_bytes().split(b"\n")
    if unfinished:
        os.truncate(path, path.stat().st_size - len(unfinished))
    return lines


def add_line(path: Path, record: Mapping[str, object]) -> None:
    """Append a record to a file of JSON lines.

    :param path: The file.
    :param record: The record.
    """
    # There is a single unbuffered write. So a killed process leaves at most the last line unfinished.
    with path.open("ab", buffering=0) as file:
        file.write(_line(record).encode("utf-8", "replace"))


def replace_file(path: Path, records: Iterable[Mapping[str, object]] | str) -> None:
    """Write a file in one step, so that nobody ever reads an incomplete file.

    :param path: The file. It may exist.
    :param records: The text of the file, or records that become JSON lines.
    """
    text = records if isinstance(records, str) else "".join(map(_line, records))
    hidden_path = path.with_name(f".{path.name}.{os.getpid()}")
    hidden_path.write_text(text, encoding="utf-8", errors="replace")
    hidden_path.replace(path)


def _line(record: Mapping[str, object]) -> str:
    """Return a record as a line of JSON."""
    return json.dumps(record, ensure_ascii=False, default=str) + "\n"


def _plain(value: object) -> object:
    """Return the value as it is after being written as JSON and read again."""
    return json.loads(json.dumps(value, default=str))


def _is_same(key: str, before: object, now: object) -> bool:
    """Check whether a setting has the same value as before. Two paths are the same if they lead to the same file."""
    if before is None and not now:
        return True
    if key in PATHS and isinstance(before, str) and isinstance(now, str):
        return before == now or Path(before).expanduser().resolve() == Path(now).expanduser().resolve()
    return bool(before == now)


def _as_json(value: object) -> str:
    """Return a value as JSON for an error message."""
    return json.dumps(value, ensure_ascii=False, default=str)
