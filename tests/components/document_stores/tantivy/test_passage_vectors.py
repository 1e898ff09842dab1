"""The vectors beside an on-disk index, and the retriever over them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.passage_vectors import PassageVectors
from prefrag.components.retrievers.vector_retriever import VectorRetriever
from tests.indexes import index_of
from tests.python_process import run_python

MODEL = "letters/a-b"
VECTORS = {"east": [1.0, 0.0], "north": [0.0, 1.0], "north-east": [1.0, 1.0]}


@pytest.fixture
def store(tmp_path: Path) -> TantivyDocumentStore:
    passages = [Document(id=key, content=f"To the {key}.", meta={"title": key}) for key in VECTORS]
    return index_of(passages, tmp_path / "index")


@pytest.fixture
def vectors(store: TantivyDocumentStore) -> PassageVectors:
    pytest.importorskip("lancedb", reason="the extra `dense` is not installed")
    vectors = PassageVectors(store, MODEL)
    vectors.write(list(VECTORS), ["f"] * 3, list(VECTORS.values()))
    return vectors


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def test_the_nearest_come_first_with_the_cosine_as_score(vectors: PassageVectors):
    documents = vectors.search([2.0, 0.2], top_k=2)

    assert ids(documents) == ["east", "north-east"]
    assert documents[0].content == "To the east."
    assert documents[0].score == pytest.approx(2.0 / (2.0**2 + 0.2**2) ** 0.5, abs=1e-5)


def test_a_vector_written_again_replaces_the_first(store: TantivyDocumentStore, vectors: PassageVectors):
    store.write_documents([Document(id="east", content="Eastwards.")], policy=DuplicatePolicy.OVERWRITE)
    assert vectors.search([1.0, 0.0], top_k=1)[0].content == "Eastwards."
    vectors.write(["east"], ["g"], [[0.0, -1.0]])
    assert vectors.count() == 3
    assert vectors.fingerprints() == {"east": "g", "north": "f", "north-east": "f"}
    assert ids(vectors.search([0.0, -1.0], top_k=1)) == ["east"]


def test_deleted_vectors_and_passages_take_no_place(store: TantivyDocumentStore, vectors: PassageVectors):
    store.delete_documents(["east"])
    assert ids(vectors.search([1.0, 0.0], top_k=2)) == ["north-east", "north"]

    vectors.write(["it's"], ["f"], [[1.0, 0.0]])
    vectors.delete(["it's", "east", "north-east", "never there"])
    assert ids(vectors.search([1.0, 0.0])) == ["north"]


def test_filters_reach_every_passage_however_far(vectors: PassageVectors):
    north = {"field": "meta.title", "operator": "==", "value": "north"}

    assert ids(vectors.search([1.0, 0.0], top_k=1, filters=north)) == ["north"]
    with pytest.raises(FilterError):
        vectors.search([1.0, 0.0], filters={**north, "operator": "like"})


def test_vectors_of_another_process_survive_its_sudden_end(store: TantivyDocumentStore, vectors: PassageVectors):
    store.write_documents([Document(id="south", content="To the south.")])
    assert ids(vectors.search([0.0, -1.0], top_k=1)) == ["east"]

    code = (
        "import os, sys\n"
        "from prefrag.components.document_stores.tantivy.passage_vectors import PassageVectors\n"
        "from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore\n"
        "vectors = PassageVectors(TantivyDocumentStore(path=sys.argv[1]), sys.argv[2])\n"
        "vectors.write(['south'], ['f'], [[0.0, -1.0]])\n"
        "os._exit(9)\n"
    )
    assert run_python(code, store.path, MODEL).returncode == 9
    assert ids(vectors.search([0.0, -1.0], top_k=1)) == ["south"]


def test_a_partitioned_index_finds_what_full_comparison_finds(tmp_path: Path):
    pytest.importorskip("lancedb", reason="the extra `dense` is not installed")
    numpy = pytest.importorskip("numpy")
    random = numpy.random.default_rng(0)
    centres = random.normal(size=(40, 16))
    numbers = centres[random.integers(0, 40, 6_000)] + 0.5 * random.normal(size=(6_000, 16))
    numbers /= numpy.linalg.norm(numbers, axis=1, keepdims=True)
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    store.write_documents([Document(id=str(n), content=str(n)) for n in range(6_000)])
    vectors = PassageVectors(store, MODEL)
    vectors.write([str(n) for n in range(6_000)], ["f"] * 6_000, numbers)
    vectors.finish()

    total = right = 0
    for n in range(0, 6_000, 200):
        exact = {str(i) for i in numpy.argsort(-numbers @ numbers[n])[:5]}
        right += len(exact & set(ids(vectors.search(numbers[n], top_k=5))))
        total += 5
    assert right / total >= 0.97


def test_a_query_of_another_length_is_reported(vectors: PassageVectors):
    with pytest.raises(ValueError, match="has 3 numbers, but vectors of letters/a-b have 2"):
        vectors.search([1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="embed the passages again"):
        vectors.write(["new"], ["f"], [[1.0, 0.0, 0.0]])


@pytest.mark.parametrize("length", [3, 2, 4])
def test_vectors_made_again_may_have_another_length(store: TantivyDocumentStore, vectors: PassageVectors, length: int):
    folder = Path(str(store.path)) / "vectors"
    for deleted, again in ((folder, length), (folder / f"{vectors._name()}.lance", 5), (folder, 2)):
        shutil.rmtree(deleted)
        with pytest.raises(FileNotFoundError):
            vectors.count()
        query = [1.0] + [0.0] * (again - 1)
        vectors.write(["north", "east"], ["f", "f"], [query, query[::-1]])

        assert ids(vectors.search(query, top_k=1)) == ["north"]


async def test_the_retriever_finds_with_the_filters_of_the_run(store: TantivyDocumentStore, vectors: PassageVectors):
    not_east = {"field": "meta.title", "operator": "!=", "value": "east"}
    retriever = VectorRetriever(store, MODEL, top_k=2)
    retriever.warm_up()
    assert ids(retriever.run([1.0, 0.0])["documents"]) == ["east", "north-east"]
    assert ids((await retriever.run_async([1.0, 0.0], not_east, top_k=5))["documents"]) == ["north-east", "north"]


def test_each_model_has_vectors_of_its_own(store: TantivyDocumentStore, vectors: PassageVectors):
    with pytest.raises(FileNotFoundError, match="not embedded with other/model"):
        PassageVectors(store, "other/model").search([1.0, 0.0])
    assert PassageVectors(store, "other/model").fingerprints() == {}


def test_an_index_that_was_not_embedded_states_how_to(store: TantivyDocumentStore):
    with pytest.raises(FileNotFoundError, match="prefrag index YOUR_FILES --dense"):
        VectorRetriever(store, MODEL).warm_up()
