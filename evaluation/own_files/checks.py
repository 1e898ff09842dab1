"""Check that the questions about people's own files fit the documents."""

import html
import io
import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import TypedDict

from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.pdf_files import read_pdf

# Matches what may stand between two words, or inside a word at the end of a line: spaces, line breaks and hyphens. It
# is removed on both sides before they are compared, because a PDF may have a wide gap there or nothing at all.
_BLANKS = re.compile(r"[\s\u00ad\u2010-]+")
# The endings of office documents. Such a file is a zip archive with XML files.
_OFFICE = (".docx", ".xlsx", ".pptx", ".odt", ".ods")


class Stated(TypedDict, total=False):
    """Where a fact is stated: the path of a document, and its sentences."""

    document: str
    sentences: list[str]


class OwnQuestion(Stated, total=False):
    """A question on the users' own files. README.md explains its fields."""

    id: str
    question: str
    type: str
    answers: list[str]
    answerable: bool
    subject: str
    yes_no: str
    # A pattern of a fact that no document states.
    absent: str
    answer_elsewhere: bool
    first_hop: Stated
    history: list[object]


def read_questions(name: str) -> list[OwnQuestion]:
    """Read a set of questions. README.md explains the fields of a question.

    :param name: `dev`, `test`, `train`, `languages` or `person/questions`.
    :returns: The questions.
    """
    with Path(__file__).parent.joinpath(f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_text(path: Path) -> str:
    """Read the text of a document without markup. The text is rough, but good enough for these checks.

    :param path: The file.
    :returns: The text.
    """
    data = path.read_bytes()
    if path.suffix == ".pdf":
        _, text_of_pdf = read_pdf(data, Outline())
        return text_of_pdf
    if path.suffix in _OFFICE:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # The files of each office format that contain its text, such as "word/document.xml",
            # "ppt/slides/slide1.xml", "xl/worksheets/sheet1.xml", "xl/sharedStrings.xml" and the "content.xml" of
            # OpenDocument.
            has_text = re.compile(r"document|slides/s|sheet\d|sharedS|content.xml")
            names = [name for name in archive.namelist() if has_text.search(name)]
            data = b"\n".join(archive.read(name) for name in names)

    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    if path.suffix in (".html", ".htm", *_OFFICE):
        return html.unescape(re.sub(r"<[^<>]*>", "", text))
    return text


def squeeze(text: str) -> str:
    r"""Remove the spaces and hyphens of a text, and change it to lower case.

    For example, ``squeeze("Well-known\nfacts")`` returns ``"wellknownfacts"``.

    :param text: The text.
    :returns: The squeezed text.
    """
    return _BLANKS.sub("", text).lower()


def find_faults(questions: Iterable[OwnQuestion], folder: Path) -> list[str]:
    """List the faults of questions.

    There are three kinds of faults. A sentence is not in its document. An answer is not in its sentences. A fact that
    should be absent is in a document.

    :param questions: The questions.
    :param folder: The folder of the documents.
    :returns: A sentence for each fault.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    texts = {path.relative_to(folder).as_posix(): " ".join(read_text(path).split()) for path in files}
    squeezed_texts = {path: squeeze(text) for path, text in texts.items()}
    faults = []
    for question in questions:
        reasons = _find_strange_sentences(question, squeezed_texts)
        if not question.get("answer_elsewhere"):
            reasons += _find_unsupported_answers(question)
        # A pattern for a fact that no document may have, so that the question cannot be answered.
        absent_fact = question.get("absent")
        if absent_fact:
            for path, text in texts.items():
                if re.search(absent_fact, text, re.IGNORECASE):
                    reasons.append(f"{absent_fact} should be absent, but is in {path}")
        faults += [f"{question['id']}: {reason}" for reason in reasons]
    return faults


def _find_strange_sentences(question: OwnQuestion, squeezed_texts: dict[str, str]) -> list[str]:
    """List the sentences of a question that are not in their document.

    ``squeezed_texts`` has the text of each document, by its path.
    """
    # A question and its first hop each have a document and sentences.
    hops: list[Stated] = [question] if question["answerable"] else []
    if question.get("first_hop"):
        hops.append(question["first_hop"])
    reasons = []
    for hop in hops:
        text = squeezed_texts.get(hop["document"], "")
        for sentence in hop["sentences"]:
            # The row of a table is written as its cells with bars between them. The document has them in other forms.
            if not all(squeeze(cell) in text for cell in sentence.split(" | ")):
                reasons.append(f"this sentence is not in {hop['document']}: {sentence}")
    return reasons


def _find_unsupported_answers(question: OwnQuestion) -> list[str]:
    """List the answers of a question that are in none of its sentences."""
    reasons = []
    for answer in question["answers"]:
        if not any(squeeze(answer) in squeeze(sentence) for sentence in question["sentences"]):
            reasons.append(f"the answer {answer} is in none of the question's sentences")
    return reasons
