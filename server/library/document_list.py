"""List the documents of a collection for clients, and the files that could not be read."""

import os
from contextlib import closing
from functools import lru_cache
from pathlib import Path, PurePath
from typing import Any

from prefrag.collections.changes.journal import uploads_folder
from prefrag.collections.changes.shared_uploads import uploaded_path
from prefrag.collections.skipped_files import read_skipped
from prefrag.collections.stores import open_passages
from prefrag.components.document_stores.folder_names import name_folders
from prefrag.components.document_stores.tantivy.index_location import resolve_index
from prefrag.indexing.file_forms import form_of
from prefrag.server.library.uploads import list_uploads
from prefrag.server.public_result import hide_folders

_METADATA_FIELDS = {"kind": str, "date": str, "date_in": str, "modified": str, "standing": str, "file_size": int}


def describe_documents(collection: str, shared: bool = False) -> dict[str, Any]:
    """List the documents of a collection (an index), and the files that the indexing skipped.

    :param collection: The collection. The caller has checked that the request may read it.
    :param shared: Whether the collection is in Elasticsearch.
    :returns: `documents` and `failed`. Each document has `id`, `name`, `folder` (relative to the innermost folder that
        holds all documents), `kind`, `size` (in bytes, or null), `passages`, `uploaded` and, if known, `date`,
        `date_in` (where the date was found), `modified` and `standing` (such as draft). `failed` is null for
        Elasticsearch. Otherwise it lists the skipped files with `name`, `folder` and `reason`.
    """
    listed = list_uploads(collection, shared)
    known = _read_metadata(collection, shared) if shared else _cached_metadata(*index_version(collection), collection)
    failed = {} if shared else read_skipped(resolve_index(collection))
    uploads = uploaded_path(collection) if shared else uploads_folder(collection)
    paths = [each.entry.path or "" for each in listed]
    # The names from `name_folders` depend on all paths that it gets. Filters pass it only the documents' paths, so the
    # documents' folders are named in the same way here. The call with all paths is only for the failed files.
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
    return {"documents": documents, "failed": None if shared else skipped}


def index_version(collection: str) -> tuple[Path, int]:
    """Return the folder of an index, and a number that changes whenever the index changes."""
    path = resolve_index(collection)
    return path, os.stat(path / "meta.json").st_mtime_ns


@lru_cache(maxsize=4)
def _cached_metadata(path: Path, version: int, collection: str) -> dict[str, dict[str, Any]]:
    # This is cached, because reading the metadata of 20,000 files takes a second.
    return _read_metadata(collection, shared=False)


def _read_metadata(collection: str, shared: bool) -> dict[str, dict[str, Any]]:
    """Read the metadata of each file from its first passage."""
    with closing(open_passages("elasticsearch" if shared else "tantivy", collection)) as store:
        return {
            str(passage.meta.get("file_path")): {
                name: value for name, kind in _METADATA_FIELDS.items() if type(value := passage.meta.get(name)) is kind
            }
            for passage in store.where("split_id", [0])
        }
