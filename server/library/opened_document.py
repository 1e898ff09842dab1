"""Open a document: the text that was read from it, or its file."""

import os
from contextlib import closing
from pathlib import Path

from haystack import Document

from prefrag.collections.collection import PATH_FIELDS, Collection
from prefrag.collections.stores import origin_of
from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.state.places import heading_of
from prefrag.errors import BadInput, Missing
from prefrag.indexing.file_conversion import is_fingerprint_of
from prefrag.indexing.file_forms import most_bytes
from prefrag.server.public_result import hide_folders

# The maximum number of passages in a reply. Of a longer document, only those around the wanted passage are returned.
MOST_PASSAGES = 1_000
# The fields of a passage's metadata that are returned if they are set.
_SHOWN = ("title", "line", "attachment", "mail")


def open_document(collection: Collection, document: str = "", passage: str = "") -> dict[str, object]:
    """Read the passages of a document in order. Find the document by its id, or by the id of one of its passages.

    :param collection: The collection. The caller has checked that the request may read it.
    :param document: The id of the document from the list of documents.
    :param passage: The id of a passage, if the id of the document is not known.
    :returns: A dictionary with the following keys:
        - `id`, `name`, `title` and `kind` of the document.
        - `date`, `date_in` and `modified`: Only if they are known.
        - `file`: Whether the file is `same`, `changed` or `gone` since the indexing. Null if that is unknown.
        - `loss`: What could not be read of the file. Missing if everything was read.
        - `original`: Whether the file of the document is on this machine.
        - `hash`: The hash of the file, for a filter on `meta.file_hash`.
        - `of`: How many passages the document has.
        - `first`: The position of the first returned passage, counted from 1.
        - `passages`: The passages, at most :data:`MOST_PASSAGES`.
    :raises Missing: If there is no such document or passage.
    """
    kind, path, passages = _find_passages(collection, document, passage)
    positions = [position for position, stored in enumerate(passages) if stored.id == passage]
    wanted_position = positions[0] if positions else 0
    # The wanted passage stands in the middle, except near the beginning or the end of the document.
    last_start = len(passages) - MOST_PASSAGES
    first = max(0, min(wanted_position - MOST_PASSAGES // 2, last_start))

    meta = passages[0].meta
    dates = {name: meta[name] for name in ("date", "date_in", "modified") if isinstance(meta.get(name), str)}
    is_file_here = kind == "file" and collection.has_files
    state = _compare(Path(path or ""), meta.get("file_hash")) if is_file_here else None
    described_loss = {}
    skipped = collection.skipped() or {}
    loss = skipped.get(path or "")
    if loss:
        described_loss["loss"] = hide_folders(loss.removeprefix("read in part: "))
    shown = passages[first : first + MOST_PASSAGES]
    return {
        "id": collection.document_id(kind, path or ""),
        "name": Path(path or "").name,
        "title": str(meta.get("title") or ""),
        "kind": str(meta.get("kind") or kind),
        **dates,
        "file": state,
        **described_loss,
        "original": is_file_here and state != "gone",
        "hash": str(meta.get("file_hash") or ""),
        "of": len(passages),
        "first": first + 1,
        "passages": [_describe(stored) for stored in shown],
    }


def _find_passages(collection: Collection, document: str, passage: str) -> tuple[str, str | None, list[Document]]:
    """Find the passages of a document as :func:`open_document` does. Return its kind and its path, and the passages."""
    with closing(collection.passages()) as store:
        wanted_passage = None
        if passage:
            wanted_passage = store.by_id([passage]).get(passage)
            if wanted_passage is None:
                raise Missing("The collection has no such passage.")
            kind, path = origin_of(wanted_passage)
        else:
            entry = collection.document(document).entry
            kind = entry.kind
            path = entry.path

        passages: list[Document] = []
        if path and kind == "file":
            passages = sorted(store.where(PATH_FIELDS[kind], [path]), key=_place)
        elif wanted_passage is not None:
            # A corpus is a file with a passage on each line. Its passages are unrelated, so only the wanted one is
            # shown.
            passages = [wanted_passage]

    if not passages and path:
        raise Missing("The passages of this file are unrelated: open them one by one.")
    if not passages:
        raise Missing("The collection has no such document.")
    return kind, path, passages


def find_original(collection: Collection, document: str) -> Path:
    """Return the path of a document's file.

    :param collection: The collection. The caller has checked that the request may read it.
    :param document: The id of the document.
    :raises Missing: If there is no such document, or if only its text is available here.
    """
    path = Path(collection.document(document).entry.path or "")
    if not collection.has_files or _follows_link(path) or not path.is_file():
        raise Missing("Only the text of this document is available here, not its file.")
    return path


def find_pdf(collection: Collection, document: str) -> Path:
    """Return the path of a document's PDF file.

    :param collection: The collection. The caller has checked that the request may read it.
    :param document: The id of the document.
    :raises Missing: If there is no such document, or if only its text is available here.
    :raises BadInput: If the file is not a PDF, or has become too large.
    """
    path = find_original(collection, document)
    if path.suffix.lower() != ".pdf":
        raise BadInput("Only the pages of PDF files can be shown.")
    if path.stat().st_size > most_bytes(path):
        raise BadInput("The file has grown beyond the limit for PDF files.")
    return path


def _follows_link(path: Path) -> bool:
    """Check whether a path leads through a symbolic link. The link may point to a file that was never indexed."""
    # Links in the path of the data directory itself are allowed, because the administrator chose that path.
    expected = path
    if path.is_relative_to(data_directory()):
        real_folder = Path(os.path.realpath(data_directory()))
        expected = real_folder / path.relative_to(data_directory())
    return os.path.realpath(path) != str(expected)


def _compare(path: Path, file_hash: object) -> str | None:
    """Say whether a file is `same`, `changed` or `gone` since it was indexed. None if that is unknown."""
    try:
        if _follows_link(path) or not path.is_file():
            return "gone"
        if not isinstance(file_hash, str):
            # Another program wrote the passages, so it is not known what the file contained.
            return None
        if path.stat().st_size > most_bytes(path):
            return "changed"
        return "same" if is_fingerprint_of(file_hash, path.read_bytes()) else "changed"
    except OSError:
        return "gone"


def _place(passage: Document) -> int:
    """Return the position of a passage in its document, to sort by."""
    place = passage.meta.get("split_id")
    return place if type(place) is int else 0


def _describe(passage: Document) -> dict[str, object]:
    """Describe a passage for clients."""
    meta = passage.meta
    description: dict[str, object] = {"id": passage.id, "content": passage.content or "", "heading": heading_of(meta)}
    if type(meta.get("page_number")) is int:
        description["page"] = meta["page_number"]
    for name in _SHOWN:
        if isinstance(meta.get(name), str | int):
            description[name] = meta[name]
    return description
