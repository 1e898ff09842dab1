"""Recording and replaying an evaluation."""

import gc
import json
from pathlib import Path
from typing import Any

import pytest

from prefrag import evaluation
from tests.evaluation.pipeline_under_test.lighthouse import QUESTION, jsonl, setup
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, scripted_yaml, search, verdict

SCRIPT = (search("alpha"), search("beta delta"), answer("1974"))
QUESTIONS = [evaluation.Question("hp-1", "In which year did the yard that built alpha win the prize?", ("1974",))]


class TestRecording:
    @pytest.fixture
    def scripted(self, tmp_path: Path) -> Path:
        """A pipeline with scripted model and sources. Its web is external, and its judge is another model."""
        text = scripted_yaml(*SCRIPT, verdicts=(verdict(False),), errors={})
        file = tmp_path / "scripted.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    def run(self, pipeline: Path, **settings: Any) -> evaluation.Run:
        return evaluation.run(str(pipeline), QUESTIONS, **{"progress": False, **settings})

    def test_is_replayed_without_any_model_and_without_the_web(self, scripted: Path, tmp_path: Path):
        record = tmp_path / "kept.jsonl"
        first = self.run(scripted, record=record)
        assert {name for name in CALLS if CALLS[name]} == {"model", "judge", "local", "web"}
        CALLS.clear()

        again = self.run(scripted, replay=record)

        assert set(CALLS) == {"local"}
        assert again.predictions[0]["result"]["answer"] == first.predictions[0]["result"]["answer"] == "1974"
        assert again.predictions[0]["result"]["documents"] == first.predictions[0]["result"]["documents"]
        assert again.metrics["total_web"] == first.metrics["total_web"] == 1
        assert again.predictions[0]["result"]["queries_sent_out"] == []
        assert (again.config["llm"], again.config["replayed"]) == (first.config["llm"], str(record))

    @pytest.mark.slow
    def test_of_a_reader_is_replayed_by_reading_again_in_any_setting(
        self, corpus: Path, dev: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        record, settings = tmp_path / "kept.jsonl", {"corpus": corpus, "progress": False}
        first = evaluation.run("prefrag", dev, llm="reader", record=record, **settings)
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://localhost:9/v1")

        again = evaluation.run("prefrag", dev, replay=record, **settings)

        assert again.config["llm"] == first.config["llm"]
        assert again.predictions[0]["error"] is None
        assert again.predictions[0]["result"]["guess"] == first.predictions[0]["result"]["guess"]

    def test_is_replayed_where_the_web_is_closed(self, scripted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        self.run(scripted, record=tmp_path / "kept.jsonl")
        monkeypatch.setenv("PREFRAG_WEB", "off")

        assert self.run(scripted, replay=tmp_path / "kept.jsonl").metrics["total_web"] == 1

    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            ("reply", r"Question 'hp-1' \(In which year .* does not contain this reply of"),
            ("search", "Question 'hp-1' .* does not contain this search of web: beta delta"),
        ],
    )
    def test_without_a_reply_or_search_fails_and_names_the_question(
        self, scripted: Path, tmp_path: Path, kind: str, message: str
    ):
        record = tmp_path / "kept.jsonl"
        self.run(scripted, record=record)
        lines = record.read_text(encoding="utf-8").splitlines()
        missing = [line for line in lines if json.loads(line)["key"].startswith(kind)][-1:]
        record.write_text("".join(f"{line}\n" for line in lines if line not in missing), encoding="utf-8")

        with pytest.raises(ValueError, match=message):
            self.run(scripted, replay=record)

    @pytest.mark.slow
    def test_without_a_reply_does_not_complain_of_concurrency(
        self, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ):
        dev = jsonl(
            tmp_path / "many.jsonl",
            *(
                {**QUESTION, "id": f"q{n}", "question": f"Where was builder {n} of Ardal Light born?"}
                for n in range(12)
            ),
        )
        recorded, settings = tmp_path / "kept.jsonl", {"corpus": corpus, "progress": False}
        evaluation.run("mspr", dev, llm="simulated", record=recorded, **settings)
        lines = recorded.read_text(encoding="utf-8").splitlines()
        replies = [line for line in lines if json.loads(line)["key"].startswith("reply")]
        left = set(lines) - set(replies[len(replies) // 2 :])
        recorded.write_text("".join(f"{line}\n" for line in lines if line in left), encoding="utf-8")

        with pytest.raises(ValueError, match=r"Question 'q\d+' .* cannot be replayed"):
            evaluation.run("mspr", dev, replay=recorded, concurrency=6, output=tmp_path / "run", **settings)
        gc.collect()
        assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
        done = (tmp_path / "run" / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
        assert 0 < len(done) < 12

    def test_plays_a_web_that_failed_as_failed(self, tmp_path: Path):
        file = tmp_path / "scripted.yaml"
        text = scripted_yaml(*SCRIPT, verdicts=(verdict(False),), errors={"web": "rate limit"})
        file.write_text(text, encoding="utf-8")
        first = self.run(file, record=tmp_path / "kept.jsonl")
        CALLS.clear()

        again = self.run(file, replay=tmp_path / "kept.jsonl")

        assert "web" not in CALLS
        assert "rate limit" in again.predictions[0]["result"]["errors"][0]
        assert again.predictions[0]["result"]["answer"] == first.predictions[0]["result"]["answer"]

    def test_goes_on_where_it_was_stopped(self, scripted: Path, tmp_path: Path):
        record = tmp_path / "kept.jsonl"
        self.run(scripted, record=record)
        CALLS.clear()

        self.run(scripted, record=record)

        assert set(CALLS) == {"local"}

    def test_is_not_continued_with_another_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        setup(record=tmp_path / "kept.jsonl")
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://localhost:9/v1")

        with pytest.raises(ValueError, match="holds replies of another model"):
            setup(record=tmp_path / "kept.jsonl")

    def test_of_something_else_cannot_be_replayed(self, scripted: Path, tmp_path: Path):
        (tmp_path / "kept.jsonl").write_text("\n", encoding="utf-8")

        with pytest.raises(ValueError, match="records no evaluation: give a file made by `record`"):
            self.run(scripted, replay=tmp_path / "kept.jsonl")

    def test_holds_whole_pipelines_with_simulated_reader_in_a_file(self, corpus: Path, dev: Path, tmp_path: Path):
        record = tmp_path / "kept.jsonl"
        for name in ("prefrag", "mspr"):
            first = evaluation.run(name, dev, corpus=corpus, llm="simulated", record=record, progress=False)
            again = evaluation.run(name, dev, corpus=corpus, replay=record, progress=False)

            assert again.predictions[0]["scores"] == first.predictions[0]["scores"]
            assert again.config["simulated"]
