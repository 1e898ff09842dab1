"""MuSiQue as published: ``musique_ans_v1.0_dev.jsonl``, ``musique_full_v1.0_dev.jsonl`` and the training sets.

One JSON object per line with ``id``, ``question``, ``answer``, ``answer_aliases``, ``answerable``, ``paragraphs``
(``idx``, ``title``, ``paragraph_text``, ``is_supporting``) and ``question_decomposition`` (``question``, ``answer``,
``paragraph_support_idx``). In the full version, each question occurs a second time with ``answerable`` false, because
a supporting passage is missing. This copy is not read as a question, but its passages belong to the corpus.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, text_of
from prefrag.evaluation.datasets.dataset_name import MUSIQUE, type_of
from prefrag.evaluation.datasets.passage import id_by_text, passage
from prefrag.evaluation.question import Hop, Question


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether the first record of a file has this format."""
    return {"id", "question", "paragraphs"} <= record.keys()


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions that can be answered."""
    return file.convert_records(file.json_lines(), _questions, "line")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the paragraphs of all questions."""
    return file.convert_records(file.json_lines(), _paragraphs, "line")


def _questions(record: dict[str, Any]) -> Iterator[Question]:
    if record.get("answerable", True) is False:
        return
    question_id = text_of(record, "id")
    ids = {paragraph["idx"]: _id(paragraph) for paragraph in record["paragraphs"]}
    hops = tuple(
        Hop(text_of(hop, "question"), text_of(hop, "answer"), ids.get(hop["paragraph_support_idx"], ""))
        for hop in record["question_decomposition"]
    )
    gold = [hop.supporting_id for hop in hops if hop.supporting_id]
    gold += [_id(paragraph) for paragraph in record["paragraphs"] if paragraph["is_supporting"]]
    text = text_of(record, "question")
    answers = [text_of(record, "answer"), *map(str, record.get("answer_aliases") or ())]
    yield Question(
        id=question_id,
        question=text,
        answers=tuple(dict.fromkeys(answers)),
        type=type_of(question_id),
        supporting_ids=tuple(dict.fromkeys(gold)),
        candidate_ids=tuple(dict.fromkeys(ids.values())),
        decomposition=hops,
        dataset=MUSIQUE,
    )


def _paragraphs(record: dict[str, Any]) -> Iterator[Document]:
    for paragraph in record["paragraphs"]:
        if paragraph["paragraph_text"].strip():
            yield passage(_id(paragraph), paragraph["title"], paragraph["paragraph_text"])


def _id(paragraph: dict[str, Any]) -> str:
    return id_by_text(paragraph["title"], paragraph["paragraph_text"])
