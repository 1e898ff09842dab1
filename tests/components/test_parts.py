"""The walk through a pipeline finds its components, and does not go into foreign objects."""

from pathlib import Path
from typing import Any

from elasticsearch import AsyncElasticsearch
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.store_kinds import (
    find_stores,
    is_elasticsearch_store,
    is_store,
    is_tantivy_store,
)
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.generators.model_host import find_models
from prefrag.components.parts import walk_parts
from prefrag.components.retrievers.provider import is_web_search


class MakesUpAttributes:
    """Has every attribute, like clients that pass all attributes on to another object."""

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was read")


class Holder:
    def __init__(self, part: Any):
        self.held = part


def test_an_object_with_made_up_attributes_is_not_called():
    holder = Holder(MakesUpAttributes())

    assert [path for path, _ in walk_parts(holder)] == ["", "held"]
    assert find_models(holder) == []
    assert not is_web_search(holder)


def test_a_document_store_is_met_and_its_clients_are_not():
    store = ElasticsearchDocumentStore(hosts="http://127.0.0.1:1")
    store._async_client = AsyncElasticsearch("http://127.0.0.1:1")
    holder = Holder(store)
    assert [path for path, _ in walk_parts(holder)] == ["", "held"]
    assert find_stores(holder) == [store]
    assert find_models(holder) == find_models(Holder(AsyncElasticsearch("http://127.0.0.1:1"))) == []


def test_a_subclass_of_a_store_is_a_store(tmp_path: Path):
    class OfOurs(TantivyDocumentStore):
        pass

    store = OfOurs(path=str(tmp_path))

    assert find_stores([store]) == [store]
    assert is_tantivy_store(store)
    assert not is_elasticsearch_store(store)
    assert is_elasticsearch_store(type("OfOurs", (ElasticsearchDocumentStore,), {})(hosts="http://127.0.0.1:1"))


def test_a_strangers_class_of_a_stores_name_is_no_store():
    class TantivyDocumentStore:
        pass

    assert not is_store(TantivyDocumentStore())
