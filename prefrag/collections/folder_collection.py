"""Find the collection (an index) of a folder. `prefrag FOLDER` updates the collection when the folder changes."""

import itertools
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from prefrag.collections.stores import index_lock
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import FOLLOWED_FOLDER_FILE, data_directory, index_path
from prefrag.indexing.discovery import printable, real_path

_NAME_CHARACTERS = 56
_WAIT_SECONDS = 10.0


def find_collection(folder: Path) -> str:
    """Find the collection that is kept up to date with a folder, or make an empty collection for it.

    A new collection is named after the folder, without special characters. If the name is taken, a number is added.
    """
    real = printable(real_path(folder))
    with index_lock(".folders", _WAIT_SECONDS, "finding the collection of a folder"):
        marks = sorted(data_directory().glob(f"indexes/*/{FOLLOWED_FOLDER_FILE}"))  # each holds a folder's path
        own = [mark.parent.name for mark in marks if mark.read_bytes() == real.encode()]
        if own:
            return own[0]
        path = index_path(next(_free_names(Path(real).name)))
        TantivyDocumentStore(path=str(path)).replace_documents([], [])
        (path / FOLLOWED_FOLDER_FILE).write_text(real, encoding="utf-8")
    return path.name


def followed_folder(collection: str) -> str | None:
    """Find the folder with which a collection is kept up to date. Returns None if there is no such folder."""
    with suppress(OSError, ValueError):
        return (index_path(collection) / FOLLOWED_FOLDER_FILE).read_text(encoding="utf-8")
    return None


def _free_names(folder: str) -> Iterator[str]:
    """Yield names for the collection of a folder that no other collection has, such as notes, notes-2, notes-3."""
    plain = unicodedata.normalize("NFKD", folder).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", plain)[:_NAME_CHARACTERS].strip("._-") or "folder"
    indexes = data_directory() / "indexes"
    taken = {path.name.casefold() for path in indexes.iterdir()} if indexes.is_dir() else set()
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    for candidate in itertools.chain([name], numbered):
        try:
            index_path(candidate)
        except ValueError:
            continue
        if candidate.casefold() not in taken:
            yield candidate
