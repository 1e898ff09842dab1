"""Compute what each half of a split corpus holds of the gold passages."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from prefrag.components.text.passage_record import PassageError, passage_lines, read_passage_line
from prefrag.evaluation.report.measures import DASH
from prefrag.evaluation.report.runs import Run
from prefrag.evaluation.report.table import Cell, Row, Table

_SOURCES = ("local", "web", "both")
_NOTE = (
    "The shares of the gold passages that the local source alone, the web alone and both hold, and the questions with "
    "gold passages that the local source lacks and others that the web lacks: no method can find all of those in one "
    "source."
)


def describe_split(runs: Sequence[Run]) -> Table | None:
    """Make a table of the shares of each split corpus."""
    gold: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
    for run in runs:
        if run.config.get("split") and run.config.get("corpus"):
            held = gold.setdefault((run.dataset, str(run.config["corpus"])), {})
            held.update({id: prediction.gold for id, prediction in run.predictions.items()})
    if not gold:
        return None
    corpora = Counter(dataset for dataset, _ in gold)
    rows = [
        Row(
            dataset if corpora[dataset] == 1 else f"{dataset} ({corpus})",
            _fill_cells(of_question, _read_sources(Path(corpus), {id for ids in of_question.values() for id in ids})),
        )
        for (dataset, corpus), of_question in sorted(gold.items())
    ]
    columns = (*("Questions", "Gold passages"), *("Local only %", "Web only %", "Both %"), "Neither half alone")
    title = "The split (dataset statistics: PrefRAG, table 3)"
    return Table("shares", title, _NOTE, (("", len(columns)),), columns, tuple(rows), label="Dataset")


def _fill_cells(of_question: Mapping[str, Sequence[str]], sources: Mapping[str, str] | None) -> tuple[Cell, ...]:
    if not sources:
        return (Cell(str(len(of_question))), *[Cell(DASH)] * 5)
    number = Counter(sources.values())
    shares = [f"{100 * number[source] / len(sources):.1f}" for source in _SOURCES]
    held = [{sources.get(id) for id in ids} for ids in of_question.values()]
    neither = sum({"local", "web"} <= found for found in held)
    return tuple(Cell(text) for text in (str(len(of_question)), str(len(sources)), *shares, str(neither)))


def _read_sources(corpus: Path, ids: set[str]) -> dict[str, str] | None:
    """Return the source of each of these passages, or None where the corpus cannot be read."""
    found = {}
    try:
        with corpus.open("rb") as stream:
            for number, _, line in passage_lines(stream):
                try:
                    record = read_passage_line(line, number)
                except PassageError:
                    # The index leaves it out, too.
                    continue
                if record.id in ids and record.source in _SOURCES:
                    found[record.id] = str(record.source)
    except OSError:
        return None
    return found
