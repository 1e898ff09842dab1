"""Every method compared with a reference, and the runs that are not compared."""

from pathlib import Path

from prefrag.evaluation.report.against import Against, compare_one_change, compare_with_reference, list_variations
from prefrag.evaluation.report.grouping import group_by_setting, group_by_task
from prefrag.evaluation.report.runs import read_runs
from prefrag.evaluation.report.table import Table
from tests.evaluation.report.run_folders import SERVER, SIMULATED, predictions, write_run


def list_against(folder: Path, method: str | None = None) -> list[Against]:
    runs = read_runs([folder])
    return [
        table
        for group in group_by_task(runs).values()
        for table in compare_with_reference(group_by_setting(group), runs, method)
    ]


def list_pairs(against: list[Against]) -> dict[tuple[str, str], tuple[str, ...]]:
    return {
        (comparison.run.name, comparison.other.name): comparison.differing
        for every in against
        for comparison in every.comparisons
    }


def test_methods_with_another_retriever_or_top_k_are_compared_so(
    tmp_path: Path,
) -> None:
    """The difference is named."""

    write_run(tmp_path / "prefrag", predictions(20))
    write_run(tmp_path / "linked", predictions(20), pipeline="prefrag_linked", retriever="linked")
    write_run(tmp_path / "dr_rag", predictions(20), pipeline="dr_rag_qdc", top_k=6)

    assert list_pairs(list_against(tmp_path)) == {
        ("prefrag", "dr_rag"): ("method", "top-k"),
        ("prefrag", "linked"): ("method", "retriever"),
    }


def test_split_corpus_is_not_compared_with_a_whole(tmp_path: Path) -> None:
    """Both say so."""

    write_run(tmp_path / "prefrag", predictions(20))
    write_run(tmp_path / "react", predictions(20), pipeline="react")
    write_run(tmp_path / "whole", predictions(20), pipeline="vanilla_local", split=False)
    write_run(tmp_path / "qdc", predictions(20), pipeline="dr_rag_qdc", split=False)

    split, whole = list_against(tmp_path)

    assert list_pairs([split]) == {("prefrag", "react"): ("method",)}
    assert list_pairs([whole]) == {("qdc", "whole"): ("method",)}
    assert split.not_compared == ("Not compared: vanilla_local, dr_rag_qdc (different split of the corpus).",)
    assert whole.not_compared == ("Not compared: react, prefrag (different split of the corpus).",)


def test_runs_that_are_not_compared_are_listed_with_the_reason(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20), llm={**SIMULATED, "source_choice": "drawn"})
    write_run(tmp_path / "b", predictions(20), pipeline="react")
    write_run(tmp_path / "c", predictions(20), pipeline="react", top_k=3)
    write_run(tmp_path / "d", predictions(20), pipeline="mspr", llm={**SIMULATED, "source_choice": "last"}, top_k=3)
    write_run(tmp_path / "e", predictions(20), pipeline="crag", corpus="half.jsonl")
    write_run(tmp_path / "f", predictions(20), pipeline="flare", llm=SERVER)

    main = next(table for table in list_against(tmp_path) if table.main)

    assert set(list_pairs([main])) == {("a", "b")}
    assert set(main.not_compared) == {
        "Not compared: crag (different corpus).",
        "Not compared: flare (different model).",
        "Not compared: mspr (different top-k, source choice).",
        "Not compared here: runs of the same methods with different top-k.",
    }


def test_the_reader_chooses_the_reference(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(20))
    write_run(tmp_path / "b", predictions(20), pipeline="react")
    write_run(tmp_path / "c", predictions(20), pipeline="mspr")

    by_default, chosen = (list_pairs(list_against(tmp_path, method)) for method in (None, "mspr"))

    assert set(by_default) == {("a", "b"), ("a", "c")}
    assert set(chosen) == {("c", "b"), ("c", "a")}


def test_method_without_judge_is_compared_under_every_error(tmp_path: Path) -> None:
    write_run(tmp_path / "vanilla", predictions(20), pipeline="vanilla_mix", judged=False)
    write_run(tmp_path / "exact", predictions(20), judged=True)
    write_run(tmp_path / "erring", predictions(20), judged=True, llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "served", predictions(20), pipeline="vanilla_mix", judged=False, llm=SERVER)

    assert list_pairs(list_against(tmp_path)) == {("exact", "vanilla"): ("method",), ("erring", "vanilla"): ("method",)}


def test_runs_of_a_method_that_differ_in_a_setting_are_compared(tmp_path: Path) -> None:
    write_run(tmp_path / "k5", predictions(20))
    write_run(tmp_path / "k3", predictions(20), top_k=3)
    write_run(tmp_path / "erring", predictions(20), llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "both", predictions(20), llm={**SIMULATED, "judge_error": 0.2}, top_k=7)
    write_run(tmp_path / "react", predictions(20), pipeline="react")
    write_run(tmp_path / "elsewhere", predictions(20), dataset="hotpotqa")

    settings = group_by_setting(read_runs([tmp_path]))
    compared = compare_one_change(settings, [])

    assert {
        frozenset((comparison.run.name, comparison.other.name)): comparison.differing for comparison in compared
    } == {
        frozenset(("k5", "k3")): ("top-k",),
        frozenset(("k5", "erring")): ("judge error",),
    }


def test_reference_without_a_source_stands_for_every_choice(
    tmp_path: Path,
) -> None:
    """Another choice is listed."""

    unused = {**SIMULATED, "source_choice": None}
    write_run(tmp_path / "prefrag", predictions(20), llm=unused)
    for choice in ("drawn", "last"):
        write_run(tmp_path / choice, predictions(10), pipeline="react", llm={**SIMULATED, "source_choice": choice})

    main = next(table for table in list_against(tmp_path) if table.main)
    assert main.not_compared == ("Not compared here: runs of the same methods with different source choice.",)
    write_run(tmp_path / "mix", predictions(20), pipeline="react_mix", llm=unused)
    others = ("drawn", "mix", "last")
    assert list_pairs(list_against(tmp_path)) == {("prefrag", other): ("method",) for other in others}


def variations(folder: Path) -> dict[str, Table]:
    runs = read_runs([folder])
    settings = group_by_setting(runs)
    return {table.id: table for table in list_variations(settings, compare_with_reference(settings, runs))}


def test_accuracy_stands_by_method_and_value_above_the_reference(tmp_path: Path) -> None:
    for rule, prefrag, mix in (("one", 30, 30), ("all", 10, 32)):
        llm = {**SIMULATED, "yes_no": rule, "source_choice": "first"}
        write_run(tmp_path / f"prefrag-{rule}", predictions(prefrag), llm=llm)
        write_run(tmp_path / f"mix-{rule}", predictions(mix), llm=llm, pipeline="react_mix")
    llm = {**SIMULATED, "yes_no": "one", "source_choice": "last"}
    write_run(tmp_path / "react", predictions(20), llm=llm, pipeline="react")
    write_run(tmp_path / "react_mix", predictions(20), llm={**llm, "source_choice": "first"}, pipeline="react")

    by_id = variations(tmp_path)

    assert set(by_id) == {"by-yes-no", "by-source-choice"}
    rules, choice = by_id["by-yes-no"], by_id["by-source-choice"]
    assert rules.columns == ("yes/no all", "yes/no one")
    assert [(row.label, *((cell.text, cell.interval) for cell in row.cells)) for row in rules.rows] == [
        ("react_mix", ("80.0", "+55.0 *"), ("75.0", "0.0")),
        ("prefrag", ("25.0", ""), ("75.0", "")),
    ]
    assert [row.label for row in choice.rows] == ["react"]


def test_errors_of_the_judge_and_distractions_have_own_tables(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(30))
    write_run(tmp_path / "b", predictions(20), llm={**SIMULATED, "judge_error": 0.2})
    write_run(tmp_path / "c", predictions(10), llm={**SIMULATED, "distraction": 0.02})
    write_run(tmp_path / "d", predictions(5), llm={**SIMULATED, "distraction": 0.02, "judge_error": 0.2})

    by_id = {id: [cell.text for cell in table.rows[0].cells] for id, table in variations(tmp_path).items()}

    assert by_id == {"by-judge-error": ["75.0", "50.0"], "by-distraction": ["75.0", "25.0"]}
