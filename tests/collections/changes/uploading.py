"""Uploads into a collection, and the files that it then has."""

import json
import os
from pathlib import Path

from prefrag.collections.changes.uploaded_files import (
    make_incoming,
    uploads_folder,
)
from prefrag.collections.changes.uploads import add_uploads
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.indexing.file_conversion import fingerprint
from prefrag.indexing.report import IndexReport


def upload(files: dict[str, str]) -> IndexReport:
    with make_incoming("maps") as incoming:
        for name, text in files.items():
            (incoming / name).write_text(text, encoding="utf-8")
        return add_uploads(LocalCollection("maps"), incoming)


def held() -> dict[str, str]:
    """The files of the collection. The index must hold each under its name, and no others."""
    folder = uploads_folder("maps")
    assert not folder.parent.exists() or set(os.listdir(folder.parent)) <= {"maps"}
    indexes = index_path("maps").parent
    assert not indexes.exists() or set(os.listdir(indexes)) <= {"maps"}
    paths = [path for path in folder.rglob("*") if path.is_file()]
    assert paths or not folder.exists()
    found = TantivyDocumentStore(path=str(index_path("maps"))).filter_documents()
    assert sorted({Path(each.meta.get("file_path") or each.meta["corpus"]) for each in found}) == sorted(paths)
    files = {path.name: path.read_text() for path in paths}
    assert len(files) == len(paths)
    for path in paths:
        name, text = path.name, path.read_text()
        hashes = {each.meta["file_hash"] for each in found if each.meta.get("file_path") == str(path)}
        lines = {each.id: each.content for each in found if each.meta.get("corpus") == str(path)}
        wanted = {each["id"]: each["text"] for each in map(json.loads, text.splitlines())} if "rows" in name else {}
        assert (hashes, lines) == (set() if wanted else {fingerprint(text.encode())}, wanted)
    return files
