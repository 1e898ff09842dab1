"""What the tests of indexing share."""

from pathlib import Path

import pytest

from prefrag.collections.indexing import index
from tests.indexing.samples import Make, line


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Write a file below the folder `docs`."""

    def write(name: str, content: str | bytes = "Some text.") -> Path:
        path = tmp_path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def folder(make: Make) -> Path:
    make("c.jsonl", line("x") + line("y"))
    make("sub/b.txt", "In the folder.")
    folder = make("a.txt", "A sentence of six words is. " * 100).parent
    index([folder])
    return folder
