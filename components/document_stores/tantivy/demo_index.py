"""The indexes of the corpora that the project ships."""

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

# The name that chooses a corpus, and its file in the folder `demo`.
DEMO_CORPORA = {"demo": "local.jsonl", "demo-web": "web.jsonl"}

# Part of the name of a built index: a new way of building it makes a new index.
_BUILD = 2


def demo_index(name: str, folder: Path) -> Path:
    """Find the index of a corpus that the project ships, and build it when it is not there yet.

    The folder of the index carries a hash of the corpus file, so that an edited corpus is indexed anew, and it appears
    only when it is whole, so that two first commands at the same time do not disturb each other.

    :param name: `demo` or `demo-web`.
    :param folder: The folder that holds the indexes of these corpora; it need not exist yet.
    :returns: The folder of the index.
    :raises FileNotFoundError: When the corpus file is missing from this checkout.
    :raises OSError: When the folder cannot be written.
    """
    corpus = Path(prefrag.__file__).parent / "demo" / DEMO_CORPORA[name]
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
    # The time and size are only there to make an edited file another cache entry.
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
