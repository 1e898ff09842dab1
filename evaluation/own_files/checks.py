"""Check that the questions about people's own files fit the documents."""

import html
import io
import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prefrag.indexing.readers.headings import Outline
from prefrag.indexing.readers.pdf_files import read_pdf

# Between words there may be a hyphen and a line break, the gap between two columns or, in some PDFs, nothing.
_BLANKS = re.compile(r"[\s\u00ad\u2010-]+")
_OFFICE = (".docx", ".xlsx", ".pptx", ".odt", ".ods")


def read_questions(name: str) -> list[dict[str, Any]]:
    """Read the questions of `dev`, `test`, `train`, `languages` or `person/questions`; README.md has their fields."""
    with Path(__file__).parent.joinpath(f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_text(path: Path) -> str:
    """Read the text of a document without markup. The text is rough, but good enough for these checks."""
    data = path.read_bytes()
    if path.suffix == ".pdf":
        return read_pdf(data, Outline())[1]
    if path.suffix in _OFFICE:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            # The parts of each format that hold its text.
            parts = re.compile(r"document|slides/s|sheet\d|sharedS|content.xml")
            names = [name for name in archive.namelist() if parts.search(name)]
            data = b"\n".join(archive.read(name) for name in names)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    if path.suffix in (".html", ".htm", *_OFFICE):
        return html.unescape(re.sub(r"<[^<>]*>", "", text))
    return text


def squeeze(text: str) -> str:
    """Put a text into lower case, and remove its blanks and hyphens."""
    return _BLANKS.sub("", text).lower()


def find_faults(questions: Iterable[dict[str, Any]], folder: Path) -> list[str]:
    """List faults: sentences not in their document, answers not in their sentences, facts that should be absent."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    texts = {path.relative_to(folder).as_posix(): " ".join(read_text(path).split()) for path in files}
    squeezed = {name: squeeze(text) for name, text in texts.items()}
    faults = []
    for question in questions:
        name = question["id"]
        places = [question.get("first_hop")]
        if question["answerable"]:
            places.insert(0, question)
        for place in filter(None, places):
            text = squeezed.get(place["document"], "")
            for sentence in place["sentences"]:
                if not all(squeeze(cell) in text for cell in sentence.split(" | ")):
                    faults.append(f"{name}: this sentence is not in {place['document']}: {sentence}")
        for answer in () if question.get("answer_elsewhere") else question["answers"]:
            if not any(squeeze(answer) in squeeze(sentence) for sentence in question["sentences"]):
                faults.append(f"{name}: the answer {answer} is in none of the question's sentences")
        absent = question.get("absent")
        if absent:
            documents = [document for document, text in texts.items() if re.search(absent, text, re.IGNORECASE)]
            faults += [f"{name}: {absent} should be absent, but is in {document}" for document in documents]
    return faults
