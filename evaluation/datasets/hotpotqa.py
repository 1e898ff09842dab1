"""Read HotpotQA as published.

The files are ``hotpot_dev_distractor_v1.json``, ``hotpot_dev_fullwiki_v1.json`` and the training set. Each is a JSON
array of objects with these keys:

- ``_id``, ``question``, ``answer``, ``type`` and ``level``
- ``supporting_facts``: the title of a gold passage and the number of a sentence, for each sentence that the answer
  needs
- ``context``: the title and the sentences of ten passages

The test set has no answers, so it cannot be scored here.
"""

from collections.abc import Iterator, Mapping

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record, text_of
from prefrag.evaluation.datasets.dataset_name import HOTPOTQA
from prefrag.evaluation.datasets.passage import id_by_title, join_sentences, passage
from prefrag.evaluation.question import Question


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether a file has this format.

    :param record: The first record of the file.
    :returns: True if the record has the keys of this format, and not those of 2WikiMultiHopQA.
    """
    return {"_id", "question", "context"} <= record.keys() and "evidences" not in record


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions.

    The gold passages are named by their titles. So they are known even where the full-wiki file does not contain their
    texts.

    :param file: The file of the dataset.
    :returns: An iterator over the questions.
    """
    return file.convert_records(file.json_array(), lambda record: [question(record, HOTPOTQA)], "record")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages that come with the questions.

    :param file: The file of the dataset.
    :returns: An iterator over the passages, with those that occur several times.
    """
    return file.convert_records(file.json_array(), contexts, "record")


def question(record: Record, dataset: str) -> Question:
    """Read a question of HotpotQA, or of a dataset with the same format.

    :param record: The record of the question.
    :param dataset: The name of the dataset.
    :returns: The question.
    """
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


def contexts(record: Record) -> Iterator[Document]:
    """Read the passages that come with a question.

    :param record: The record of the question.
    :returns: An iterator over the passages, without those that have no text.
    """
    for title, sentences in record["context"]:
        text = join_sentences(sentences)
        if text:
            yield passage(id_by_title(title), title, text)
