"""The questions that the authors of PrefRAG publish: ``data/eval/<dataset>/test.json``.

A JSON array of objects with ``question`` and ``answer``, a list of right answers. There are no ids, no passages and no
gold passages, so the id of a question is made from its text, and only answers can be scored. The folder names the
dataset; the questions of ``bioasq`` are answered by yes or no.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from prefrag.evaluation.datasets.dataset_file import DatasetFile, text_of
from prefrag.evaluation.datasets.dataset_name import BIOASQ, dataset_name
from prefrag.evaluation.question import Question


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether the first record of a file has this format."""
    return isinstance(record.get("answer"), list) and "question" in record and record.keys().isdisjoint(("id", "_id"))


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions."""
    return file.convert_records(file.json_array(), partial(_question, file.path), "record")


def _question(path: Path, record: dict[str, Any]) -> Iterator[Question]:
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
