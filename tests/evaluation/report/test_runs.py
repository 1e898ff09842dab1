import json
from pathlib import Path
from typing import Any

import pytest

from prefrag.evaluation.report.measures import ACC, RECALL, TOTAL
from prefrag.evaluation.report.runs import read_runs
from tests.evaluation.report.run_folders import SERVER, SIMULATED, prediction, predictions, write_run


def test_runs_are_found_at_any_depth_and_once(tmp_path: Path) -> None:
    write_run(tmp_path / "all" / "musique" / "prefrag", predictions(1, 2))
    own = write_run(tmp_path / "all" / "react", predictions(1, 2), pipeline="react")

    runs = read_runs([tmp_path / "all", own])

    assert [(run.method, run.name) for run in runs] == [("react", "react"), ("prefrag", "musique/prefrag")]


def test_the_numbers_of_a_run_are_those_of_its_metrics(tmp_path: Path) -> None:
    (run,) = read_runs([write_run(tmp_path / "run", predictions(3, 4, local=2, web=1))])

    assert (run.value(ACC), run.value(RECALL), run.value(TOTAL)) == (75.0, 50.0, 3.0)
    assert run.warnings == ()
    assert run.predictions["q000"].values["acc"] == 100.0
    assert run.predictions["q003"].values["acc"] == 0.0


def test_a_run_that_broke_off_counts_the_queries_it_sent(tmp_path: Path) -> None:
    line = {**prediction("q000", right=True), "answerable": True, "error": "gone", "scores": {}}
    line["result"] = {"queries_sent_out": [{"source": "web", "query": "Who?"}]}

    (run,) = read_runs([write_run(tmp_path / "run", [line])])

    assert run.predictions["q000"].values["needless_queries"] == run.metrics["needless_queries"] == 100.0


@pytest.mark.parametrize(
    ("config", "method", "family"),
    [
        ({"pipeline": "/pipelines/mine.yaml"}, "mine", "mine"),
        ({"pipeline": "prefrag_dense", "retriever": "dense"}, "prefrag_dense", "prefrag"),
        ({"pipeline": "prefrag_elasticsearch_dense", "retriever": "dense"}, "prefrag_elasticsearch_dense", "prefrag"),
        ({"pipeline": "/a/mine.yaml", "set": ["local.top_k=3"]}, "mine local.top_k=3", "mine local.top_k=3"),
    ],
    ids=["the stem of a file", "a retriever is no method", "nor is a store", "changed settings"],
)
def test_a_method_has_the_name_of_its_pipeline(
    tmp_path: Path, config: dict[str, Any], method: str, family: str
) -> None:
    (run,) = read_runs([write_run(tmp_path / "a", predictions(1, 2), **config)])

    assert (run.method, run.family) == (method, family)


def test_a_simulated_run_is_marked_and_a_model_is_named(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(1, 2))
    write_run(tmp_path / "b", predictions(1, 2), llm=SERVER)
    write_run(tmp_path / "c", predictions(1, 2), llm={"kind": "reader", "files": "1f", "threshold": 0.6})

    simulated, served, read = read_runs([tmp_path])

    assert (simulated.simulated, simulated.judge_error) == (True, 0.0)
    assert "simulated" in simulated.model
    assert (served.simulated, served.model, served.judge_error) == (False, "glm", None)
    assert read.model == "extractive reader, no language model, files 1f, threshold 0.6"


def test_metrics_of_other_predictions_are_named_or_worked_out(
    tmp_path: Path,
) -> None:
    """They are worked out where there are none."""

    folder = write_run(tmp_path / "run", predictions(1, 4))
    (folder / "metrics.json").write_text(json.dumps({"n": 4, "acc": 90.0}))
    (run,) = read_runs([folder])
    assert run.warnings == ("metrics.json states acc 90, but the predictions give 25.0",)
    (folder / "metrics.json").unlink()
    (run,) = read_runs([folder])
    assert run.value(ACC) == 25.0
    assert "did not finish" in run.warnings[0]


def test_failed_question_is_wrong_and_missing_scores_worked_out(tmp_path: Path) -> None:
    lines = [{**prediction("a", True), "scores": {}}, prediction("b", True, error="the server is gone")]

    (run,) = read_runs([write_run(tmp_path / "run", lines)])

    assert (run.value(ACC), run.predictions["a"].values["acc"], run.predictions["b"].right) == (50.0, 100.0, False)
    assert run.warnings == ("questions that failed: 1",)


def test_gold_passages_that_the_corpus_lacks_are_in_the_note(tmp_path: Path) -> None:
    write_run(tmp_path / "a", predictions(1, 2), gold_missing={"questions": 1, "passages": 2})
    write_run(tmp_path / "b", predictions(1, 2), gold_missing={"questions": 0, "passages": 0})
    write_run(tmp_path / "c", predictions(1, 2), gold_missing=None)

    warnings = {run.name: run.warnings for run in read_runs([tmp_path])}

    assert warnings == {"a": ("gold passages not in the corpus: 2 (questions: 1)",), "b": (), "c": ()}


def test_unfinished_last_line_is_left_out_of_predictions_by_id(
    tmp_path: Path,
) -> None:
    """Whole predictions are read again."""

    lines = predictions(1, 3, question="Où est Zoë?")
    folder = write_run(tmp_path / "run", lines)
    with (folder / "predictions.jsonl").open("a") as file:
        file.write('{"id": "q0')
    (run,) = read_runs([folder])
    assert len(run.predictions) == 3
    assert "incomplete and left out" in run.warnings[0]
    assert list(run.full(["q002", "q000"])) == [lines[2], lines[0]]


def test_what_is_missing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="There is no folder .*nowhere"):
        read_runs([tmp_path / "nowhere"])
    with pytest.raises(ValueError, match="holds no run"):
        read_runs([tmp_path])
    with pytest.raises(ValueError, match="There are no runs to report"):
        read_runs([])
    (write_run(tmp_path / "run", predictions(1, 2)) / "config.json").unlink()
    with pytest.raises(ValueError, match=r"has no config\.json"):
        read_runs([tmp_path / "run"])


NO_PREDICTION = r"predictions\.jsonl, line 1: not a prediction .* run `evaluate` again"


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("config.json", '{"pipeline": "prefrag"}', "lacks its dataset"),
        ("config.json", "{", r"config\.json is not JSON"),
        ("predictions.jsonl", "", "holds no prediction"),
        ("predictions.jsonl", "{", NO_PREDICTION),
        ("predictions.jsonl", "[]", NO_PREDICTION),
        ("predictions.jsonl", '{"question": "without an id"}', NO_PREDICTION),
        ("predictions.jsonl", '{"id": "a", "scores": {"acc": "x"}}', NO_PREDICTION),
    ],
)
def test_a_broken_file_is_named_with_its_line(tmp_path: Path, file: str, text: str, message: str) -> None:
    (write_run(tmp_path / "run", predictions(1, 1)) / file).write_text(f"{text}\n")

    with pytest.raises(ValueError, match=message):
        read_runs([tmp_path / "run"])


def test_runs_that_differ_in_the_seed_alone_become_their_mean(tmp_path: Path) -> None:
    for seed, right in ((5, 1), (6, 3)):
        write_run(tmp_path / f"{seed}", predictions(right, 4, web=seed - 5), llm={**SIMULATED, "seed": seed})

    (run,) = read_runs([tmp_path])

    assert (run.value(ACC), run.value(TOTAL)) == (50.0, 1.5)
    assert [run.predictions[f"q00{number}"].values["acc"] for number in range(4)] == [100.0, 50.0, 50.0, 0.0]
    assert [repetition.seed for repetition in run.runs] == [5, 6]


@pytest.mark.parametrize(
    ("seed", "questions", "other"),
    [
        *(
            (2, 4, change)
            for change in ({"top_k": 3}, {"pipeline": "react"}, {"prompts": "product"}, {"corpus": "x.jsonl"})
        ),
        (1, 4, {}),
        (2, 3, {}),
    ],
    ids=["top-k", "method", "prompts", "corpus", "the same seed", "fewer questions"],
)
def test_runs_that_differ_in_more_than_the_seed_stay_apart(
    tmp_path: Path, seed: int, questions: int, other: dict[str, Any]
) -> None:
    """Also those that do not differ in it."""

    write_run(tmp_path / "a", predictions(1, 4), llm={**SIMULATED, "seed": 1})
    write_run(tmp_path / "b", predictions(1, questions), llm={**SIMULATED, "seed": seed}, **other)

    assert len(read_runs([tmp_path])) == 2
