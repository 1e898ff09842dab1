"""The indexes of the corpora that the project ships, built on first use."""

from __future__ import annotations

import functools
import hashlib
import shutil
import tempfile
from pathlib import Path

from haystack.document_stores.types import DuplicatePolicy

import prefrag
from prefrag.components.document_stores.tantivy.index import index_exists, open_for_writing
from prefrag.components.text.passage_record import read_passages

# The name of each corpus, and its file in the folder `demo`.
DEMO_CORPORA = {"demo": "local.jsonl", "demo-web": "web.jsonl"}

# Raised when the building changes; as part of the index's name, it makes a new index.
_BUILD = 2


def demo_index(name: str, folder: Path) -> Path:
    """Find the index of a corpus that the project ships, and build it when it is not there yet.

    The name of the folder contains a hash of the corpus file, so that an edited corpus is indexed again. The folder
    appears only when it is complete, so that two processes can build the same index.

    :param name: `demo` or `demo-web`.
    :param folder: The folder of the indexes of these corpora; it need not exist yet.
    :returns: The folder of the index.
    :raises FileNotFoundError: When the corpus file is missing from this checkout.
    :raises OSError: When the folder cannot be written.
    """
    corpus = prefrag.ROOT / "demo" / DEMO_CORPORA[name]
    if not corpus.is_file():
        raise FileNotFoundError(
            f"The demo corpus {corpus} is missing. Restore it, or index documents of your own with: "
            "prefrag index YOUR_FILES"
        )
    stat = corpus.stat()
    path = folder / f"{name}-{_fingerprint(corpus, stat.st_mtime_ns, stat.st_size)}"
    if not index_exists(path):
        _build(corpus, path)
    return path


@functools.lru_cache(maxsize=8)
def _fingerprint(corpus: Path, modified: int, size: int) -> str:
    # The time and size only make an edited file another entry of the cache.
    return hashlib.sha256(f"{_BUILD}\n".encode() + corpus.read_bytes()).hexdigest()[:12]


def _build(corpus: Path, path: Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise OSError(
            f"Cannot write the demo index to {path.parent} ({error.strerror}). "
            "Set PREFRAG_DATA_DIR to a folder that can be written."
        ) from error
    try:
        passages = list(read_passages(corpus))
        open_for_writing(workplace / "index").write(passages, DuplicatePolicy.NONE, timeout=10.0)
        (workplace / "index").rename(path)
    except OSError:
        # Another process may have put the same index there first.
        if not index_exists(path):
            raise
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
