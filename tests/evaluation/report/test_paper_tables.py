import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prefrag.evaluation.metrics import score
from prefrag.evaluation.question import Question
from prefrag.evaluation.report.comparison import score_intervals
from prefrag.evaluation.report.grouping import group_by_setting
from prefrag.evaluation.report.measures import DASH
from prefrag.evaluation.report.paper_tables import describe_split, paper_tables
from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.table import Table
from tests.evaluation.report.run_folders import SERVER, SIMULATED, predictions, write_run, write_runs


def tables(folder: Path) -> dict[str, Table]:
    runs = read_runs([folder])
    return {table.id: table for table in paper_tables(group_by_setting(runs), score_intervals(runs))}


def lines(table: Table) -> list[tuple[str, ...]]:
    return [(row.label, *(cell.text for cell in row.cells)) for row in table.rows]


def test_overall_has_methods_by_datasets(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), pipeline="react")
    write_run(tmp_path / "c", predictions(10, dataset="hotpotqa"), dataset="hotpotqa")

    table = tables(tmp_path)["overall"]

    assert table.groups == (("hotpotqa", 4), ("musique", 4))
    assert table.flat_columns[:4] == ["hotpotqa Acc", "hotpotqa F1", "hotpotqa EM", "hotpotqa Avg"]
    assert lines(table)[1:] == [
        ("react", DASH, DASH, DASH, DASH, "50.0", "50.0", "50.0", "50.0"),
        ("prefrag", "25.0", "25.0", "25.0", "25.0", "75.0", "75.0", "75.0", "75.0"),
    ]
    react, prefrag = table.rows[1].cells[4], table.rows[2].cells[4]
    assert (react.best, prefrag.best) == (False, True)
    assert react.interval.startswith("35.0")
    assert not table.rows[2].cells[0].best


def test_runs_without_a_model_begin_with_given_and_withheld(tmp_path: Path) -> None:
    question = Question("a", "Who?", ("Beta",), answerable=True, sentences=("It was Beta.",), dataset="own")
    results = [
        (question, {"answer": "Beta", "queries_sent_out": []}),
        (replace(question, id="b", answers=(), answerable=False, sentences=()), {"answer": "", "not_found": True}),
        (replace(question, id="c", answers=(), answerable=False, sentences=()), {"answer": "Beta"}),
    ]
    of_reader = [
        {**asked.to_prediction(), "scores": score(asked, result), "result": result} for asked, result in results
    ]
    write_run(tmp_path / "a", of_reader, dataset="own", llm={"kind": "reader"})
    write_run(tmp_path / "b", predictions(20))

    first, table = next(iter(tables(tmp_path).items()))

    assert (first, table.columns) == (
        "certainty",
        (
            "Given",
            "Right of given",
            "Fair of given",
            "Said unknown",
            "Sentence first",
            "Among three",
            "Needless queries",
        ),
    )
    assert lines(table)[1:] == [("prefrag", "100.0", "50.0", "50.0", "50.0", "0.0", "0.0", "0.0")]


@pytest.mark.parametrize(
    ("other", "noted"),
    [
        ({"pipeline": "mspr"}, ""),
        ({"pipeline": "react", "right": predictions(20, 30)}, "have the same questions"),
        ({"pipeline": "mspr", "right": predictions(20, question="Who else?")}, "have the same questions"),
        ({"pipeline": "vanilla_mix", "corpus": "half.jsonl"}, "searched the same corpus"),
    ],
    ids=["nothing", "fewer questions", "other questions under the same ids", "another corpus"],
)
def test_doubts_of_lines_that_compare_less_are_below_the_title(
    tmp_path: Path, other: dict[str, Any], noted: str
) -> None:
    write_runs(tmp_path, a={}, b=dict(other))

    note = tables(tmp_path)["overall"].note

    assert re.findall(r"Not all lines (.*?) \(musique\)", note) == ([noted] if noted else [])


QDC = {"pipeline": "dr_rag_qdc", "top_k": 6}
VANILLA = {"pipeline": "vanilla_local"}


@pytest.mark.parametrize(
    ("table", "others", "labels"),
    [
        ("overall", [{"pipeline": "no_retrieval", "retriever": None}], ["no_retrieval", "prefrag"]),
        ("overall", [VANILLA, QDC], ["vanilla_local", "dr_rag_qdc (k 6)", "prefrag"]),
        ("overall", [VANILLA, {"top_k": 3}], ["vanilla_local", "prefrag", "k 3", "prefrag"]),
        ("overall", [{}], ["prefrag", "prefrag (a)"]),
        (
            "prefrag-2",
            [{"pipeline": "prefrag_without_preference"}, {"pipeline": "react"}, {"top_k": 3}],
            ["prefrag", "prefrag_without_preference"],
        ),
    ],
    ids=[
        "a method without retrieval stands with the others",
        "a method with a top-k of its own stands with the others",
        "what was run with several top-k keeps them apart",
        "two runs of one method under one setting are distinguished",
        "an ablation has prefrag and its parts alone",
    ],
)
def test_a_table_has_a_line_for_each_method(
    tmp_path: Path, table: str, others: list[dict[str, Any]], labels: list[str]
) -> None:
    write_runs(
        tmp_path, a={"right": 30}, **{str(place): dict(settings) for place, settings in enumerate(others, start=1)}
    )

    assert [row.label for row in tables(tmp_path)[table].rows][1:] == labels


def test_models_have_own_blocks_and_unmeasured_numbers_a_dash(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", predictions(30))
    assert set(tables(tmp_path)) == {"overall", "counts", "recall"}, "others would have no runs"
    (folder / "metrics.json").write_text('{"acc": 75.0}')
    write_run(tmp_path / "b", predictions(20), llm=SERVER)
    table = tables(tmp_path)["overall"]
    unmeasured, served = (line for line, row in zip(lines(table), table.rows, strict=True) if row.cells)
    assert (unmeasured, served[0]) == (("prefrag", "75.0", DASH, DASH, DASH), "prefrag")
    headings = [row.label for row in table.rows if not row.cells]
    assert "simulated" in headings[0]
    assert headings[1] == "glm"


def test_a_dataset_of_yes_and_no_has_accuracy_alone(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30, dataset="bioasq"), dataset="bioasq")
    assert tables(tmp_path)["overall"].columns == ("Acc",)


def test_the_tables_of_a_paper_have_its_methods_in_its_order(tmp_path: Path) -> None:
    for name in ("mspr", "react", "flare", "vanilla_mix", "no_retrieval", "self_rag", "crag", "ircot", "vanilla_local"):
        write_run(tmp_path / name, predictions(20), pipeline=name)
    write_run(tmp_path / "prefrag", predictions(20))
    write_run(tmp_path / "without", predictions(10), pipeline="mspr", set=["refiner.enabled=false"])

    labels = {id: [row.label for row in table.rows if row.cells] for id, table in tables(tmp_path).items()}

    vanilla = ["no_retrieval", "vanilla_local", "vanilla_mix"]
    assert labels["prefrag-1"] == [*vanilla, "flare", "self_rag", "crag", "react", "prefrag"]
    assert labels["mspr-1"] == [*vanilla, "self_rag", "flare", "crag", "react", "mspr"]
    assert labels["mspr-2"] == ["mspr refiner.enabled=false", "mspr"]
    assert not {"dr-rag-2", "dr-rag-4", "dr-rag-5"} & labels.keys(), "they are about DR-RAG"


def test_tables_of_dr_rag_have_similarity_matching_beside_words(tmp_path: Path) -> None:
    for name in ("dr_rag_cfs", "dr_rag_qdc", "vanilla_local", "ircot", "adaptive_rag"):
        write_run(tmp_path / name, predictions(20), pipeline=name, split=False)
    write_run(tmp_path / "sm", predictions(20), pipeline="vanilla_local_dense", split=False, retriever="dense")

    labels = {id: [row.label for row in table.rows if row.cells] for id, table in tables(tmp_path).items()}

    assert labels["dr-rag-2"] == [
        *("vanilla_local", "vanilla_local_dense", "adaptive_rag", "ircot", "dr_rag_qdc", "dr_rag_cfs")
    ]
    assert labels["dr-rag-5"] == ["vanilla_local", "vanilla_local_dense", "dr_rag_qdc", "dr_rag_cfs"]


def test_top_k_and_retrievers_are_what_alone_differs(tmp_path: Path) -> None:
    write_run(tmp_path / "k5", predictions(30))
    write_run(tmp_path / "k3", predictions(20), top_k=3)
    write_run(tmp_path / "dense", predictions(10), pipeline="prefrag_dense", retriever="dense")
    write_run(tmp_path / "erring", predictions(5), llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "react", predictions(20), pipeline="react")

    by_id = tables(tmp_path)

    assert [line[:2] for line in lines(by_id["top-k"])] == [
        ("k 3",),
        ("prefrag", "50.0"),
        ("k 5",),
        ("prefrag", "75.0"),
    ]
    assert [line[:2] for line in lines(by_id["retrievers"])] == [
        ("retriever bm25",),
        ("prefrag", "75.0"),
        ("retriever dense",),
        ("prefrag", "25.0"),
    ]


def test_recall_stands_beside_other_retrievers_at_the_same_k(tmp_path: Path) -> None:
    write_run(tmp_path / "words", predictions(20), pipeline="vanilla_local", top_k=6)
    write_run(tmp_path / "cfs", predictions(20), pipeline="dr_rag_cfs", top_k=6)
    write_run(tmp_path / "sm", predictions(20), pipeline="vanilla_local_dense", retriever="dense", top_k=6)
    write_run(tmp_path / "sm_cfs", predictions(20), pipeline="dr_rag_cfs_dense", retriever="dense", top_k=6)
    write_run(tmp_path / "k3", predictions(20), pipeline="vanilla_local", top_k=3)

    by_id = tables(tmp_path)
    recall, of_paper = by_id["recall"], by_id["dr-rag-5"]

    methods = ["vanilla_local", "vanilla_local_dense", "dr_rag_cfs", "dr_rag_cfs_dense"]
    assert [row.label for row in recall.rows] == ["k 6", *methods, "k 3", "vanilla_local"]
    assert [row.label for row in of_paper.rows] == ["k 6", *methods]
    assert "Similarity Matching is vanilla_local_dense" in of_paper.note
    assert "by default 0.5, which suits a classifier trained" in of_paper.note


def test_counts_and_recall_are_means_a_question(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [*predictions(10, 20, local=2, web=1), *predictions(0, 40, local=1)[20:]])

    by_id = tables(tmp_path)

    assert lines(by_id["counts"])[1] == ("prefrag", "25.0", "1.50", "0.50", "2.00", "1.50", "1.50", "8.00")
    assert lines(by_id["recall"])[1] == ("prefrag", "50.0", "0.0", "2.00")


@pytest.mark.parametrize(
    ("others", "times"),
    [
        ([{**VANILLA, "concurrency": 1}], {"vanilla_local": "1.00", "prefrag": DASH}),
        ([{**VANILLA, "concurrency": 1}, {**VANILLA, "seconds": 1.0}], {"prefrag": "3.00"}),
        ([VANILLA, {**QDC, "seconds": 3.0}], {"vanilla_local": "1.00", "dr_rag_qdc (k 6)": "1.50"}),
    ],
    ids=["to no other", "to that one of two", "of a method with a top-k of its own too"],
)
def test_time_is_relative_to_single_step_rag_of_equal_load(
    tmp_path: Path, others: list[dict[str, Any]], times: dict[str, str]
) -> None:
    """As many questions are asked at once."""

    write_run(tmp_path / "a", predictions(30, seconds=3.0), concurrency=16)
    for number, config in enumerate({"seconds": 2.0, "concurrency": 16} | settings for settings in others):
        write_run(tmp_path / str(number), predictions(20, seconds=config.pop("seconds")), **config)

    table = tables(tmp_path)["cost"]

    assert {line[0]: line[5] for line in lines(table)[1:]}.items() >= times.items()
    assert "both runs had the same number of concurrent" in table.note


def test_the_table_of_dr_rag_has_calls_and_relative_time(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20, seconds=2.0), pipeline="vanilla_local", split=False)
    write_run(tmp_path / "b", predictions(30, seconds=3.0), pipeline="dr_rag_qdc", split=False)

    table = tables(tmp_path)["dr-rag-2"]

    assert table.columns == ("EM", "F1", "Acc", "Calls", "Time")
    assert {line[0]: line[5] for line in lines(table)[1:]} == {"vanilla_local": "1.00", "dr_rag_qdc": "1.50"}


def test_time_is_relative_to_a_run_over_the_same_dataset(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30, seconds=3.0))
    write_run(tmp_path / "b", predictions(20, seconds=2.0), pipeline="vanilla_local")
    write_run(tmp_path / "c", predictions(20, dataset="hotpotqa"), dataset="hotpotqa")

    table = tables(tmp_path)["cost"]

    assert table.columns == ("Acc", "F1", "EM", "Calls", "Time") * 2
    assert {line[0]: (line[5], line[10]) for line in lines(table)[1:]} == {
        "vanilla_local": (DASH, "1.00"),
        "prefrag": (DASH, "1.50"),
    }


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


def test_corpus_that_is_gone_has_dashes_and_a_whole_no_shares(tmp_path: Path) -> None:
    write_run(tmp_path / "a" / "run", predictions(1, 4), corpus=str(tmp_path / "gone.jsonl"))
    write_run(tmp_path / "b" / "run", predictions(1, 4), split=False)
    table = shares(tmp_path / "a")
    assert table is not None
    assert [cell.text for cell in table.rows[0].cells] == ["4", *[DASH] * 5]
    assert shares(tmp_path / "b") is None
