"""The kinds of document stores in which documents can be indexed, and how to find such stores in a pipeline.

The classes of the stores are not imported here, because that may be slow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from prefrag.components.parts import ELASTICSEARCH_STORE, TANTIVY_STORE, is_class, walk_parts

if TYPE_CHECKING:
    from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore
    from typing_extensions import TypeIs

    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

Store: TypeAlias = "TantivyDocumentStore | ElasticsearchDocumentStore"
"""A document store in which documents can be indexed."""


def find_stores(whole: object) -> list[Store]:
    """Find the Tantivy and Elasticsearch document stores in a pipeline.

    :param whole: The pipeline or component.
    :returns: The stores, each once.
    """
    return [part for _, part in walk_parts(whole) if is_store(part)]


def is_store(part: object) -> TypeIs[Store]:
    """Check whether an object is a Tantivy or Elasticsearch document store."""
    return is_tantivy_store(part) or is_elasticsearch_store(part)


def is_tantivy_store(part: object) -> TypeIs[TantivyDocumentStore]:
    """Check whether an object is a Tantivy document store."""
    return is_class(type(part), TANTIVY_STORE)


def is_elasticsearch_store(part: object) -> TypeIs[ElasticsearchDocumentStore]:
    """Check whether an object is an Elasticsearch document store."""
    return is_class(type(part), ELASTICSEARCH_STORE)
