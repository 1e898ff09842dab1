"""Find blocks in a pipeline's YAML.

A block is a component with its parameters. Here are also the classes of the blocks that an evaluation replaces.
"""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from prefrag.collections.collection import Collection
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.local_collection import LocalCollection
from prefrag.pipelines.blocks import Block, blocks, parameters_of

# The language model that the user has configured.
CHAT_MODEL = "prefrag.components.generators.chat_model.ChatModel"
# A stand-in for a language model, which replies from the gold passages.
SIMULATED_READER = "prefrag.evaluation.simulated_reader.reader.SimulatedReader"
# A language model whose replies are recorded or replayed.
RECORDED = "prefrag.components.generators.recorded_chat_generator.RecordedChatGenerator"
# A named source that a pipeline searches.
SOURCE = "prefrag.components.sources.retrieval_source.RetrievalSource"
# An index on this machine.
STORE = "prefrag.components.document_stores.tantivy.document_store.TantivyDocumentStore"
# An index in Elasticsearch.
ELASTICSEARCH_STORE = "haystack_integrations.document_stores.elasticsearch.document_store.ElasticsearchDocumentStore"
# A retriever that searches by meaning.
VECTORS = "prefrag.components.retrievers.vector_retriever.VectorRetriever"
# The end of the class name of the component that turns a query into a vector.
TEXT_EMBEDDER = ".SentenceTransformersTextEmbedder"
# The retriever that searches the web.
WEB = "prefrag.components.web.web_retriever.WebRetriever"
# The same retriever with noise added to a corpus in place of the web.
NOISY_WEB = "prefrag.evaluation.pipeline_under_test.noisy_web.NoisyWeb"


def digest(block: Block) -> str:
    """Compute a digest of a pipeline's YAML.

    :param block: The content of the YAML.
    :returns: The digest: 16 hexadecimal digits.
    """
    text = json.dumps(block, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def start_of(pipeline: Block) -> dict[str, Any]:
    """Get the parameters of a pipeline's component ``start``.

    :param pipeline: The content of the pipeline's YAML.
    :returns: The parameters. Empty if there is no such component.
    """
    return parameters_of(pipeline.get("components", {}).get("start", {}))


def is_outside(source: Mapping[str, object]) -> bool:
    """Check whether a source in the YAML sends queries to another machine.

    For a source that is an object, use :func:`is_web_search`.

    :param source: The parameters of the source's block.
    :returns: True if the source is marked as external, or its retriever searches the web.
    """
    if source.get("external"):
        return True
    retriever = source.get("retriever")
    if not isinstance(retriever, dict):
        return False
    kind = str(retriever.get("type", "")).lower()
    return kind == WEB.lower() or ".websearch." in kind or "duckduckgo" in kind


def is_second(source: Mapping[str, object], pipeline: Block) -> bool:
    """Check whether a source is one of several and not the preferred one.

    :param source: The parameters of the source's block.
    :param pipeline: The content of the pipeline's YAML.
    :returns: True if the pipeline has several sources and prefers another.
    """
    start = start_of(pipeline)
    has_several = len(start.get("sources") or ()) > 1
    return has_several and source.get("name") != start.get("preferred")


def searched_collections(pipeline: Block) -> list[Collection]:
    """List the collections that a pipeline's YAML names.

    :param pipeline: The content of the pipeline's YAML.
    :returns: The collections, without repetitions.
    """
    kinds = {STORE: LocalCollection, WEB: LocalCollection, ELASTICSEARCH_STORE: ElasticCollection}
    collections = []
    for block in blocks(pipeline):
        kind = kinds.get(block["type"])
        name = parameters_of(block).get("index")
        if kind and name:
            collections.append(kind(name))
    return list(dict.fromkeys(collections))
