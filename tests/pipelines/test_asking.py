"""The event loop that answers all questions, and how a call that waits for it is interrupted."""

import asyncio
import signal
import sys
import threading
from pathlib import Path

import pytest

from prefrag.pipelines.asking import run_to_end
from tests.evaluation.answering import HANG_AFTER, pipeline, questions
from tests.python_process import start_python

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")


def test_ctrl_c_ends_the_wait_and_the_work_when_another_thread_gets_the_signal():
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
def test_a_program_that_is_interrupted_ends_though_the_model_still_thinks(tmp_path: Path):
    one = questions(1)
    code = f"from prefrag.pipelines import ask; ask({one[0].question!r}, {str(pipeline(tmp_path, one))!r})"

    with start_python("-c", code, **{HANG_AFTER: "0"}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hanging\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)

    assert process.returncode != 0
    assert "KeyboardInterrupt" in errors
