"""Find blocks in a pipeline's YAML. A block is a component with its settings."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from prefrag.collections.collection import Collection
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.local_collection import LocalCollection
from prefrag.pipelines.blocks import Block, blocks, parameters_of

CHAT_MODEL = "prefrag.components.generators.chat_model.ChatModel"
SIMULATED_READER = "prefrag.evaluation.simulated_reader.reader.SimulatedReader"
RECORDED = "prefrag.components.generators.recorded_chat_generator.RecordedChatGenerator"
SOURCE = "prefrag.components.sources.retrieval_source.RetrievalSource"
STORE = "prefrag.components.document_stores.tantivy.document_store.TantivyDocumentStore"
ELASTICSEARCH_STORE = "haystack_integrations.document_stores.elasticsearch.document_store.ElasticsearchDocumentStore"
VECTORS = "prefrag.components.retrievers.vector_retriever.VectorRetriever"
TEXT_EMBEDDER = ".SentenceTransformersTextEmbedder"
WEB = "prefrag.components.web.web_retriever.WebRetriever"
NOISY_WEB = "prefrag.evaluation.pipeline_under_test.noisy_web.NoisyWeb"


def digest(block: Block) -> str:
    """Return a digest of a pipeline's YAML."""
    text = json.dumps(block, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def start_of(pipeline: Block) -> dict[str, Any]:
    """Get the settings of a pipeline's component ``start``."""
    return parameters_of(pipeline.get("components", {}).get("start", {}))


def is_outside(source: Mapping[str, object]) -> bool:
    """Check whether a source in the YAML sends queries out. For a source object, use :func:`is_web_search`."""
    if source.get("external"):
        return True
    retriever = source.get("retriever")
    kind = str(retriever.get("type", "")).lower() if isinstance(retriever, dict) else ""
    return kind == WEB.lower() or ".websearch." in kind or "duckduckgo" in kind


def is_second(source: Mapping[str, Any], pipeline: Block) -> bool:
    """Check whether the pipeline has several sources and this source is not the preferred one."""
    start = start_of(pipeline)
    has_several = len(start.get("sources") or ()) > 1
    return has_several and source.get("name") != start.get("preferred")


def searched_collections(pipeline: Block) -> list[Collection]:
    """List the collections that a pipeline's YAML names."""
    kinds = {STORE: LocalCollection, WEB: LocalCollection, ELASTICSEARCH_STORE: ElasticCollection}
    collections = []
    for block in blocks(pipeline):
        kind = kinds.get(block["type"])
        name = parameters_of(block).get("index")
        if kind and name:
            collections.append(kind(name))
    return list(dict.fromkeys(collections))
