"""Read the questions that the authors of PrefRAG publish: ``data/eval/<dataset>/test.json``.

The file is a JSON array of objects with ``question`` and ``answer``, which is a list of right answers. There are no
ids, so the id of a question is made from its text. There are no passages and no gold passages, so only answers can be
scored. The name of the folder is the dataset. The questions of ``bioasq`` are yes/no questions.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path

from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record, text_of
from prefrag.evaluation.datasets.dataset_name import BIOASQ, dataset_name
from prefrag.evaluation.question import Question


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether a file has this format.

    :param record: The first record of the file.
    :returns: True if the record has the keys of this format, and no id.
    """
    return isinstance(record.get("answer"), list) and "question" in record and record.keys().isdisjoint(("id", "_id"))


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions.

    :param file: The file of the dataset.
    :returns: An iterator over the questions.
    """
    return file.convert_records(file.json_array(), partial(_question, file.path), "record")


def _question(path: Path, record: Record) -> Iterator[Question]:
    """Yield the question of a record. ``path`` is its file, whose folder names the dataset."""
    text = text_of(record, "question")
    answers = [answer.strip() for answer in record["answer"]]
    if not answers or not all(answers):
        raise ValueError("'answer' must be a list of texts that are not empty")
    dataset = dataset_name("", path)
    digest = hashlib.blake2b(text.encode(), digest_size=8)
    yield Question(
        id=digest.hexdigest(),
        question=text,
        answers=tuple(dict.fromkeys(answers)),
        type="yesno" if dataset == BIOASQ else "",
        dataset=dataset,
    )
