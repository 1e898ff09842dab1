"""Read MuSiQue as published.

The files are ``musique_ans_v1.0_dev.jsonl``, ``musique_full_v1.0_dev.jsonl`` and the training sets. Each line is a JSON
object with these keys:

- ``id``, ``question``, ``answer`` and ``answer_aliases``
- ``answerable``: false if a supporting passage is missing
- ``paragraphs``: each with ``idx``, ``title``, ``paragraph_text`` and ``is_supporting``
- ``question_decomposition``: the sub-questions, each with ``question``, ``answer`` and ``paragraph_support_idx``

In the full version, each question occurs a second time with ``answerable`` false. This second copy is not read as a
question, but its passages belong to the corpus.
"""

from collections.abc import Iterator, Mapping

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record, text_of
from prefrag.evaluation.datasets.dataset_name import MUSIQUE, type_of
from prefrag.evaluation.datasets.passage import id_by_text, passage
from prefrag.evaluation.question import Hop, Question


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether a file has this format.

    :param record: The first record of the file.
    :returns: True if the record has the keys of this format.
    """
    return {"id", "question", "paragraphs"} <= record.keys()


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions that can be answered.

    :param file: The file of the dataset.
    :returns: An iterator over the questions.
    """
    return file.convert_records(file.json_lines(), _questions, "line")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the paragraphs of all questions, also of those that cannot be answered.

    :param file: The file of the dataset.
    :returns: An iterator over the passages, with those that occur several times.
    """
    return file.convert_records(file.json_lines(), _paragraphs, "line")


def _questions(record: Record) -> Iterator[Question]:
    """Yield the question of a record, or nothing if the question cannot be answered."""
    if record.get("answerable", True) is False:
        return
    question_id = text_of(record, "id")
    id_of_index = {paragraph["idx"]: _id(paragraph) for paragraph in record["paragraphs"]}
    hops = []
    for hop in record["question_decomposition"]:
        supporting_id = id_of_index.get(hop["paragraph_support_idx"], "")
        hops.append(Hop(text_of(hop, "question"), text_of(hop, "answer"), supporting_id))

    # Those of the hops come first, so that the gold passages are in the order in which they are needed.
    gold_ids = [hop.supporting_id for hop in hops if hop.supporting_id]
    gold_ids += [_id(paragraph) for paragraph in record["paragraphs"] if paragraph["is_supporting"]]

    text = text_of(record, "question")
    answers = [text_of(record, "answer"), *map(str, record.get("answer_aliases") or ())]
    yield Question(
        id=question_id,
        question=text,
        answers=tuple(dict.fromkeys(answers)),
        type=type_of(question_id),
        supporting_ids=tuple(dict.fromkeys(gold_ids)),
        candidate_ids=tuple(dict.fromkeys(id_of_index.values())),
        decomposition=tuple(hops),
        dataset=MUSIQUE,
    )


def _paragraphs(record: Record) -> Iterator[Document]:
    """Yield the passages of a record, without those that have no text."""
    for paragraph in record["paragraphs"]:
        if paragraph["paragraph_text"].strip():
            yield passage(_id(paragraph), paragraph["title"], paragraph["paragraph_text"])


def _id(paragraph: Record) -> str:
    """Return the id of a paragraph."""
    return id_by_text(paragraph["title"], paragraph["paragraph_text"])
