"""The answer, kept with an index, whether questions over its documents may go to the web."""

from __future__ import annotations

from typing import Any

from prefrag.components.document_stores import web_consent
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import index_exists
from prefrag.components.document_stores.tantivy.index_location import DEFAULT_INDEX, index_path
from prefrag.components.settings import settings
from prefrag.indexing.embedding import elasticsearch_store


def read_web_answer(index: str = DEFAULT_INDEX, store: str = "tantivy") -> bool | None:
    """Read the answer."""
    from elasticsearch import NotFoundError
    from haystack.document_stores.errors import DocumentStoreError

    try:
        return web_consent.read_web_consent(_open(index, store))
    except DocumentStoreError as error:
        if isinstance(error.__cause__, NotFoundError):
            return None
        raise


def keep_web_answer(answer: bool, index: str = DEFAULT_INDEX, store: str = "tantivy") -> None:
    """Keep the answer, in place of an earlier one."""
    if store == "tantivy" and not index_exists(index_path(index)):
        raise FileNotFoundError(f"There is no index '{index}'. Make it with: prefrag index YOUR_FILES --index {index}")
    web_consent.keep_web_consent(_open(index, store), answer)


def _open(index: str, store: str) -> Any:
    if store == "tantivy":
        return TantivyDocumentStore(path=str(index_path(index)))
    return elasticsearch_store(settings.elasticsearch_url, index)
