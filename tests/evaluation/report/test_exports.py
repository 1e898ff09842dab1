"""The tables for spreadsheets and for papers."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from prefrag.evaluation.report import write_report
from prefrag.evaluation.report.exports import escape_latex
from tests.evaluation.report.run_folders import SIMULATED, predictions, write_run

pytest.importorskip("matplotlib", reason="the report draws with matplotlib: make install EXTRAS=evaluation")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("tables")
    write_run(tmp_path / "runs" / "a", predictions(35, web=1))
    write_run(tmp_path / "runs" / "b", predictions(10), pipeline="react_mix")
    write_run(tmp_path / "runs" / "c", predictions(10), pipeline="50%_own&", llm={**SIMULATED, "distraction": 0.02})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("prefrag.evaluation.report.plots.draw_all", lambda *_: [])
        return write_report([tmp_path / "runs"], tmp_path / "report").parent / "tables"


def test_tables_are_csv_files_with_settings_and_intervals(tables: Path) -> None:
    with (tables / "split-overall.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))

    assert [(line["setting"], line["method"], line["musique Acc"]) for line in lines] == [
        ("distraction 0", "react_mix", "25.0"),
        ("distraction 0", "prefrag", "87.5"),
        ("distraction 0.02", "50%_own&", "25.0"),
    ]
    assert re.fullmatch(r"\d\d\.\d-\d\d\.\d", lines[0]["musique Acc interval"])


def test_every_table_is_a_latex_table_with_booktabs(tables: Path) -> None:
    text = (tables / "split-overall.tex").read_text()

    assert text.count(r"\toprule") == text.count(r"\midrule") == text.count(r"\bottomrule") == 1
    assert r"50\%\_own\& & 25.0 & 25.0 & 25.0 & 25.0 \\" in text
    assert r"prefrag & \textbf{87.5}" in text
    body = text.partition(r"\midrule")[2].partition(r"\bottomrule")[0]
    for line in body.splitlines():
        assert line.count(" & ") in (0, 4) or "50" in line
    assert text.count("{") == text.count("}")


def test_every_difference_is_a_line_with_both_p_values(tables: Path) -> None:
    with (tables / "comparisons.csv").open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if (line["run"], line["against"]) == ("a", "b")]

    assert [line["measure"] for line in lines][:4] == ["acc", "f1", "em", "recall"]
    assert (lines[0]["difference"], lines[0]["verdict"]) == ("62.5000", "better")
    assert 0 < float(lines[0]["p"]) <= float(lines[0]["p corrected"]) < 0.001


def test_page_lists_the_files_and_latex_has_special_characters(tables: Path):
    page = (tables.parent / "report.html").read_text()

    for file in tables.iterdir():
        assert f"<code>tables/{file.name}</code>" in page

    assert escape_latex("a_b 5% {x} \\y \N{MINUS SIGN}3 ~^ $ # [z]") == (
        r"a\_b 5\% \{x\} \textbackslash{}y $-$3 \textasciitilde{}\textasciicircum{} \$ \# {[}z{]}"
    )
