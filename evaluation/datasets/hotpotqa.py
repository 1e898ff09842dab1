"""HotpotQA as published: ``hotpot_dev_distractor_v1.json``, ``hotpot_dev_fullwiki_v1.json`` and the training set.

A JSON array of objects with ``_id``, ``question``, ``answer``, ``type``, ``level``, ``supporting_facts`` (title and
number of the sentence) and ``context`` (title and sentences of ten passages). The test set has no answers, so it
cannot be scored here.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, text_of
from prefrag.evaluation.datasets.dataset_name import HOTPOTQA
from prefrag.evaluation.datasets.passage import id_by_title, join_sentences, passage
from prefrag.evaluation.question import Question


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether the first record of a file has this format."""
    return {"_id", "question", "context"} <= record.keys() and "evidences" not in record


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions.

    Gold passages are named by title, so they are known even where the full-wiki file does not contain their text.
    """
    return file.convert_records(file.json_array(), lambda record: [question(record, HOTPOTQA)], "record")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages that come with the questions."""
    return file.convert_records(file.json_array(), contexts, "record")


def question(record: dict[str, Any], dataset: str) -> Question:
    """Read a question of HotpotQA, or of a dataset with the same format."""
    question_id = text_of(record, "_id")
    text = text_of(record, "question")
    answer = text_of(record, "answer")
    gold = [id_by_title(title) for title, _ in record["supporting_facts"]]
    candidates = [document.id for document in contexts(record)]
    return Question(
        id=question_id,
        question=text,
        answers=(answer,),
        type=str(record.get("type") or ""),
        supporting_ids=tuple(dict.fromkeys(gold)),
        candidate_ids=tuple(dict.fromkeys(candidates)),
        dataset=dataset,
    )


def contexts(record: dict[str, Any]) -> Iterator[Document]:
    """Read the passages that come with a question."""
    for title, sentences in record["context"]:
        text = join_sentences(sentences)
        if text:
            yield passage(id_by_title(title), title, text)
