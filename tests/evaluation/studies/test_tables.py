"""The published tables are those that their command writes."""

from pathlib import Path

import pytest

from prefrag.evaluation.studies import tables
from prefrag.evaluation.studies.tables import DETAILS, DOCUMENT, RESULTS, add_lines, lay_out, read_lines, write_into

SETTINGS = {"dataset": "own", "pipeline": "prefrag", "seed": "0", "judge error": "-"}
LAYOUT = {
    "datasets": {"Own": "own"},
    "where": {"judge error": 0.0},
    "tables": {"one": {"head": "method", "cell": "{acc} ({total})", "rows": ["prefrag"]}},
}


def line(seed: int, acc: str, **others: str) -> dict[str, str]:
    return {**SETTINGS, "seed": str(seed), "n": "82", "acc": acc, "total": "2.51", "split": "", **others}


def test_the_published_tables_are_what_the_command_writes():
    text = "".join(document.read_text(encoding="utf-8") for document in (DOCUMENT, DETAILS))
    laid_out = lay_out(read_lines(RESULTS), tables.LAYOUT)

    assert [name for name, table in laid_out.items() if f"<!-- {name} -->\n{table}\n" not in text] == []


def test_cell_has_means_over_seeds_and_any_deviation():
    # 69 of 82 are 84.146 percent. The file's two digits alone would round to 84.2.
    seeds = (["84.15"], ["84.15", "84.15"], ["84.15", "82.93"])
    alone, same, two = (
        lay_out([line(seed, acc) for seed, acc in enumerate(accuracies)], LAYOUT)["one"] for accuracies in seeds
    )

    assert alone == same == "| method | Own |\n|---|---|\n| `prefrag` | 84.1 (2.51) |"
    assert "83.5 ± 0.9 (2.51)" in two


def test_a_line_that_is_missing_is_named():
    with pytest.raises(ValueError, match=r"one: no line of the results has .*'own'.* give the table with --add"):
        lay_out([line(0, "50.00", dataset="other")], LAYOUT)


def test_a_line_replaces_that_of_the_same_settings(tmp_path: Path):
    file = tmp_path / "results.csv"
    first = line(0, "50.00")
    file.write_text(",".join(first) + "\n" + ",".join(first.values()) + "\n", encoding="utf-8")

    add_lines(file, [line(0, "60.00"), line(1, "70.00", further="left out")])

    assert [one["acc"] for one in read_lines(file)] == ["60.00", "70.00"]


def test_a_table_is_written_in_its_place(tmp_path: Path):
    file = tmp_path / "own.md"
    file.write_text("Before\n\n<!-- one -->\n| old |\n|---|\n\nBehind | it\n", encoding="utf-8")

    write_into(file, {"one": "| new |\n|---|", "elsewhere": "| no |"})

    assert file.read_text(encoding="utf-8") == "Before\n\n<!-- one -->\n| new |\n|---|\n\nBehind | it\n"
    with pytest.raises(ValueError, match="no comments for the tables elsewhere"):
        write_into(file, {"elsewhere": ""})
