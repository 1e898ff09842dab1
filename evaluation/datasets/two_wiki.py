"""Read 2WikiMultiHopQA as published: ``dev.json`` and ``train.json``, from ``data.zip`` or ``data_ids_april7.zip``.

The format is that of HotpotQA with one more key: ``evidences``, a list of facts (subject, relation, object). The second
archive adds a key ``answer_id`` and a file ``id_aliases.json``. Each line of this file is a JSON object with ``Q_id``,
``aliases`` and ``demonyms``.

If ``id_aliases.json`` is in the folder of the questions, the aliases of an answer also count as right. Version 1.1 of
the dataset's own script does the same.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from haystack import Document

from prefrag.evaluation.datasets import hotpotqa
from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record
from prefrag.evaluation.datasets.dataset_name import TWO_WIKI
from prefrag.evaluation.question import Question

# The name of the file with the aliases.
ALIASES = "id_aliases.json"


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether a file has this format.

    :param record: The first record of the file.
    :returns: True if the record has the keys of this format.
    """
    return {"_id", "question", "context", "evidences"} <= record.keys()


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions.

    :param file: The file of the dataset.
    :returns: An iterator over the questions.
    """
    aliases = _aliases(file)
    return file.convert_records(file.json_array(), lambda record: [_question(record, aliases)], "record")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages that come with the questions.

    :param file: The file of the dataset.
    :returns: An iterator over the passages, with those that occur several times.
    """
    return hotpotqa.passages(file)


def _question(record: Record, aliases: dict[str, list[str]]) -> Question:
    """Read the question of a record. ``aliases`` has the further right answers by the id of an answer."""
    question = hotpotqa.question(record, TWO_WIKI)
    triples = tuple((str(subject), str(relation), str(value)) for subject, relation, value in record["evidences"])
    names = aliases.get(record.get("answer_id") or "", ())
    answers = dict.fromkeys([*question.answers, *names])
    return replace(question, answers=tuple(answers), evidence_triples=triples)


def _aliases(file: DatasetFile) -> dict[str, list[str]]:
    """Read the aliases from the file beside the questions. Without such a file, there are none."""
    path = file.path.parent / ALIASES
    if not path.is_file():
        return {}
    beside = DatasetFile(path)
    return dict(beside.convert_records(beside.json_lines(), _names, "line"))


def _names(record: Record) -> Iterator[tuple[str, list[str]]]:
    """Yield the id of an answer and its aliases and demonyms, or nothing if it has none."""
    names = [str(name) for name in (*record["aliases"], *record["demonyms"])]
    if names:
        yield str(record["Q_id"]), names
