"""Convert users' own files into passages.

:class:`FileConverter` converts one file at a time:

1. Find the form of the file by its suffix, such as PDF or code.
2. Convert the file to plain text. Haystack's converters do that for text, Markdown and HTML. The modules of
   ``prefrag.indexing.readers`` do it for all other forms. Headings and rows of tables have marks in this text.
3. Remove the marks, which gives the places of the headings and rows.
4. Split the text into passages.
5. Add metadata to each passage: title, date, page, headings, tables, and whether it is a draft or old.

:class:`prefrag.indexing.converter_process.ConverterProcess` does the same in a process with limits. The indexing uses
that class.
"""

import gzip
import hashlib
import io
import logging
import math
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from haystack import Document
from haystack.dataclasses import ByteStream

from prefrag.components.state.places import PAGES, SECTIONS
from prefrag.components.text.counted import counted
from prefrag.components.text.sentences import cut_text
from prefrag.components.text.table_rows import TABLES, Table, write_tables
from prefrag.components.text.unicode_form import is_text, normalize_unicode
from prefrag.indexing import file_forms as forms
from prefrag.indexing.file_forms import FORMATS, FORMS, form_of
from prefrag.indexing.passage_splitting import split_into_passages
from prefrag.indexing.readers.code_files import mark_code, split_code
from prefrag.indexing.readers.document_date import find_date
from prefrag.indexing.readers.document_standing import find_heading_standing, find_standing
from prefrag.indexing.readers.document_title import is_title
from prefrag.indexing.readers.epub_files import read_epub
from prefrag.indexing.readers.headings import Heading, Outline, Sections, find_sections, rows_of_parts
from prefrag.indexing.readers.html_files import declared_charset, html_title, is_nested_deeply, mark_page, without_tags
from prefrag.indexing.readers.mail_files import read_mails
from prefrag.indexing.readers.markdown_files import mark_notes
from prefrag.indexing.readers.office_files import read_docx, read_pptx, read_rtf, read_xlsx
from prefrag.indexing.readers.open_document_files import read_odp, read_ods, read_odt
from prefrag.indexing.readers.pdf_files import read_pdf
from prefrag.indexing.readers.struck_office_text import STRUCK
from prefrag.indexing.readers.struck_page_text import strike_page
from prefrag.indexing.readers.text_decoding import BEGINNING_BYTES, decode_text, looks_like_text
from prefrag.indexing.readers.text_files import pack_rows, read_csv, read_json, read_rst, write_bar_tables, write_fields
from prefrag.indexing.readers.wrapped_lines import unwrap_lines
from prefrag.indexing.report import NEEDS_FILES, TOO_DEEP, CannotRead

# The number of the recipe, which is the way in which this version makes passages. Increase this number whenever you
# change how passages are made. Then all files count as changed and are read again.
_RECIPE = 20
# The class name and the settings of Haystack's converter, by the form of the file.
_CONVERTERS: dict[str, tuple[str, dict[str, object]]] = {
    forms.TEXT: ("TextFileToDocument", {}),
    forms.MARKDOWN: ("MarkdownToDocument", {"progress_bar": False, "extract_frontmatter": True}),
    # Only the main text of a page is extracted. The default settings suit news. They would lose much of notes and
    # wikis.
    forms.HTML: ("HTMLToDocument", {"extraction_kwargs": {"favor_recall": True, "include_comments": False}}),
}
# The functions that read the bytes of a file, by the form of the file. Each returns a title and a text with marks.
_BYTE_READERS = {
    forms.PDF: read_pdf,
    forms.DOCX: read_docx,
    forms.PPTX: read_pptx,
    forms.XLSX: read_xlsx,
    forms.ODT: read_odt,
    forms.ODP: read_odp,
    forms.ODS: read_ods,
    forms.RTF: read_rtf,
}
# The functions that read the decoded text of a file, by the form of the file. Each returns a text with marks.
_TEXT_READERS: dict[str, Callable[[str, Outline], str]] = {
    forms.RST: read_rst,
    forms.CSV: lambda text, outline: "\n".join(read_csv(text, outline)),
    forms.JSON: lambda text, outline: "\n".join(read_json(text)),
    forms.CODE: mark_code,
}
# The forms of files that are code or data. Their first lines do not say whether the document is a draft or old.
_WITHOUT_SENTENCES = (forms.CODE, forms.CSV, forms.JSON, forms.XLSX, forms.ODS)
# A mail may be attached to a mail, which may be attached to a mail, and so on. Attachments below this many levels are
# not read.
_MOST_DEPTH = 3
# If parts of a mail are not read, at most this many reasons are named.
_MOST_REASONS = 3
# The metadata about the sections of a passage has at most this many characters. Longer metadata is left out.
_MOST_SECTIONS = 2_000
# Matches the beginning of a tag such as `<aside class="note">` or `</footer>`. Group 1 is "<" or "</".
_ASIDE_OR_FOOTER = re.compile(r"(</?)(?:aside|footer)\b", re.IGNORECASE)
# Matches the beginning of the element that holds a whole page, or of the declaration before it.
_ROOT = re.compile(r"<(?:html|!doctype)\b", re.IGNORECASE)
# If the extraction keeps no more than this share of the characters of an HTML mail, all words of the mail are used.
_LEAST_SHARE = 0.9
# At most this many files of a folder are looked at to find an original of a file such as "rules draft".
_MOST_NAMES = 10_000
# The loggers of the converters and their libraries. Their warnings say why a file has no text.
_LOGGERS = ("haystack.components.converters", "trafilatura", "htmldate", "justext")


class _Converted(NamedTuple):
    """The content of a file before it is split into passages.

    :param title: The title that the file states; "" if it states none.
    :param marked: The text with marks.
    :param meta: The metadata, such as the front matter.
    """

    title: str
    marked: str
    meta: Mapping[str, object]


class _Passage(NamedTuple):
    """A passage before its metadata is written.

    :param text: The text of the passage as it is stored.
    :param part: The same text before its white space was normalised.
    :param place: The page or line where the passage begins. None if the file has neither.
    :param sections: The sections in which the passage stands.
    :param rows: The rows of tables that begin in the passage.
    """

    text: str
    part: str
    place: int | None
    sections: Sections
    rows: Sequence[tuple[Table, int]]


class FileConverter:
    """Converts one file after another into passages.

    After each file, the attribute ``loss`` says which parts of the file could not be read. It is "" if all were read.

    ### Usage example

    ```python
    from pathlib import Path
    from prefrag.indexing.file_conversion import FileConverter

    path = Path("README.md").resolve()
    for passage in FileConverter().passages(path, path.read_bytes()):
        print(passage.meta["title"], passage.content)
    ```
    """

    def __init__(self) -> None:
        self.loss = ""
        self._converters, self._missing = _make_converters()

    def passages(
        self, path: Path, data: bytes, modified: float | None = None, folders: Sequence[str] = ()
    ) -> list[Document]:
        """Convert one file in this process, without limits of time and memory.

        :param path: The path of the file. Its suffix shows the form of the file. The file itself is not opened. The
            names of the files beside it are read if it may be a draft of one of them.
        :param data: The bytes of the file.
        :param modified: When the file was last changed, in seconds since 1970. None if the time is not known.
        :param folders: The names of the folders above the file. A file in a folder such as "drafts" or "old" counts as
            a draft or as old.
        :returns: The passages in the order of the file, with their metadata.
        :raises CannotRead: If the file cannot be read, or if there is no text in it.
        """
        self.loss = ""
        file_hash = fingerprint(data)
        texts = list(self._passages_with_meta(path, data))
        _set_standing(texts, path, folders)

        id_of_file = hashlib.blake2b(f"{path}\0{file_hash}".encode(), digest_size=12).hexdigest()
        meta_of_file: dict[str, object] = {"file_path": str(path), "folder": str(path.parent), "file_name": path.name}
        meta_of_file |= {"file_hash": file_hash, "file_size": len(data), "split_count": len(texts)}
        if modified is not None:
            meta_of_file["modified"] = datetime.fromtimestamp(modified, UTC).date().isoformat()

        documents = []
        for position, (text, meta) in enumerate(texts):
            full_meta = {**meta, **meta_of_file, "split_id": position}
            documents.append(Document(id=f"{id_of_file}-{position}", content=text, meta=full_meta))
        return documents

    def _passages_with_meta(self, path: Path, data: bytes, depth: int = 0) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the text of each passage of a file, with the metadata that comes from the content of the file.

        :param path: The path of the file, or the name of an attachment.
        :param data: The bytes of the file.
        :param depth: In how many mails the file is nested. 0 for a file that is no attachment.
        :raises CannotRead: If the file cannot be read, or if there is no text in it.
        """
        form = form_of(path)
        if form is None:
            raise CannotRead("it is of a kind that is not read")
        if path.suffix.lower() == forms.COMPRESSED:
            path = path.with_suffix("")
            data = _unpack(data, FORMS[form].most_bytes)
        if form in self._missing:
            raise CannotRead(NEEDS_FILES)
        if not data.strip():
            raise CannotRead("it is empty")

        if form == forms.MAIL:
            yield from self._mails(path, data, depth)
            return

        source = _decode(data, form)
        outline = Outline()
        with _collect_warnings() as complaints:
            converted = self._convert_any(form, data, source, outline)

        # Remove the marks, and split the text into passages.
        text, headings = outline.read(converted.marked)
        self.loss = self.loss or outline.loss
        passages = _divide(text, form, headings, outline)
        if not passages:
            is_deep = form == forms.HTML and is_nested_deeply(source)
            raise CannotRead(TOO_DEEP if is_deep else _reason(complaints))

        own_title = _own_title(converted.title, path, form, text, headings)
        meta_of_file = _meta_of_file(path, form, own_title, converted.meta, passages[0].text)
        for passage in passages:
            yield passage.text, {**meta_of_file, **_meta_of_passage(passage, form)}

    def _mails(self, path: Path, data: bytes, depth: int) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the passages of a file of mails and of all attachments, each with its metadata.

        :param path: The path of the file.
        :param data: The bytes of the file.
        :param depth: In how many other mails this file is nested.
        :raises CannotRead: If no mail and no attachment has text.
        """
        # How many mails and attachments are not read, by the reason.
        refused = Counter[str]()
        # What could not be read in the attachments that are read.
        losses: list[str] = []
        is_empty = True
        # The number of texts that are struck out in the mails.
        n_struck = 0
        for mail in read_mails(data, is_mailbox=path.suffix.lower() == ".mbox"):
            if isinstance(mail, CannotRead):
                refused[f"mail: {mail}"] += 1
                continue

            title = normalize_unicode(_one_line(mail.subject)) or path.stem
            fields = {name: value for name, value in mail.fields.items() if name != "date"}
            meta_of_mail = {**fields, **find_date(mail.fields, "", path.name), "title": title}
            page, n_struck_in_mail = strike_page(mail.html)
            n_struck += n_struck_in_mail
            parts = map(_plain, split_into_passages(f"{mail.head}\n\n{self._body(mail.texts, page)}"))
            for text in filter(None, parts):
                is_empty = False
                yield normalize_unicode(text), {**meta_of_mail, "kind": forms.MAIL}

            refused.update(f"{kind}: it is of a kind that is not read" for kind in mail.unread)
            for name, content in mail.attachments:
                attached = Path(name)
                try:
                    for text, meta in self._attachment(attached, content, depth):
                        is_empty = False
                        yield text, {**meta_of_mail, **meta, "attachment": name, "mail": title}
                    if self.loss:
                        losses.append(f"in {name}: {self.loss}")
                except CannotRead as error:
                    refused[f"{attached.suffix or 'without a suffix'}: {error}"] += 1

        reasons = "; ".join(f"{count} {reason}" for reason, count in refused.most_common(_MOST_REASONS))
        if is_empty:
            details = f" ({reasons})" if reasons else ""
            raise CannotRead(f"there is no text in it{details}")
        if refused:
            losses.insert(0, f"{counted(refused.total(), 'part')} not read ({reasons})")
        if n_struck:
            losses.insert(0, f"{counted(n_struck, STRUCK)} left out")
        self.loss = "; ".join(losses[:_MOST_REASONS])

    def _attachment(self, path: Path, data: bytes, depth: int) -> Iterator[tuple[str, dict[str, object]]]:
        """Yield the passages of an attachment, each with its metadata.

        :param path: The name of the attachment.
        :param data: The bytes of the attachment.
        :param depth: In how many other mails the mail with the attachment is nested.
        :raises CannotRead: If the attachment cannot be read, or if there is no text in it.
        """
        if depth >= _MOST_DEPTH:
            raise CannotRead("it is nested too deeply, as a mail in a mail in a mail")
        form = form_of(path)
        if form and len(data) > FORMS[form].most_bytes:
            raise CannotRead("it is too large for a file of its kind")
        if not path.suffix and not looks_like_text(data[:BEGINNING_BYTES]):
            raise CannotRead("it is not text")
        self.loss = ""
        yield from self._passages_with_meta(path, data, depth + 1)

    def _body(self, texts: Sequence[str], page: str) -> str:
        """Return the text of a mail without its header lines.

        :param texts: The parts of the mail in plain text.
        :param page: The HTML of the mail without struck-out texts. Empty if it says the same as the plain text.
        """
        plain = "\n\n".join(map(unwrap_lines, texts))
        if not page:
            return plain

        all_words = without_tags(page)
        main_text = ""
        if forms.HTML not in self._missing:
            outline = Outline()
            main_text, _ = outline.read(self._page(page, outline))
        # The extraction is made for web pages. It may lose most of a short mail, and then all words of the mail are
        # used.
        words = main_text if len(main_text) > _LEAST_SHARE * len(all_words) else all_words
        return f"{plain}\n\n{words}" if plain else words

    def _page(self, text: str, outline: Outline) -> str:
        """Extract the main text of an HTML page, with marks."""
        marked, _ = self._run(forms.HTML, mark_page(text, outline), outline)
        return marked

    def _run(self, form: str, text: str, outline: Outline) -> tuple[str, dict[str, object]]:
        """Run Haystack's converter for a form of file. Return the text with marks, and the metadata."""
        source = ByteStream(text.encode(), meta={"encoding": "utf-8"})
        converted: list[Document] = self._converters[form].run(sources=[source])["documents"]
        if not converted:
            return "", {}
        return write_bar_tables(converted[0].content or "", outline), converted[0].meta

    def _convert_any(self, form: str, data: bytes, text: str, outline: Outline) -> _Converted:
        """Convert one file as :meth:`_convert` does, but raise only :class:`CannotRead` or `MemoryError`."""
        try:
            return self._convert(form, data, text, outline)
        except (CannotRead, MemoryError):
            raise
        except RecursionError as error:
            raise CannotRead(TOO_DEEP) from error
        # For a damaged file, the libraries raise almost any kind of exception.
        except Exception as error:
            raise CannotRead(_why(error)) from error

    def _convert(self, form: str, data: bytes, text: str, outline: Outline) -> _Converted:
        """Convert one file to a text with marks.

        :param form: The form of the file.
        :param data: The bytes of the file.
        :param text: The decoded text of the file. "" for a form that is read from its bytes.
        :param outline: The outline of the file. The headings and the rows of tables are added to it.
        :returns: The title, the text with marks, and the metadata.
        """
        if form in _BYTE_READERS:
            title, marked = _BYTE_READERS[form](data, outline)
            return _Converted(title, marked, {})
        if form in _TEXT_READERS:
            marked = _TEXT_READERS[form](text, outline)
            return _Converted("", marked, {})
        if form == forms.EPUB:
            title, chapters = read_epub(data)
            # In books, the elements <aside> and <footer> hold notes and ends of chapters. The extraction would drop
            # these elements, so they are renamed to <div>.
            pages = [_ASIDE_OR_FOOTER.sub(r"\1div", chapter) for chapter in chapters]
            marked = "\n\n".join(self._page(page, outline) for page in pages)
            return _Converted(title, marked, {})

        title = _one_line(html_title(text)) if form == forms.HTML else ""
        source = _MARK_HEADINGS[form](text, outline) if form in _MARK_HEADINGS else text
        # Otherwise, the only element of a page would count as the whole page, and the text in it as none.
        if form == forms.HTML and not _ROOT.search(source):
            source = f"<html>{source}</html>"
        content, meta = self._run(form, source, outline)
        if form == forms.TEXT:
            content = unwrap_lines(content)

        # The title is not written into the text, because every search covers the titles, too.
        fields = {key: value for key, value in meta.items() if key not in ("title", "encoding")}
        return _Converted(title, f"{write_fields(fields)}\n{content}", meta)


def _decode(data: bytes, form: str) -> str:
    """Return the text of a file that is read as text; "" for a form that is read from its bytes."""
    if form in _BYTE_READERS or form == forms.EPUB:
        return ""
    declared = declared_charset(data) if form == forms.HTML else None
    return decode_text(data, declared)


def _divide(text: str, form: str, headings: Sequence[Heading], outline: Outline) -> list[_Passage]:
    """Divide the text of a file into passages. Passages without text are left out.

    :param text: The text without marks.
    :param form: The form of the file.
    :param headings: The headings of the text.
    :param outline: The outline of the file, which has the rows of its tables.
    """
    parts = _split(text, form)
    places = _with_places(parts, form)
    sections_of_parts = find_sections(parts, headings)
    rows = rows_of_parts(parts, outline.rows)
    passages = []
    for part, (content, place), sections, rows_of_part in zip(parts, places, sections_of_parts, rows, strict=True):
        if content:
            passages.append(_Passage(normalize_unicode(content), part, place, sections, rows_of_part))
    return passages


def _own_title(stated: str, path: Path, form: str, text: str, headings: Sequence[Heading]) -> str:
    """Return the title of a file, apart from its front matter: the stated title or the first heading.

    :param stated: The title that the file states, or "".
    :param path: The path of the file.
    :param form: The form of the file.
    :param text: The text of the file.
    :param headings: The headings of the text.
    :returns: The title; "" if the file has none.
    """
    # Office and PDF programs often write a wrong title, such as "Document1", into the metadata of a file.
    if form in _BYTE_READERS and not is_title(stated, text, path.stem):
        stated = ""
    if headings and form in (forms.MARKDOWN, forms.DOCX, forms.ODT, forms.RST):
        return stated or headings[0].words
    return stated


def _meta_of_file(
    path: Path, form: str, own_title: str, converted_meta: Mapping[str, object], first_text: str
) -> dict[str, object]:
    """Return the metadata from the content of a file that is the same for all its passages.

    :param path: The path of the file.
    :param form: The form of the file.
    :param own_title: The title of the file, apart from its front matter.
    :param converted_meta: The metadata from the converter, such as the front matter.
    :param first_text: The text of the first passage.
    """
    is_code = form == forms.CODE
    front_matter = {key: value for key, value in converted_meta.items() if is_text(key) and _is_simple(value)}
    # The title in the front matter is preferred to the other titles. A file without a title has its name instead.
    front_title = front_matter.get("title")
    if isinstance(front_title, str):
        own_title = _one_line(front_title) or own_title
    has_full_name = is_code or path.suffix.lower() not in FORMATS
    name = path.name if has_full_name else path.stem
    title = normalize_unicode(own_title or name)
    dated = find_date(front_matter, "" if is_code else first_text, path.name, title)
    own_fields = {key: value for key, value in front_matter.items() if key not in _NOT_FOR_META}
    return {**own_fields, **dated, "title": title, "kind": form}


def _meta_of_passage(passage: _Passage, form: str) -> dict[str, object]:
    """Return the metadata of a passage that other passages of its file may not have: tables, place and sections."""
    meta: dict[str, object] = {**write_tables(passage.rows)}
    if form == forms.CODE:
        meta["line"] = passage.place
    elif passage.place is not None:
        meta["page_number"] = passage.place
        starts = _page_starts(passage.part, passage.place)
        if starts:
            meta[PAGES] = starts

    if passage.sections.main is not None:
        meta["heading"] = normalize_unicode(passage.sections.main)
    if passage.sections.begins and form != forms.CODE:
        lines = _section_starts(passage.part, passage.sections.begins)
        if len(lines) <= _MOST_SECTIONS:
            meta[SECTIONS] = lines
    return meta


def _set_standing(texts: Sequence[tuple[str, dict[str, Any]]], path: Path, folders: Sequence[str]) -> None:
    """Set the metadata field `standing` of each passage to "superseded", "draft" or "old".

    The field is not set if neither the passage nor its document says so. A passage is judged by the headings above it.

    :param texts: The text and the metadata of each passage, in the order of the file.
    :param path: The path of the file.
    :param folders: The names of the folders above the file.
    """
    # The standing of each document: of the file itself, or of each mail and attachment in it.
    standings: dict[tuple[object, ...], str | None] = {}
    for text, meta in texts:
        # A mail and each of its attachments count as separate documents.
        document = meta.get("mail"), meta.get("attachment"), meta["title"]
        if document not in standings:
            beginning = "" if meta["kind"] in _WITHOUT_SENTENCES else text
            attachment = meta.get("attachment")
            name = str(attachment or path.name)
            # The other files of the folder say nothing about an attachment.
            folder = None if attachment else path.parent
            names_beside = partial(_names_in_folder, folder)
            standings[document] = find_standing(meta, beginning, meta["title"], name, folders, names_beside)
        standing = find_heading_standing(meta.get("heading")) or standings[document]
        if standing:
            meta["standing"] = standing


def _names_in_folder(folder: Path | None) -> list[str]:
    """Return the names of the files in a folder. Empty without a folder, or if it cannot be read."""
    if folder is None:
        return []
    with suppress(OSError):
        return [entry.name for entry in islice(folder.iterdir(), _MOST_NAMES)]
    return []


def _unpack(data: bytes, most: int) -> bytes:
    """Unpack a file in the gzip format.

    :param data: The bytes of the packed file.
    :param most: The maximum number of bytes of the unpacked file.
    :returns: The bytes of the unpacked file.
    :raises CannotRead: If the file is damaged, too large, or no text.
    """
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            unpacked = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise CannotRead(f"it cannot be unpacked ({error}); it may be damaged") from error

    if len(unpacked) > most:
        raise CannotRead(f"it unpacks to more than {most // 10**6} MB, which is too much for a file of its kind")
    if not looks_like_text(unpacked[:BEGINNING_BYTES]):
        raise CannotRead("its content is not text")
    return unpacked


def fingerprint(data: bytes, recipe: int | None = None) -> str:
    """Compute a digest of the content of a file and of the recipe.

    If the digest of a file has changed since the last indexing, the file is read again.

    :param data: The bytes of the file.
    :param recipe: The number of the recipe. None stands for the recipe of this version.
    :returns: The digest as 32 hexadecimal digits.
    """
    person = f"prefrag-{recipe or _RECIPE}".encode()
    return hashlib.blake2b(data, digest_size=16, person=person).hexdigest()


def is_fingerprint_of(digest: str, data: bytes) -> bool:
    """Check whether a digest belongs to the content of a file, by whatever recipe it was computed.

    :param digest: The metadata field `file_hash` of a passage. Any version of the program may have written it.
    :param data: The bytes of the file.
    :returns: Whether the passage was read from this content.
    """
    # Try the recipe of this version first, then the next recipe of a later version, then all earlier recipes.
    recipes = (_RECIPE, _RECIPE + 1, *range(1, _RECIPE))
    return any(fingerprint(data, recipe) == digest for recipe in recipes)


def _make_converters() -> tuple[dict[str, Any], set[str]]:
    """Make Haystack's converters, by the form of the file. Also return the forms for which a package is missing."""
    # This import also loads the HTML and Markdown libraries, which takes a second. So it is done only here.
    from haystack.components import converters as haystack_converters

    converters: dict[str, object] = {}
    missing = {name for name, form in FORMS.items() if form.package and find_spec(form.package) is None}
    for form, (name, settings) in _CONVERTERS.items():
        try:
            converters[form] = getattr(haystack_converters, name)(**settings)
        except ImportError:
            missing.add(form)
    return converters, missing


def _split(text: str, form: str) -> list[str]:
    """Split the text of a file into passages.

    Tables are split between rows, code between functions, presentations between slides, and other texts between
    sentences.
    """
    if form in (forms.CSV, forms.JSON, forms.XLSX, forms.ODS):
        return pack_rows(text)
    if form == forms.CODE:
        return split_code(text)
    if form in (forms.PPTX, forms.ODP):
        # Each slide keeps the form feed at its end.
        slides = re.split(r"(?<=\f)", text)
        return [part for slide in slides for part in split_into_passages(slide)]
    return split_into_passages(text)


def _with_places(parts: list[str], form: str) -> Iterator[tuple[str, int | None]]:
    """Yield the text of each passage with normal white space, and the place where the passage begins in its file.

    The place is the number of a page or slide from 1, or the number of a line in code. It is None for other forms.
    """
    is_code = form == forms.CODE
    has_places = is_code or form in (forms.PDF, forms.PPTX, forms.ODP)
    border = "\n" if is_code else "\f"
    place = 1
    for part in parts:
        # The passage begins at its first word, so the pages or lines in the white space before it are over.
        leading = len(part) - len(part.lstrip())
        first_place = place + part.count(border, 0, leading) if has_places else None
        place += part.count(border)
        text = part.strip("\n") if is_code else _plain(part)
        yield text, first_place


def _section_starts(part: str, begins: Sequence[tuple[int, str]]) -> str:
    """Write the metadata field about the sections of a passage.

    It has a line for each section, such as "120 Setup > Linux". The number is the character of the stored text at which
    the section begins.

    :param part: The passage before its white space is normalised.
    :param begins: For each section, the character of ``part`` at which it begins, and its headings.
    """
    lines = []
    for start, path in begins:
        stored_before = normalize_unicode(_plain(part[:start]))
        lines.append(f"{len(stored_before)} {normalize_unicode(path)}")
    return "\n".join(lines)


def _page_starts(part: str, page: int) -> str:
    """Write the metadata field about the pages that begin inside a passage.

    It has a line for each page, such as "120 3". The first number is the character of the stored text at which the page
    begins. The second number is the number of the page.

    :param part: The passage before its white space is normalised.
    :param page: The number of the page on which the passage begins.
    """
    text = part.strip()
    lines = []
    for number, page_end in enumerate(re.finditer("\f", text), start=page + 1):
        stored_before = normalize_unicode(_plain(text[: page_end.start()]))
        lines.append(f"{len(stored_before)} {number}")
    return "\n".join(lines)


def _plain(text: str) -> str:
    r"""Reduce white space to single blanks and single line breaks. For example, "a \n\n  b" gives "a\nb"."""
    with_single_blanks = re.sub(r"[^\S\n]+", " ", text)
    return re.sub(r" ?\n\s*", "\n", with_single_blanks).strip()


# The functions that mark the headings before Haystack's converter runs, by the form of the file. The module
# ``headings`` explains the marks.
_MARK_HEADINGS: dict[str, Callable[[str, Outline], str]] = {forms.MARKDOWN: mark_notes, forms.HTML: mark_page}


def _one_line(text: str) -> str:
    """Write a text in one line of at most 300 characters of valid Unicode."""
    valid = text.encode("utf-8", "replace").decode("utf-8")
    return cut_text(" ".join(valid.split()), 300)


def _reason(complaints: list[logging.LogRecord]) -> str:
    """Say why a file has no text: the first error in the log of its converter, or that there is no text in it."""
    for record in complaints:
        error = getattr(record, "error", None)
        if isinstance(error, Exception):
            return _why(error)
    return "there is no text in it"


def _why(error: Exception) -> str:
    """Say in half a sentence why a file could not be converted."""
    # Python raises a RecursionError if a file has too many levels. Some libraries raise an error of their own instead.
    causes = (error, error.__cause__, error.__context__)
    if any(isinstance(cause, RecursionError) for cause in causes) or "recursion depth" in str(error):
        return TOO_DEEP
    return f"it cannot be converted ({error}); it may be damaged"


# The front matter of a Markdown file cannot set these metadata fields. Haystack or the code above sets them.
_NOT_FOR_META = {
    "encoding",
    "source_id",
    "page_number",
    "heading",
    SECTIONS,
    PAGES,
    "date",
    "line",
    "attachment",
    "mail",
    "corpus",
    "source",
    "standing",
    TABLES,
    *Document.__dataclass_fields__,
}
# The integers that every index can store: those of 64 bits.
_STORED_INTEGERS = range(-(2**63), 2**63)


def _is_simple(value: object) -> bool:
    """Check whether a value can be stored by every index and sent as JSON."""
    if isinstance(value, list):
        return bool(value) and all(isinstance(item, str) and is_text(item) for item in value)
    if isinstance(value, int):
        return value in _STORED_INTEGERS
    if isinstance(value, str):
        return is_text(value)
    return isinstance(value, float) and math.isfinite(value)


@contextmanager
def _collect_warnings() -> Iterator[list[logging.LogRecord]]:
    """Collect the warnings that the converters and their libraries log during the block, and do not show them.

    Only these warnings say why a file has no text.
    """
    records: list[logging.LogRecord] = []

    class Listener(logging.Handler):
        """Adds each log record to the list."""

        def emit(self, record: logging.LogRecord) -> None:
            """Add a log record to the list."""
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
