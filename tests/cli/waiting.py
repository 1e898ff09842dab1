"""A retriever that takes its time."""

import time
from typing import Any

from haystack import Document, component


@component
class WaitingRetriever:
    """Block its thread for as long as a test may take."""

    def __init__(self, **scripted: Any):
        """Take the parameters of the retriever whose place it takes."""

    @component.output_types(documents=list[Document])
    def run(self, query: str) -> dict[str, Any]:
        time.sleep(60)
        return {"documents": []}
