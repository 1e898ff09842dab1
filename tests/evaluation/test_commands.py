import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.running import prefrag
from tests.evaluation.answering import HANG_AFTER, pipeline, questions, questions_file
from tests.pipelines.scripted import answer, scripted_yaml
from tests.python_process import start_python

QUESTIONS = questions(6)
ROOT = Path(__file__).parents[2]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return questions_file(tmp_path / "dev.jsonl", QUESTIONS)


@pytest.fixture
def output(tmp_path: Path) -> Path:
    return tmp_path / "run"


class TestEvaluate:
    def evaluate(self, tmp_path: Path, file: Path, output: Path, *more: object, **settings: Any) -> Any:
        boxes = pipeline(tmp_path, QUESTIONS, **settings)
        return prefrag("evaluate", "--pipeline", boxes, "--questions", file, "--output", output, *more)

    def test_prints_the_scores_and_writes_the_three_files(self, tmp_path: Path, file: Path, output: Path):
        result = self.evaluate(tmp_path, file, output, wrong=("q1", "q2"))

        assert result.exit_code == 0, result.output
        assert "6 questions" in result.stdout
        assert "acc 66.7" in result.stdout
        assert "1.00 model calls" in result.stdout
        assert {path.name for path in output.iterdir()} == {
            "predictions.jsonl",
            "metrics.json",
            "config.json",
            "experiment.yaml",
        }
        assert json.loads((output / "metrics.json").read_text())["acc"] == pytest.approx(100 * 4 / 6)

    def test_reports_that_no_model_took_part_and_the_corpus_division(self, tmp_path: Path, output: Path):
        corpus, dev = tmp_path / "corpus.jsonl", tmp_path / "dev.jsonl"
        passages = [
            {"id": f"p{number}", "title": f"Box {number}", "text": f"Thing {number} is there.", "source": source}
            for number, source in enumerate(("local", "web"))
        ]
        corpus.write_text("".join(json.dumps(passage) + "\n" for passage in passages))
        dev.write_text(
            json.dumps({"id": "q", "question": "What is in box 0?", "answers": ["Thing 0"], "supporting_ids": ["p0"]})
        )
        settings = ("--questions", dev, "--corpus", corpus, "--llm", "simulated", "--pipeline", "react")
        experiment = tmp_path / "policy.yaml"
        experiment.write_text(
            "judge_error: 0.2\nseed: 3\nsource_choice: last\nyes_no: half\nqueries: alike\nmemory: 0\n"
            "web_sentences: 2\nanswer_error: 0.3\n"
        )
        policy = ("--experiment", experiment, "--set", "memory=0.1", "--set", "web_junk=0.2")

        result = prefrag("evaluate", *settings, *policy, "--output", output)

        assert result.exit_code == 0, result.output
        assert "the corpus split between the sources, the simulated reader, no language model" in result.stdout
        assert (
            "policy of the simulated reader: if a step names its source, the reader tries the last source first; half "
            "of the gold passages, at most five, are enough for yes or no; the same kind of queries on every dataset; "
            "judge error 0.2; answer error 0.3; memory 0.1; seed 3"
        ) in result.stdout
        assert "in place of the web: the first 2 sentences of each passage, 20% junk" in result.stdout
        config = json.loads((output / "config.json").read_text())
        assert (config["llm"]["source_choice"], config["llm"]["memory"], config["web_junk"]) == ("last", 0.1, 0.2)
        assert (config["llm"]["judge_error"], config["llm"]["seed"], config["split"]) == (0.2, 3, True)

    def test_changes_settings_of_the_pipeline_and_names_them(self, tmp_path: Path, file: Path, output: Path):
        result = self.evaluate(tmp_path, file, output, "--set", "start.top_k=3")

        assert result.exit_code == 0, result.output
        assert " start.top_k=3 on " in result.stdout
        config = json.loads((output / "config.json").read_text(encoding="utf-8"))
        assert (config["set"], config["top_k"]) == (["start.top_k=3"], 3)

    def test_folder_of_a_run_keeps_the_experiment_that_repeats_it(self, tmp_path: Path, file: Path, output: Path):
        settings = ("--set", "start.top_k=3", "--set", "seed=5", "--limit", 4, "--concurrency", 2)
        self.evaluate(tmp_path, file, output, *settings)
        experiment = output / "experiment.yaml"

        again = prefrag("evaluate", "--experiment", experiment, "--output", tmp_path / "again")
        same = prefrag("evaluate", "--experiment", experiment, "--output", output)
        without = prefrag("evaluate", "--experiment", file, "--output", output)

        assert (again.exit_code, same.exit_code, without.exit_code) == (0, 0, 2), again.output
        assert experiment.read_text() == (tmp_path / "again" / "experiment.yaml").read_text()
        first, second = (
            {name: value for name, value in json.loads((run / "config.json").read_text()).items() if name != "started"}
            for run in (output, tmp_path / "again")
        )
        assert first == second
        assert (first["set"], first["limit"], first["concurrency"]) == (["start.top_k=3"], 4, 2)

    def test_a_second_call_with_other_settings_ends_with_2(self, tmp_path: Path, file: Path, output: Path):
        self.evaluate(tmp_path, file, output)

        result = self.evaluate(tmp_path, file, output, "--top-k", 3)

        assert result.exit_code == 2
        assert "top_k was null and is now 3" in result.stderr

    def test_reports_failed_questions_and_ends_with_1_if_all_failed(self, tmp_path: Path, file: Path, output: Path):
        single = self.evaluate(tmp_path, file, output, "--set", "retries=0", failures={"q0": 9})
        every = self.evaluate(
            tmp_path, file, tmp_path / "other", "--set", "retries=0", failures={f"q{n}": 9 for n in range(6)}
        )

        assert (single.exit_code, every.exit_code) == (0, 1)
        assert "1 question failed (score 0); run again with --retry-failed" in single.stderr

    @pytest.mark.parametrize(("errors", "code"), [({"local": "the disk is gone"}, 1), ({}, 0)])
    def test_ends_with_1_when_no_question_could_search_anything(
        self, tmp_path: Path, file: Path, output: Path, errors: dict[str, str], code: int
    ):
        boxes = tmp_path / "boxes.yaml"
        boxes.write_text(scripted_yaml(answer("a thing"), pipeline="vanilla_local", errors=errors))

        result = prefrag("evaluate", "--pipeline", boxes, "--questions", file, "--output", output)

        assert result.exit_code == code
        message = "For 6 questions, every search failed. In the first of these questions: local: ScriptedRetriever: the disk is gone"
        assert (message in " ".join(result.stderr.split())) is bool(errors)

    @pytest.mark.parametrize(
        ("option", "text", "message"),
        [
            ("", "", "name a file of questions with --questions"),
            ("--questions={}", "\n", "file is empty: give a file that holds questions"),
        ],
    )
    def test_a_file_that_says_nothing_is_refused(
        self, tmp_path: Path, file: Path, output: Path, option: str, text: str, message: str
    ):
        (tmp_path / "file").write_text(text)
        result = prefrag("evaluate", *([option.format(tmp_path / "file")] if option else []), "--output", output)

        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())

    @pytest.mark.parametrize(
        ("arguments", "code", "message"),
        [
            (("--questions", "nothing.jsonl"), 3, "nothing.jsonl"),
            (("--llm", "gpt"), 2, "llm is 'gpt'"),
            (("--pipeline", "nothing"), 3, "no pipeline 'nothing'"),
            (("--corpus", "nothing.jsonl"), 3, "nothing.jsonl"),
            (("--set", "replay=nothing.jsonl"), 3, "no recording nothing.jsonl"),
            (("--set", "web=bing"), 2, "web is 'bing'"),
            (("--set", "judge_error=2"), 2, "judge_error is 2.0: set it between 0 and 1"),
            (("--set", "judge_eror=2"), 2, "no setting 'judge_eror': the nearest is judge_error"),
            (("--set", "seed"), 2, "'seed' sets nothing: write NAME=VALUE"),
            (("--set", "seed=many"), 2, "seed is 'many'"),
            (("--experiment", "nothing.yaml"), 3, "no file nothing.yaml"),
            (("--experiment", "published", "--pipeline", "crag"), 2, "choose from prefrag, mspr"),
        ],
    )
    def test_reports_what_is_wrong(self, file: Path, output: Path, arguments: tuple[str, ...], code: int, message: str):
        result = prefrag("evaluate", "--questions", file, "--output", output, *arguments)

        assert result.exit_code == code
        assert message in " ".join(result.stderr.split())

    @pytest.mark.slow
    def test_interrupted_ends_with_130_and_goes_on_the_next_time(self, tmp_path: Path, file: Path, output: Path):
        boxes = pipeline(tmp_path, QUESTIONS)
        arguments = ["evaluate", "--pipeline", boxes, "--questions", file, "--output", output, "--concurrency", "1"]
        with start_python("-m", "prefrag.cli.main", *arguments, **{HANG_AFTER: "2"}) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "hanging\n"
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "the same command continues the run" in errors
        assert len((output / "predictions.jsonl").read_text().splitlines()) == 2

        result = prefrag(*arguments)

        assert result.exit_code == 0, result.output
        assert len((output / "predictions.jsonl").read_text().splitlines()) == 6


class TestReport:
    def test_writes_the_report_of_the_folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        written: list[Any] = []

        def write_report(folders: list[Path], output: Path, reference: str | None) -> Path:
            written.append((folders, output, reference))
            return output / "index.html"

        monkeypatch.setattr("prefrag.evaluation.report.write_report", write_report, raising=False)

        result = prefrag(
            *("report", tmp_path / "one", tmp_path / "two", "--output", tmp_path / "report", "--reference", "react")
        )

        assert result.exit_code == 0, result.output
        assert written == [([tmp_path / "one", tmp_path / "two"], tmp_path / "report", "react")]
        assert "index.html" in result.stdout

    def test_a_folder_that_is_absent_ends_with_3(self, tmp_path: Path):
        assert prefrag("report", tmp_path / "nothing", "--output", tmp_path / "report").exit_code == 3

    def test_a_package_that_is_absent_ends_with_3(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)

        result = prefrag("report", tmp_path, "--output", tmp_path / "report")

        assert (result.exit_code, 'pip install "prefrag[evaluation]"' in " ".join(result.stderr.split())) == (3, True)
