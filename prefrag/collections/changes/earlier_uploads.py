"""Finish or undo the changes of uploads that an earlier version of the program was making when it stopped.

The earlier version stored the files of an upload in a folder of their own only until they were in the index. A journal
in that folder names the files. It also names one passage that the commit of the index changes, and a digest of this
passage before the commit. If the passage now has another digest, the commit was made.
"""

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from haystack.document_stores.errors import DocumentStoreError

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index import index_exists

# The names of the folders of that version begin with this text.
_INCOMING = ".incoming-"


def collection_of(folder: Path) -> str:
    """Find the name of the collection to which a folder of uploads belongs.

    :param folder: A folder in the folder of all uploads.
    :returns: The name of the collection.
    """
    if not folder.name.startswith(_INCOMING):
        return folder.name
    # Behind the name of the collection stands a hyphen and a random word.
    collection, _, _ = folder.name.removeprefix(_INCOMING).rpartition("-")
    return collection


def settle_earlier_changes(uploads: Path, index: Path, is_receiving: Callable[[Path], bool]) -> None:
    """Finish the changes that were committed to the index, and undo the others.

    :param uploads: The folder of the uploads of the collection.
    :param index: The folder of the index of the collection.
    :param is_receiving: A function that checks whether a running process still receives an upload in a folder.
    """
    all_incoming = sorted(uploads.parent.glob(f"{_INCOMING}*"))
    own_incoming = [incoming for incoming in all_incoming if collection_of(incoming) == uploads.name]
    for incoming in own_incoming:
        journal = incoming / ".journal.json"
        if journal.exists():
            change = json.loads(journal.read_text(encoding="utf-8"))
            try:
                is_committed = (incoming / ".index").exists() if change["drops"] else _is_committed(index, change)
            except DocumentStoreError:
                # The index cannot be read now. Leave the change for the next call.
                continue

            if is_committed:
                _finish(change, incoming, uploads)
            journal.unlink()
        elif is_receiving(incoming):
            # A server of the earlier version is still running, and receives an upload in this folder.
            continue

        shutil.rmtree(incoming, ignore_errors=True)


def _finish(change: dict[str, Any], incoming: Path, uploads: Path) -> None:
    """Do with the files what a change that was committed has to do. A part of it may be done already.

    :param change: The content of the journal.
    :param incoming: The folder with the journal and the files of the upload.
    :param uploads: The folder of the uploads of the collection.
    """
    if change["drops"]:
        for file in uploads.glob("*"):
            if file.is_file():
                file.unlink()
        return
    uploads.mkdir(exist_ok=True, mode=0o700)
    for name in change["added"]:
        file = incoming / name
        # The file may have been moved before the interruption.
        if file.exists():
            file.replace(uploads / file.name)


def _is_committed(index: Path, change: dict[str, Any]) -> bool:
    """Check whether the change of a journal was committed to the index."""
    if change["passage"] is None or not index_exists(index):
        return index_exists(index)

    # The digest of the passage that the commit changes. None if the index does not have the passage.
    state = None
    for passage in TantivyDocumentStore(path=str(index)).documents_by_id([change["passage"]]):
        text = json.dumps([passage.content, passage.meta], sort_keys=True, default=str)
        state = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return bool(state != change["before"])
