"""List the documents of a collection as a client may see them, and the files that could not be read."""

import os
from contextlib import closing
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from prefrag.components.document_stores.folder_names import name_folders
from prefrag.components.document_stores.tantivy.index_location import resolve_index
from prefrag.indexing.file_forms import form_of
from prefrag.indexing.journal import uploads_folder
from prefrag.indexing.shared_uploads import uploaded_path
from prefrag.indexing.skipped_files import read_skipped
from prefrag.indexing.stores import open_passages
from prefrag.server.public_result import hide_folders
from prefrag.server.uploads import list_uploads

_KNOWN = {"kind": str, "date": str, "date_in": str, "modified": str, "standing": str, "file_size": int}


def describe_documents(collection: str, shared: bool = False) -> dict[str, Any]:
    """List the documents of a collection, and its files that were skipped.

    :param collection: The collection; whether it may be read has been checked.
    :param shared: Whether the collection lies in Elasticsearch.
    :returns: `documents`, each with `id`, `name`, `folder` (relative to the collection), `kind`, `size` (in bytes, or
        null), `passages`, `uploaded`, and `date`, `date_in`, `modified` and `standing` where they are known; `failed`,
        the skipped files, each with `name`, `folder` and `reason`, or null for Elasticsearch, which keeps no such list.
    """
    listed = list_uploads(collection, shared)
    known = _read_known(collection, shared) if shared else _known_at(*index_version(collection), collection)
    failed = {} if shared else read_skipped(resolve_index(collection))
    uploads = uploaded_path(collection) if shared else uploads_folder(collection)
    paths = [each.entry.path or "" for each in listed]
    # A folder's name depends on all paths that are named together. Filters know only the indexed documents, so the
    # folders of documents are named without the failed files.
    folders = {**(name_folders([*paths, *failed], uploads) if failed else {}), **name_folders(paths, uploads)}
    documents = []
    for each, path in zip(listed, paths, strict=True):
        one = dict(known.get(path, {}))
        size, kind = one.pop("file_size", None), "corpus" if each.entry.kind == "corpus" else one.pop("kind", None)
        plain = {"id": each.id, "name": each.entry.title, "folder": folders[path], "size": size}
        plain |= {"kind": kind or form_of(Path(path)) or "text", "passages": each.entry.passages}
        documents.append({**plain, "uploaded": each.uploaded, **one})
    skipped = [
        {"name": PurePath(path).name, "folder": folders[path], "reason": hide_folders(reason)}
        for path, reason in sorted(failed.items())
    ]
    # The list of skipped files is in the folder of an index, which an index in Elasticsearch does not have.
    return {"documents": documents, "failed": None if shared else skipped}


def index_version(collection: str) -> tuple[Path, int]:
    """Find the folder of an index, and a number that changes whenever the index does."""
    path = resolve_index(collection)
    return path, os.stat(path / "meta.json").st_mtime_ns


@lru_cache(maxsize=4)
def _known_at(path: Path, version: int, collection: str) -> dict[str, dict[str, Any]]:
    # Cached, because it takes a second for 20,000 files.
    return _read_known(collection, shared=False)


def _read_known(collection: str, shared: bool) -> dict[str, dict[str, Any]]:
    """Read what the first passage of each file says about the file."""
    with closing(open_passages("elasticsearch" if shared else "tantivy", collection)) as store:
        return {
            str(passage.meta.get("file_path")): {
                name: value for name, kind in _KNOWN.items() if type(value := passage.meta.get(name)) is kind
            }
            for passage in store.where("split_id", [0])
        }
