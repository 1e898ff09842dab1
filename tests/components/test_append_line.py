"""Lines appended to a file that several processes write."""

from __future__ import annotations

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from prefrag.components.append_line import append_line
from tests.full_disk import files_of_at_most


def test_a_new_file_is_its_owners_alone(tmp_path: Path):
    append_line(tmp_path / "log", "one")
    append_line(tmp_path / "log", "two ä \ud800")

    assert (tmp_path / "log").read_text(encoding="utf-8") == "one\ntwo ä \\ud800\n"
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600


def test_no_folder_is_made(tmp_path: Path):
    with pytest.raises(FileNotFoundError):
        append_line(tmp_path / "unmounted" / "log", "one")


def test_an_empty_line_only_opens_the_file(tmp_path: Path):
    append_line(tmp_path / "log", "")

    assert (tmp_path / "log").read_bytes() == b""


def test_no_line_is_lost_or_mixed_with_another(tmp_path: Path):
    lines = [f"{number} " + "x" * 5_000 for number in range(64)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda line: append_line(tmp_path / "log", line), lines))

    assert sorted((tmp_path / "log").read_text().splitlines()) == sorted(lines)


def test_a_line_that_does_not_fit_is_not_written(tmp_path: Path):
    append_line(tmp_path / "log", "123", most_bytes=8)
    append_line(tmp_path / "log", "567", most_bytes=8)

    with pytest.raises(OSError, match="larger than 8 bytes") as refused:
        append_line(tmp_path / "log", "9", most_bytes=8)

    assert refused.value.errno == errno.EFBIG
    assert (tmp_path / "log").read_text() == "123\n567\n"


def test_half_a_line_is_an_error_and_spoils_no_other(tmp_path: Path):
    append_line(tmp_path / "log", "one")
    with files_of_at_most(7), pytest.raises(OSError, match="No space left"):
        append_line(tmp_path / "log", "two and more")

    append_line(tmp_path / "log", "three")

    assert (tmp_path / "log").read_text().splitlines() == ["one", "two", "three"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_takes_lines_and_does_not_hold_up_the_writer(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        append_line(tmp_path / "pipe", "one")
        assert os.read(reader, 100) == b"one\n"
    finally:
        os.close(reader)
