"""Make copies of an index (shadows) in which sentences are changed.

Shadows are deleted at the end. The shadows of a process that was killed are deleted at the next start.
"""

from __future__ import annotations

import logging
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from haystack import Document

from prefrag.components.document_stores.proof import PROOF_FILE
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import data_directory, make_data_directory
from prefrag.file_lock import hold_lock, take_lock
from prefrag.pipelines.loading import Pipeline

logger = logging.getLogger(__name__)
# The file in a folder of shadows that is locked while its process runs.
_LOCK = "in-use.lock"
# The number of seconds to wait for another process that makes a folder for shadows.
_WAIT_SECONDS = 60.0


def shadows_folder() -> Path:
    """Get the folder in which all shadows are. It is private, and on the same disk as the indexes.

    :returns: The folder, which may not exist yet.
    """
    return data_directory() / "shadows"


@contextmanager
def shadow_folder() -> Iterator[Path]:
    """Make a folder for shadows, which is deleted at the end. Folders of processes that were killed are deleted first.

    :returns: A context manager with the folder.
    :raises OSError: If the data folder cannot be written.
    """
    make_data_directory()
    shadows_folder().mkdir(parents=True, exist_ok=True, mode=0o700)
    # At the end, the stack first closes the locked file and then deletes the folder.
    with ExitStack() as stack:
        # Without this lock, another process could delete the new folder before its file is locked.
        with hold_lock(shadows_folder() / ".lock", _WAIT_SECONDS, "making shadows of an index"):
            sweep_shadows()
            folder = Path(tempfile.mkdtemp(prefix="prove-", dir=shadows_folder()))
            stack.callback(_delete, folder)
            lock = stack.enter_context((folder / _LOCK).open("ab"))
            # The file is new, so no other process has locked it.
            take_lock(lock.fileno())
        yield folder


def sweep_shadows() -> None:
    """Delete the shadows whose process no longer runs. Nobody has the lock in such a folder."""
    for folder in sorted(shadows_folder().glob("prove-*")):
        try:
            with (folder / _LOCK).open("rb+") as lock:
                is_abandoned = take_lock(lock.fileno())
        except FileNotFoundError:
            # The process of this folder was killed before it made the lock.
            is_abandoned = True
        if is_abandoned:
            _delete(folder)


def _delete(folder: Path) -> None:
    """Delete shadows. On Windows this fails while a pipeline has their files open. The next start then tries again."""
    shutil.rmtree(folder, ignore_errors=True)
    if folder.exists():
        logger.warning(
            "%s holds copies of passages and could not be deleted: delete it, or the next `prefrag prove` will.", folder
        )


def make_shadow(index: Path, folder: Path, written: Sequence[Document] = (), outdated: Sequence[str] = ()) -> None:
    """Copy an index without its vectors, and change passages in the copy.

    An earlier measurement (a proof) may have chosen a probability from which answers are given as *Stated*. The copy
    does not have this threshold, because the measurement may choose another one.

    :param index: The folder of the index.
    :param folder: The folder of the copy, which does not exist yet.
    :param written: The passages that replace those with the same ids.
    :param outdated: The ids of passages to delete.
    """
    shutil.copytree(index, folder, ignore=shutil.ignore_patterns("vectors", "prefrag-folder", PROOF_FILE, "*.lock"))
    if written or outdated:
        TantivyDocumentStore(path=str(folder)).replace_documents(list(written), list(outdated))


def load_on(pipeline: str, folder: Path, replace: Mapping[str, object] | None = None) -> Pipeline:
    """Load a pipeline that searches a shadow instead of its index.

    :param pipeline: The name of a pipeline, or a YAML file.
    :param folder: The folder of the shadow.
    :param replace: Further replacements, as :func:`prefrag.pipelines.load` takes them.
    :returns: The pipeline, warmed up.
    """
    from prefrag import pipelines

    replacements: dict[str, object] = {"TantivyDocumentStore.index": None, "TantivyDocumentStore.path": str(folder)}
    if replace:
        replacements.update(replace)
    loaded = pipelines.load(pipeline, replace=replacements)
    loaded.warm_up()
    return loaded
