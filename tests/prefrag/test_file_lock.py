"""Locks, and lines appended to a file that several processes write."""

import errno
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest

from prefrag import file_lock
from prefrag.file_lock import Busy, append_line, hold_lock, take_lock
from tests.full_disk import files_of_at_most


def test_a_new_file_is_its_owners_alone_and_no_folder_is_made(tmp_path: Path):
    append_line(tmp_path / "log", "one")
    append_line(tmp_path / "log", "two ä \ud800")

    assert (tmp_path / "log").read_text(encoding="utf-8") == "one\ntwo ä \\ud800\n"
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600

    with pytest.raises(FileNotFoundError):
        append_line(tmp_path / "unmounted" / "log", "one")


def test_an_empty_line_only_opens_the_file(tmp_path: Path):
    append_line(tmp_path / "log", "")

    assert (tmp_path / "log").read_bytes() == b""


def test_no_line_is_lost_or_mixed_with_another(tmp_path: Path):
    lines = [f"{number} " + "x" * (number * 97 % 20_000) for number in range(600)]

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda line: append_line(tmp_path / "log", line), lines))

    assert sorted((tmp_path / "log").read_text().splitlines()) == sorted(lines)


def test_a_writer_that_hangs_is_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    append_line(tmp_path / "log", "one")
    monkeypatch.setattr(file_lock, "_LINE_SECONDS", 0.0)

    with (tmp_path / "log").open("ab") as hanging:
        assert take_lock(hanging.fileno())
        with pytest.raises(OSError, match="another process has locked it for too long"):
            append_line(tmp_path / "log", "two")
    append_line(tmp_path / "log", "three")

    assert (tmp_path / "log").read_text() == "one\nthree\n"


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


class TestALock:
    def test_is_waited_for_no_longer_than_allowed(self, tmp_path: Path, caplog: pytest.LogCaptureFixture):
        with hold_lock(tmp_path / "locks" / "a", 0.0, "working"):  # noqa: SIM117
            with (
                pytest.raises(Busy, match="still counting after 0 seconds"),
                hold_lock(tmp_path / "locks" / "a", 0.0, "counting"),
            ):
                pass
        assert "Another process is counting: waiting" in caplog.text

    def test_ends_with_its_context_and_another_name_is_another_lock(self, tmp_path: Path):
        for _ in range(2):
            with hold_lock(tmp_path / "a", 0.0, "a"), hold_lock(tmp_path / "b", 0.0, "b"):
                pass

    def test_is_none_where_the_file_system_has_none(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("filelock.lock_descriptor", Mock(side_effect=OSError(errno.ENOLCK, "no locks")))

        with hold_lock(tmp_path / "a", 0.0, "a"), hold_lock(tmp_path / "a", 0.0, "a"):
            append_line(tmp_path / "log", "one")
