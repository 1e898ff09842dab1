"""Read a corpus of BEIR as published.

The file is ``corpus.jsonl``. Each line is a JSON object with ``_id``, ``title`` and ``text``.
"""

from collections.abc import Iterator, Mapping

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record, text_of
from prefrag.evaluation.datasets.passage import passage


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether a file has this format.

    :param record: The first record of the file.
    :returns: True if the record has the keys of this format.
    """
    return {"_id", "text"} <= record.keys()


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages.

    :param file: The file of the corpus.
    :returns: An iterator over the passages.
    """
    return file.convert_records(file.json_lines(), _passage, "line")


def _passage(record: Record) -> Iterator[Document]:
    """Yield the passage of a record, or nothing if its text is blank."""
    if record["text"].strip():
        yield passage(text_of(record, "_id"), record.get("title") or "", record["text"])
