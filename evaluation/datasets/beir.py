"""A corpus of BEIR as published: ``corpus.jsonl``, one JSON object per line with ``_id``, ``title`` and ``text``."""

from collections.abc import Iterator, Mapping
from typing import Any

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, text_of
from prefrag.evaluation.datasets.passage import passage


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether the first record of a file has this format."""
    return {"_id", "text"} <= record.keys()


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages."""
    return file.convert_records(file.json_lines(), _passage, "line")


def _passage(record: dict[str, Any]) -> Iterator[Document]:
    if record["text"].strip():
        yield passage(text_of(record, "_id"), record.get("title") or "", record["text"])
