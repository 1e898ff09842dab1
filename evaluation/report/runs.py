"""Read the folders of runs."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prefrag.evaluation.metrics import has_failed, score, summarise
from prefrag.evaluation.metrics.counts import counts
from prefrag.evaluation.question import Question
from prefrag.evaluation.report.measures import ACC, DASH, MEASURES, SECONDS, Measure
from prefrag.evaluation.runs.run_folder import CONFIG, METRICS, PREDICTIONS

# The order of the tables: baselines first, as in the papers.
_ORDER = ("no_retrieval", "vanilla", "react", "crag", "dr_rag", "mspr", "prefrag")
# The part of a pipeline's name that only names its retriever.
_RETRIEVERS = ("_elasticsearch_dense", "_elasticsearch", "_dense", "_hybrid")
# The allowed difference between a score of metrics.json and the mean of its predictions, which are both rounded.
_ROUNDING = 0.06


@dataclass(frozen=True)
class Prediction:
    """One question of a run, without its trace.

    :param id: The question's id.
    :param question: The question.
    :param answers: The gold answers.
    :param values: The value of each measure by key, scores in percent; missing ones are left out.
    :param offset: Where its line starts in ``predictions.jsonl``, in bytes.
    """

    id: str
    question: str
    answers: tuple[str, ...]
    values: Mapping[str, float]
    offset: int

    @property
    def content(self) -> tuple[str, str, tuple[str, ...]]:
        """The question and its gold answers, because two files may use one id for different questions."""
        return self.id, self.question, self.answers

    @property
    def right(self) -> bool | None:
        """Whether the answer counts as right (acc); None when that was not measured."""
        acc = self.values.get(ACC.key)
        return None if acc is None else acc >= 50


@dataclass(frozen=True)
class Run:
    """One method on one dataset.

    :param folder: Its folder.
    :param name: A short name, unique in the report.
    :param config: Its ``config.json``.
    :param metrics: Its ``metrics.json``: scores in percent, counts as means a question.
    :param predictions: Its questions by id.
    :param warnings: Warnings for the reader.
    """

    folder: Path
    name: str
    config: Mapping[str, Any]
    metrics: Mapping[str, Any]
    predictions: Mapping[str, Prediction]
    warnings: tuple[str, ...] = ()

    @property
    def method(self) -> str:
        """The name of its pipeline."""
        return Path(str(self.config["pipeline"])).stem

    @property
    def family(self) -> str:
        """The name of its pipeline without that of the retriever."""
        for suffix in _RETRIEVERS:
            if self.method.endswith(suffix):
                return self.method.removesuffix(suffix)
        return self.method

    @property
    def dataset(self) -> str:
        """The name of its dataset."""
        return str(self.config["dataset"])

    @property
    def llm(self) -> Mapping[str, Any]:
        """The description of its model in config.json."""
        llm = self.config.get("llm")
        return llm if isinstance(llm, Mapping) else {"kind": llm} if llm else {}

    @property
    def simulated(self) -> bool:
        """Whether no language model took part."""
        return bool(self.config.get("simulated")) or self.llm.get("kind") == "simulated"

    @property
    def model(self) -> str:
        """Its model in words, without the judge's error rate."""
        if self.simulated:
            errors = [f"{key.replace('_', ' ')} {self.llm[key]}" for key in _SIMULATED if self.llm.get(key) is not None]
            return ", ".join(["simulated reader", *errors])
        named = next((str(self.llm[key]) for key in ("model", "name") if self.llm.get(key)), None)
        if self.llm.get("kind") == "embedded":
            return f"embedded model {named or ''}".strip()
        if self.llm.get("kind") == "reader":
            facts = [f"{key} {self.llm[key]}" for key in ("reader", "files", "threshold") if key in self.llm]
            named = ", ".join(["reader, no language model", *facts])
        model = named or str(self.llm.get("kind") or "model not recorded")
        judge = self.llm.get("judge")
        return f"{model}, judge {judge.get('model') or 'of its own'}" if isinstance(judge, Mapping) else model

    @property
    def judge_error(self) -> float | None:
        """The share of verdicts that the simulated judge gets wrong, 0 to 1; None where no model judges."""
        if self.config.get("judged") is False:
            return None
        error = self.llm.get("judge_error") if self.simulated else None
        return None if error is None else float(error)

    @property
    def top_k(self) -> int | None:
        """Documents per retrieval; None where config.json lacks it, or nothing is retrieved."""
        return None if self.config.get("top_k") is None or self.family == "no_retrieval" else int(self.config["top_k"])

    @property
    def retriever(self) -> str | None:
        """The kind of its retriever; None where config.json lacks it, or nothing is retrieved."""
        retriever = self.config.get("retriever")
        return None if not retriever or self.family == "no_retrieval" else str(retriever)

    @property
    def concurrency(self) -> int | None:
        """Questions that run at the same time; None where config.json lacks it."""
        return None if self.config.get("concurrency") is None else int(self.config["concurrency"])

    @property
    def corpus(self) -> str:
        """How the corpus was used: split between the sources, or whole."""
        split = self.config.get("split")
        return DASH if split is None else "split by source" if split else "whole"

    @property
    def passages(self) -> tuple[str, str]:
        """The corpus that it searched and the one that replaced the web; empty where config.json lacks them."""
        # Without a corpus of the run, only the names of the indexes identify what was searched.
        indexes = ", ".join(str(index) for index in self.config.get("indexes") or () if index)
        corpus = str(self.config.get("corpus") or indexes)
        return corpus, "" if self.config.get("split") else str(self.config.get("web") or "")

    @property
    def order(self) -> tuple[Any, ...]:
        """Its position in a table."""
        group = next((number for number, name in enumerate(_ORDER) if self.method.startswith(name)), len(_ORDER))
        return (group, self.method, self.dataset, self.name)

    def value(self, measure: Measure) -> float | None:
        """Look up a measure over all questions.

        :param measure: A measure.
        :returns: Its value in metrics.json; None when it is missing.
        """
        value = self.metrics.get(measure.key)
        return float(value) if isinstance(value, int | float) and math.isfinite(value) else None

    def full(self, ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Read whole lines of ``predictions.jsonl`` again, which are too large to keep in memory.

        :param ids: Ids of questions.
        :returns: Their predictions, in that order.
        """
        with (self.folder / PREDICTIONS).open("rb") as file:
            for id in ids:
                file.seek(self.predictions[id].offset)
                yield json.loads(file.readline())


_SIMULATED = ("reflection_error", "distraction", "seed")


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """Read every run in some folders.

    :param folders: Run folders, or folders that hold run folders at any depth.
    :returns: The runs, in the order of the tables.
    :raises FileNotFoundError: When a folder is not there.
    :raises ValueError: When there is no run in a folder, or a run cannot be read; the message advises what to do.
    """
    found = dict.fromkeys(run for folder in folders for run in _run_folders(Path(folder)))
    if not found:
        raise ValueError("There is no run to report: give the folders that `prefrag evaluate --output` wrote.")
    root = Path(os.path.commonpath([run.parent for run in found]))
    runs = [_read_run(run, str(run.relative_to(root))) for run in found]
    return sorted(runs, key=lambda run: run.order)


def _run_folders(folder: Path) -> list[Path]:
    folder = folder.expanduser().resolve()
    if not folder.is_dir():
        raise FileNotFoundError(f"There is no folder {folder}: give the output folder of `prefrag evaluate`.")
    runs = sorted(file.parent for file in folder.rglob(PREDICTIONS))
    if not runs:
        raise ValueError(f"{folder} holds no run: no {PREDICTIONS} in it or in a folder below.")
    return runs


def _read_run(folder: Path, name: str) -> Run:
    config = _object(folder / CONFIG)
    if config is None:
        raise ValueError(f"The run {folder} has no {CONFIG}, so nobody knows what was run: run `evaluate` again.")
    if missing := [key for key in ("pipeline", "dataset") if not config.get(key)]:
        raise ValueError(f"{folder / CONFIG} lacks its {' and '.join(missing)}: run `evaluate` again.")
    predictions, warnings = _read_predictions(folder / PREDICTIONS)
    metrics = _object(folder / METRICS)
    run = Run(folder, name, config, metrics or {}, predictions)
    if metrics is None:
        run = replace(run, metrics=summarise(list(run.full(predictions))))
        warnings.append(
            f"no {METRICS}: the run did not finish; its numbers are of the {len(predictions)} questions done"
        )
    else:
        warnings.extend(_contradictions(run))
    lost = config.get("gold_missing")
    if isinstance(lost, Mapping) and lost.get("passages"):
        warnings.append(f"gold passages not in the corpus: {lost['passages']}, of {lost.get('questions')} questions")
    if failed := run.metrics.get("errors"):
        warnings.append(f"questions that failed: {failed}")
    return replace(run, warnings=tuple(warnings))


def _object(path: Path) -> dict[str, Any] | None:
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
    predictions: dict[str, Prediction] = {}
    warnings = []
    lines, offset = 0, 0
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            start, offset = offset, offset + len(line)
            if not line.strip():
                continue
            try:
                prediction = _prediction(line, start, f"{path}, line {number}")
            except ValueError:
                if line.endswith(b"\n"):
                    raise
                # A killed run leaves an unfinished line, and cuts it off when it continues.
                warnings.append("the last line was never finished and is left out")
                continue
            lines += 1
            predictions[prediction.id] = prediction
    if not predictions:
        raise ValueError(f"{path} holds no prediction: the run has answered no question; run `evaluate` again.")
    if repeated := lines - len(predictions):
        warnings.append(f"ids given twice, the last one counts: {repeated}")
    return predictions, warnings


def _prediction(line: bytes, offset: int, where: str) -> Prediction:
    try:
        data = json.loads(line)
        question = Question(
            id=str(data["id"]),
            question=str(data.get("question") or ""),
            answers=tuple(str(answer) for answer in data.get("answers") or ()),
            supporting_ids=tuple(data.get("supporting_ids") or ()),
            dataset=str(data.get("dataset") or ""),
        )
        result = data.get("result") or {}
        scores = data.get("scores") or score(question, {} if has_failed(data) else result)
        counted = {**counts(result), SECONDS.key: float(data.get("seconds") or 0.0)}
        values = {measure.key: measure.of(scores, counted) for measure in MEASURES}
    except (ValueError, TypeError, AttributeError, KeyError) as error:
        raise ValueError(
            f"{where}: not a prediction ({type(error).__name__}: {error}). Remove the line and run `evaluate` again: "
            "it continues with the questions that are missing."
        ) from error
    known = {key: value for key, value in values.items() if not math.isnan(value)}
    return Prediction(question.id, question.question, question.answers, known, offset)


def _contradictions(run: Run) -> Iterator[str]:
    """Yield the scores of metrics.json that are not the mean of the predictions, because a file was edited."""
    for measure in MEASURES:
        stated = run.value(measure)
        values = [prediction.values.get(measure.key) for prediction in run.predictions.values()]
        known = [value for value in values if value is not None]
        if measure.kind == "share" and stated is not None and len(known) == len(values):
            mean = sum(known) / len(known)
            if abs(mean - stated) > _ROUNDING:
                yield f"{METRICS} states {measure.key} {stated:g}, its predictions give {mean:.1f}"
