"""The event loop and the pipelines that all questions share, and how a call that waits is interrupted."""

import asyncio
import signal
import sys
import threading
from pathlib import Path

import pytest

from prefrag import pipelines
from prefrag.components.generators.model_host import RemoteModelRefused
from prefrag.pipelines.event_loop import run_to_end
from tests.evaluation.answering import HANG_AFTER, pipeline, questions
from tests.fakes import CALLS
from tests.pipelines.scripted import QUESTION, answer, scripted_yaml
from tests.python_process import run_python, start_python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals, and does not fork")


def test_ctrl_c_ends_wait_and_work_whatever_thread_gets_it():
    cancelled = threading.Event()

    async def work() -> None:
        signal.raise_signal(signal.SIGINT)
        try:
            await asyncio.wait_for(asyncio.Event().wait(), timeout=20)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(KeyboardInterrupt):
        run_to_end(work)

    assert cancelled.wait(20)


@pytest.mark.slow
def test_an_interrupted_program_ends_though_the_model_thinks(tmp_path: Path):
    asked = questions(1)
    code = f"from prefrag.pipelines import ask; ask({asked[0].question!r}, {str(pipeline(tmp_path, asked))!r})"

    with start_python("-c", code, **{HANG_AFTER: "0"}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)

    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors


class TestAForkedProcess:
    FORK = """
import os, sys
from prefrag import pipelines
from prefrag.pipelines.event_loop import run_to_end
async def work():
    return "done"
{asked}
if (child := os.fork()) == 0:
    {asked}
    # Ends as a program does, with all its exit handlers.
    sys.exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

    # Its process and the child load every module: two seconds.
    @pytest.mark.slow
    def test_of_one_that_has_asked_works_and_ends(self):
        done = run_python(self.FORK.format(asked="run_to_end(work)"), seconds=60)

        assert done.stdout.split() == ["7"], done.stderr

    @pytest.mark.slow
    def test_loads_its_pipeline_itself(self):
        asked = "assert pipelines.ask('Who designed the Shearwater Current Meter?')['answer']"

        assert run_python(self.FORK.format(asked=asked), seconds=60).stdout.split() == ["7"]


class TestAPipelineThatIsNamed:
    def asked(self, name: str = "mine.yaml") -> str:
        CALLS.clear()
        return str(pipelines.ask(QUESTION, name)["answer"])

    def write(self, folder: Path, text: str, **settings: object) -> Path:
        folder.mkdir(exist_ok=True)
        path = folder / "mine.yaml"
        path.write_text(scripted_yaml(answer(text), pipeline="no_retrieval", **settings))
        return path

    def test_is_that_of_the_working_folder_and_as_its_file_is_now(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        for name in ("first", "second"):
            self.write(tmp_path / name, name)
        monkeypatch.chdir(tmp_path / "first")
        assert self.asked() == "first"
        monkeypatch.chdir(tmp_path / "second")
        assert self.asked() == "second"
        path = self.write(tmp_path / "second", "edited")
        assert (self.asked(), self.asked(str(path))) == ("edited", "edited")

    def test_is_loaded_once_as_long_as_nothing_changes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        loaded: list[object] = []
        load = pipelines.asking.load
        monkeypatch.setattr(pipelines.asking, "load", lambda path: loaded.append(path) or load(path))
        monkeypatch.chdir(self.write(tmp_path, "same").parent)

        assert [self.asked(), self.asked(str(tmp_path / "mine.yaml"))] == ["same", "same"]
        assert len(loaded) == 1

    def test_has_the_variables_of_now(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = self.write(tmp_path, "${ANSWER_OF_TEST:-none}")
        assert self.asked(str(path)) == "none"
        monkeypatch.setenv("ANSWER_OF_TEST", "set")
        assert self.asked(str(path)) == "set"

    def test_is_refused_once_its_model_may_not_be_called(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        path = self.write(tmp_path, "x", model_settings={"model_host": "api.example.org"})
        assert self.asked(str(path)) == "x"
        monkeypatch.setenv("PREFRAG_REMOTE_MODEL", "off")

        with pytest.raises(RemoteModelRefused):
            self.asked(str(path))
