"""The dump of HotpotQA's Wikipedia, packed as it is published."""

import bz2
import tarfile
from pathlib import Path

import pytest

UNPACKED = Path(__file__).parent / "published" / "hotpotqa" / "abstracts"


@pytest.fixture
def abstracts(tmp_path: Path) -> Path:
    """:returns: The folder with its subfolders of ``wiki_*.bz2``."""
    folder = tmp_path / "enwiki-20171001-pages-meta-current-withlinks-abstracts"
    for file in UNPACKED.rglob("wiki_*"):
        packed = folder / file.parent.name / f"{file.name}.bz2"
        packed.parent.mkdir(parents=True)
        packed.write_bytes(bz2.compress(file.read_bytes()))
    return folder


@pytest.fixture
def archive(abstracts: Path) -> Path:
    """:returns: The folder ``abstracts``, packed into one archive."""
    path = abstracts.with_name(f"{abstracts.name}.tar.bz2")
    with tarfile.open(path, "w:bz2") as packed:
        packed.add(abstracts, arcname=abstracts.name)
    return path
