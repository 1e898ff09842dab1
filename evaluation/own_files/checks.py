"""Check the questions about people's own files against the documents they are asked about."""

import html
import io
import json
import re
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from prefrag.indexing.headings import Outline
from prefrag.indexing.pdf_files import read_pdf

# Words may be separated by a hyphen and a line break, by a column, or by nothing if a PDF lost its spaces.
_BLANKS = re.compile(r"[\s\u00ad\u2010-]+")
_OFFICE = (".docx", ".xlsx", ".pptx")


def read_questions(name: str) -> list[dict[str, Any]]:
    """Read the questions of `dev`, `test` or `languages`, in the form that README.md describes."""
    with Path(__file__).with_name(f"{name}.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_text(path: Path) -> str:
    """Read the text of a document, as far as the check needs it."""
    data = path.read_bytes()
    if path.suffix == ".pdf":
        return read_pdf(data, Outline())[1]
    if path.suffix in _OFFICE:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [name for name in archive.namelist() if re.search(r"document|slides/s|sheet\d|sharedS", name)]
            data = b"\n".join(archive.read(name) for name in names)
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("cp1252", "replace")
    return html.unescape(re.sub(r"<[^<>]*>", "", text)) if path.suffix in (".html", ".htm", *_OFFICE) else text


def squeeze(text: str) -> str:
    """Lower the case and remove everything between the words."""
    return _BLANKS.sub("", text).lower()


def find_faults(questions: Iterable[dict[str, Any]], folder: Path) -> list[str]:
    """Find faults: sentences or answers that are not where they should be, and facts that should be absent."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    texts = {path.relative_to(folder).as_posix(): " ".join(read_text(path).split()) for path in files}
    squeezed = {name: squeeze(text) for name, text in texts.items()}
    faults = []
    for question in questions:
        name = question["id"]
        for place in filter(None, (question["answerable"] and question, question.get("first_hop"))):
            text = squeezed.get(place["document"], "")
            for sentence in place["sentences"]:
                if not all(squeeze(cell) in text for cell in sentence.split(" | ")):
                    faults.append(f"{name}: not in {place['document']}: {sentence}")
        for answer in () if question.get("answer_elsewhere") else question["answers"]:
            if not any(squeeze(answer) in squeeze(sentence) for sentence in question["sentences"]):
                faults.append(f"{name}: {answer} is not in its sentences")
        if absent := question.get("absent"):
            found = [document for document, text in texts.items() if re.search(absent, text, re.IGNORECASE)]
            faults += [f"{name}: {absent} is in {document}" for document in found]
    return faults
