"""The tables of the papers."""

from __future__ import annotations

import json
from pathlib import Path

from prefrag.evaluation.report.comparison import score_intervals
from prefrag.evaluation.report.grouping import group_by_setting
from prefrag.evaluation.report.measures import DASH
from prefrag.evaluation.report.paper_tables import describe_split, paper_tables
from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.table import Table
from tests.evaluation.report.run_folders import SERVER, SIMULATED, predictions, write_run


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


def test_what_makes_lines_less_comparable_is_noted_below_the_title(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20))
    write_run(tmp_path / "b", predictions(20), pipeline="mspr")
    assert "Not all" not in tables(tmp_path)["overall"].note
    write_run(tmp_path / "c", predictions(20, 30), pipeline="react")
    write_run(tmp_path / "d", predictions(20), pipeline="vanilla_mix", corpus="half.jsonl")

    note = tables(tmp_path)["overall"].note

    assert "Not all lines are over the same questions (musique)" in note
    assert "Not all lines searched the same corpus (musique)" in note


def test_other_questions_under_the_same_ids_are_noted_below_the_title(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20))
    write_run(tmp_path / "b", predictions(20, question="Who else?"), pipeline="mspr")

    assert "Not all lines are over the same questions (musique)" in tables(tmp_path)["overall"].note


def test_a_method_without_retrieval_stands_with_the_others(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), pipeline="no_retrieval", retriever=None)

    assert [row.label for row in tables(tmp_path)["overall"].rows[1:]] == ["no_retrieval", "prefrag"]


def test_a_method_with_a_top_k_of_its_own_stands_with_the_others(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), pipeline="vanilla_local")
    write_run(tmp_path / "c", predictions(20, seconds=1.5), pipeline="dr_rag_qdc", top_k=6)

    found = tables(tmp_path)

    assert [row.label for row in found["overall"].rows[1:]] == ["vanilla_local", "dr_rag_qdc (k 6)", "prefrag"]
    assert lines(found["cost"])[2][-1] == "1.50"


def test_what_was_run_with_several_top_k_keeps_them_apart(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), pipeline="vanilla_local")
    write_run(tmp_path / "c", predictions(20), top_k=3)

    assert [row.label for row in tables(tmp_path)["overall"].rows] == [
        "k 5",
        "vanilla_local",
        "prefrag",
        "k 3",
        "prefrag",
    ]


def test_a_dataset_of_yes_and_no_has_accuracy_alone(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30, dataset="bioasq"), dataset="bioasq")

    assert tables(tmp_path)["overall"].columns == ("Acc",)


def test_models_have_blocks_of_their_own(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), llm=SERVER)

    table = tables(tmp_path)["overall"]

    assert [row.label for row in table.rows if row.cells] == ["prefrag", "prefrag"]
    headings = [row.label for row in table.rows if not row.cells]
    assert "simulated" in headings[0]
    assert headings[1] == "glm"


def test_two_runs_of_one_method_under_one_setting_are_distinguished(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "again", predictions(20))

    assert [row.label for row in tables(tmp_path)["overall"].rows[1:]] == ["prefrag", "prefrag (again)"]


def test_a_number_that_was_not_measured_is_a_dash(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a", predictions(30))
    (folder / "metrics.json").write_text('{"acc": 75.0}')

    assert lines(tables(tmp_path)["overall"])[1] == ("prefrag", "75.0", DASH, DASH, DASH)


def test_tables_without_runs_are_not_there(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))

    assert set(tables(tmp_path)) == {"overall", "counts", "recall"}


def test_ablation_has_prefrag_and_its_parts_alone(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), pipeline="prefrag_without_preference")
    write_run(tmp_path / "c", predictions(20), pipeline="react")
    write_run(tmp_path / "d", predictions(20), top_k=3)

    table = tables(tmp_path)["prefrag-2"]

    assert [row.label for row in table.rows if row.cells] == ["prefrag", "prefrag_without_preference"]


def test_the_tables_of_a_paper_have_its_methods_in_its_order(tmp_path: Path) -> None:
    for name in ("mspr", "react", "flare", "vanilla_mix", "no_retrieval", "self_rag", "crag", "ircot", "vanilla_local"):
        write_run(tmp_path / name, predictions(20), pipeline=name)
    write_run(tmp_path / "prefrag", predictions(20))
    write_run(tmp_path / "without", predictions(10), pipeline="mspr", set=["refiner.enabled=false"])

    found = {id: [row.label for row in table.rows if row.cells] for id, table in tables(tmp_path).items()}

    vanilla = ["no_retrieval", "vanilla_local", "vanilla_mix"]
    assert found["prefrag-1"] == [*vanilla, "flare", "self_rag", "crag", "react", "prefrag"]
    assert found["mspr-1"] == [*vanilla, "self_rag", "flare", "crag", "react", "mspr"]
    assert found["mspr-2"] == ["mspr refiner.enabled=false", "mspr"]
    assert not {"dr-rag-2", "dr-rag-4", "dr-rag-5"} & found.keys(), "they are about DR-RAG"


def test_the_tables_of_dr_rag_have_similarity_matching_beside_words(tmp_path: Path) -> None:
    for name in ("dr_rag_cfs", "dr_rag_qdc", "vanilla_local", "ircot", "adaptive_rag"):
        write_run(tmp_path / name, predictions(20), pipeline=name, split=False)
    write_run(tmp_path / "sm", predictions(20), pipeline="vanilla_local_dense", split=False, retriever="dense")

    found = {id: [row.label for row in table.rows if row.cells] for id, table in tables(tmp_path).items()}

    assert found["dr-rag-2"] == [
        *("vanilla_local", "vanilla_local_dense", "adaptive_rag", "ircot", "dr_rag_qdc", "dr_rag_cfs")
    ]
    assert found["dr-rag-5"] == ["vanilla_local", "vanilla_local_dense", "dr_rag_qdc", "dr_rag_cfs"]


def test_top_k_and_retrievers_are_what_alone_differs(tmp_path: Path) -> None:
    write_run(tmp_path / "k5", predictions(30))
    write_run(tmp_path / "k3", predictions(20), top_k=3)
    write_run(tmp_path / "dense", predictions(10), pipeline="prefrag_dense", retriever="dense")
    write_run(tmp_path / "erring", predictions(5), llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "react", predictions(20), pipeline="react")

    found = tables(tmp_path)

    assert [line[:2] for line in lines(found["top-k"])] == [
        ("k 3",),
        ("prefrag", "50.0"),
        ("k 5",),
        ("prefrag", "75.0"),
    ]
    assert [line[:2] for line in lines(found["retrievers"])] == [
        ("retriever bm25",),
        ("prefrag", "75.0"),
        ("retriever dense",),
        ("prefrag", "25.0"),
    ]


def test_recall_stands_beside_that_of_other_retrievers_at_the_same_k(tmp_path: Path) -> None:
    write_run(tmp_path / "words", predictions(20), pipeline="vanilla_local", top_k=6)
    write_run(tmp_path / "cfs", predictions(20), pipeline="dr_rag_cfs", top_k=6)
    write_run(tmp_path / "sm", predictions(20), pipeline="vanilla_local_dense", retriever="dense", top_k=6)
    write_run(tmp_path / "sm_cfs", predictions(20), pipeline="dr_rag_cfs_dense", retriever="dense", top_k=6)
    write_run(tmp_path / "k3", predictions(20), pipeline="vanilla_local", top_k=3)

    found = tables(tmp_path)
    recall, of_paper = found["recall"], found["dr-rag-5"]

    methods = ["vanilla_local", "vanilla_local_dense", "dr_rag_cfs", "dr_rag_cfs_dense"]
    assert [row.label for row in recall.rows] == ["k 6", *methods, "k 3", "vanilla_local"]
    assert [row.label for row in of_paper.rows] == ["k 6", *methods]
    assert "Similarity Matching is vanilla_local_dense" in of_paper.note
    assert "0.5, at the prior of its training" in of_paper.note


def test_counts_and_recall_are_means_a_question(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [*predictions(10, 20, local=2, web=1), *predictions(0, 40, local=1)[20:]])

    found = tables(tmp_path)

    assert lines(found["counts"])[1] == ("prefrag", "25.0", "1.50", "0.50", "2.00", "1.50", "1.50", "8.00")
    assert lines(found["recall"])[1] == ("prefrag", "50.0", "0.0", "2.00")


def test_time_is_relative_to_single_step_rag_of_the_same_dataset(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30, seconds=3.0))
    write_run(tmp_path / "b", predictions(20, seconds=2.0), pipeline="vanilla_local")
    write_run(tmp_path / "c", predictions(20, dataset="hotpotqa"), dataset="hotpotqa")

    table = tables(tmp_path)["cost"]

    assert table.columns == ("Acc", "F1", "EM", "Calls", "Time") * 2
    assert {line[0]: (line[5], line[10]) for line in lines(table)[1:]} == {
        "vanilla_local": (DASH, "1.00"),
        "prefrag": (DASH, "1.50"),
    }


def test_there_is_no_relative_time_to_a_run_with_another_number_of_questions_at_once(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30, seconds=3.0), concurrency=16)
    write_run(tmp_path / "b", predictions(20, seconds=2.0), pipeline="vanilla_local", concurrency=1)

    table = tables(tmp_path)["cost"]

    assert {line[0]: line[5] for line in lines(table)[1:]} == {"vanilla_local": "1.00", "prefrag": DASH}
    assert "another number of questions at once" in table.note


def test_relative_time_is_that_to_the_run_with_as_many_questions_at_once(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30, seconds=3.0), concurrency=16)
    write_run(tmp_path / "b", predictions(20, seconds=2.0), pipeline="vanilla_local", concurrency=1)
    write_run(tmp_path / "c", predictions(20, seconds=1.0), pipeline="vanilla_local", concurrency=16)

    times = {line[0]: line[5] for line in lines(tables(tmp_path)["cost"])[1:]}

    assert times["prefrag"] == "3.00"


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
