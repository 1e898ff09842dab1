from pathlib import Path

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.retrievers.vector_retriever import VectorRetriever
from tests.components.serialisation import rebuilt

YEAR = {"field": "meta.year", "operator": ">", "value": 2000}


def test_survives_serialisation(tmp_path: Path):
    loaded = rebuilt(VectorRetriever(TantivyDocumentStore(path=str(tmp_path)), "my-model", top_k=3, filters=YEAR))

    assert (loaded.document_store.path, loaded.model) == (str(tmp_path), "my-model")
    assert (loaded.top_k, loaded.filters) == (3, YEAR)
