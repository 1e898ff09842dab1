"""Asking a pipeline all questions of a benchmark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag import evaluation
from prefrag.evaluation.question import Question
from prefrag.evaluation.runs.run_folder import RunFolder
from prefrag.pipelines import load
from tests.evaluation.answering import HANG_AFTER, pipeline, questions, questions_file
from tests.fakes import CALLS

ASKED = questions(12)


def run(path: Path, asked: Any = ASKED, **settings: Any) -> evaluation.Run:
    return evaluation.run(str(path), asked, **{"progress": False, **settings})


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "predictions.jsonl").read_text(encoding="utf-8").splitlines()]


def read(folder: Path, name: str) -> dict[str, Any]:
    return json.loads((folder / name).read_text(encoding="utf-8"))


@pytest.fixture
def boxes(tmp_path: Path) -> Path:
    """A pipeline that answers two of the twelve questions wrongly."""
    return pipeline(tmp_path, ASKED, wrong=("q3", "q7"))


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "boxes"


class TestRun:
    def test_scores_every_question(self, boxes: Path):
        ended = run(boxes)

        assert [prediction["id"] for prediction in ended.predictions] == [one.id for one in ASKED]
        assert [prediction["scores"]["acc"] for prediction in ended.predictions].count(1.0) == 10
        assert ended.metrics["n"] == 12
        assert ended.metrics["acc"] == pytest.approx(100 * 10 / 12)
        assert ended.metrics["llm_calls"] == 1

    def test_keeps_predictions_metrics_and_settings(self, boxes: Path, output: Path):
        ended = run(boxes, output=output)

        kept = lines(output)
        assert sorted(prediction["id"] for prediction in kept) == sorted(one.id for one in ASKED)
        assert set(kept[0]) == {
            *("id", "question", "answers", "type", "supporting_ids", "dataset"),
            *("seconds", "simulated", "error", "scores", "result"),
        }
        assert kept[0]["seconds"] > 0
        assert kept[0]["result"]["trace"]
        assert read(output, "metrics.json") == ended.metrics
        assert kept[0]["simulated"] is ended.metrics["simulated"] is False
        config = read(output, "config.json")
        assert config == ended.config
        assert (config["pipeline"], config["dataset"], config["simulated"]) == (str(boxes), "boxes", False)
        assert ended.output == output

    def test_takes_an_experiment_whose_fields_may_be_given_by_themselves_too(self, boxes: Path):
        experiment = evaluation.Experiment(top_k=3)

        ended = [run(boxes, experiment=experiment, **fields) for fields in ({}, {"top_k": 4})]

        assert [one.config["top_k"] for one in ended] == [3, 4]

    def test_refuses_what_is_no_field_of_an_experiment(self, boxes: Path):
        with pytest.raises(TypeError, match="temperature"):
            run(boxes, temperature=1.0)

    def test_writes_nothing_without_a_folder(self, boxes: Path, tmp_path: Path):
        before = sorted(tmp_path.rglob("*"))

        run(boxes)

        assert sorted(tmp_path.rglob("*")) == before

    def test_reads_questions_from_a_file(self, boxes: Path, tmp_path: Path):
        file = questions_file(tmp_path / "dev.jsonl", ASKED)

        ended = run(boxes, file, limit=3)

        assert [prediction["id"] for prediction in ended.predictions] == ["q0", "q1", "q2"]
        assert (ended.config["questions"], ended.config["limit"]) == (str(file), 3)

    def test_takes_a_loaded_pipeline_too(self, boxes: Path):
        assert evaluation.run(load(str(boxes)), ASKED, progress=False).metrics["n"] == 12

    async def test_works_where_an_event_loop_runs_already_as_in_a_notebook(self, boxes: Path):
        assert run(boxes).metrics["n"] == 12

    def test_asks_as_many_at_once_as_it_may_and_no_more(self, boxes: Path):
        run(boxes, concurrency=3)

        assert max(CALLS["at once"]) == 3

    def test_metrics_do_not_depend_on_the_concurrency(self, boxes: Path):
        one, many = (run(boxes, concurrency=count).metrics for count in (1, 8))

        def without_time(metrics: dict[str, Any]) -> dict[str, Any]:
            return {
                key: without_time(value) if isinstance(value, dict) else value
                for key, value in metrics.items()
                if key != "seconds_per_question"
            }

        assert without_time(one) == without_time(many)

    def test_shows_the_scores_so_far(self, boxes: Path, capsys: pytest.CaptureFixture[str]):
        run(boxes, progress=True)

        assert "acc" in capsys.readouterr().err

    def test_can_leave_out_the_texts_of_documents_and_nothing_else(self, tmp_path: Path):
        corpus = tmp_path / "corpus.jsonl"
        passage = {"id": "p", "title": "Box 000", "text": "In box 000 is kept thing 000.", "source": "local"}
        corpus.write_text(json.dumps(passage) + "\n", encoding="utf-8")
        asked = [Question("q0", "What is kept in box 000?", ("thing 000",), supporting_ids=("p",))]
        file = tmp_path / "dev.jsonl"
        file.write_text(
            json.dumps({"id": "q0", "question": asked[0].question, "answers": ["thing 000"], "supporting_ids": ["p"]}),
            encoding="utf-8",
        )
        settings = {"corpus": corpus, "llm": "simulated", "progress": False}

        whole, bare = (evaluation.run("vanilla_local", file, contents=kept, **settings) for kept in (True, False))

        [document] = whole.predictions[0]["result"]["documents"]
        assert document["content"] == passage["text"]
        assert bare.predictions[0]["result"]["documents"] == [{**document, "content": ""}]
        assert bare.metrics["recall"] == whole.metrics["recall"] == 100

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"concurrency": 0}, "concurrency and limit must be at least 1"),
            ({"limit": 0}, "concurrency and limit must be at least 1"),
            ({"retries": -1}, "retries at least 0"),
            ({"deadline": 0}, "deadline over 0"),
            ({"asked": []}, "no question to ask"),
            ({"asked": [ASKED[0], ASKED[0]]}, "Two questions have the id 'q0'"),
        ],
    )
    def test_refuses_what_makes_no_sense(self, boxes: Path, settings: dict[str, Any], message: str):
        with pytest.raises(ValueError, match=message):
            run(boxes, **settings)


class TestQuestionsThatFail:
    def test_are_tried_again(self, tmp_path: Path):
        ended = run(pipeline(tmp_path, ASKED, failures={"q1": 1}), retries=1)

        assert ended.metrics["errors"] == 0
        assert CALLS["asked"].count(ASKED[1].question) == 2

    def test_are_kept_after_the_last_attempt_and_stay_in_the_denominator(self, tmp_path: Path, output: Path):
        ended = run(pipeline(tmp_path, ASKED, failures={"q1": 9}), retries=2, output=output)

        assert CALLS["asked"].count(ASKED[1].question) == 3
        [failed] = [prediction for prediction in lines(output) if prediction["error"]]
        assert failed["id"] == "q1"
        assert "the server is down" in failed["error"]
        assert failed["scores"]["acc"] == 0
        assert (ended.metrics["n"], ended.metrics["errors"]) == (12, 1)
        assert ended.metrics["acc"] == pytest.approx(100 * 11 / 12)

    def test_are_not_asked_again_by_the_next_call(self, tmp_path: Path, output: Path):
        path = pipeline(tmp_path, ASKED, failures={"q1": 1})
        run(path, retries=0, output=output)
        asked = len(CALLS["asked"])

        assert run(path, retries=0, output=output).metrics["errors"] == 1
        assert len(CALLS["asked"]) == asked

    def test_are_asked_again_by_the_next_call_if_it_is_told_to(self, tmp_path: Path, output: Path):
        path = pipeline(tmp_path, ASKED, failures={"q1": 1})
        run(path, retries=0, output=output)

        ended = run(path, retries=0, output=output, retry_failed=True)

        assert ended.metrics["errors"] == 0
        assert len(lines(output)) == 12
        assert CALLS["asked"].count(ASKED[0].question) == 1

    def test_are_those_without_an_answer_as_well(self, boxes: Path, output: Path):
        run(boxes, output=output)
        kept = lines(output)
        kept[1]["result"]["answer"] = " "
        (output / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in kept))
        assert run(boxes, output=output).metrics["errors"] == 1
        CALLS.clear()

        ended = run(boxes, output=output, retry_failed=True)

        assert CALLS["asked"] == [kept[1]["question"]]
        assert ended.metrics["errors"] == 0

    def test_tell_the_first_error_once_beside_the_progress(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
        path = pipeline(tmp_path, ASKED, failures={"q1": 9, "q2": 9})
        run(path, retries=0, concurrency=1, progress=True)
        told = " ".join(capsys.readouterr().err.split())
        run(path, retries=0, progress=False)

        assert told.count("Question 'q") == 1
        assert "Question 'q1' failed: " in told
        assert "the server is down" in told
        assert capsys.readouterr().err == ""

    def test_for_want_of_a_server_end_the_run_when_they_are_the_first_and_all(self, tmp_path: Path, output: Path):
        path = pipeline(tmp_path, ASKED, failures={one.id: 1 for one in ASKED})

        with pytest.raises(ConnectionError, match=r"The first 7 questions all failed .* the server is down.*--retry-"):
            run(path, retries=0, concurrency=2, output=output)
        assert 7 <= len(lines(output)) <= 8
        assert run(path, concurrency=2, output=output, retry_failed=True).metrics["errors"] == 0

    def test_for_want_of_a_server_do_not_end_the_run_once_one_was_answered(self, tmp_path: Path):
        failures = {one.id: 9 for one in ASKED[1:]}

        assert run(pipeline(tmp_path, ASKED, failures=failures), retries=0, concurrency=1).metrics["errors"] == 11

    def test_fail_at_the_deadline(self, boxes: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv(HANG_AFTER, "0")

        ended = run(boxes, asked=ASKED[:1], deadline=0.01, retries=0)

        assert "given up after 0.01 s" in ended.predictions[0]["error"]


def hanging(boxes: Path, file: Path, output: Path, concurrency: int) -> subprocess.Popen[str]:
    """Another process that runs into a folder, and stands still after some questions."""
    code = f"import sys; from prefrag import evaluation; evaluation.run(*sys.argv[1:3], output=sys.argv[3], concurrency={concurrency})"
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(boxes), str(file), str(output)],
        env={**os.environ, HANG_AFTER: "5"},
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "hanging\n"
    return process


class TestResuming:
    def test_a_process_that_was_killed_is_taken_up_by_the_next(
        self, boxes: Path, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        file = questions_file(tmp_path / "dev.jsonl", ASKED)
        with hanging(boxes, file, output, concurrency=2) as process:
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        kept = {prediction["id"] for prediction in lines(output)}
        assert 0 < len(kept) < 12
        assert not (output / "metrics.json").exists()

        ended = run(boxes, file, output=output, concurrency=4)

        assert len(CALLS["asked"]) == 12 - len(kept)
        assert len(lines(output)) == 12
        assert ended.metrics["n"] == 12
        assert ended.metrics["acc"] == pytest.approx(100 * 10 / 12)
        assert read(output, "metrics.json") == ended.metrics

    def test_a_line_that_was_never_finished_is_dropped_and_its_question_asked_again(self, boxes: Path, output: Path):
        run(boxes, output=output)
        path = output / "predictions.jsonl"
        path.write_bytes(path.read_bytes()[:-20])
        CALLS.clear()

        ended = run(boxes, output=output)

        assert len(CALLS["asked"]) == 1
        assert ended.metrics["n"] == len(lines(output)) == 12

    def test_a_run_that_is_over_asks_nothing(self, boxes: Path, output: Path):
        first = run(boxes, output=output)
        CALLS.clear()

        assert run(boxes, output=output).metrics == first.metrics
        assert not CALLS

    def test_a_call_that_asks_nothing_leaves_the_settings_of_the_run(self, boxes: Path, output: Path):
        first = run(boxes, output=output, concurrency=2)

        ended = run(boxes, output=output, concurrency=8, deadline=5, retry_failed=True)

        assert read(output, "config.json") == ended.config == first.config

    def test_the_limit_may_grow_and_the_concurrency_change(self, boxes: Path, output: Path):
        run(boxes, output=output, limit=4)

        assert run(boxes, output=output, limit=6, concurrency=1).metrics["n"] == 6
        assert len(CALLS["asked"]) == 6

    def test_the_limit_may_not_shrink(self, boxes: Path, output: Path):
        run(boxes, output=output, limit=4)

        with pytest.raises(ValueError, match="is of the question 'q.', which is not asked now: raise the limit"):
            run(boxes, output=output, limit=2)
        assert read(output, "config.json")["limit"] == 4, "a call that is refused changes nothing"

    def test_another_setting_is_refused_by_name(self, boxes: Path, output: Path):
        run(boxes, output=output)

        with pytest.raises(
            ValueError, match="other settings: top_k was null and is now 3. Choose another output folder"
        ):
            run(boxes, output=output, top_k=3)

    def test_another_way_to_write_a_path_is_no_other_setting(
        self, boxes: Path, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        file = questions_file(tmp_path / "dev.jsonl", ASKED)
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path / "below")
        run(boxes, file, output=output, limit=3)

        run(f"../{boxes.name}", "../dev.jsonl", output=output, limit=4)

        assert len(CALLS["asked"]) == 4
        config = read(output, "config.json")
        assert (config["pipeline"], config["questions"]) == (f"../{boxes.name}", "../dev.jsonl"), "told as it was given"

    def test_another_file_of_the_same_name_is_another_setting(self, boxes: Path, output: Path, tmp_path: Path):
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            questions_file(tmp_path / folder / "dev.jsonl", ASKED)
        run(boxes, tmp_path / "a" / "dev.jsonl", output=output)

        with pytest.raises(ValueError, match="other settings: .*questions was"):
            run(boxes, tmp_path / "b" / "dev.jsonl", output=output)

    def test_what_an_earlier_version_did_not_tell_is_no_other_setting(self, boxes: Path, output: Path):
        run(boxes, output=output, limit=3)
        config = read(output, "config.json")
        del config["judged"]
        (output / "config.json").write_text(json.dumps(config))

        assert run(boxes, output=output, limit=4).metrics["n"] == 4

    def test_an_edited_pipeline_is_another_one(self, boxes: Path, output: Path):
        run(boxes, output=output)
        boxes.write_text(boxes.read_text().replace("temperature: 0.1", "temperature: 0.7"))

        with pytest.raises(ValueError, match="other settings: pipeline_sha256"):
            run(boxes, output=output)

    def test_another_question_of_the_same_id_is_refused(self, boxes: Path, output: Path):
        run(boxes, output=output)
        other = [Question("q0", "Who keeps box 000?", ("nobody",), dataset="boxes"), *ASKED[1:]]

        with pytest.raises(ValueError, match="the id 'q0' is of another question"):
            run(boxes, other, output=output)

    @pytest.mark.parametrize("gold", [{"answers": ("a thing",)}, {"supporting_ids": ("p1",)}])
    def test_other_gold_under_the_same_id_is_refused(self, boxes: Path, output: Path, gold: dict[str, Any]):
        run(boxes, output=output, limit=4)
        corrected = [ASKED[0], replace(ASKED[1], **gold), *ASKED[2:]]

        with pytest.raises(ValueError, match="the question 'q1' has other gold answers or passages: choose another"):
            run(boxes, corrected, output=output)
        assert len(lines(output)) == 4

    def test_a_broken_line_is_named(self, boxes: Path, output: Path):
        run(boxes, output=output)
        path = output / "predictions.jsonl"
        path.write_text("{\n" + path.read_text())

        with pytest.raises(ValueError, match=r"line 1, is no prediction .*: delete the line"):
            run(boxes, output=output)

    @pytest.mark.parametrize("part", ["question", "answers", "scores", "result"])
    def test_a_line_of_another_form_is_named(self, boxes: Path, output: Path, part: str):
        run(boxes, output=output)
        first, *rest = lines(output)
        changed = [{**first, part: 5}, *rest]
        (output / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in changed))

        with pytest.raises(ValueError, match=rf"line 1, is no prediction \(its '{part}' is no"):
            run(boxes, output=output)

    def test_a_folder_that_cannot_be_made_is_refused_before_a_question_is_asked(self, boxes: Path, tmp_path: Path):
        (tmp_path / "file").write_text("mine")

        for taken in (tmp_path / "file", tmp_path / "file" / "below"):
            with pytest.raises(ValueError, match=r"Nothing can be written to .*: choose another output folder"):
                run(boxes, output=taken)
        assert "asked" not in CALLS

    def test_a_folder_into_which_another_process_runs_is_refused(self, boxes: Path, output: Path, tmp_path: Path):
        file = questions_file(tmp_path / "dev.jsonl", ASKED)
        with hanging(boxes, file, output, concurrency=1) as process:
            before = lines(output)
            try:
                with pytest.raises(ValueError, match=r"Another process is running an evaluation into .*boxes: wait"):
                    run(boxes, file, output=output)
            finally:
                process.kill()
        assert "asked" not in CALLS
        assert lines(output) == before
        assert run(boxes, file, output=output).metrics["n"] == 12

    def test_prices_that_cannot_be_read_are_refused_before_a_question_is_asked(self, boxes: Path, output: Path):
        prices: dict[str, Any] = {"large": {"prompt_per_million": 1}}
        with pytest.raises(ValueError, match="lacks 'completion_per_million'"):
            run(boxes, output=output, prices=prices)
        assert "asked" not in CALLS

    def test_a_folder_of_something_else_is_left_alone(self, boxes: Path, output: Path):
        output.mkdir(parents=True)
        (output / "predictions.jsonl").write_text("mine\n")

        with pytest.raises(ValueError, match=r"without a config.json: choose another output folder"):
            run(boxes, output=output)
        assert (output / "predictions.jsonl").read_text() == "mine\n"


@given(cut=st.integers(0, 400), text=st.text(max_size=20))
def test_whatever_is_left_of_the_predictions_can_be_read(cut: int, text: str):
    with TemporaryDirectory() as name:
        folder = RunFolder(Path(name))
        folder.open({"pipeline": "boxes"})
        for number in range(4):
            folder.add({"id": f"q{number}", "question": "", "answers": [], "scores": {}, "result": {"answer": text}})
        path = folder.path / "predictions.jsonl"
        path.write_bytes(path.read_bytes()[:cut])

        kept = folder.predictions({f"q{number}" for number in range(4)})

        assert [prediction["id"] for prediction in kept] == [f"q{number}" for number in range(len(kept))]
        assert len(kept) == path.read_bytes().count(b"\n")
        assert path.read_bytes()[-1:] in (b"", b"\n")
