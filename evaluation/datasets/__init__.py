"""Read questions and passages from the files of published datasets.

Each format has a module of its own in this folder. :func:`detect` recognises the format of a file,
:func:`load_questions` reads its questions, and :func:`read_passages` reads its passages.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice

from haystack import Document

from prefrag.evaluation.datasets import (
    beir,
    bioasq,
    dpr,
    hotpotqa,
    ircot,
    jsonl,
    musique,
    prefrag_authors,
    two_wiki,
    wiki_paragraphs,
)
from prefrag.evaluation.datasets.dataset_file import DatasetFile
from prefrag.evaluation.datasets.jsonl import write_jsonl
from prefrag.evaluation.question import Question

__all__ = ["FORMATS", "detect", "load_questions", "read_passages", "write_jsonl"]


@dataclass(frozen=True)
class _Format:
    """The functions that recognise one published format and read its questions and passages.

    :param questions: Reads the questions of a file. None if files of this format have no questions.
    :param passages: Reads the passages of a file. None if files of this format have no passages.
    :param recognises: Checks whether the first record of a file has this format. By default, no record does:
        :func:`detect` then recognises the format by other signs.
    """

    questions: Callable[[DatasetFile], Iterator[Question]] | None
    passages: Callable[[DatasetFile], Iterator[Document]] | None
    recognises: Callable[[dict[str, object]], bool] = lambda record: False


# The formats by name. `detect` tries them in this order.
FORMATS = {
    "jsonl": _Format(jsonl.questions, jsonl.passages, jsonl.recognises),
    "hotpotqa": _Format(hotpotqa.questions, hotpotqa.passages, hotpotqa.recognises),
    "2wikimultihopqa": _Format(two_wiki.questions, two_wiki.passages, two_wiki.recognises),
    "musique": _Format(musique.questions, musique.passages, musique.recognises),
    "ircot": _Format(ircot.questions, ircot.passages, ircot.recognises),
    "prefrag": _Format(prefrag_authors.questions, None, prefrag_authors.recognises),
    "bioasq": _Format(bioasq.questions, bioasq.passages),
    "wiki-paragraphs": _Format(None, wiki_paragraphs.passages, wiki_paragraphs.recognises),
    "beir": _Format(None, beir.passages, beir.recognises),
    "dpr": _Format(None, dpr.passages),
}
# These formats ship passages with each question. So a passage that belongs to several questions occurs several times in
# a file.
_REPEATING = ("hotpotqa", "2wikimultihopqa", "musique", "ircot")
# Matches the start of a BioASQ file: a JSON object whose first key is "questions". For example, it matches
# `{"questions": [`.
_BIOASQ = re.compile(rb'\s*\{\s*"questions"\s*:')
# `detect` reads this number of bytes at the start of a file. They tell an empty file, a BioASQ file, a JSON array and
# JSON lines apart.
_HEAD_BYTES = 4096


def load_questions(path: str | os.PathLike[str], format: str = "auto", limit: int | None = None) -> list[Question]:
    """Read the questions of a file.

    :param path: The file of a dataset.
    :param format: The name of the format, one of ``FORMATS``. "auto" means that the format is detected.
    :param limit: The maximum number of questions to read, from the start of the file. None means all.
    :returns: The questions in the order of the file. Each question is on one line.
    :raises ValueError: If the limit is below 1, or if the format is unknown or has no questions. Also if a record is
        invalid, if the file has no questions, or if two questions have the same id.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}.")
    file = DatasetFile(path)
    name = detect(path) if format == "auto" else format
    read_records = _find_format(name).questions
    if read_records is None:
        raise ValueError(f"{file.path} has the format {name}, which has passages but no questions.")

    questions = [_join_lines(question) for question in islice(read_records(file), limit)]
    if not questions:
        raise ValueError(f"{file.path} holds no questions that can be answered.")

    seen: set[str] = set()
    for question in questions:
        if question.id in seen:
            raise ValueError(f"{file.path} holds the question '{question.id}' twice.")
        seen.add(question.id)
    return questions


def read_passages(path: str | os.PathLike[str] | DatasetFile, format: str = "auto") -> Iterator[Document]:
    """Yield the passages of a corpus, or the passages that come with the questions of a file.

    The id of each passage is the id by which the dataset's questions name the passage. A corpus is never in memory as a
    whole. A passage that several questions of a file share is yielded once. For this, about 100 bytes of memory are
    needed for each passage.

    :param path: A file, folder or archive of a dataset.
    :param format: The name of the format, one of ``FORMATS``. "auto" means that the format is detected.
    :returns: An iterator over the passages.
    :raises ValueError: If the format is unknown or has no passages, or if a record is invalid.
    """
    file = path if isinstance(path, DatasetFile) else DatasetFile(path)
    name = detect(file.path) if format == "auto" else format
    read_records = _find_format(name).passages
    if read_records is None:
        raise ValueError(f"{file.path} has the format {name}, which has no passages.")
    passages = read_records(file)
    if name in _REPEATING:
        return _drop_repeated(passages)
    return passages


def detect(path: str | os.PathLike[str]) -> str:
    """Detect the format of a file by its name and its first record.

    :param path: A file, folder or archive of a dataset.
    :returns: The name of the format, one of ``FORMATS``. A folder or a tar archive is always taken for
        "wiki-paragraphs". A file whose name ends in ``.tsv`` is always taken for "dpr".
    :raises ValueError: If the file is empty, or if no format fits.
    """
    file = DatasetFile(path)
    if file.path.is_dir() or file.is_archive:
        return "wiki-paragraphs"
    if file.suffix == ".tsv":
        return "dpr"

    with file.open() as stream:
        # The three bytes are the byte order mark that some programs write at the start of a UTF-8 file.
        head = stream.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
    if not head.strip():
        raise ValueError(f"{file.path} is empty: give a file that holds questions or passages.")
    if _BIOASQ.match(head):
        return "bioasq"

    records = file.json_array() if head.lstrip().startswith(b"[") else file.json_lines()
    # Only the first record is compared with the formats.
    for _, record in islice(records, 1):
        for name, form in FORMATS.items():
            if isinstance(record, dict) and form.recognises(record):
                return name
    raise ValueError(f"The format of {file.path} was not recognised: set format to one of {list(FORMATS)}.")


def _find_format(name: str) -> _Format:
    """Return the format of this name, or raise ValueError if there is none."""
    if name not in FORMATS:
        raise ValueError(f"There is no format '{name}': choose auto or one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def _join_lines(question: Question) -> Question:
    """Put the text of a question on one line. In a prompt, the next line has other text.

    For example, a question with the two lines "Who wrote" and "the book?" becomes "Who wrote the book?".
    """
    lines = [line.strip() for line in question.question.splitlines()]
    if len(lines) == 1:
        return question
    return replace(question, question=" ".join(line for line in lines if line))


def _drop_repeated(passages: Iterable[Document]) -> Iterator[Document]:
    """Yield each passage whose id was not seen before."""
    seen: set[bytes] = set()
    for passage in passages:
        # An 8-byte hash of the id needs less memory than the id.
        digest = blake2b(passage.id.encode(), digest_size=8).digest()
        if digest not in seen:
            seen.add(digest)
            yield passage
