"""A file is converted within limits of memory and time, and the next file is read even if one exceeds them."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from prefrag.components.errors import PrefragError
from prefrag.indexing.converter_process import ConverterProcess, converter_process
from prefrag.indexing.file_conversion import FileConverter
from prefrag.indexing.report import CannotRead
from tests.indexing.pdfs import make_endless_pdf, make_pdf

HERE = converter_process(os.getpid())


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
