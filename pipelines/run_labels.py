"""The labels of a run in the audit log, the log and the spans."""

import uuid
from typing import Any

from prefrag.audit_log import audit_log
from prefrag.components.document_stores.index_name import name_index
from prefrag.components.parts import find_stores


def label_run(pipeline: Any) -> dict[str, str]:
    """Return a run's labels: its id, its pipeline and, if there is an audit log, the collections that it searches."""
    labels = {"run": uuid.uuid4().hex, "pipeline": getattr(pipeline, "name", None) or "unnamed"}
    if audit_log() is None:
        return labels
    if not hasattr(pipeline, "searched_stores"):
        # Remember the stores, because finding them takes milliseconds, and they do not change.
        pipeline.searched_stores = find_stores(pipeline)
    collections = dict.fromkeys(map(name_index, pipeline.searched_stores))
    return {**labels, "collection": ",".join(collections)}
