"""The legends of the plots."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.evaluation.report import plots
from prefrag.evaluation.report.grouping import group_by_setting
from tests.evaluation.report.run_folders import write_runs


def test_a_legend_names_each_method_once_and_the_methods_of_a_family_have_different_marks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    drawn: dict[str, Any] = {}
    monkeypatch.setattr(plots, "_svg", lambda figure, name, words: drawn.setdefault(name, figure))
    names = ("react", "prefrag", "prefrag_direct", "prefrag_with_a_name_that_would_not_fit_beside_its_mark")
    runs = {f"{name}-{k}": {"right": 9, "pipeline": name, "top_k": k} for name in names for k in (3, 5)}

    plots.draw_all(group_by_setting(write_runs(tmp_path, **runs)), {})

    for name in ("total--musique", "documents_per_question--musique"):
        (legend,) = drawn[name].legends
        assert sorted(text.get_text() for text in legend.get_texts()) == sorted(names)
        marks = {(line.get_color(), line.get_marker()) for line in legend.get_lines()}
        assert len(marks) == len(names)
