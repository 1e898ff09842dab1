"""2WikiMultiHopQA as published: ``dev.json`` and ``train.json``, from ``data.zip`` or ``data_ids_april7.zip``.

The format is HotpotQA's plus ``evidences`` (subject, relation, object). The second archive adds ``answer_id`` and
``id_aliases.json``: one JSON object per line with ``Q_id``, ``aliases`` and ``demonyms``. If ``id_aliases.json`` is
in the folder of the questions, an answer's aliases count as right, as in version 1.1 of the dataset's own script.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from haystack import Document

from prefrag.evaluation.datasets import hotpotqa
from prefrag.evaluation.datasets.dataset_file import DatasetFile
from prefrag.evaluation.datasets.dataset_name import TWO_WIKI
from prefrag.evaluation.question import Question

ALIASES = "id_aliases.json"


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether the first record of a file has this format."""
    return {"_id", "question", "context", "evidences"} <= record.keys()


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions."""
    aliases = _aliases(file)
    return file.convert_records(file.json_array(), lambda record: [_question(record, aliases)], "record")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages that come with the questions."""
    return hotpotqa.passages(file)


def _question(record: dict[str, Any], aliases: dict[str, list[str]]) -> Question:
    question = hotpotqa.question(record, TWO_WIKI)
    triples = tuple((str(subject), str(relation), str(value)) for subject, relation, value in record["evidences"])
    others = aliases.get(record.get("answer_id") or "", ())
    return replace(question, answers=tuple(dict.fromkeys((*question.answers, *others))), evidence_triples=triples)


def _aliases(file: DatasetFile) -> dict[str, list[str]]:
    path = file.path.parent / ALIASES
    if not path.is_file():
        return {}
    beside = DatasetFile(path)
    return dict(beside.convert_records(beside.json_lines(), _names, "line"))


def _names(record: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    names = [str(name) for name in (*record["aliases"], *record["demonyms"])]
    if names:
        yield str(record["Q_id"]), names
