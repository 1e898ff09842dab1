"""What an evaluation measures, keeps and refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefrag import evaluation
from prefrag.evaluation.question import Question
from prefrag.pipelines import load
from tests.evaluation.answering import pipeline, questions_file
from tests.evaluation.runs.boxes import QUESTIONS, lines, read, run
from tests.fakes import CALLS


class TestRun:
    def test_scores_every_question(self, boxes: Path):
        ended = run(boxes)

        assert [prediction["id"] for prediction in ended.predictions] == [question.id for question in QUESTIONS]
        assert [prediction["scores"]["acc"] for prediction in ended.predictions].count(1.0) == 10
        assert ended.metrics["n"] == 12
        assert ended.metrics["acc"] == pytest.approx(100 * 10 / 12)
        assert ended.metrics["llm_calls"] == 1

    def test_keeps_predictions_metrics_and_settings(self, boxes: Path, output: Path):
        ended = run(boxes, output=output)

        predictions = lines(output)
        assert sorted(prediction["id"] for prediction in predictions) == sorted(question.id for question in QUESTIONS)
        assert set(predictions[0]) == {
            *("id", "question", "answers", "type", "supporting_ids", "dataset"),
            *("seconds", "simulated", "error", "scores", "result"),
        }
        assert predictions[0]["seconds"] > 0
        assert predictions[0]["result"]["trace"]
        assert read(output, "metrics.json") == ended.metrics
        assert predictions[0]["simulated"] is ended.metrics["simulated"] is False
        config = read(output, "config.json")
        assert config == ended.config
        assert (config["pipeline"], config["dataset"], config["simulated"]) == (str(boxes), "boxes", False)
        assert ended.output == output

    def test_takes_an_experiment_or_its_fields_and_no_others(self, boxes: Path):
        experiment = evaluation.Experiment(top_k=3)

        ended = [run(boxes, experiment=experiment, **fields) for fields in ({}, {"top_k": 4})]

        assert [finished.config["top_k"] for finished in ended] == [3, 4]

        with pytest.raises(TypeError, match="temperature"):
            run(boxes, temperature=1.0)

    def test_writes_nothing_without_a_folder(self, boxes: Path, tmp_path: Path):
        before = sorted(tmp_path.rglob("*"))

        run(boxes)

        assert sorted(tmp_path.rglob("*")) == before

    def test_reads_questions_from_a_file(self, boxes: Path, tmp_path: Path):
        file = questions_file(tmp_path / "dev.jsonl", QUESTIONS)

        ended = run(boxes, file, limit=3)

        assert [prediction["id"] for prediction in ended.predictions] == ["q0", "q1", "q2"]
        assert (ended.config["questions"], ended.config["limit"]) == (str(file), 3)

    def test_takes_a_loaded_pipeline_too(self, boxes: Path):
        assert evaluation.run(load(str(boxes)), QUESTIONS, progress=False).metrics["n"] == 12

    async def test_works_where_an_event_loop_runs_already_as_in_a_notebook(self, boxes: Path):
        assert run(boxes).metrics["n"] == 12

    def test_asks_as_many_at_once_as_it_may_and_no_more(self, boxes: Path):
        CALLS["together"] = 3

        run(boxes, concurrency=3)

        assert max(CALLS["at once"]) == 3

    def test_metrics_do_not_depend_on_the_concurrency(self, boxes: Path):
        single, many = (run(boxes, concurrency=count).metrics for count in (1, 8))

        def without_time(metrics: dict[str, Any]) -> dict[str, Any]:
            return {
                key: without_time(value) if isinstance(value, dict) else value
                for key, value in metrics.items()
                if key != "seconds_per_question"
            }

        assert without_time(single) == without_time(many)

    def test_can_leave_out_the_texts_of_documents_and_nothing_else(self, tmp_path: Path):
        corpus = tmp_path / "corpus.jsonl"
        passage = {"id": "p", "title": "Box 000", "text": "In box 000 is kept thing 000.", "source": "local"}
        corpus.write_text(json.dumps(passage) + "\n", encoding="utf-8")
        chosen = [Question("q0", "What is kept in box 000?", ("thing 000",), supporting_ids=("p",))]
        file = tmp_path / "dev.jsonl"
        file.write_text(
            json.dumps({"id": "q0", "question": chosen[0].question, "answers": ["thing 000"], "supporting_ids": ["p"]}),
            encoding="utf-8",
        )
        settings = {"corpus": corpus, "llm": "simulated", "progress": False}

        whole, bare = (
            evaluation.run("vanilla_local", file, contents=contents, **settings) for contents in (True, False)
        )

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
            ({"chosen": []}, "no questions to run"),
            ({"chosen": [QUESTIONS[0], QUESTIONS[0]]}, "Two questions have the id 'q0'"),
        ],
    )
    def test_refuses_what_makes_no_sense(self, boxes: Path, settings: dict[str, Any], message: str):
        with pytest.raises(ValueError, match=message):
            run(boxes, **settings)


def test_shows_the_scores_so_far(boxes: Path, capsys: pytest.CaptureFixture[str]):
    run(boxes, progress=True)

    assert "acc" in capsys.readouterr().err


def test_shows_the_first_error_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    path = pipeline(tmp_path, QUESTIONS, failures={"q1": 9, "q2": 9})
    run(path, retries=0, concurrency=1, progress=True)
    printed = " ".join(capsys.readouterr().err.split())
    run(path, retries=0, progress=False)

    assert printed.count("Question 'q") == 1
    assert "Question 'q1' failed: " in printed
    assert "the server is down" in printed
    assert capsys.readouterr().err == ""
