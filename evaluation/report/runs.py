"""Read the runs for the report from their folders.

A run is one method on one dataset. Runs that differ only in their seed are merged into one run with their means. The
seeds are then the repetitions of this run.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from prefrag.evaluation.metrics import has_failed, score, summarise
from prefrag.evaluation.metrics.counts import counts
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.question import PredictionLine, Question
from prefrag.evaluation.report.measures import ACC, MEASURES, SECONDS, Measure
from prefrag.evaluation.runs.run_folder import CONFIG, FREE, METRICS, PREDICTIONS

# The value of a setting.
Value = float | str | None
# The name of the setting for the number of documents per retrieval.
TOP_K = "top-k"
# The order of the methods in the tables. Baselines come first, as in the papers (PrefRAG, table 1; DR-RAG, table 2).
_ORDER = (
    "no_retrieval",
    "vanilla_local",
    "vanilla_web",
    "vanilla_mix",
    "flare",
    "self_rag",
    "adaptive_retrieval",
    "adaptive_rag",
    "ircot",
    "crag",
    "react",
    "react_mix",
    "dr_rag_qdc",
    "dr_rag_cis",
    "dr_rag_cfs",
    "dr_rag",
    "mspr",
    "prefrag",
)
# The endings of a pipeline's name that only name its retriever.
_RETRIEVERS = ("_elasticsearch_dense", "_elasticsearch", "_dense", "_hybrid")
# The fields of an experiment that the report does not list as settings, because they are files or `Run` describes them
# in other ways.
_NOT_SETTINGS = (
    "changes",
    "corpus",
    "web_corpus",
    "web",
    "split",
    "store",
    "llm",
    "model",
    "top_k",
    "seed",
    "judge_error",
    "record",
    "replay",
)
# The default values of all other fields.
_DEFAULTS: dict[str, Value] = {
    field.name: getattr(Experiment, field.name) for field in fields(Experiment) if field.name not in _NOT_SETTINGS
}
# The keys of `llm` in the `config.json` of a simulated reader that the report does not list as settings.
_NOT_LISTED = ("kind", "seed", "judge_error", "own")
# A score in `metrics.json` may differ from the mean of the predictions by this many percentage points, because of
# rounding. A larger difference gets a warning.
_ROUNDING = 0.06


def name_setting(key: str) -> str:
    """Return the name of a setting as the report writes it.

    For example, ``name_setting("yes_no")`` returns ``"yes/no"``, and ``name_setting("second_try")`` returns ``"second
    try"``.

    :param key: The name of the field.
    :returns: The name in the report.
    """
    return {"yes_no": "yes/no", "embedder": "embedding model"}.get(key, key.replace("_", " "))


# The usual value of each setting. For top-k, this is the value in PrefRAG (section 4.1).
USUAL: dict[str, Value] = {
    TOP_K: 5,
    "judge error": 0.0,
    **{name_setting(key): value for key, value in _DEFAULTS.items()},
}


@dataclass(frozen=True)
class Prediction:
    """A run's prediction for one question, without the trace."""

    # All that identifies the question, such as its text, earlier turns and gold answers. The id is not enough, because
    # two files may use one id for different questions.
    asked: Question
    # The measures that have a value, by key. Scores are in percent.
    values: Mapping[str, float]
    # The position in bytes at which the line of the prediction starts in `predictions.jsonl`.
    offset: int

    @property
    def right(self) -> bool | None:
        """Whether accuracy counts the answer as right. None if accuracy was not measured."""
        acc = self.values.get(ACC.key)
        return None if acc is None else acc >= 50


@dataclass(frozen=True)
class Run:
    """A run of one method on one dataset, or the mean of several runs that differ only in their seed."""

    # The folder of the run. For several repetitions, that of the first.
    folder: Path
    # A short name, which is unique in the report.
    name: str
    # The content of `config.json`.
    config: Mapping[str, Any]
    # The content of `metrics.json`: scores in percent, and counts as means per question.
    metrics: Mapping[str, object]
    # The predictions by the id of the question.
    predictions: Mapping[str, Prediction]
    # Sentences about problems, such as questions that failed.
    warnings: tuple[str, ...] = ()
    # The runs that were merged into this run. Empty for a single run.
    repetitions: tuple[Run, ...] = ()

    @property
    def runs(self) -> tuple[Run, ...]:
        """The repetitions, or the run itself if it has none."""
        return self.repetitions or (self,)

    @cached_property
    def pipeline(self) -> str:
        """The name of the pipeline."""
        return Path(str(self.config["pipeline"])).stem

    @cached_property
    def method(self) -> str:
        """The name of the pipeline, and the settings that were changed in it."""
        return " ".join([self.pipeline, *self.config.get("set", ())])

    @cached_property
    def family(self) -> str:
        """The name of the method, without the name of its retriever."""
        name = self.pipeline
        for ending in _RETRIEVERS:
            if name.endswith(ending):
                name = name.removesuffix(ending)
                break
        changed_settings = self.method.removeprefix(self.pipeline)
        return f"{name}{changed_settings}"

    @property
    def dataset(self) -> str:
        """The name of the dataset."""
        return str(self.config["dataset"])

    @property
    def llm(self) -> Mapping[str, Any]:
        """The description of the model in `config.json`."""
        llm = self.config.get("llm")
        if isinstance(llm, Mapping):
            return llm
        return {"kind": llm} if llm else {}

    @property
    def simulated(self) -> bool:
        """Whether the simulated reader took the place of the language model."""
        return bool(self.config.get("simulated")) or self.llm.get("kind") == "simulated"

    @cached_property
    def model(self) -> str:
        """The model in words."""
        if self.simulated:
            return "simulated reader"
        kind = self.llm.get("kind")
        model_name = self.llm.get("model") or self.llm.get("name") or ""
        if kind == "embedded":
            return f"embedded model {model_name}".strip()

        if kind == "reader":
            reader_facts = [f"{key} {self.llm[key]}" for key in ("reader", "files", "threshold") if key in self.llm]
            model = ", ".join(["extractive reader, no language model", *reader_facts])
        else:
            model = str(model_name or kind or "model not recorded")
        judge = self.llm.get("judge")
        if isinstance(judge, Mapping):
            judge_name = judge.get("model") or "not recorded"
            return f"{model}, judge {judge_name}"
        return model

    @property
    def judge_error(self) -> float | None:
        """The share of verdicts that the simulated judge gets wrong, from 0 to 1. None if no simulated model judges."""
        if self.config.get("judged") is False:
            return None
        error = self.llm.get("judge_error") if self.simulated else None
        return None if error is None else float(error)

    @property
    def top_k(self) -> int | None:
        """The number of documents per retrieval. None if `config.json` does not say, or if nothing is retrieved."""
        top_k = self.config.get("top_k")
        if top_k is None or self.family == "no_retrieval":
            return None
        return int(top_k)

    @property
    def retriever(self) -> str | None:
        """The kind of retriever. None if `config.json` does not say, or if nothing is retrieved."""
        retriever = self.config.get("retriever")
        if not retriever or self.family == "no_retrieval":
            return None
        return str(retriever)

    @property
    def seed(self) -> int | None:
        """The seed of random draws. None if the run has none."""
        seed = self.llm.get("seed", self.config.get("seed"))
        return None if seed is None else int(seed)

    @property
    def concurrency(self) -> int | None:
        """The number of questions that run at the same time. None if `config.json` does not say."""
        concurrency = self.config.get("concurrency")
        if concurrency is None:
            return None
        workers = self.config.get("workers") or 1
        return int(concurrency) * int(workers)

    @cached_property
    def settings(self) -> dict[str, Value]:
        """The settings that runs must share to be in one table. A setting that this run does not use is None."""
        values: dict[str, Value] = {key: self.config.get(key) for key in _DEFAULTS}
        if self.simulated:
            values |= {key: value for key, value in self.llm.items() if key not in _NOT_LISTED}
        return {
            "model": self.model,
            TOP_K: self.top_k,
            "judge error": self.judge_error,
            **{name_setting(key): value for key, value in values.items()},
        }

    @property
    def task(self) -> str | None:
        """The task: `split` if the corpus is split between the sources, otherwise `whole`.

        It is None if nothing was searched, or if `config.json` does not say. Runs of different tasks are not
        comparable, because methods choose a source only if the corpus is split.
        """
        split = None if self.family == "no_retrieval" else self.config.get("split")
        if split is None:
            return None
        return "split" if split else "whole"

    @property
    def passages(self) -> tuple[str, str]:
        """The corpus that was searched, and the search engine or corpus of the web.

        A text is empty if `config.json` does not say.
        """
        # If no corpus is named, the names of the collections identify what was searched.
        collections = ", ".join(str(name) for name in self.config.get("indexes") or () if name)
        corpus = str(self.config.get("corpus") or collections)
        web = "" if self.config.get("split") else str(self.config.get("web") or "")
        return corpus, web

    @property
    def order(self) -> tuple[object, ...]:
        """The sort key for the position of the run in a table."""
        # A method is placed by the longest name that it begins with. All other methods come last.
        matches = [name for name in _ORDER if self.method.startswith(name)]
        place = len(_ORDER)
        if matches:
            place = _ORDER.index(max(matches, key=len))
        return place, self.method, self.dataset, self.name

    def value(self, measure: Measure) -> float | None:
        """Get the value of a measure over all questions, from ``metrics.json``.

        :param measure: The measure.
        :returns: The value. None if there is none.
        """
        value = self.metrics.get(measure.key)
        if isinstance(value, int | float) and math.isfinite(value):
            return float(value)
        return None

    def full(self, ids: Iterable[str]) -> Iterator[PredictionLine]:
        """Read whole predictions from ``predictions.jsonl``, because they are too large to stay in memory.

        :param ids: The ids of the questions.
        :returns: An iterator over the predictions, in the order of the ids.
        """
        with (self.folder / PREDICTIONS).open("rb") as file:
            for id in ids:
                file.seek(self.predictions[id].offset)
                yield json.loads(file.readline())


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Read every run in these folders and the folders below. Runs that differ only in the seed are merged.

    :param folders: The folders.
    :returns: The runs in the order of the tables.
    :raises FileNotFoundError: If a folder does not exist.
    :raises ValueError: If a folder has no run, or a file is invalid.
    """
    # A dictionary has each folder once, in the order in which it was found.
    folders_of_runs: dict[Path, None] = {}
    for folder in folders:
        folders_of_runs.update(dict.fromkeys(_run_folders(Path(folder))))
    if not folders_of_runs:
        raise ValueError("There are no runs to report: give the folders that `prefrag evaluate --output` wrote.")
    root = Path(os.path.commonpath([run.parent for run in folders_of_runs]))
    runs = [_read_run(run, str(run.relative_to(root))) for run in folders_of_runs]
    return sorted(merge_repetitions(runs), key=lambda run: run.order)


def merge_repetitions(runs: Sequence[Run]) -> list[Run]:
    """Merge the runs that differ only in their seed into one run with their means.

    :param runs: The runs.
    :returns: The merged runs, and all other runs unchanged.
    """
    # Runs belong to one group if their settings, their models and their questions are equal.
    groups: dict[str, list[Run]] = {}
    for run in runs:
        config = {key: value for key, value in run.config.items() if key not in ("llm", "seed", *FREE)}
        llm = {key: value for key, value in run.llm.items() if key != "seed"}
        questions = [asdict(prediction.asked) for _, prediction in sorted(run.predictions.items())]
        key = json.dumps([config, llm, questions], sort_keys=True, default=str)
        groups.setdefault(key, []).append(run)

    merged = []
    for group in groups.values():
        # The runs of a group are merged only if each has a seed of its own.
        seeds = {run.seed for run in group} - {None}
        are_repetitions = len(group) > 1 and len(seeds) == len(group)
        if are_repetitions:
            merged.append(_merge(sorted(group, key=lambda run: run.seed or 0)))
        else:
            merged += group
    return merged


def _merge(runs: Sequence[Run]) -> Run:
    """Return the mean of several runs. Its folder and settings are those of the first run."""
    first = runs[0]
    predictions = {}
    for id, prediction in first.predictions.items():
        values = _average([run.predictions[id].values for run in runs])
        predictions[id] = replace(prediction, values=values)

    warnings = tuple(f"seed {run.seed}: {warning}" for run in runs for warning in run.warnings)
    metrics_of_runs = []
    for run in runs:
        metrics_of_runs.append({measure.key: run.value(measure) for measure in MEASURES})
    return replace(
        first,
        name=f"{first.name} ({len(runs)} seeds)",
        predictions=predictions,
        metrics=_average(metrics_of_runs),
        warnings=warnings,
        repetitions=tuple(runs),
    )


def _average(values: Sequence[Mapping[str, float | None]]) -> dict[str, float]:
    """Return the mean of each number, over the dictionaries that have it.

    For example, ``_average([{"acc": 50.0}, {"acc": 100.0, "f1": None}])`` returns ``{"acc": 75.0}``.
    """
    numbers_of_key: dict[str, list[float]] = {}
    for dictionary in values:
        for key, value in dictionary.items():
            if value is not None:
                numbers_of_key.setdefault(key, []).append(value)
    return {key: sum(numbers) / len(numbers) for key, numbers in numbers_of_key.items()}


def _run_folders(folder: Path) -> list[Path]:
    """List the folders of runs in a folder, at any depth."""
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}: give the output folder of `prefrag evaluate`.")
    runs = sorted(file.parent for file in folder.rglob(PREDICTIONS))
    if not runs:
        raise ValueError(f"{folder} holds no run: no {PREDICTIONS} in it or in a folder below.")
    return runs


def _read_run(folder: Path, name: str) -> Run:
    """Read a run from its folder. The warnings say what is unusual about the run."""
    config = _read_object(folder / CONFIG)
    if config is None:
        raise ValueError(f"The run {folder} has no {CONFIG}, which says what was run: run `evaluate` again.")
    missing = [key for key in ("pipeline", "dataset") if not config.get(key)]
    if missing:
        raise ValueError(f"{folder / CONFIG} lacks its {' and '.join(missing)}: run `evaluate` again.")

    predictions, warnings = _read_predictions(folder / PREDICTIONS)
    metrics = _read_object(folder / METRICS)
    run = Run(folder, name, config, metrics or {}, predictions)
    if metrics is None:
        run = replace(run, metrics=summarise(list(run.full(predictions))))
        warnings.append(
            f"no {METRICS}: the run did not finish; its numbers are for the {len(predictions)} finished questions"
        )
    else:
        warnings.extend(_contradictions(run))

    # How many gold passages are missing, and how many questions need them. None if nothing was compared.
    gold_missing = config.get("gold_missing")
    if isinstance(gold_missing, Mapping) and gold_missing.get("passages"):
        n_passages, n_questions = gold_missing["passages"], gold_missing.get("questions")
        warnings.append(f"gold passages not in the corpus: {n_passages} (questions: {n_questions})")
    n_failed = run.metrics.get("errors")
    if n_failed:
        warnings.append(f"questions that failed: {n_failed}")
    return replace(run, warnings=tuple(warnings))


def _read_object(path: Path) -> dict[str, object] | None:
    """Read a JSON object from a file. None if there is no such file."""
    if not path.is_file():
        return None
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not JSON ({error}): remove it or run `evaluate` again.") from error
    if not isinstance(value, dict):
        raise ValueError(f"{path} is not a JSON object: remove it or run `evaluate` again.")
    return value


def _read_predictions(path: Path) -> tuple[dict[str, Prediction], list[str]]:
    """Read the predictions of a run, without their traces. Return them with the warnings about unusual lines."""
    predictions: dict[str, Prediction] = {}
    warnings = []
    n_lines = 0
    # The position in bytes at which the next line starts.
    next_start = 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            start = next_start
            next_start += len(line)
            if not line.strip():
                continue
            try:
                prediction = _prediction(line, start, f"{path}, line {number}")
            except ValueError:
                if line.endswith(b"\n"):
                    raise
                # A run that is killed may leave an unfinished line. It is cut off when the run is continued.
                warnings.append("the last line of the predictions is incomplete and left out")
                continue
            n_lines += 1
            predictions[prediction.asked.id] = prediction
    if not predictions:
        raise ValueError(f"{path} holds no predictions, because the run answered no question: run `evaluate` again.")

    repeated = n_lines - len(predictions)
    if repeated:
        warnings.append(f"ids that occur twice (the last prediction of each counts): {repeated}")
    return predictions, warnings


def _prediction(line: bytes, offset: int, where: str) -> Prediction:
    """Read a prediction from a line. Scores that the line lacks are computed again.

    ``where`` names the line in errors.
    """
    try:
        data: PredictionLine = json.loads(line)
        question = Question.of_prediction(data)
        result = data.get("result") or {}
        scores = data.get("scores") or score(question, result, has_failed(data))
        costs = {**counts(result), SECONDS.key: float(data.get("seconds") or 0.0)}
        values = {measure.key: measure.of(scores, costs) for measure in MEASURES}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(
            f"{where}: not a prediction ({type(error).__name__}: {error}). Remove the line and run `evaluate` again: "
            "it continues with the questions that are missing."
        ) from error
    # A measure without a value is NaN.
    measured_values = {key: value for key, value in values.items() if not math.isnan(value)}
    return Prediction(question, measured_values, offset)


def _contradictions(run: Run) -> Iterator[str]:
    """Yield a warning for each score of `metrics.json` that is not the mean of the predictions.

    A score that some questions do not have is not compared.
    """
    for measure in MEASURES:
        recorded = run.value(measure)
        values = [prediction.values.get(measure.key) for prediction in run.predictions.values()]
        numbers = [value for value in values if value is not None]
        have_all_values = len(numbers) == len(values)
        if measure.kind == "share" and recorded is not None and have_all_values:
            mean = sum(numbers) / len(numbers)
            if abs(mean - recorded) > _ROUNDING:
                yield f"{METRICS} states {measure.key} {recorded:g}, but the predictions give {mean:.1f}"
