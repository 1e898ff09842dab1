"""The passages that the tests of the on-disk index start from."""

from pathlib import Path
from typing import Any

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore


def passage(key: str, content: str, title: str | None = None, **meta: Any) -> Document:
    return Document(id=key, content=content, meta=meta if title is None else {"title": title, **meta})


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def content(path: Path | None) -> list[str | None]:
    assert path is not None
    # One call writes them, so they are in the order of the corpus.
    return [document.content for document in TantivyDocumentStore(path=str(path)).filter_documents()]


def damage(index: Path, kind: str) -> None:
    """Invert an index's files of a kind in place, except for the last bytes, which opening the index reads."""
    for file in index.glob(f"*.{kind}"):
        with file.open("r+b") as data:
            content = data.read()[:-140]
            data.seek(0)
            data.write(bytes(byte ^ 255 for byte in content))


def exchange(file: Path, content: bytes) -> None:
    """Put another file in the place of an index's file. Whoever has mapped the old file still reads the old file."""
    new = file.with_name("exchanged")
    new.write_bytes(content)
    new.replace(file)
