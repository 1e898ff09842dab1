"""The indexes of the corpora that the project ships."""

from __future__ import annotations

import functools
import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

import prefrag
from prefrag.components.document_stores.tantivy.index import index_exists, open_for_writing

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


def read_passages(corpus: Path) -> Iterator[Document]:
    """Read a corpus of one JSON passage a line: `id`, `title`, `text`, and any further keys, which become metadata.

    The key `source` is left out: it says which simulated source holds the passage, and the pipeline writes the
    source that was really searched under the same name.

    :param corpus: The JSONL file, UTF-8.
    :returns: The passages as documents, the title in `meta["title"]`.
    :raises ValueError: When a line is not such a passage; the message gives the line.
    """
    with corpus.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                passage = json.loads(line)
                meta = {key: value for key, value in passage.items() if key not in ("id", "text", "source")}
                yield Document(id=str(passage["id"]), content=passage["text"], meta=meta)
            except (ValueError, AttributeError, KeyError, TypeError) as error:
                raise ValueError(
                    f"{corpus}, line {number}: expected a JSON object with 'id', 'title' and 'text' ({error!r})."
                ) from error


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
