"""The blocks of a pipeline's YAML: reading them, finding them, and changing them in a copy."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from prefrag.pipelines.loading import find, read

Block = dict[str, Any]

CHAT_MODEL = "prefrag.components.generators.chat_model.ChatModel"
SIMULATED_READER = "prefrag.evaluation.simulated_reader.reader.SimulatedReader"
RECORDED = "prefrag.components.generators.recorded_chat_generator.RecordedChatGenerator"
SOURCE = "prefrag.components.sources.retrieval_source.RetrievalSource"
STORE = "prefrag.components.document_stores.tantivy.document_store.TantivyDocumentStore"
ELASTICSEARCH_STORE = "haystack_integrations.document_stores.elasticsearch.document_store.ElasticsearchDocumentStore"
WEB = "prefrag.components.sources.web_retriever.WebRetriever"


def read_pipeline(pipeline: Any) -> Block:
    """Read a pipeline without building it.

    :param pipeline: The name of a pipeline, a YAML file, or a loaded pipeline.
    :returns: What its YAML says.
    :raises PipelineMissing: When there is no such pipeline.
    :raises ValueError: When the file is no pipeline's.
    """
    if not isinstance(pipeline, str | Path):
        return dict(pipeline.to_dict())
    path = find(str(pipeline))
    try:
        block = yaml.safe_load(read(path))
    except yaml.YAMLError as error:
        raise ValueError(f"The pipeline {path} cannot be loaded: {error}") from error
    if not isinstance(block, dict) or not isinstance(block.get("components"), dict):
        raise ValueError(f"The pipeline {path} cannot be loaded: it has no `components`.")
    return block


def digest(block: Block) -> str:
    """:returns: What tells two pipelines apart."""
    text = json.dumps(block, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def rewritten(value: Any, change: Callable[[Block], Block] = lambda block: block) -> Any:
    """Change blocks, the inner ones first.

    :param value: A part of a pipeline.
    :param change: Called with each block.
    :returns: A copy in which no part stands twice, as it may after YAML's anchors, with every block changed.
    """
    if isinstance(value, dict):
        copied = {key: rewritten(part, change) for key, part in value.items()}
        return change(copied) if is_block(copied) else copied
    return [rewritten(part, change) for part in value] if isinstance(value, list | tuple) else value


def is_block(value: Any) -> bool:
    """:returns: Whether a part of a pipeline names a class."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "." in value["type"]


def blocks(value: Any) -> list[Block]:
    """:returns: The blocks in a part of a pipeline, the inner ones first."""
    found: list[Block] = []

    def take(block: Block) -> Block:
        found.append(block)
        return block

    rewritten(value, take)
    return found


def parameters_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """:returns: The settings of a block, which may have none."""
    return block.get("init_parameters") or {}


def start_of(pipeline: Block) -> dict[str, Any]:
    """:returns: The settings of a pipeline's beginning."""
    return parameters_of(pipeline.get("components", {}).get("start", {}))


def class_of(block: Block) -> str:
    """:returns: The name of a block's class."""
    return str(block["type"]).rpartition(".")[2]


def is_outside(source: Mapping[str, Any]) -> bool:
    """
    :param source: The settings of a :class:`RetrievalSource`.
    :returns: Whether its queries leave the house, as :func:`is_web_search` has it.
    """
    retriever = source.get("retriever")
    kind = str(retriever.get("type", "")).lower() if isinstance(retriever, dict) else ""
    return bool(source.get("external")) or kind == WEB.lower() or ".websearch." in kind or "duckduckgo" in kind


def is_second(source: Mapping[str, Any], pipeline: Block) -> bool:
    """
    :param source: The settings of a :class:`RetrievalSource`.
    :param pipeline: The pipeline that it is in.
    :returns: Whether another source is preferred to it.
    """
    start = start_of(pipeline)
    return len(start.get("sources") or ()) > 1 and source.get("name") != start.get("preferred")


def searched_indexes(pipeline: Block) -> list[tuple[str, str]]:
    """:returns: The store and the name of each index that a pipeline names, each once."""
    stores = {STORE: "tantivy", WEB: "tantivy", ELASTICSEARCH_STORE: "elasticsearch"}
    named = ((stores.get(block["type"]), parameters_of(block).get("index")) for block in blocks(pipeline))
    return list(dict.fromkeys((store, index) for store, index in named if store and index))
