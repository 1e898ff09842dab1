"""Convert users' own files into passages: text, Markdown, HTML and PDF, with Haystack's converters."""

from __future__ import annotations

import hashlib
import html
import logging
import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from haystack import Document
from haystack.dataclasses import ByteStream

from prefrag.components.text.unicode_form import is_text, one_form
from prefrag.indexing.headings import Outline, mark_html, mark_markdown, section_paths
from prefrag.indexing.office_files import read_docx, read_pptx, read_xlsx
from prefrag.indexing.passage_splitting import split_into_passages
from prefrag.indexing.pdf_files import read_pdf
from prefrag.indexing.report import CannotRead
from prefrag.indexing.text_decoding import decode_text
from prefrag.indexing.text_files import pack_rows, read_csv, read_json, read_rst, write_bar_tables, write_fields
from prefrag.indexing.wrapped_lines import unwrap_lines

# The formats, by their names in the metadata.
TEXT, MARKDOWN, RST, HTML, PDF = "text", "markdown", "rst", "html", "pdf"
DOCX, PPTX, XLSX, CSV, JSON = "docx", "pptx", "xlsx", "csv", "json"
# Only a file without a suffix that looks like text is read, see the module `discovery`.
FORMATS = {
    ".txt": TEXT,
    ".text": TEXT,
    "": TEXT,
    ".md": MARKDOWN,
    ".markdown": MARKDOWN,
    ".rst": RST,
    ".html": HTML,
    ".htm": HTML,
    ".xhtml": HTML,
    ".pdf": PDF,
    ".docx": DOCX,
    ".pptx": PPTX,
    ".xlsx": XLSX,
    ".csv": CSV,
    ".tsv": CSV,
    ".json": JSON,
}
# A converter holds a whole file, Markdown and HTML in up to a hundred times its size.
MOST_BYTES = {
    TEXT: 50_000_000,
    MARKDOWN: 5_000_000,
    RST: 2_000_000,
    HTML: 10_000_000,
    PDF: 200_000_000,
    DOCX: 100_000_000,
    PPTX: 200_000_000,
    XLSX: 50_000_000,
    CSV: 50_000_000,
    JSON: 20_000_000,
}

# Part of every fingerprint, so that a new way of making passages marks every file as changed.
_RECIPE = 5
# Haystack's converters, and how each is made.
_CONVERTERS: dict[str, tuple[str, dict[str, Any]]] = {
    TEXT: ("TextFileToDocument", {}),
    MARKDOWN: ("MarkdownToDocument", {"progress_bar": False, "extract_frontmatter": True}),
    # The extraction is tuned for news pages; notes and wikis need it to keep more.
    HTML: ("HTMLToDocument", {"extraction_kwargs": {"favor_recall": True, "include_comments": False}}),
}
_BYTE_READERS = {PDF: read_pdf, DOCX: read_docx, PPTX: read_pptx, XLSX: read_xlsx}
_TEXT_READERS: dict[str, Callable[[str, Outline], str]] = {
    RST: read_rst,
    CSV: lambda text, outline: "\n".join(read_csv(text)),
    JSON: lambda text, outline: "\n".join(read_json(text)),
}
_PACKAGES = {PDF: "pypdfium2", DOCX: "docx", PPTX: "pptx", XLSX: "openpyxl", RST: "docutils"}
_DECLARED_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
# A title stands at the beginning, and a front matter is short.
_TITLE_CHARACTERS = 50_000
_MOST_FRONT_MATTER = 10_000
_MOST_BRACKETS = 200
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)---[ \t]*(?=\r?\n|\Z)", re.DOTALL)
_LOGGERS = (
    "haystack.components.converters",
    "trafilatura",
    "htmldate",
    "justext",
)


class FileConverter:
    """Converts one file after another into passages.

    ```python
    from pathlib import Path
    from prefrag.indexing.file_conversion import FileConverter

    path = Path("README.md").resolve()
    for passage in FileConverter().passages(path, path.read_bytes()):
        print(passage.meta["title"], passage.content)
    ```
    """

    def __init__(self) -> None:
        """Make the converters whose packages are installed."""
        self.loss = ""  # what of the last file could not be read
        self._converters, self._missing = _make_converters()

    def passages(self, path: Path, data: bytes, modified: float | None = None) -> list[Document]:
        """Convert one file."""
        form = FORMATS[path.suffix.lower()]
        if form in self._missing:
            raise CannotRead(
                "it needs packages that are not installed: make install EXTRAS=files (or pip install 'prefrag[files]')"
            )
        if not data.strip():
            raise CannotRead("it is empty")
        text = ""
        if form not in _BYTE_READERS:
            declared = _DECLARED_CHARSET.search(data[:2048]) if form == HTML else None
            text = decode_text(data, declared[1].decode() if declared else None)
        outline = Outline()
        with _collect_warnings() as complaints:
            try:
                own_title, marked, own_meta = self._convert(form, data, text, outline)
            except (CannotRead, MemoryError):
                raise
            # A damaged file makes the libraries raise almost anything.
            except Exception as error:
                raise CannotRead(f"it cannot be converted ({error}); it may be damaged") from error
        text, headings = outline.read(marked)
        self.loss = outline.loss
        if headings and form in (MARKDOWN, DOCX, RST):
            own_title = own_title or headings[0].words
        parts = _split(text, form)
        found = [
            (one_form(text), page, section)
            for (text, page), section in zip(_with_pages(parts, form), section_paths(parts, headings), strict=True)
            if text
        ]
        if not found:
            raise CannotRead(_reason(complaints))

        front_matter = {key: value for key, value in own_meta.items() if is_text(key) and _is_simple(value)}
        front_title = front_matter.get("title")
        title = one_form(_one_line(front_title if isinstance(front_title, str) else "") or own_title or path.stem)
        file_hash = fingerprint(data)
        stem = hashlib.blake2b(f"{path}\0{file_hash}".encode(), digest_size=12).hexdigest()
        passages = []
        for position, (text, page, section) in enumerate(found):
            meta = {
                **{key: value for key, value in front_matter.items() if key not in _NOT_FOR_META},
                "title": title,
                "file_path": str(path),
                "folder": str(path.parent),
                "file_name": path.name,
                "kind": form,
                "file_hash": file_hash,
                "split_id": position,
                "split_count": len(found),
            }
            if modified is not None:
                meta["modified"] = datetime.fromtimestamp(modified, UTC).date().isoformat()
            if page is not None:
                meta["page_number"] = page
            if section is not None:
                meta["heading"] = one_form(section)
            passages.append(Document(id=f"{stem}-{position}", content=text, meta=meta))
        return passages

    def _convert(self, form: str, data: bytes, text: str, outline: Outline) -> tuple[str, str, dict[str, Any]]:
        """Convert one file into its title, its text with the marks of its headings, and its metadata."""
        if form in _BYTE_READERS:
            return *_BYTE_READERS[form](data, outline), {}
        if form in _TEXT_READERS:
            return "", _TEXT_READERS[form](text, outline), {}
        title = _html_title(text) if form == HTML else ""
        if form in _MARK_HEADINGS:
            text = _MARK_HEADINGS[form](text, outline)
        source = ByteStream(text.encode(), meta={"encoding": "utf-8"})
        converted: list[Document] = self._converters[form].run(sources=[source])["documents"]
        if not converted:
            return title, "", {}
        content, meta = write_bar_tables(converted[0].content or ""), converted[0].meta
        # The title is searched with each passage already.
        fields = {key: value for key, value in meta.items() if key not in ("title", "encoding")}
        return title, f"{write_fields(fields)}\n{unwrap_lines(content) if form == TEXT else content}", meta


def fingerprint(data: bytes) -> str:
    """Compute a digest that differs between a changed file and an unchanged one."""
    return hashlib.blake2b(data, digest_size=16, person=f"prefrag-{_RECIPE}".encode()).hexdigest()


def _make_converters() -> tuple[dict[str, Any], set[str]]:
    """Make Haystack's converters, and list the formats for which a package is missing."""
    # These import what reads HTML and Markdown, which takes a second.
    from haystack.components import converters as haystack_converters

    converters: dict[str, Any] = {}
    missing = {form for form, package in _PACKAGES.items() if find_spec(package) is None}
    for form, (name, settings) in _CONVERTERS.items():
        try:
            converters[form] = getattr(haystack_converters, name)(**settings)
        except ImportError:
            missing.add(form)
    return converters, missing


def _split(text: str, form: str) -> list[str]:
    """Split a text into parts that join to the whole: by its rows, within its slides, or by its sentences."""
    if form in (CSV, JSON, XLSX):
        return pack_rows(text)
    if form == PPTX:
        return [part for slide in re.split(r"(?<=\f)", text) for part in split_into_passages(slide)]
    return split_into_passages(text)


def _with_pages(parts: list[str], form: str) -> Iterator[tuple[str, int | None]]:
    """Normalise the white space of every passage and find the page of its first letter."""
    page = 1
    for part in parts:
        leading = len(part) - len(part.lstrip())
        first_page = page + part.count("\f", 0, leading)
        page += part.count("\f")
        part = re.sub(r"[^\S\n]+", " ", part)
        yield re.sub(r" ?\n\s*", "\n", part).strip(), first_page if form in (PDF, PPTX) else None


def _is_small_front_matter(text: str) -> bool:
    """Check whether the front matter, if there is one, is short and without aliases.

    YAML repeats what an alias names, and aliases of aliases make gigabytes of a few lines.
    """
    if (front := _FRONT_MATTER.match(text)) is None:
        return True
    # Reading nested brackets takes a time that grows with the square of their number.
    if len(front[1]) > _MOST_FRONT_MATTER or front[1].count("[") + front[1].count("{") > _MOST_BRACKETS:
        return False
    try:
        return not any(isinstance(token, yaml.AliasToken) for token in yaml.scan(front[1]))
    except yaml.YAMLError:
        # The converter reports it.
        return True


def _mark_markdown(text: str, outline: Outline) -> str:
    found = _FRONT_MATTER.match(text)
    front = found[0] if found else ""
    marked = front + mark_markdown(text[len(front) :], outline)
    # Behind an empty line the converter takes it for a part of the text.
    return marked if _is_small_front_matter(text) else f"\n{marked}"


def _html_title(text: str) -> str:
    for tag in ("title", "h1"):
        # Only what follows the first one is searched for its end: otherwise a page full of them would take hours.
        if (start := re.search(rf"<{tag}\b[^>]{{0,1000}}>", text, re.IGNORECASE)) and (
            end := re.compile(rf"</{tag}\s*>", re.IGNORECASE).search(text, start.end(), start.end() + _TITLE_CHARACTERS)
        ):
            title = _one_line(html.unescape(re.sub(r"<[^<>]*>", "", text[start.end() : end.start()])))
            if title:
                return title
    return ""


# What puts a mark in front of each heading, see the module `headings`.
_MARK_HEADINGS: dict[str, Callable[[str, Outline], str]] = {MARKDOWN: _mark_markdown, HTML: mark_html}


def _one_line(text: str) -> str:
    return " ".join(text.encode("utf-8", "replace").decode("utf-8").split())[:300]


def _reason(complaints: list[logging.LogRecord]) -> str:
    for record in complaints:
        if isinstance(error := getattr(record, "error", None), Exception):
            return f"it cannot be converted ({error}); it may be damaged"
    return "there is no text in it"


# Names that belong to the converters, to Haystack's documents, or to the metadata written below.
_NOT_FOR_META = {
    "encoding",
    "source_id",
    "page_number",
    "heading",
    "corpus",
    "source",
    *Document.__dataclass_fields__,
}
_STORED_INTEGERS = range(-(2**63), 2**63)


def _is_simple(value: Any) -> bool:
    """Check whether a value can be stored by every index and sent as JSON."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, str) and is_text(item) for item in value)
    if isinstance(value, int):
        return value in _STORED_INTEGERS
    return is_text(value) if isinstance(value, str) else isinstance(value, float) and math.isfinite(value)


@contextmanager
def _collect_warnings() -> Iterator[list[logging.LogRecord]]:
    """Collect the log of the converters and their libraries, the only place that states why a file gave nothing."""
    records: list[logging.LogRecord] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append(record)

    listener = Listener(logging.WARNING)
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    propagated = [logger.propagate for logger in loggers]
    for logger in loggers:
        logger.addHandler(listener)
        logger.propagate = False
    try:
        yield records
    finally:
        for logger, propagate in zip(loggers, propagated, strict=True):
            logger.removeHandler(listener)
            logger.propagate = propagate
