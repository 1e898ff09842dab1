"""The yes/no questions of BioASQ's task B as published, for example ``training11b.json`` or ``11B1_golden.json``.

The file is a JSON object. Its ``questions`` have ``id``, ``body``, ``type``, ``exact_answer``, ``documents`` (addresses
of abstracts in PubMed) and ``snippets`` (``text``, ``document``). Questions of other types are left out.

The file has snippets of abstracts, not whole abstracts. So a passage joins all snippets of one abstract, and its id is
the abstract's number in PubMed, as in BEIR's BioASQ corpus. A question's gold passages are the abstracts of its
snippets or, if it has none, its ``documents``. A file has about ten megabytes and is read into memory as a whole.
"""

from collections.abc import Iterator
from typing import Any

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, text_of
from prefrag.evaluation.datasets.dataset_name import BIOASQ
from prefrag.evaluation.datasets.passage import passage
from prefrag.evaluation.question import Question

YES_NO = "yesno"


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the yes/no questions."""
    return file.convert_records(_records(file), _question, "question")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the snippets of the yes/no questions, joined by abstract."""
    texts: dict[str, dict[str, None]] = {}
    for number, text in file.convert_records(_records(file), _snippets, "question"):
        texts.setdefault(number, {})[text] = None
    for number, snippets in texts.items():
        yield passage(number, f"PMID {number}", " ".join(snippets))


def _records(file: DatasetFile) -> Iterator[tuple[int, Any]]:
    content = file.json()
    records = content.get("questions") if isinstance(content, dict) else None
    if not isinstance(records, list):
        raise ValueError(f"{file.path} is not a file of BioASQ's task B: it has no list 'questions'.")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or record.get("type") == YES_NO:
            yield number, record


def _question(record: dict[str, Any]) -> Iterator[Question]:
    answer = record["exact_answer"]
    # In some years of BioASQ the answer is a list.
    answer = answer[0] if isinstance(answer, list) and len(answer) == 1 else answer
    answer = answer.strip().rstrip(".").lower() if isinstance(answer, str) else answer
    if answer not in ("yes", "no"):
        raise ValueError(f"'exact_answer' must be yes or no, not {record['exact_answer']!r}")
    gold = [number for number, _ in _snippets(record)]
    if not gold:
        gold = [_number(url) for url in record.get("documents") or ()]
    ids = tuple(dict.fromkeys(gold))
    yield Question(
        id=text_of(record, "id"),
        question=text_of(record, "body"),
        answers=(answer,),
        type=YES_NO,
        supporting_ids=ids,
        candidate_ids=ids,
        dataset=BIOASQ,
    )


def _snippets(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for snippet in record.get("snippets") or ():
        yield _number(snippet["document"]), text_of(snippet, "text")


def _number(url: str) -> str:
    number = url.rstrip("/").rsplit("/", 1)[-1]
    if not number:
        raise ValueError(f"{url!r} is not the address of an abstract")
    return number
