"""Read the title and the chapters of a book in the EPUB format.

An EPUB is a zip archive of HTML pages. The part ``META-INF/container.xml`` names another part, which lists the pages in
the order of reading. The file converter calls :func:`read_epub`, and then reads each chapter like an HTML page.
"""

import io
import posixpath
import zipfile
from typing import NamedTuple
from urllib.parse import unquote
from xml.etree import ElementTree

from prefrag.components.text.distinct import distinct
from prefrag.indexing.file_forms import FORMS, HTML
from prefrag.indexing.readers.office_files import XML_BEGINNING, check_package, check_xml
from prefrag.indexing.readers.text_decoding import decode_text
from prefrag.indexing.report import CannotRead

# The part that names the list of the pages.
_CONTAINER = "META-INF/container.xml"
# The part that exists if some parts are encrypted.
_ENCRYPTION = "META-INF/encryption.xml"
# The media types of pages. Other listed parts, such as pictures, are not read.
_PAGE_TYPES = ("application/xhtml+xml", "text/html")


class Book(NamedTuple):
    """The content of an EPUB.

    :param title: The title; "" if the book states none.
    :param chapters: The HTML of each page, in the order of reading.
    """

    title: str
    chapters: list[str]


def read_epub(data: bytes) -> Book:
    """Read the title of a book, and its pages in the order of reading.

    :param data: The bytes of the file.
    :returns: The book.
    :raises CannotRead: If the file is damaged, too large, possibly malicious or protected against copying.
    """
    # A DOCTYPE declaration can define dangerous entities, but only where the page is read as XML. The pages are read as
    # HTML, so they may have a DOCTYPE declaration.
    check_package(data, may_have_doctype=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = set(archive.namelist())
        root = _parse(archive, names, _CONTAINER).find(".//{*}rootfile")
        place = "" if root is None else root.get("full-path", "")
        listing = _parse(archive, names, place)
        paths = [path for path in _page_paths(listing, posixpath.dirname(place)) if path in names]
        if any(archive.getinfo(path).file_size > FORMS[HTML].most_bytes for path in paths):
            raise CannotRead("one of its pages is too large to be read")

        try:
            chapters = [decode_text(archive.read(path)) for path in paths]
        except CannotRead:
            if _ENCRYPTION in names:
                raise CannotRead("it is protected against copying") from None
            raise
        return Book(listing.findtext("{*}metadata/{*}title") or "", chapters)


def _page_paths(listing: ElementTree.Element, folder: str) -> list[str]:
    """Return the paths of the pages in the archive, in the order of reading. Each path is returned once.

    :param listing: The part that lists the pages.
    :param folder: The folder of this part. The paths in the list begin there.
    """
    # The manifest lists the parts by an ID. The spine lists the IDs of the pages in the order of reading.
    items = {item.get("id"): item for item in listing.iterfind("{*}manifest/{*}item")}
    paths: list[str] = []
    for reference in listing.iterfind("{*}spine/{*}itemref"):
        item = items.get(reference.get("idref"))
        if item is None or item.get("media-type") not in _PAGE_TYPES:
            continue
        page = unquote(item.get("href", ""))
        paths.append(posixpath.normpath(posixpath.join(folder, page)))
    return distinct(paths)


def _parse(archive: zipfile.ZipFile, names: set[str], place: str) -> ElementTree.Element:
    """Return the root element of an XML part of the archive.

    :param archive: The archive.
    :param names: The names of all parts.
    :param place: The name of the part.
    :raises CannotRead: If there is no such part, or if it may be malicious.
    """
    if place not in names:
        raise CannotRead(f"it has no {place or 'list of its pages'}; it may be damaged")
    check_xml(archive.read(place)[: XML_BEGINNING + 1], place)
    return ElementTree.fromstring(archive.read(place))
