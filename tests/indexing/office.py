"""Make Office files with the libraries that usually write them."""

import io
import zipfile
from collections.abc import Callable, Sequence
from typing import Any

ROWS = (("Name", "City"), ("Ada", "London"), ("Boole", "Cork"))


def make_docx(write: Callable[[Any], None], title: str = "") -> bytes:
    """
    Write a Word file.

    :param write: what adds the content to the document.
    :param title: the title in its properties.
    :returns: the bytes of the file.
    """
    import docx

    document = docx.Document()
    document.core_properties.title = title
    write(document)
    return _save(document)


def make_pptx(slides: Sequence[tuple[str, str]], notes: str = "") -> bytes:
    """
    Write a presentation.

    :param slides: the title and the text of each slide; without both the slide is empty.
    :param notes: the notes of the first slide.
    :returns: the bytes of the file.
    """
    import pptx

    presentation = pptx.Presentation()
    for title, text in slides:
        slide = presentation.slides.add_slide(presentation.slide_layouts[1 if title or text else 6])
        if title or text:
            slide.shapes.title.text = title
            slide.placeholders[1].text = text
    if notes:
        presentation.slides[0].notes_slide.notes_text_frame.text = notes
    return _save(presentation)


def make_xlsx(sheets: dict[str, Sequence[Sequence[Any]]]) -> bytes:
    """
    Write a workbook.

    :param sheets: the rows of each sheet.
    :returns: the bytes of the file.
    """
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    return _save(book)


def with_part(package: bytes, name: str, content: bytes) -> bytes:
    """
    Replace a part of an Office file, or add one.

    :param package: the file.
    :param name: the name of the part.
    :param content: its content.
    :returns: the bytes of the other file.
    """
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as old, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.infolist():
            if part.filename != name:
                new.writestr(part, old.read(part))
        new.writestr(name, content)
    return made.getvalue()


def _save(document: Any) -> bytes:
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()
