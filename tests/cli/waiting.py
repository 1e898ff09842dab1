"""A retriever that does not answer during a test."""

import time
from typing import Any

from haystack import Document, component


@component
class WaitingRetriever:
    """Blocks its thread for longer than a test runs."""

    def __init__(self, **scripted: Any):
        """Take the parameters of the scripted retriever that this one replaces."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        time.sleep(60)
        return {"documents": []}
