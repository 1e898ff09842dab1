"""The labels that mark the entries of a run in the audit log, the log and the spans."""

import uuid
from typing import Any

from prefrag.audit_log import audit_log
from prefrag.components.document_stores.index_name import name_index
from prefrag.components.document_stores.store_kinds import find_stores
from prefrag.components.text.distinct import distinct


def label_run(pipeline: Any) -> dict[str, str]:
    """Make the labels of a new run.

    :param pipeline: The loaded pipeline.
    :returns: The random id of the run and the name of its pipeline. If there is an audit log, also the names of the
        collections that the run searches, joined with commas.
    """
    labels = {"run": uuid.uuid4().hex, "pipeline": getattr(pipeline, "name", None) or "unnamed"}
    if audit_log() is None:
        return labels
    if not hasattr(pipeline, "searched_stores"):
        # The stores are remembered, because it takes milliseconds to find them, and they do not change.
        pipeline.searched_stores = find_stores(pipeline)
    names = [name_index(store) for store in pipeline.searched_stores]
    # Several stores may search the same collection.
    return {**labels, "collection": ",".join(distinct(names))}
