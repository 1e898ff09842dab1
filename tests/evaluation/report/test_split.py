"""What each half of a split corpus holds."""

from __future__ import annotations

import json
from pathlib import Path

from prefrag.evaluation.report.measures import DASH
from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.split import describe_split
from prefrag.evaluation.report.table import Table
from tests.evaluation.report.run_folders import predictions, write_run


def shares(folder: Path) -> Table | None:
    return describe_split(read_runs([folder]))


def test_the_shares_of_the_split_are_those_of_the_gold_passages(tmp_path: Path) -> None:
    sources = {
        **{"q000-gold": "local", "q000-missed": "web"},
        **{"q001-gold": "local", "q001-missed": "both"},
        **{"q002-gold": "local", "q002-missed": "local"},
        **{"q003-gold": "both", "q003-missed": "web", "other": "web"},
    }
    corpus = tmp_path / "corpus.jsonl"
    lines = [json.dumps({"id": id, "text": "A text.", "source": source}) for id, source in sources.items()]
    corpus.write_text("\n".join([*lines, "no passage"]))
    write_run(tmp_path / "runs" / "a", predictions(1, 4), corpus=str(corpus))
    write_run(tmp_path / "runs" / "b", predictions(1, 4), corpus=str(corpus), pipeline="react")

    table = shares(tmp_path / "runs")

    assert table is not None
    assert [(row.label, *(cell.text for cell in row.cells)) for row in table.rows] == [
        ("musique", "4", "8", "50.0", "25.0", "25.0", "1")
    ]
    assert table.columns[-1] == "Neither half alone"


def test_a_corpus_that_is_gone_has_dashes(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(1, 4), corpus=str(tmp_path / "gone.jsonl"))

    table = shares(tmp_path)

    assert table is not None
    assert [cell.text for cell in table.rows[0].cells] == ["4", *[DASH] * 5]


def test_a_whole_corpus_has_no_shares(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(1, 4), split=False)

    assert shares(tmp_path) is None
