"""Read the yes/no questions of BioASQ's task B as published, for example ``training11b.json`` or ``11B1_golden.json``.

The file is a JSON object with a list ``questions``. Each question has these keys:

- ``id``, ``body`` (the text of the question) and ``exact_answer``
- ``type``: questions of another type than "yesno" are left out
- ``documents``: the addresses of abstracts in PubMed
- ``snippets``: parts of these abstracts, each with ``text`` and ``document``

The file does not contain whole abstracts. So a passage joins all snippets of one abstract. The id of the passage is the
number of the abstract in PubMed, as in BEIR's BioASQ corpus. The gold passages of a question are the abstracts of its
snippets. If a question has no snippets, they are its ``documents``.

A file has about ten megabytes and is read into memory as a whole.
"""

from collections.abc import Iterator

from haystack import Document

from prefrag.evaluation.datasets.dataset_file import DatasetFile, Record, text_of
from prefrag.evaluation.datasets.dataset_name import BIOASQ
from prefrag.evaluation.datasets.passage import passage
from prefrag.evaluation.question import Question

# The `type` of a yes/no question.
YES_NO = "yesno"


def questions(file: DatasetFile) -> Iterator[Question]:
    """Read the yes/no questions.

    :param file: The file of the dataset.
    :returns: An iterator over the questions.
    :raises ValueError: If the file has no list ``questions``, or a question is invalid.
    """
    return file.convert_records(_records(file), _question, "question")


def passages(file: DatasetFile) -> Iterator[Document]:
    """Read the snippets of the yes/no questions, and join those of the same abstract.

    :param file: The file of the dataset.
    :returns: An iterator over the passages, one for each abstract.
    :raises ValueError: If the file has no list ``questions``, or a question is invalid.
    """
    # The snippets by the number of their abstract. A dictionary without values is an ordered set: equal snippets of
    # several questions are joined once.
    snippets_by_abstract: dict[str, dict[str, None]] = {}
    for number, text in file.convert_records(_records(file), _snippets, "question"):
        snippets_by_abstract.setdefault(number, {})[text] = None
    for number, snippets in snippets_by_abstract.items():
        yield passage(number, f"PMID {number}", " ".join(snippets))


def _records(file: DatasetFile) -> Iterator[tuple[int, object]]:
    """Yield the number and content of each yes/no question.

    A record that is not an object is also yielded, so that the caller reports it as invalid.
    """
    content = file.json()
    records = content.get("questions") if isinstance(content, dict) else None
    if not isinstance(records, list):
        raise ValueError(f"{file.path} is not a file of BioASQ's task B: it has no list 'questions'.")
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or record.get("type") == YES_NO:
            yield number, record


def _question(record: Record) -> Iterator[Question]:
    """Yield the question of a record. Raise ValueError if its answer is not yes or no."""
    exact_answer = record["exact_answer"]
    answer = exact_answer
    # In some years of BioASQ the answer is a list.
    if isinstance(exact_answer, list) and len(exact_answer) == 1:
        [answer] = exact_answer
    if isinstance(answer, str):
        answer = answer.strip().rstrip(".").lower()
    if answer not in ("yes", "no"):
        raise ValueError(f"'exact_answer' must be yes or no, not {exact_answer!r}")

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


def _snippets(record: Record) -> Iterator[tuple[str, str]]:
    """Yield the number of the abstract and the text of each snippet of a question."""
    for snippet in record.get("snippets") or ():
        yield _number(snippet["document"]), text_of(snippet, "text")


def _number(url: str) -> str:
    """Return the number of an abstract from its address.

    For example, ``_number("http://www.ncbi.nlm.nih.gov/pubmed/15829955")`` returns ``"15829955"``.
    """
    _, _, number = url.rstrip("/").rpartition("/")
    if not number:
        raise ValueError(f"{url!r} is not the address of an abstract")
    return number
