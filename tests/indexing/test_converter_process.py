"""A file is converted within limits of memory and time, and the next file is read even if one exceeds them."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from prefrag.errors import PrefragError
from prefrag.indexing.converter_process import ConverterProcess
from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.report import CannotRead
from tests.indexing.converting import HERE
from tests.indexing.pdfs import make_endless_pdf, make_pdf
from tests.python_process import start_python


def test_it_converts_as_within_this_process():
    path, data = Path("/köge notes.md"), "# Of ropes\n\nA rope, „long“ 🪢.".encode()

    assert HERE.passages(path, data, 3.5) == FileConverter().passages(path, data, 3.5)
    with pytest.raises(CannotRead, match=r"^it is empty$"):
        HERE.passages(path, b"")


def test_what_it_leaves_out_is_said_of_that_file_alone():
    pytest.importorskip("pypdfium2")
    HERE.passages(Path("/a.pdf"), make_pdf(["Text.", None]))
    assert "pictures without text on page 2: " in HERE.loss

    HERE.passages(Path("/a.txt"), b"Text.")
    assert HERE.loss == ""


# A converter whose every file is without end, in a module of its own.
ENDLESS = """
from prefrag.indexing.converter_process import FileConverter, main

def convert(*_):
    while True:
        pass

FileConverter.passages = convert
"""
# The request is in the pipe when the parent says so, and is read there even if the parent has ended meanwhile.
CONVERT = """
import sys
from prefrag.indexing import converter_process
sys.path.append(sys.argv[1])
converter_process.__name__ = "endless"
converter = converter_process.ConverterProcess()
converter._start()
converter._process.stdout.readline()
converter._process.stdin.write(b'{"path": "/a.txt", "modified": null, "folders": [], "bytes": 0}\\n')
converter._process.stdin.flush()
print("busy", flush=True)
converter._process.stdout.readline()
"""


@pytest.mark.slow
@pytest.mark.skipif("os.name != 'posix'")
def test_it_ends_with_the_process_that_started_it(tmp_path: Path):
    (tmp_path / "endless.py").write_text(ENDLESS)
    with start_python("-c", CONVERT, tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "busy\n"
        process.kill()
        # The converter holds the same standard error, which ends with it.
        assert process.communicate(timeout=30)[1] == ""


@pytest.mark.slow
def test_one_that_ended_while_it_waited_costs_no_file():
    HERE.passages(Path("/a.txt"), b"Text.")
    first = HERE._process
    assert first is not None
    first.kill()
    first.wait()

    assert HERE.passages(Path("/a.txt"), b"Text.")


def test_one_that_does_not_start_is_said_once_and_clearly(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.executable", "/bin/false")

    with pytest.raises(PrefragError, match="does not start"):
        ConverterProcess().passages(Path("/a.txt"), b"Text.")


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="this system limits no processor time")
@pytest.mark.parametrize(
    ("limits", "reason"),
    [
        ({"seconds": 1.0, "memory": 20_000_000_000}, "takes more than 1 s"),
        ({"memory": 900_000_000}, "it may need more than 0.9 GB"),
    ],
    ids=["time", "memory"],
)
def test_a_file_without_end_is_given_up_and_the_next_one_read(limits: dict[str, float], reason: str):
    pytest.importorskip("pypdfium2")
    converter = ConverterProcess(**limits)
    try:
        with pytest.raises(CannotRead, match=reason):
            converter.passages(Path("/endless.pdf"), make_endless_pdf())
        assert converter.passages(Path("/a.txt"), b"Text.")
    finally:
        converter.close()
