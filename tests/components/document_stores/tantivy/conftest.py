"""The stores that the tests of the on-disk index start from."""

import json
from pathlib import Path

import pytest

import prefrag
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from tests.components.document_stores.tantivy.passages import passage
from tests.indexes import index_of


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    return TantivyDocumentStore(path=str(tmp_path / "index"))


@pytest.fixture
def towns(tmp_path: Path) -> TantivyDocumentStore:
    return index_of(
        [
            passage("vienna", "The capital lies on the Danube.", "Vienna", country="at", year=1137),
            passage("linz", "A town on the Danube with a steel works.", "Linz", country="at", year=799),
            passage("passau", "Three rivers meet in this town: Danube, Inn and Ilz.", "Passau", country="de"),
            passage("bern", "Bears live beside the Aare.", "Bern", country="ch", year=1191),
        ],
        tmp_path / "index",
    )


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data directory, without an index yet."""
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("PREFRAG_INDEX", raising=False)
    monkeypatch.delenv("PREFRAG_WEB_INDEX", raising=False)
    return tmp_path / "data"


@pytest.fixture
def demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a demo corpus for each source."""
    folder = tmp_path / "checkout" / "demo"
    folder.mkdir(parents=True)
    for name in ("local", "web"):
        line = {"id": name, "title": "Heron", "text": f"A {name} heron.", "source": name}
        (folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    monkeypatch.setattr(prefrag, "ROOT", tmp_path / "checkout")
    return folder
