"""End the changes that an earlier version of the program was making when it stopped.

It kept the files of an upload in a folder of their own only until they were in the index. A journal in this folder
named the files, and one passage that the commit of the index changes, with its state before.
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

_INCOMING = ".incoming-"


def collection_of(folder: Path) -> str:
    """Find the name of the collection to which a folder in the folder of all uploads belongs."""
    if not folder.name.startswith(_INCOMING):
        return folder.name
    return folder.name.removeprefix(_INCOMING).rpartition("-")[0]


def settle_earlier_changes(uploads: Path, index: Path, is_receiving: Callable[[Path], bool]) -> None:
    """Finish the changes that are in the index, and undo the others. ``uploads`` is the folder of the collection."""
    for incoming in sorted(uploads.parent.glob(f"{_INCOMING}*")):
        if collection_of(incoming) != uploads.name:
            continue
        journal = incoming / ".journal.json"
        if journal.exists():
            change = json.loads(journal.read_text(encoding="utf-8"))
            try:
                is_committed = (incoming / ".index").exists() if change["drops"] else _is_committed(index, change)
            except DocumentStoreError:
                # The change waits until its index can be read.
                continue
            if is_committed and change["drops"]:
                for file in filter(Path.is_file, uploads.glob("*")):
                    file.unlink()
            elif is_committed:
                uploads.mkdir(exist_ok=True, mode=0o700)
                for file in filter(Path.exists, map(incoming.joinpath, change["added"])):
                    file.replace(uploads / file.name)
            journal.unlink()
        elif is_receiving(incoming):
            # A server of the earlier version, which is still running, receives an upload there.
            continue
        shutil.rmtree(incoming, ignore_errors=True)


def _is_committed(index: Path, change: dict[str, Any]) -> bool:
    if change["passage"] is None or not index_exists(index):
        return index_exists(index)
    state = None
    for passage in TantivyDocumentStore(path=str(index)).documents_by_id([change["passage"]]):
        text = json.dumps([passage.content, passage.meta], sort_keys=True, default=str)
        state = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
    return bool(state != change["before"])
