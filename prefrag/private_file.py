"""Write files and make folders that only their owner can read."""

import os
import tempfile
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file that only its owner can read. An earlier file of this name is replaced as a whole.

    :param path: The path of the file. Its folder must exist.
    :param text: The content of the file.
    :raises OSError: If the file cannot be written. An earlier file then stays as it was.
    """
    # The new text is first written to a temporary file. `mkstemp` makes a file that only its owner can read (mode
    # 0600).
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
    """Make a folder, and the missing folders above it. Only the owner can read the new folders.

    A folder that exists stays as it is.

    :param folder: The path of the folder.
    :raises OSError: If a folder cannot be made.
    """
    for place in (*reversed(folder.parents), folder):
        if not place.is_dir():
            place.mkdir(mode=0o700, exist_ok=True)
