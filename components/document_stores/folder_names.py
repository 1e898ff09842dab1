"""The folder names that clients see. They are relative to the folder that contains all files of the index."""

import os
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath


def name_folders(paths: Iterable[str], uploads: Path | None = None) -> dict[str, str]:
    """Name the folder of each file, without revealing in which folder of this machine all the files are.

    A name is the path of the folder, with slashes, relative to the innermost folder that contains all files. Files
    directly in that folder and files below ``uploads`` get an empty name. If only the root of the file system contains
    all files, they are grouped by the first two parts of their paths. Each name then begins with the name of the
    innermost folder that contains the whole group.
    """
    parents = {path: os.path.dirname(path) for path in paths}
    # Many files share a folder, and a path is slow to make.
    folders = {parent: PurePath(parent) for parent in set(parents.values())}
    groups: dict[tuple[str, ...], set[PurePath]] = defaultdict(set)
    user_folders = {folder for folder in folders.values() if uploads not in (folder, folder.parent)}
    if len(_common(user_folders)) > 1:
        groups[()] = user_folders
    else:
        for folder in user_folders:
            groups[folder.parts[:2]].add(folder)
    names = {}
    for begin, members in groups.items():
        common = _common(members)
        top = common[-1:] if begin and len(common) > 1 else ()
        names.update({folder: "/".join((*top, *folder.parts[len(common) :])) for folder in members})
    return {path: names.get(folders[parent], "") for path, parent in parents.items()}


def _common(folders: Iterable[PurePath]) -> tuple[str, ...]:
    parts = [folder.parts for folder in folders]
    first, last = min(parts, default=()), max(parts, default=())
    same = [part == other for part, other in zip(first, last, strict=False)]
    return first[: same.index(False) if False in same else len(same)]
