"""Read the questions that the release of IRCoT sampled from HotpotQA, 2WikiMultiHopQA and MuSiQue.

The folder ``processed_data/<dataset>`` of the release has ``test_subsampled.jsonl`` (500 questions),
``dev_subsampled.jsonl`` (100 questions) and the whole sets. Each line is a JSON object with these keys:

- ``question_id`` and ``question_text``
- ``answers_objects``: each of the ``spans`` of these objects is a right answer
- ``contexts``: paragraphs, each with ``idx``, ``title``, ``paragraph_text`` and ``is_supporting``

A passage has the same id here as in the original dataset.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record, text_of
from prefrag.evaluation.datasets.dataset_name import HOTPOTQA, TWO_WIKI, dataset_name, type_of
from prefrag.evaluation.datasets.passage import id_by_text, id_by_title, passage
from prefrag.evaluation.question import Question


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether a file has this format.

    :param record: The first record of the file.
    :returns: True if the record has the keys of this format.
    """
    return {"question_id", "question_text", "answers_objects"} <= record.keys()


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions.

    :param file: The file of the dataset.
    :returns: An iterator over the questions.
    """
    return file.convert_records(file.json_lines(), partial(_question, file.path), "line")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages that come with the questions.

    :param file: The file of the dataset.
    :returns: An iterator over the passages, with those that occur several times.
    """
    return file.convert_records(file.json_lines(), partial(_contexts, file.path), "line")


def _question(path: Path, record: Record) -> Iterator[Question]:
    """Yield the question of a record. ``path`` is its file, by which the dataset may be found."""
    question_id = text_of(record, "question_id")
    spans = [str(span).strip() for answer in record["answers_objects"] for span in answer["spans"]]
    if not all(spans) or not spans:
        raise ValueError("'answers_objects' must hold spans that are not empty")

    dataset = _dataset(path, record)
    contexts = list(_contexts(path, record))
    # A paragraph may occur twice in a record. It is a gold passage if at least one occurrence is marked as supporting.
    gold = [_id(dataset, context) for context in record["contexts"] if context["is_supporting"]]
    yield Question(
        id=question_id,
        question=text_of(record, "question_text"),
        answers=tuple(dict.fromkeys(spans)),
        type=str(record.get("type") or type_of(question_id)),
        supporting_ids=tuple(dict.fromkeys(gold)),
        candidate_ids=tuple(dict.fromkeys(context.id for context in contexts)),
        dataset=dataset,
    )


def _contexts(path: Path, record: Record) -> Iterator[Document]:
    """Yield the passages of a record, without those that have no text."""
    dataset = _dataset(path, record)
    for context in record["contexts"]:
        if context["paragraph_text"].strip():
            yield passage(_id(dataset, context), context["title"], context["paragraph_text"])


def _id(dataset: str, context: Record) -> str:
    """Return the id of a paragraph, as the dataset's own module makes it."""
    if dataset in (HOTPOTQA, TWO_WIKI):
        return id_by_title(context["title"])
    return id_by_text(context["title"], context["paragraph_text"])


def _dataset(path: Path, record: Mapping[str, object]) -> str:
    """Return the dataset that a record names. If it names none, find the dataset by the id and the file."""
    return str(record.get("dataset") or dataset_name(text_of(record, "question_id"), path))
