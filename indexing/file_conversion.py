"""Convert users' own files into passages, text, Markdown and HTML with Haystack's converters."""

from __future__ import annotations

import gzip
import hashlib
import html
import io
import logging
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from haystack import Document
from haystack.dataclasses import ByteStream

from prefrag.components.text.counted import counted
from prefrag.components.text.unicode_form import is_text, one_form
from prefrag.indexing.code_files import mark_code, split_code
from prefrag.indexing.document_date import find_date
from prefrag.indexing.epub_files import read_epub
from prefrag.indexing.headings import Outline, mark_html, mark_markdown, section_paths
from prefrag.indexing.mail_files import Mail, read_mails
from prefrag.indexing.office_files import read_docx, read_pptx, read_rtf, read_xlsx
from prefrag.indexing.open_document_files import read_odp, read_ods, read_odt
from prefrag.indexing.passage_splitting import split_into_passages
from prefrag.indexing.pdf_files import read_pdf
from prefrag.indexing.report import CannotRead
from prefrag.indexing.text_decoding import decode_text, looks_like_text
from prefrag.indexing.text_files import pack_rows, read_csv, read_json, read_rst, write_bar_tables, write_fields
from prefrag.indexing.wrapped_lines import unwrap_lines

# The formats, by their names in the metadata.
TEXT, MARKDOWN, RST, HTML, PDF = "text", "markdown", "rst", "html", "pdf"
DOCX, PPTX, XLSX, CSV, JSON = "docx", "pptx", "xlsx", "csv", "json"
ODT, ODP, ODS, RTF, EPUB, MAIL, CODE = "odt", "odp", "ods", "rtf", "epub", "mail", "code"
# Only a file without a suffix that looks like text is read, see the module `discovery`.
FORMATS = {
    **dict.fromkeys((".txt", ".text", "", ".log", ".tex", ".org", ".adoc"), TEXT),
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
    ".odt": ODT,
    ".odp": ODP,
    ".ods": ODS,
    ".rtf": RTF,
    ".epub": EPUB,
    ".eml": MAIL,
    ".mbox": MAIL,
    **dict.fromkeys(
        (
            *(".py", ".js", ".mjs", ".ts", ".tsx", ".jsx", ".java", ".kt", ".scala", ".c", ".h", ".cc", ".cpp", ".hpp"),
            *(".cs", ".go", ".rs", ".rb", ".php", ".pl", ".lua", ".r", ".jl", ".swift", ".sh", ".bash", ".ps1", ".bat"),
            *(".sql", ".css", ".yaml", ".yml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".tf", ".proto"),
        ),
        CODE,
    ),
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
    ODT: 100_000_000,
    ODP: 200_000_000,
    ODS: 50_000_000,
    RTF: 20_000_000,
    EPUB: 100_000_000,
    MAIL: 200_000_000,
    CODE: 2_000_000,
}
# A text that was compressed by itself is read as what is in it.
COMPRESSED = ".gz"
_COMPRESSIBLE = (TEXT, MARKDOWN, RST, HTML, CSV, JSON, CODE, MAIL)

# Part of every fingerprint, so that a new way of making passages marks every file as changed.
_RECIPE = 6
# Haystack's converters, and how each is made.
_CONVERTERS: dict[str, tuple[str, dict[str, Any]]] = {
    TEXT: ("TextFileToDocument", {}),
    MARKDOWN: ("MarkdownToDocument", {"progress_bar": False, "extract_frontmatter": True}),
    # The extraction is tuned for news pages; notes and wikis need it to keep more.
    HTML: ("HTMLToDocument", {"extraction_kwargs": {"favor_recall": True, "include_comments": False}}),
}
_BYTE_READERS = {
    PDF: read_pdf,
    DOCX: read_docx,
    PPTX: read_pptx,
    XLSX: read_xlsx,
    ODT: read_odt,
    ODP: read_odp,
    ODS: read_ods,
    RTF: read_rtf,
}
_TEXT_READERS: dict[str, Callable[[str, Outline], str]] = {
    RST: read_rst,
    CSV: lambda text, outline: "\n".join(read_csv(text)),
    JSON: lambda text, outline: "\n".join(read_json(text)),
    CODE: mark_code,
}
_PACKAGES = {
    PDF: "pypdfium2",
    DOCX: "docx",
    PPTX: "pptx",
    XLSX: "openpyxl",
    RST: "docutils",
    RTF: "striprtf",
    EPUB: "trafilatura",
}
_DECLARED_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*=\s*["']?([\w.:-]+)""", re.IGNORECASE)
# A title stands at the beginning, and a front matter is short.
_TITLE_CHARACTERS = 50_000
_MOST_FRONT_MATTER = 10_000
_MOST_BRACKETS = 200
_MOST_DEPTH = 3
_MOST_NAMED = 3
_BEGINNING_BYTES = 8_192
_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)(?:\r?\n)---[ \t]*(?=\r?\n|\Z)", re.DOTALL)
_BESIDE = re.compile(r"(</?)(?:aside|footer)\b", re.IGNORECASE)
# Of the words of a mail the extraction gives this share, or it has lost some.
_MOST_OF = 0.9
# [[folder/Note#Heading|words]]; with ! it takes the other note, or a picture, into this one. Numbers are a list in a
# list.
_NOTE_LINK = re.compile(
    r"(?<![\w\])])(!?)\[\[(?![\s\d])([^\[\]|#\n]{1,200})(?:#[^\[\]|\n]{0,200})?(?:\|([^\[\]\n]{0,200}))?\]\]"
)
_CODE = re.compile(r"(^ {0,3}(?:```|~~~).*?(?:^ {0,3}(?:```|~~~)|\Z)|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
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
        self.loss = ""  # what of the last file could not be read
        self._converters, self._missing = _make_converters()

    def passages(self, path: Path, data: bytes, modified: float | None = None) -> list[Document]:
        """Convert one file."""
        self.loss = ""
        file_hash = fingerprint(data)
        found = list(self._texts(path, data))
        stem = hashlib.blake2b(f"{path}\0{file_hash}".encode(), digest_size=12).hexdigest()
        of_the_file: dict[str, Any] = {"file_path": str(path), "folder": str(path.parent), "file_name": path.name}
        of_the_file |= {"file_hash": file_hash, "split_count": len(found)}
        if modified is not None:
            of_the_file["modified"] = datetime.fromtimestamp(modified, UTC).date().isoformat()
        return [
            Document(id=f"{stem}-{position}", content=text, meta={**meta, **of_the_file, "split_id": position})
            for position, (text, meta) in enumerate(found)
        ]

    def _texts(self, path: Path, data: bytes, depth: int = 0) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the texts of the passages of a file, each with what is known of it."""
        if (form := form_of(path)) is None:
            raise CannotRead("it is of a kind that is not read")
        if path.suffix.lower() == COMPRESSED:
            path, data = path.with_suffix(""), _unpack(data, MOST_BYTES[form])
        if form in self._missing:
            raise CannotRead(
                "it needs packages that are not installed: make install EXTRAS=files (or pip install 'prefrag[files]')"
            )
        if not data.strip():
            raise CannotRead("it is empty")
        if form == MAIL:
            yield from self._mails(path, data, depth)
            return
        text = ""
        if form not in _BYTE_READERS and form != EPUB:
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
        self.loss = self.loss or outline.loss
        if headings and form in (MARKDOWN, DOCX, ODT, RST):
            own_title = own_title or headings[0].words
        parts = _split(text, form)
        found = [
            (one_form(text), place, section)
            for (text, place), section in zip(_with_places(parts, form), section_paths(parts, headings), strict=True)
            if text
        ]
        if not found:
            raise CannotRead(_reason(complaints))

        front_matter = {key: value for key, value in own_meta.items() if is_text(key) and _is_simple(value)}
        front_title = front_matter.get("title")
        name = path.name if form == CODE or path.suffix.lower() not in FORMATS else path.stem
        title = one_form(_one_line(front_title if isinstance(front_title, str) else "") or own_title or name)
        dated = find_date(front_matter, "" if form == CODE else found[0][0], path.name)
        for text, place, section in found:
            meta: dict[str, Any] = {
                **{key: value for key, value in front_matter.items() if key not in _NOT_FOR_META},
                **dated,
                "title": title,
                "kind": form,
            }
            if place is not None:
                meta["line" if form == CODE else "page_number"] = place
            if section is not None:
                meta["heading"] = one_form(section)
            yield text, meta

    def _mails(self, path: Path, data: bytes, depth: int) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the texts of mails and, as documents of their own, of what is attached to them."""
        refused, losses = Counter[str](), list[str]()
        is_empty = True
        for mail in read_mails(data, is_mailbox=path.suffix.lower() == ".mbox"):
            if isinstance(mail, CannotRead):
                refused[f"mail: {mail}"] += 1
                continue
            title = one_form(_one_line(mail.subject)) or path.stem
            of_the_mail = {**mail.fields, **find_date(mail.fields, "", path.name), "title": title}
            for text in split_into_passages(f"{mail.head}\n\n{self._body(mail)}"):
                if text := _plain(text):
                    is_empty = False
                    yield one_form(text), {**of_the_mail, "kind": MAIL}
            for name, content in mail.attachments:
                attached = Path(name)
                try:
                    if depth >= _MOST_DEPTH:
                        raise CannotRead("it is a mail in a mail in a mail")
                    if len(content) > MOST_BYTES.get(form_of(attached) or "", len(content)):
                        raise CannotRead("it is larger than files of its kind are read")
                    if not attached.suffix and not looks_like_text(content[:_BEGINNING_BYTES]):
                        raise CannotRead("it is not text")
                    for text, meta in self._texts(attached, content, depth + 1):
                        is_empty = False
                        yield text, {**of_the_mail, **meta, "attachment": name, "mail": title}
                    losses += [f"of {name} {self.loss}"] if self.loss else []
                except CannotRead as error:
                    refused[f"{attached.suffix or 'without a suffix'}: {error}"] += 1
        named = "; ".join(f"{count} {reason}" for reason, count in refused.most_common(_MOST_NAMED))
        if is_empty:
            raise CannotRead(f"there is no text in it{f' ({named})' if named else ''}")
        if refused:
            losses.insert(0, f"{counted(refused.total(), 'part')} not read ({named})")
        self.loss = "; ".join(losses[:_MOST_NAMED])

    def _body(self, mail: Mail) -> str:
        if not mail.html:
            return "\n\n".join(map(unwrap_lines, mail.texts))
        bare = _without_tags(mail.html)
        outline = Outline()
        text = "" if HTML in self._missing else outline.read(self._page(mail.html, outline))[0]
        # The extraction is made for pages, and takes a short mail, or a signature, for none.
        return text if len(text) > _MOST_OF * len(bare) else bare

    def _page(self, text: str, outline: Outline) -> str:
        return self._run(HTML, mark_html(text, outline))[0]

    def _run(self, form: str, text: str) -> tuple[str, dict[str, Any]]:
        source = ByteStream(text.encode(), meta={"encoding": "utf-8"})
        converted: list[Document] = self._converters[form].run(sources=[source])["documents"]
        return (write_bar_tables(converted[0].content or ""), converted[0].meta) if converted else ("", {})

    def _convert(self, form: str, data: bytes, text: str, outline: Outline) -> tuple[str, str, dict[str, Any]]:
        """Convert one file into its title, its text with the marks of its headings, and its metadata."""
        if form in _BYTE_READERS:
            return *_BYTE_READERS[form](data, outline), {}
        if form in _TEXT_READERS:
            return "", _TEXT_READERS[form](text, outline), {}
        if form == EPUB:
            title, chapters = read_epub(data)
            # The extraction takes notes and ends of chapters for what stands beside a page.
            pages = [_BESIDE.sub(r"\1div", chapter) for chapter in chapters]
            return title, "\n\n".join(self._page(page, outline) for page in pages), {}
        title = _html_title(text) if form == HTML else ""
        if form in _MARK_HEADINGS:
            text = _MARK_HEADINGS[form](text, outline)
        content, meta = self._run(form, text)
        # The title is searched with each passage already.
        fields = {key: value for key, value in meta.items() if key not in ("title", "encoding")}
        return title, f"{write_fields(fields)}\n{unwrap_lines(content) if form == TEXT else content}", meta


def form_of(path: Path) -> str | None:
    """Find the form in which a file is read, by its name; None for one that is not read.

    A number behind the last dot belongs to the name, as in LGPL-2.1.
    """
    suffix = path.suffix.lower()
    if suffix == COMPRESSED:
        inner = path.with_suffix("")
        form = form_of(inner) if inner.suffix.lower() != COMPRESSED else None
        return form if form in _COMPRESSIBLE else None
    return FORMATS.get("" if suffix[1:].isdecimal() else suffix)


def _without_tags(page: str) -> str:
    """Write a page as its words, a line a block."""
    page = re.sub(r"<(script|style|head)\b.{0,200000}?</\1\s*>", " ", page, flags=re.IGNORECASE | re.DOTALL)
    page = re.sub(r"<(?:br|p|div|li|tr|h[1-6])\b[^<>]{0,1000}>", "\n", page, flags=re.IGNORECASE)
    return re.sub(r"\n\s*", "\n", html.unescape(re.sub(r"<[^<>]{0,5000}>", " ", page))).strip()


def _unpack(data: bytes, most: int) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            unpacked = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise CannotRead(f"it cannot be unpacked ({error}); it may be damaged") from error
    if len(unpacked) > most:
        raise CannotRead(f"it unpacks to more than {most // 10**6} MB, which is more than files of its kind are read")
    if not looks_like_text(unpacked[:_BEGINNING_BYTES]):
        raise CannotRead("what is in it is not text")
    return unpacked


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
    if form in (CSV, JSON, XLSX, ODS):
        return pack_rows(text)
    if form == CODE:
        return split_code(text)
    if form in (PPTX, ODP):
        return [part for slide in re.split(r"(?<=\f)", text) for part in split_into_passages(slide)]
    return split_into_passages(text)


def _with_places(parts: list[str], form: str) -> Iterator[tuple[str, int | None]]:
    """Normalise the white space of every passage and find the page, or the line of code, of its first letter."""
    border = "\n" if form == CODE else "\f"
    place = 1
    for part in parts:
        leading = len(part) - len(part.lstrip())
        first = place + part.count(border, 0, leading)
        place += part.count(border)
        has_place = form in (PDF, PPTX, ODP, CODE)
        yield part.strip("\n") if form == CODE else _plain(part), first if has_place else None


def _plain(text: str) -> str:
    """Write a text with single blanks and without empty lines."""
    return re.sub(r" ?\n\s*", "\n", re.sub(r"[^\S\n]+", " ", text)).strip()


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


def _read_link(found: re.Match[str]) -> str:
    """Write a link between notes as words: what was shown for it, and the name of the note, which is its title."""
    note, shown = found[2].strip().rpartition("/")[2], (found[3] or "").strip()
    return "" if found[1] else f"{shown} ({note})" if shown and shown != note else note


def _mark_markdown(text: str, outline: Outline) -> str:
    parts = _CODE.split(text)
    text = "".join(part if number % 2 else _NOTE_LINK.sub(_read_link, part) for number, part in enumerate(parts))
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
    "date",
    "line",
    "attachment",
    "mail",
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
