"""Questions that fail, and how they are asked."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import prefrag.evaluation.runs.predictor
from prefrag.pipelines.asking import RunFailed
from tests.evaluation.answering import HANG_AFTER, pipeline
from tests.evaluation.runs.boxes import QUESTIONS, lines, run
from tests.fakes import CALLS


def test_only_a_question_of_that_type_asks_for_yes_or_no(tmp_path: Path):
    # The plain question must not ask for yes or no although its answer is yes: that would give the answer away.
    plain, bioasq = replace(QUESTIONS[0], answers=("yes",)), replace(QUESTIONS[1], answers=("yes",), type="yesno")

    run(pipeline(tmp_path, [plain, bioasq]), [plain, bioasq], concurrency=1)

    assert ["only yes or no" in prompt for prompt in CALLS["prompts"]] == [False, True]


def test_earlier_turns_are_asked_with_a_question_and_saved(tmp_path: Path, output: Path):
    second = replace(QUESTIONS[0], history=(("user", "What is kept in box 007?"), ("assistant", "Rope.")))

    ended = run(pipeline(tmp_path, [second]), [second], output=output)

    assert "Rope." in CALLS["prompts"][0]
    assert lines(output)[0]["history"] == second.turns
    assert ended.metrics["errors"] == 0


class TestQuestionsThatFail:
    def test_failed_questions_are_tried_again(self, tmp_path: Path):
        ended = run(pipeline(tmp_path, QUESTIONS, failures={"q1": 1}), retries=1)

        assert ended.metrics["errors"] == 0
        assert CALLS["questions"].count(QUESTIONS[1].question) == 2

    def test_are_saved_after_the_last_attempt_and_in_the_denominator(self, tmp_path: Path, output: Path):
        ended = run(pipeline(tmp_path, QUESTIONS, failures={"q1": 9}), retries=2, output=output)

        assert CALLS["questions"].count(QUESTIONS[1].question) == 3
        [failed] = [prediction for prediction in lines(output) if prediction["error"]]
        assert failed["id"] == "q1"
        assert "the server is down" in failed["error"]
        assert failed["scores"]["acc"] == 0
        assert (ended.metrics["n"], ended.metrics["errors"]) == (12, 1)
        assert ended.metrics["acc"] == pytest.approx(100 * 11 / 12)

    def test_are_run_again_by_the_next_call_with_that_option_alone(self, tmp_path: Path, output: Path):
        path = pipeline(tmp_path, QUESTIONS, failures={"q1": 1})
        run(path, retries=0, output=output)
        calls = len(CALLS["questions"])

        assert run(path, retries=0, output=output).metrics["errors"] == 1
        assert len(CALLS["questions"]) == calls
        assert run(path, retries=0, output=output, retry_failed=True).metrics["errors"] == 0
        assert len(lines(output)) == 12
        assert CALLS["questions"].count(QUESTIONS[0].question) == 1

    def test_are_those_without_an_answer_as_well(self, boxes: Path, output: Path):
        run(boxes, output=output)
        predictions = lines(output)
        predictions[1]["result"]["answer"] = " "
        (output / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in predictions))
        assert run(boxes, output=output).metrics["errors"] == 1
        CALLS.clear()

        ended = run(boxes, output=output, retry_failed=True)

        assert CALLS["questions"] == [predictions[1]["question"]]
        assert ended.metrics["errors"] == 0

    def test_for_want_of_a_server_end_the_run_if_they_are_the_first(self, tmp_path: Path, output: Path):
        path = pipeline(tmp_path, QUESTIONS, failures={question.id: 1 for question in QUESTIONS})

        with pytest.raises(ConnectionError, match=r"The first 7 questions all failed .* the server is down.*--retry-"):
            run(path, retries=0, concurrency=2, output=output)
        assert 7 <= len(lines(output)) <= 8
        assert run(path, concurrency=2, output=output, retry_failed=True).metrics["errors"] == 0

    def test_for_want_of_a_server_spare_a_run_with_an_answer(self, tmp_path: Path):
        failures = {question.id: 9 for question in QUESTIONS[1:]}

        assert run(pipeline(tmp_path, QUESTIONS, failures=failures), retries=0, concurrency=1).metrics["errors"] == 11

    def test_count_the_queries_they_sent(self, boxes: Path, monkeypatch: pytest.MonkeyPatch):
        async def break_off(*_: Any, **__: Any) -> None:
            raise RunFailed("gone", {"queries_sent_out": [{"source": "web", "query": "box"}]})

        monkeypatch.setattr(prefrag.evaluation.runs.predictor, "ask_async", break_off)

        ended = run(boxes, chosen=[replace(QUESTIONS[0], answerable=True)], retries=0)

        assert ended.predictions[0]["scores"]["needless_queries"] == 1
        assert ended.metrics["needless_queries"] == 100

    def test_questions_fail_at_the_deadline(self, boxes: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv(HANG_AFTER, "0")

        ended = run(boxes, chosen=QUESTIONS[:1], deadline=0.01, retries=0)

        assert "given up after 0.01 s" in ended.predictions[0]["error"]
