"""What only its owner can read: files as a whole, and folders that were missing."""

import os
import stat
from pathlib import Path

import pytest

from prefrag.private_file import make_private_folder, write_private

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no modes")


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_readable_file_is_replaced_by_a_private_one(tmp_path: Path):
    path = tmp_path / "proof.json"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, "new")

    assert (path.read_text(), mode(path)) == ("new", 0o600)


def test_a_file_that_cannot_be_written_leaves_the_earlier_one(tmp_path: Path):
    (tmp_path / "proof.json").write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_private(tmp_path / "proof.json", "\ud800")

    assert [path.name for path in tmp_path.iterdir()] == ["proof.json"]
    assert (tmp_path / "proof.json").read_text() == "old"


def test_missing_folders_are_private_and_others_stay(tmp_path: Path):
    tmp_path.chmod(0o755)
    make_private_folder(tmp_path / "proofs" / "papers")

    assert [mode(tmp_path), mode(tmp_path / "proofs"), mode(tmp_path / "proofs" / "papers")] == [0o755, 0o700, 0o700]
