"""Write files and make folders that only their owner can read."""

import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read. It replaces an earlier one as a whole.

    :param path: The file. Its folder must exist.
    :param text: What it holds.
    :raises OSError: When the file cannot be written. An earlier one then stays as it was.
    """
    # mkstemp makes a file that only its owner can read (mode 0600).
    descriptor, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(draft, path)
    except BaseException:
        Path(draft).unlink(missing_ok=True)
        raise


def make_private_folder(folder: Path) -> None:
    """Make a folder, and the missing ones above it, that only their owner can read. An existing one stays as it is.

    :param folder: The folder.
    :raises OSError: When it cannot be made.
    """
    for place in (*reversed(folder.parents), folder):
        if not place.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)
