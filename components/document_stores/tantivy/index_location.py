"""Where the indexes of this machine live, and which one a command means when it names none."""

import functools
import hashlib
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import prefrag
from prefrag.components.text.passage_record import read_passages

DATA_DIRECTORY_VARIABLE = "PREFRAG_DATA_DIR"
INDEX_VARIABLE = "PREFRAG_INDEX"
WEB_INDEX_VARIABLE = "PREFRAG_WEB_INDEX"
DEFAULT_INDEX = "default"
# The corpora that the project ships: the name to ask for, and the file beside the packages.
DEMO_CORPORA = {"demo": "local.jsonl", "demo-web": "web.jsonl"}

# Part of the name of a built demo index: a new way of building it makes a new index.
_DEMO_BUILD = 2
_VALID_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def data_directory() -> Path:
    """
    The folder that holds every index of this user.

    :returns: `PREFRAG_DATA_DIR` when it is set, else `prefrag` in the user's data folder (`XDG_DATA_HOME`, or
        `LOCALAPPDATA` on Windows). It need not exist yet.
    """
    if chosen := os.environ.get(DATA_DIRECTORY_VARIABLE):
        return Path(chosen).expanduser().absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser().absolute() / "prefrag"


def index_path(name: str) -> Path:
    """
    The folder of the index with this name, whether it exists or not.

    :param name: letters, digits, dot, dash and underscore, at most 64 characters.
    :returns: a folder inside the data directory.
    :raises ValueError: if the name cannot be a folder name or is kept for the demo.
    """
    if not _VALID_NAME.fullmatch(name):
        raise ValueError(
            f"'{name}' cannot name an index: use up to 64 letters, digits, '.', '-' and '_', "
            "beginning with a letter or digit."
        )
    if name in DEMO_CORPORA:
        raise ValueError(f"The name '{name}' is kept for the corpus that ships with prefrag: choose another name.")
    return data_directory() / "indexes" / name


def index_exists(path: Path) -> bool:
    """
    Whether an index lies in this folder.

    :param path: the folder of an index.
    :returns: True when the folder holds an index, empty or not.
    """
    # An index is moved into place as a whole, so one file speaks for all.
    return (path / "meta.json").is_file()


def resolve_index(name: str | None = None) -> Path:
    """
    Find the index to read: the one named, else the one in `PREFRAG_INDEX`, else `default`, else the demo.

    :param name: a name for `index_path`, or `demo` or `demo-web` for the corpora that the project ships.
    :returns: the folder of an index that exists. The demo is built on first use.
    :raises FileNotFoundError: if the index that was asked for by name does not exist.
    :raises ValueError: if the name cannot name an index.
    """
    name = name or os.environ.get(INDEX_VARIABLE) or None
    if name is None:
        default = index_path(DEFAULT_INDEX)
        return default if index_exists(default) else demo_index("demo")
    if name in DEMO_CORPORA:
        return demo_index(name)
    path = index_path(name)
    if not index_exists(path):
        raise FileNotFoundError(
            f"There is no index '{name}' in {path.parent}. Make it with: prefrag index YOUR_FILES --index {name}"
        )
    return path


def resolve_web_index(name: str | None = None, *, local: str | None = None, demo: bool = True) -> Path | None:
    """
    Find the index that stands in for the web: the one named, else the one in `PREFRAG_WEB_INDEX`, else, while the
    local index is the demo, the demo's own.

    :param name: as in `resolve_index`.
    :param local: the name that the local index was asked for by, as in `resolve_index`.
    :param demo: whether the demo's own may stand in.
    :returns: the folder of an index that exists, or None when the real web is meant.
    :raises FileNotFoundError: if the index that was asked for by name does not exist.
    :raises ValueError: if the name cannot name an index.
    """
    name = name or os.environ.get(WEB_INDEX_VARIABLE) or None
    if name is not None:
        return resolve_index(name)
    local = local or os.environ.get(INDEX_VARIABLE) or None
    is_demo = local == "demo" or (local is None and not index_exists(index_path(DEFAULT_INDEX)))
    return demo_index("demo-web") if demo and is_demo else None


def demo_index(name: str) -> Path:
    """
    The index of a corpus that the project ships, built when it is not there yet.

    The folder carries a hash of the corpus file, so that an edited corpus is indexed anew, and it appears only when
    it is whole, so that two first commands at the same time do not disturb each other.

    :param name: `demo` or `demo-web`.
    :returns: the folder of the index.
    :raises FileNotFoundError: if the corpus file is missing from this checkout.
    :raises OSError: if the data directory cannot be written.
    """
    corpus = Path(prefrag.__file__).parent / "demo" / DEMO_CORPORA[name]
    if not corpus.is_file():
        raise FileNotFoundError(
            f"The demo corpus {corpus} is missing. Restore it, or index documents of your own with: "
            "prefrag index YOUR_FILES"
        )
    stat = corpus.stat()
    path = data_directory() / "demo" / f"{name}-{_fingerprint(corpus, stat.st_mtime_ns, stat.st_size)}"
    if not index_exists(path):
        _build(corpus, path)
    return path


@functools.lru_cache(maxsize=8)
def _fingerprint(corpus: Path, modified: int, size: int) -> str:
    # The time and size are only there to make an edited file another cache entry.
    return hashlib.sha256(f"{_DEMO_BUILD}\n".encode() + corpus.read_bytes()).hexdigest()[:12]


def _build(corpus: Path, path: Path) -> None:
    # The store asks this module where its index is, so the import cannot stand at the top.
    from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise OSError(
            f"Cannot write the demo index to {path.parent} ({error.strerror}). "
            f"Set {DATA_DIRECTORY_VARIABLE} to a folder that can be written."
        ) from error
    try:
        TantivyDocumentStore(path=str(workplace / "index"), language="english").write_documents(
            list(read_passages(corpus))
        )
        (workplace / "index").rename(path)
    except OSError:
        # Another process may have put the same index there first.
        if not index_exists(path):
            raise
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
