"""Read questions and passages from the published datasets."""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from typing import Any

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
    """The functions that recognise one published format and read its questions and passages."""

    questions: Callable[[DatasetFile], Iterator[Question]] | None
    passages: Callable[[DatasetFile], Iterator[Document]] | None
    recognises: Callable[[dict[str, Any]], bool] = lambda record: False


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
# These formats ship passages with each question, so a passage that belongs to several questions occurs several times.
_REPEATING = ("hotpotqa", "2wikimultihopqa", "musique", "ircot")
_BIOASQ = re.compile(rb'\s*\{\s*"questions"\s*:')
_HEAD_BYTES = 4096


def load_questions(path: str | os.PathLike[str], format: str = "auto", limit: int | None = None) -> list[Question]:
    """Read the questions of a file.

    ``format`` is one of ``FORMATS``, or ``auto``. Raises ValueError for an unknown format, a format without questions,
    a record in another format, a file without questions, or two questions with the same id.
    """
    if limit is not None and limit < 1:
        raise ValueError(f"limit must be at least 1, not {limit}.")
    file = DatasetFile(path)
    name = detect(path) if format == "auto" else format
    read = _find_format(name).questions
    if read is None:
        raise ValueError(f"{file.path} has the format {name}, which has passages but no questions.")
    questions = [_join_lines(question) for question in islice(read(file), limit)]
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

    Each passage has the id by which the dataset's questions name it. A corpus is never held in memory as a whole. A
    passage that several questions of a file share is yielded once. Remembering each id takes about 100 bytes of memory.
    """
    file = path if isinstance(path, DatasetFile) else DatasetFile(path)
    name = detect(file.path) if format == "auto" else format
    read = _find_format(name).passages
    if read is None:
        raise ValueError(f"{file.path} has the format {name}, which has no passages.")
    passages = read(file)
    return _drop_repeated(passages) if name in _REPEATING else passages


def detect(path: str | os.PathLike[str]) -> str:
    """Detect the format of a file by its name and its first record."""
    file = DatasetFile(path)
    if file.path.is_dir() or file.is_archive:
        return "wiki-paragraphs"
    if file.suffix == ".tsv":
        return "dpr"
    with file.open() as stream:
        head = stream.read(_HEAD_BYTES).removeprefix(b"\xef\xbb\xbf")
    if not head.strip():
        raise ValueError(f"{file.path} is empty: give a file that holds questions or passages.")
    if _BIOASQ.match(head):
        return "bioasq"
    records = file.json_array() if head.lstrip()[:1] == b"[" else file.json_lines()
    for _, record in islice(records, 1):
        for name, form in FORMATS.items():
            if isinstance(record, dict) and form.recognises(record):
                return name
    raise ValueError(f"The format of {file.path} was not recognised: set format to one of {list(FORMATS)}.")


def _find_format(name: str) -> _Format:
    if name not in FORMATS:
        raise ValueError(f"There is no format '{name}': choose auto or one of {', '.join(FORMATS)}.")
    return FORMATS[name]


def _join_lines(question: Question) -> Question:
    """Put the question on one line, because prompts have one line for the question and other text on the next."""
    lines = [line.strip() for line in question.question.splitlines()]
    return question if len(lines) == 1 else replace(question, question=" ".join(filter(None, lines)))


def _drop_repeated(passages: Iterable[Document]) -> Iterator[Document]:
    seen: set[bytes] = set()
    for passage in passages:
        digest = blake2b(passage.id.encode(), digest_size=8).digest()
        if digest not in seen:
            seen.add(digest)
            yield passage
