"""Read and write the project's own format: questions and passages as JSON lines.

A question has ``id``, ``question`` and ``answers``. These keys are optional:

- ``type``, ``supporting_ids``, ``candidate_ids``, ``evidence_triples`` and ``dataset``: as in :class:`Question`
- ``decomposition``: the sub-questions, each with ``question``, ``answer`` and ``supporting_id``
- ``answerable``: false if no answer is right. ``answers`` is then empty.
- ``sentences``: the gold sentences, which are copied from documents
- ``history``: the earlier turns of the conversation, each with ``role`` and ``content``

A passage has ``id``, ``title`` and ``text``. If the corpus can be split between two sources, a passage also has
``source``: ``local``, ``web`` or ``both``. The chunks of MedRAG's corpora, such as PubMed, can be read too. They have
``content`` in place of ``text``, and ``contents``, which is the same text with the title.
"""

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from haystack import Document

from prefrag.components.text.passage_record import PassageError, find_text_key, read_passage_line
from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record, check_unicode, text_of
from prefrag.evaluation.datasets.dataset_name import dataset_name
from prefrag.evaluation.question import Hop, Question

# The metadata key for the `source` of a line. It cannot be `source`, too: in the metadata of a document, this key names
# the source that found the document.
SPLIT = "source_split"


def recognises(record: Mapping[str, object]) -> bool:
    """Check whether a file has this format.

    :param record: The first record of the file.
    :returns: True if the record has the keys of a question or of a passage.
    """
    if {"id", "question", "answers"} <= record.keys():
        return True
    return "id" in record and isinstance(record.get(find_text_key(record)), str)


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the questions.

    :param file: The file with the questions.
    :returns: An iterator over the questions.
    """
    return file.convert_records(file.json_lines(), partial(_question, file.path), "line")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the passages.

    :param file: The file of the corpus.
    :returns: An iterator over the passages.
    :raises ValueError: If a line is not a passage.
    """
    for number, line in file.lines():
        try:
            record = read_passage_line(line, number)
        except PassageError as error:
            raise file.error("line", number, error.reason) from error
        meta = {SPLIT: record.source} if record.source else {}
        yield record.document(**meta)


def write_jsonl(items: Iterable[Question | Document], path: str | os.PathLike[str]) -> int:
    """Write questions or passages to a file, one at a time.

    The lines are written to a hidden file first, which then replaces the file ``path``. So an error leaves an existing
    file as it was.

    :param items: The questions or passages.
    :param path: The file to write. "~" stands for the user's home folder.
    :returns: The number of lines.
    """
    path = Path(path).expanduser()
    hidden_path = path.with_name(f".{path.name}.{os.getpid()}")
    number_of_lines = 0
    try:
        with hidden_path.open("w", encoding="utf-8") as lines:
            for item in items:
                record = _question_record(item) if isinstance(item, Question) else _passage_record(item)
                lines.write(json.dumps(record, ensure_ascii=False) + "\n")
                number_of_lines += 1
        hidden_path.replace(path)
    finally:
        hidden_path.unlink(missing_ok=True)
    return number_of_lines


def _question(path: Path, record: Record) -> Iterator[Question]:
    """Yield the question of a record. ``path`` is its file, by which the dataset may be found."""
    question_id = text_of(record, "id")
    answers = _read_texts(record["answers"], "answers")
    answerable = record.get("answerable")
    if answerable not in (None, True, False):
        raise ValueError("'answerable' must be true or false")
    # Without `answerable`, a question counts as one that can be answered.
    needs_answers = answerable is not False
    if bool(answers) != needs_answers:
        raise ValueError("'answers' must hold an answer, or be empty if 'answerable' is false")

    hops = record.get("decomposition") or ()
    triples = record.get("evidence_triples") or ()
    history = record.get("history") or ()
    yield Question(
        id=question_id,
        question=text_of(record, "question"),
        answers=answers,
        type=str(record.get("type") or ""),
        supporting_ids=_read_texts(record.get("supporting_ids"), "supporting_ids"),
        candidate_ids=_read_texts(record.get("candidate_ids"), "candidate_ids"),
        decomposition=tuple(_read_hop(hop) for hop in hops),
        evidence_triples=tuple((str(subject), str(relation), str(value)) for subject, relation, value in triples),
        dataset=str(record.get("dataset") or dataset_name(question_id, path)),
        answerable=answerable,
        sentences=_read_texts(record.get("sentences"), "sentences"),
        history=tuple((text_of(turn, "role"), text_of(turn, "content")) for turn in history),
    )


def _read_hop(hop: dict[str, object]) -> Hop:
    """Read a sub-question."""
    return Hop(str(hop["question"]), str(hop["answer"]), str(hop.get("supporting_id") or ""))


def _read_texts(values: object, key: str) -> tuple[str, ...]:
    """Read a list of texts that are not empty. A missing list (None) is read as an empty tuple."""
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) and value for value in values):
        raise ValueError(f"'{key}' must be a list of texts that are not empty")
    for value in values:
        check_unicode(value, key)
    return tuple(values)


def _question_record(question: Question) -> dict[str, object]:
    """Return the record of a question, without fields that are empty. ``answers`` is always there."""
    record = {
        "id": question.id,
        "question": question.question,
        "answers": question.answers,
        "type": question.type,
        "supporting_ids": question.supporting_ids,
        "candidate_ids": question.candidate_ids,
        "decomposition": [vars(hop) for hop in question.decomposition],
        "evidence_triples": question.evidence_triples,
        "dataset": question.dataset,
        "answerable": question.answerable,
        "sentences": question.sentences,
        "history": question.turns,
    }
    filled = {key: value for key, value in record.items() if value not in (None, "", (), [])}
    return {**filled, "answers": list(question.answers)}


def _passage_record(document: Document) -> dict[str, object]:
    """Return the record of a passage. Its metadata are further keys of the record."""
    record: dict[str, object] = {"id": document.id}
    if "title" in document.meta:
        record["title"] = document.meta["title"]
    record["text"] = document.content
    if SPLIT in document.meta:
        record["source"] = document.meta[SPLIT]
    for key, value in document.meta.items():
        if key not in ("id", "title", "text", "source", SPLIT):
            record[key] = value
    return record
