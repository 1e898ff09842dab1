"""Where the indexes of this machine are, and which index is used by default.

All indexes are in the folder `indexes` of the data directory, each in a folder with its name. Users call an index a
collection. Two more indexes are made of the sample documents that ship with this project: `demo`, and `demo-web`, which
stands in for the web. They are built in the folder `demo` of the data directory.
"""

import difflib
import errno
import functools
import hashlib
import os
import re
import shutil
import stat
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from haystack.document_stores.types import DuplicatePolicy

import prefrag
from prefrag.components.document_stores.tantivy.index import index_exists, open_for_writing
from prefrag.components.text.passage_record import read_passages
from prefrag.errors import PrefragError, find_cause
from prefrag.settings import settings

# The environment variable with the name of the index to use.
INDEX_VARIABLE = "PREFRAG_INDEX"
# The index that is used, if it exists, when the user names no index.
DEFAULT_INDEX = "default"
# The index of the sample documents.
DEMO_INDEX = "demo"
# `evaluate --corpus FILE` and `ask --corpus FILE` make an index of the file. Its name begins with this prefix.
CORPUS_PREFIX = "corpus-"
# `prefrag FOLDER` makes an index that follows changes in FOLDER. Its file `prefrag-folder` contains the path of FOLDER.
FOLLOWED_FOLDER_FILE = "prefrag-folder"

# An empty file in a data directory that was made private. It shows that this need not be done again.
_PRIVATE_MARK = ".private"
# The name of an index: "papers", "a.b-2", but not ".hidden", "notes." or "two words".
_VALID_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,62}[A-Za-z0-9_-])?")
# The maximum number of indexes that a message lists.
_MAX_NAMED = 10
# A name that Windows reserves for a device, with or without an ending: "con", "NUL.txt", "com1", but not "console".
_WINDOWS_NAME = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)
# The error numbers of a file or folder that this account may not read, or not write.
_CLOSED = {errno.EACCES, errno.EPERM, errno.EROFS}
# The default index that this process has used, by the data directory. It stays the default index. If its files are
# deleted, questions fail, because another index must not answer in its place.
_found: dict[Path, str] = {}


def data_directory() -> Path:
    """Return the folder in which all data of this application are stored.

    :returns: The folder that `PREFRAG_DATA_DIR` names. If the variable is not set, the folder `prefrag` in the user's
        data folder, which is `LOCALAPPDATA` on Windows and `XDG_DATA_HOME` or `~/.local/share` elsewhere.
    """
    chosen = settings.data_dir
    if chosen:
        return chosen.absolute()
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser().absolute() / "prefrag"


def make_data_directory() -> Path:
    """Make the data directory, which only its owner can read.

    An earlier version may have made the folder readable for others. Its permissions are then changed, but only once.
    So its owner can allow others to read it afterwards. A folder that `PREFRAG_DATA_DIR` names may contain files of
    other programs. In this case, only the folders of this application in it become private.

    :returns: The path of the data directory.
    """
    folder = data_directory()
    mark = folder / _PRIVATE_MARK
    # Errors are ignored here. If the folder cannot be made, the write that follows fails and says why.
    with suppress(OSError):
        if os.name == "posix" and not mark.exists():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            (folder / "indexes").mkdir(exist_ok=True)
            own_folders = [folder / "indexes", folder / "uploads"] if settings.data_dir else [folder]
            for path in own_folders:
                _narrow(path)
            mark.touch(mode=0o600)
    return folder


def explain_closed_data(error: Exception) -> Exception:
    """Replace an error by a clear message if this account may not read or write the data directory.

    The message is made here, in one place. Otherwise, every part of the program that reads or writes in the data
    directory would have to make it.

    :param error: The error.
    :returns: An error with the message. The error itself if it has another cause.
    """
    cause = find_cause(error, OSError)
    if cause is None or cause.errno not in _CLOSED or not isinstance(cause.filename, str | bytes):
        return error

    # The file or folder that the operating system refused.
    place = Path(os.fsdecode(cause.filename))
    folder = data_directory()
    if not place.is_relative_to(folder) and not place.is_relative_to(os.path.realpath(folder)):
        return error
    return PrefragError(
        f"The data folder {folder} is closed to this account ({os.strerror(cause.errno)}: {place}): let the account "
        "read and write all in it, or set PREFRAG_DATA_DIR to a folder of its own."
    )


def _narrow(folder: Path) -> None:
    """Let only the owner read a folder and everything in it.

    The targets of links are left as they are, because they may lie elsewhere.
    """
    for place, _, files in os.walk(folder):
        os.chmod(place, 0o700)
        for name in files:
            path = Path(place, name)
            if not path.is_symlink():
                path.chmod(0o600)


def find_open_entries() -> list[Path]:
    """List the folders and files at the top of the data directory that other users of this machine can read.

    :returns: The paths. The list is empty if other users cannot open the data directory, and on Windows.
    """
    folder = data_directory()
    if os.name != "posix" or not os.path.isdir(folder) or not _is_open(folder.stat()):
        return []
    return sorted(entry for entry in folder.iterdir() if _is_open(entry.lstat()))


def _is_open(status: os.stat_result) -> bool:
    """Check whether other users of this machine have any right on a file or folder."""
    rights_of_others = stat.S_IMODE(status.st_mode) & 0o077
    return rights_of_others != 0


def is_windows_name(name: str) -> bool:
    """Check whether Windows reserves a name for a device, such as `con` or `nul.txt`.

    :param name: The name of a file or folder.
    :returns: Whether Windows reserves the name.
    """
    return _WINDOWS_NAME.fullmatch(name) is not None


def index_path(name: str) -> Path:
    """Return the folder of the index with this name, whether the index exists or not.

    :param name: A name of up to 64 letters, digits, dots, dashes and underscores. It begins with a letter or digit and
        does not end with a dot.
    :returns: The folder.
    :raises ValueError: When the name has another form, is reserved by Windows, or is that of a demo index.
    """
    if not _VALID_NAME.fullmatch(name) or is_windows_name(name):
        raise ValueError(
            f"'{name}' cannot name a collection: use up to 64 letters, digits, '.', '-' and '_', begin with a letter "
            "or digit, do not end with a dot, and avoid the names that Windows reserves (con, aux, nul.x)."
        )
    if name in DEMO_CORPORA:
        raise ValueError(f"The name '{name}' is reserved for the corpus that ships with prefrag: choose another name.")
    return data_directory() / "indexes" / name


def list_names() -> list[str]:
    """List the names of the indexes in the data directory, without the demo indexes.

    :returns: The names, sorted.
    """
    folder = data_directory() / "indexes"
    try:
        names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [name for name in names if index_exists(folder / name)]


def suggest_indexes(name: str) -> str:
    """Make the end of a message about a missing index.

    :param name: The name of the missing index.
    :returns: A sentence that suggests the most similar name or, if none is similar, lists the indexes. Empty if there
        are no indexes.
    """
    names = [index for index in list_names() if not index.startswith(CORPUS_PREFIX)]
    near = difflib.get_close_matches(name, names, n=1)
    if near:
        return f" Did you mean '{near[0]}'?"
    if not names:
        return ""
    more = ", ..." if len(names) > _MAX_NAMED else ""
    listed = ", ".join(names[:_MAX_NAMED])
    return f" There are these collections: {listed}{more}; choose one with {INDEX_VARIABLE}=NAME."


def chosen_index() -> str:
    """Return the name of the index that is read when the user names no index.

    It is the name in `PREFRAG_INDEX`. If the variable is not set, it is the first of these that exists: `default`, the
    index that follows a folder, the demo.

    :returns: The name.
    :raises FileNotFoundError: When several indexes follow folders and there is no `default`.
    """
    chosen = settings.index
    if chosen:
        return chosen

    own = _own_indexes()
    if len(own) > 1:
        several = ", ".join(own[:_MAX_NAMED])
        raise FileNotFoundError(
            f"Several folders are indexed ({several}): use --collection NAME or {INDEX_VARIABLE}=NAME."
        )
    if not own:
        # The demo is not remembered, so that an index that is made later is used at once.
        return DEMO_INDEX
    return _found.setdefault(data_directory(), own[0])


def _own_indexes() -> list[str]:
    """List the names of the indexes to choose from if the user names no index.

    The result is the index that this process has used before, or `default`, or else all indexes that follow folders.
    """
    folder = data_directory()
    index = _found.get(folder)
    if index:
        return [index]

    names = list_names()
    # If the folder of `default` exists but is empty, the demo must not answer in its place.
    if DEFAULT_INDEX in names or (folder / "indexes" / DEFAULT_INDEX).is_dir():
        return [DEFAULT_INDEX]
    followed = (name for name in names if (folder / "indexes" / name / FOLLOWED_FOLDER_FILE).is_file())
    return [name for name in followed if _VALID_NAME.fullmatch(name)]


def own_index() -> str:
    """Return the name of the index that is written to when the user names no index.

    :returns: The name that :func:`chosen_index` returns, but `default` instead of the demo, which cannot be changed.
    :raises FileNotFoundError: When several indexes follow folders and there is no `default`.
    """
    chosen = chosen_index()
    return DEFAULT_INDEX if chosen == DEMO_INDEX else chosen


def set_index_variable(chosen: str = DEFAULT_INDEX) -> None:
    """Set `PREFRAG_INDEX` if it is not set, so that the demo is not used by default.

    :param chosen: The name of the index.
    """
    os.environ[INDEX_VARIABLE] = settings.index or chosen


def resolve_index(name: str | None = None) -> Path:
    """Return the folder of an existing index. The indexes `demo` and `demo-web` are built on first use.

    :param name: The name of the index. None means :func:`chosen_index`.
    :returns: The folder.
    :raises FileNotFoundError: When the index does not exist. The error's `__notes__` list other indexes. The command
        line prints the notes, but a server does not send them to clients.
    :raises ValueError: When the name is not valid.
    """
    name = name or chosen_index()
    if name in DEMO_CORPORA:
        return _find_demo(name)
    path = index_path(name)
    if not index_exists(path):
        command = f"prefrag index YOUR_FILES --collection {name}"
        if name == DEFAULT_INDEX:
            command = f"prefrag index YOUR_FILES; or use the demo with {INDEX_VARIABLE}={DEMO_INDEX}"
        error = FileNotFoundError(
            f"There is no collection '{name}' in {path.parent}: see `prefrag collections list`. Make it with: {command}"
        )
        error.add_note(suggest_indexes(name))
        raise error
    return path


def resolve_web_index(name: str | None = None, *, local: str | None = None, demo: bool = True) -> Path | None:
    """Return the folder of the index that is searched instead of the web.

    :param name: The name of the index. None means the name in `PREFRAG_WEB_INDEX`. If the variable is not set either,
        the index is `demo-web`, but only if the local index is the demo and ``demo`` is true.
    :param local: The name of the local index. None means the index that is used by default.
    :param demo: Whether `demo-web` may be used.
    :returns: The folder; None if no index stands in for the web.
    :raises FileNotFoundError: When the named index does not exist.
    """
    name = name or settings.web_index or None
    if name is not None:
        return resolve_index(name)
    chosen = local or settings.index
    if not chosen:
        # If the user has no index either, the demo is searched.
        is_demo = not _own_indexes()
        return _find_demo("demo-web") if demo and is_demo else None
    is_demo = chosen == DEMO_INDEX
    return _find_demo("demo-web") if demo and is_demo else None


def _find_demo(name: str) -> Path:
    """Return the folder of a demo index in the data directory, and build the index if it does not exist yet."""
    return demo_index(name, data_directory() / "demo")


# The file with the passages of each demo index, by the name of the index. The files are in the project's folder `demo`.
DEMO_CORPORA = {"demo": "local.jsonl", "demo-web": "web.jsonl"}

# Increase this number when you change how demo indexes are built. It changes the names of their folders, so that all
# demo indexes are built again.
_BUILD = 2


def demo_index(name: str, folder: Path) -> Path:
    """Return the folder of a demo index, and build the index if it does not exist yet.

    The name of the folder contains a hash of the corpus file, so that an edited corpus is indexed again. The folder
    appears only when it is complete, so two processes may build the same index at the same time.

    :param name: `demo` or `demo-web`.
    :param folder: The folder that contains the demo indexes.
    :returns: The folder of the index.
    :raises FileNotFoundError: When the file with the passages is missing.
    :raises OSError: When the index cannot be written.
    """
    corpus = prefrag.ROOT / "demo" / DEMO_CORPORA[name]
    if not corpus.is_file():
        raise FileNotFoundError(
            f"The demo corpus {corpus} is missing. Restore it, or index documents of your own with: "
            "prefrag index YOUR_FILES"
        )
    status = corpus.stat()
    path = folder / f"{name}-{_fingerprint(corpus, status.st_mtime_ns, status.st_size)}"
    if not index_exists(path):
        _build(corpus, path)
    return path


@functools.lru_cache(maxsize=8)
def _fingerprint(corpus: Path, modified: int, size: int) -> str:
    """Compute the hash of a corpus file and of the way in which indexes are built, as 12 hexadecimal digits."""
    # `modified` and `size` are parameters only for the cache. When they change, the file is read again.
    return hashlib.sha256(f"{_BUILD}\n".encode() + corpus.read_bytes()).hexdigest()[:12]


def _build(corpus: Path, path: Path) -> None:
    """Build the index of a corpus in a temporary folder, and move it to ``path``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))
    except OSError as error:
        raise OSError(
            f"Cannot write the demo index to {path.parent} ({error.strerror}). "
            "Set PREFRAG_DATA_DIR to a folder in which you may write."
        ) from error
    try:
        passages = list(read_passages(corpus))
        open_for_writing(workplace / "index").write(passages, DuplicatePolicy.NONE, timeout=10.0)
        (workplace / "index").rename(path)
    except OSError:
        # Another process may have built the same index first. Then nothing is wrong.
        if not index_exists(path):
            raise
    finally:
        shutil.rmtree(workplace, ignore_errors=True)
