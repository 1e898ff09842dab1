"""The labels of a run in the audit log, the log and the spans."""

import uuid
from pathlib import Path
from typing import Any

from prefrag.components.audit_log import audit_log
from prefrag.components.document_stores.tantivy.index_location import chosen_index
from prefrag.components.parts import TANTIVY_STORE, find_stores


def label_run(pipeline: Any) -> dict[str, str]:
    """Return a run's labels: its id, its pipeline and, if there is an audit log, the collections that it searches."""
    labels = {"run": uuid.uuid4().hex, "pipeline": getattr(pipeline, "name", None) or "unnamed"}
    if audit_log() is None:
        return labels
    if not hasattr(pipeline, "searched_stores"):
        # Remember the stores, because finding them takes milliseconds, and they do not change.
        pipeline.searched_stores = find_stores(pipeline)
    indexes = dict.fromkeys(map(name_index, pipeline.searched_stores))
    return {**labels, "collection": ",".join(indexes)}


def name_index(store: Any) -> str:
    """Return the name of a store's index. If the store has a path instead, return the name of its folder."""
    if type(store).__name__ != TANTIVY_STORE:
        return str(store._index)
    if store.path is not None:
        return Path(store.path).name
    return str(store.index or chosen_index())
