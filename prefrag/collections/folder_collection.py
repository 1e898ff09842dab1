"""Find the collection of a folder.

The command `prefrag FOLDER` makes a collection for a folder, and updates the collection when files in the folder
change. A file in the index of such a collection has the path of the folder.
"""

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

# The name of a collection gets at most this many characters of the name of the folder.
_NAME_CHARACTERS = 56
# The maximum number of seconds to wait for another process that looks for the collection of a folder.
_WAIT_SECONDS = 10.0


def find_collection(folder: Path) -> str:
    """Find the collection that is kept up to date with a folder. If there is none, make an empty collection.

    A new collection gets the name of the folder, without special characters. If that name is taken, a number is added,
    as in "notes-2".

    :param folder: The folder.
    :returns: The name of the collection.
    :raises Busy: If another process looks for the collection of a folder for more than 10 seconds.
    """
    real = printable(real_path(folder))
    with index_lock(".folders", _WAIT_SECONDS, "finding the collection of a folder"):
        # Each of these files has the path of a folder.
        marks = sorted(data_directory().glob(f"indexes/*/{FOLLOWED_FOLDER_FILE}"))
        names = [mark.parent.name for mark in marks if mark.read_bytes() == real.encode()]
        if names:
            return names[0]

        new_name = next(_free_names(Path(real).name))
        path = index_path(new_name)
        TantivyDocumentStore(path=str(path)).replace_documents([], [])
        (path / FOLLOWED_FOLDER_FILE).write_text(real, encoding="utf-8")
    return path.name


def followed_folder(collection: str) -> str | None:
    """Find the folder with which a collection is kept up to date.

    :param collection: The name of the collection.
    :returns: The path of the folder; None if there is no such folder.
    """
    with suppress(OSError, ValueError):
        return (index_path(collection) / FOLLOWED_FOLDER_FILE).read_text(encoding="utf-8")
    return None


def _free_names(folder: str) -> Iterator[str]:
    """Yield names for a new collection that no other collection has, such as "notes", "notes-2" and "notes-3".

    :param folder: The name of the folder.
    """
    plain = unicodedata.normalize("NFKD", folder).encode("ascii", "ignore").decode()
    joined = re.sub(r"[^A-Za-z0-9._-]+", "-", plain)
    name = joined[:_NAME_CHARACTERS].strip("._-") or "folder"
    indexes = data_directory() / "indexes"
    taken_folders = list(indexes.iterdir()) if indexes.is_dir() else []
    taken = {path.name.casefold() for path in taken_folders}
    numbered = (f"{name}-{number}" for number in itertools.count(2))
    for candidate in itertools.chain([name], numbered):
        try:
            index_path(candidate)
        except ValueError:
            continue
        if candidate.casefold() not in taken:
            yield candidate
