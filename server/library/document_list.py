"""List the documents of a collection for clients, and the files that could not be read."""

from collections.abc import Mapping
from pathlib import Path, PurePath

from prefrag.collections.collection import Collection, CollectionDocument
from prefrag.components.document_stores.folder_names import name_folders
from prefrag.indexing.file_forms import form_of
from prefrag.server.public_result import hide_folders


def describe_documents(collection: Collection, limit: int | None = None, offset: int = 0) -> dict[str, object]:
    """List the documents of a collection, and the files that the indexing skipped.

    :param collection: The collection. The caller has checked that the request may read it.
    :param limit: The number of documents to return. None means all.
    :param offset: The number of documents to leave out before them.
    :returns: A dictionary with the following keys:
        - `documents`: A list. Each document has `id`, `name`, `folder` (relative to the innermost folder that contains
          all documents), `kind`, `size` (in bytes, or null), `passages` (their number) and `uploaded`. If known, it
          also has `date`, `date_in` (where the date was found), `modified` and `standing` (such as draft).
        - `failed`: The skipped files, with `name`, `folder` and `reason`. Null for Elasticsearch, which does not store
          them.
        - `next`: Only with a limit. The offset of the documents that follow, or null if there are no more.
    """
    listed = collection.documents()
    skipped = collection.skipped()
    failed = skipped or {}
    # The name of a folder depends on all paths that are named together. The names of this call are used only for the
    # failed files, so that these files do not change the folders of the documents.
    folders: dict[str, str] = {}
    if failed:
        listed_paths = [document.entry.path or "" for document in listed]
        folders = name_folders((*listed_paths, *failed), collection.uploads)

    end = len(listed) if limit is None else offset + limit
    shown = listed[offset:end]
    # Without a limit, the metadata of all files is read at once.
    shown_paths = [document.entry.path or "" for document in shown]
    metadata = collection.metadata(None if limit is None else shown_paths)

    documents = [_describe(document, metadata.get(document.entry.path or "", {})) for document in shown]
    described_failures = []
    for path, reason in sorted(failed.items()):
        failure = {"name": PurePath(path).name, "folder": folders[path], "reason": hide_folders(reason)}
        described_failures.append(failure)
    reply: dict[str, object] = {"documents": documents, "failed": None if skipped is None else described_failures}
    if limit is not None:
        reply["next"] = end if end < len(listed) else None
    return reply


def _describe(document: CollectionDocument, metadata: Mapping[str, object]) -> dict[str, object]:
    """Describe a document for clients.

    :param document: The document.
    :param metadata: The metadata of its first passage, as far as it is known.
    """
    fields = dict(metadata)
    size = fields.pop("file_size", None)
    fields.pop("title", None)
    kind = "corpus" if document.entry.kind == "corpus" else fields.pop("kind", None)
    description = {
        "id": document.id,
        "name": document.entry.title,
        "folder": document.folder,
        "size": size,
        "kind": kind or form_of(Path(document.entry.path or "")) or "text",
        "passages": document.entry.passages,
        "uploaded": document.uploaded,
    }
    # What is left of the metadata, such as the date, is shown as it is.
    return {**description, **fields}
