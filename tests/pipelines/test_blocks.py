"""The blocks of a YAML and the classes that they name."""

from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.parts import ELASTICSEARCH_STORE, TANTIVY_STORE
from prefrag.pipelines.blocks import is_block_of
from tests.for_each import for_each


class Shelf(TantivyDocumentStore):
    """A user's own store."""


class TantivyOfOthers:
    """No store, in spite of its name."""


@for_each(
    "name, kind, is_store",
    (TANTIVY_STORE, TANTIVY_STORE, True),
    (TANTIVY_STORE, ELASTICSEARCH_STORE, False),
    (f"{__name__}.Shelf", TANTIVY_STORE, True),
    (f"{__name__}.TantivyOfOthers", TANTIVY_STORE, False),
    ("strangers.TantivyDocumentStore", TANTIVY_STORE, False),
    (
        f"{ElasticsearchDocumentStore.__module__.rpartition('.')[0]}.ElasticsearchDocumentStore",
        ELASTICSEARCH_STORE,
        True,
    ),
)
def test_a_block_is_of_a_class_or_of_a_subclass(name: str, kind: str, is_store: bool):
    assert is_block_of({"type": name}, kind) == is_store
