"""The folder names that clients see, in place of the paths on this machine.

The names are relative to the folder that contains all files of the index. So they do not show where on this machine the
files are.
"""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath


def name_folders(paths: Iterable[str], uploads: Path | None = None) -> dict[str, str]:
    """Name the folder of each file.

    A name is the path of the folder, with slashes, relative to the innermost folder that contains all files. For
    example, "/home/a/docs/3.txt" and "/home/a/docs/y/z/2.txt" have the names "" and "y/z". Files below ``uploads`` have
    an empty name, too.

    If only the root of the file system contains all files, the files are grouped by the first two parts of their paths.
    Each name then begins with the name of the innermost folder that contains the whole group. For example,
    "/home/a/docs/1.txt", "/srv/data/3.txt" and "/srv/data/y/2.txt" have the names "docs", "data" and "data/y".

    :param paths: The paths of the files.
    :param uploads: The folder of uploaded files. None if there is none.
    :returns: The name of the folder by the path of the file.
    """
    parents = {path: os.path.dirname(path) for path in paths}
    # Many files share a folder, and a `PurePath` is slow to make. So each folder is converted once.
    folders = {parent: PurePath(parent) for parent in set(parents.values())}

    # The folders of each group by the first two parts of their paths. The key is empty if there is only one group.
    groups: dict[tuple[str, ...], set[PurePath]] = defaultdict(set)
    user_folders = {folder for folder in folders.values() if uploads not in (folder, folder.parent)}
    # If the folders have more in common than the root of the file system, they are one group.
    if len(_common(user_folders)) > 1:
        groups[()] = user_folders
    else:
        for folder in user_folders:
            groups[folder.parts[:2]].add(folder)

    names = {}
    for first_parts, members in groups.items():
        common = _common(members)
        # If there are several groups, a name begins with the innermost folder that contains the whole group.
        innermost: tuple[str, ...] = ()
        if first_parts and len(common) > 1:
            innermost = common[-1:]
        for folder in members:
            own_parts = folder.parts[len(common) :]
            names[folder] = "/".join((*innermost, *own_parts))
    return {path: names.get(folders[parent], "") for path, parent in parents.items()}


def _common(folders: Iterable[PurePath]) -> tuple[str, ...]:
    """Return the parts with which all paths begin: ``("/", "a", "b")`` for "/a/b/c" and "/a/b/d"."""
    parts = [folder.parts for folder in folders]
    # What the first and the last path in sorted order have in common, all paths between them have in common, too.
    first = min(parts, default=())
    last = max(parts, default=())
    length = 0
    while length < min(len(first), len(last)) and first[length] == last[length]:
        length += 1
    return first[:length]
