"""Continuing a run that was stopped."""

import json
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.evaluation.question import Question
from prefrag.evaluation.runs.run_folder import RunFolder
from tests.evaluation.answering import HANG_AFTER, questions_file
from tests.evaluation.runs.boxes import QUESTIONS, lines, read, run
from tests.fakes import CALLS
from tests.python_process import start_python


@contextmanager
def hanging(boxes: Path, file: Path, output: Path, concurrency: int) -> Iterator[subprocess.Popen[str]]:
    """Another process that runs into a folder, and hangs after some questions."""
    code = f"import sys; from prefrag import evaluation; evaluation.run(*sys.argv[1:3], output=sys.argv[3], concurrency={concurrency})"
    with start_python("-c", code, boxes, file, output, **{HANG_AFTER: "5"}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        yield process


OTHER = Question("q0", "Who keeps box 000?", ("nobody",), dataset="boxes")
CHANGED = "the question 'q0' was asked with other values of"


def first_with(**gold: Any) -> list[Question]:
    return [replace(QUESTIONS[0], **gold), *QUESTIONS[1:]]


class TestResuming:
    @pytest.mark.slow
    def test_a_process_that_was_killed_is_taken_up_by_the_next(
        self, boxes: Path, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        file = questions_file(tmp_path / "dev.jsonl", QUESTIONS)
        with hanging(boxes, file, output, concurrency=2) as process:
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        ids = {prediction["id"] for prediction in lines(output)}
        assert 0 < len(ids) < 12
        assert not (output / "metrics.json").exists()

        ended = run(boxes, file, output=output, concurrency=4)

        assert len(CALLS["questions"]) == 12 - len(ids)
        assert len(lines(output)) == 12
        assert ended.metrics["n"] == 12
        assert ended.metrics["acc"] == pytest.approx(100 * 10 / 12)
        assert read(output, "metrics.json") == ended.metrics

    def test_unfinished_line_is_dropped_and_its_question_run_again(self, boxes: Path, output: Path):
        run(boxes, output=output)
        path = output / "predictions.jsonl"
        path.write_bytes(path.read_bytes()[:-20])
        CALLS.clear()

        ended = run(boxes, output=output)

        assert len(CALLS["questions"]) == 1
        assert ended.metrics["n"] == len(lines(output)) == 12

    def test_a_run_that_is_over_asks_nothing_and_keeps_its_settings(self, boxes: Path, output: Path):
        first = run(boxes, output=output, concurrency=2)
        CALLS.clear()

        ended = run(boxes, output=output, concurrency=8, retry_failed=True)

        assert not CALLS
        assert ended.metrics == first.metrics
        assert read(output, "config.json") == ended.config == first.config

    def test_the_limit_may_grow_and_the_concurrency_change(self, boxes: Path, output: Path):
        run(boxes, output=output, limit=4)

        assert run(boxes, output=output, limit=6, concurrency=1).metrics["n"] == 6
        assert len(CALLS["questions"]) == 6

    @pytest.mark.parametrize(
        ("again", "message"),
        [
            ({"limit": 2}, "is for the question 'q.', which is not in this run: raise the limit"),
            ({"top_k": 3}, "other settings: top_k was null and is now 3. Choose another output folder"),
            ({"deadline": 5}, "other settings: deadline was 600.0 and is now 5"),
            ({"chosen": [OTHER, *QUESTIONS[1:]]}, f"{CHANGED} answers, question, type: choose another output folder"),
            ({"chosen": first_with(answers=("a thing",))}, f"{CHANGED} answers:"),
            ({"chosen": first_with(supporting_ids=("p1",))}, f"{CHANGED} supporting_ids:"),
            ({"chosen": first_with(type="yesno")}, f"{CHANGED} type:"),
            ({"chosen": first_with(answerable=False, sentences=("It.",))}, f"{CHANGED} answerable, sentences:"),
            ({"chosen": first_with(history=(("user", "Hello"),))}, f"{CHANGED} history:"),
        ],
        ids=[
            *("a lower limit", "another setting", "another deadline", "another question of the same id"),
            *("other answers", "other passages", "another type", "other gold sentences", "earlier turns"),
        ],
    )
    def test_another_run_is_refused_by_name_and_changes_nothing(
        self, boxes: Path, output: Path, again: dict[str, Any], message: str
    ):
        run(boxes, output=output, limit=4)

        with pytest.raises(ValueError, match=message):
            run(boxes, output=output, **{"limit": 4, **again})
        assert len(lines(output)) == read(output, "config.json")["limit"] == 4

    def test_another_way_to_write_a_path_is_no_other_setting(
        self, boxes: Path, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        file = questions_file(tmp_path / "dev.jsonl", QUESTIONS)
        (tmp_path / "below").mkdir()
        monkeypatch.chdir(tmp_path / "below")
        run(boxes, file, output=output, limit=3)

        run(f"../{boxes.name}", "../dev.jsonl", output=output, limit=4)

        assert len(CALLS["questions"]) == 4
        config = read(output, "config.json")
        assert (config["pipeline"], config["questions"]) == (f"../{boxes.name}", "../dev.jsonl"), "kept as it was given"

    def test_another_file_or_edited_pipeline_is_other_settings(self, boxes: Path, output: Path, tmp_path: Path):
        """The file has the same name."""

        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
            questions_file(tmp_path / folder / "dev.jsonl", QUESTIONS)
        run(boxes, tmp_path / "a" / "dev.jsonl", output=output)
        with pytest.raises(ValueError, match="other settings: .*questions was"):
            run(boxes, tmp_path / "b" / "dev.jsonl", output=output)
        boxes.write_text(boxes.read_text().replace("temperature: 0.1", "temperature: 0.7"))
        with pytest.raises(ValueError, match="other settings: pipeline_sha256"):
            run(boxes, tmp_path / "a" / "dev.jsonl", output=output)

    def test_a_setting_that_an_earlier_version_lacks_must_be_off(self, boxes: Path, output: Path):
        run(boxes, output=output, limit=3)
        config = read(output, "config.json")
        del config["judged"]
        (output / "config.json").write_text(json.dumps(config))

        assert run(boxes, output=output, limit=4).metrics["n"] == 4
        del config["prompts_sha256"]
        (output / "config.json").write_text(json.dumps(config))
        with pytest.raises(ValueError, match="prompts_sha256 was not recorded and is now"):
            run(boxes, output=output, limit=5)

    def test_a_line_that_is_broken_or_of_another_form_is_named(self, boxes: Path, output: Path):
        run(boxes, output=output)
        path = output / "predictions.jsonl"
        first, *rest = path.read_text().splitlines(keepends=True)
        named = r"line 1, is not a prediction "
        for broken, message in (
            ("{\n" + first, rf"{named}.*: delete the line"),
            *(
                (json.dumps({**json.loads(first), part: 5}) + "\n", rf"{named}\(its '{part}' is no")
                for part in ("question", "answers", "scores", "result")
            ),
        ):
            path.write_text("".join([broken, *rest]))
            with pytest.raises(ValueError, match=message):
                run(boxes, output=output)

    def test_folder_that_cannot_be_made_is_refused_before_any_run(self, boxes: Path, tmp_path: Path):
        (tmp_path / "file").write_text("mine")

        for taken in (tmp_path / "file", tmp_path / "file" / "below"):
            with pytest.raises(ValueError, match=r"Nothing can be written to .*: choose another output folder"):
                run(boxes, output=taken)
        assert "questions" not in CALLS

    @pytest.mark.slow
    def test_a_folder_into_which_another_process_runs_is_refused(self, boxes: Path, output: Path, tmp_path: Path):
        file = questions_file(tmp_path / "dev.jsonl", QUESTIONS)
        with hanging(boxes, file, output, concurrency=1) as process:
            before = lines(output)
            try:
                with pytest.raises(ValueError, match=r"Another process is running an evaluation into .*boxes: wait"):
                    run(boxes, file, output=output)
            finally:
                process.kill()
        assert "questions" not in CALLS
        assert lines(output) == before
        assert run(boxes, file, output=output).metrics["n"] == 12

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

        readable = folder.predictions({f"q{number}" for number in range(4)})

        assert [prediction["id"] for prediction in readable] == [f"q{number}" for number in range(len(readable))]
        assert len(readable) == path.read_bytes().count(b"\n")
        assert path.read_bytes()[-1:] in (b"", b"\n")
