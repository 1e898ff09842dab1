"""The folder names that clients see. They begin below the folder that holds all files of the collection."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePath


def name_folders(paths: Iterable[str], uploads: Path | None = None) -> dict[str, str]:
    """Name the folder of each file, without revealing the folders of this machine above the collection.

    A name is relative to the folder that holds all files, and uses slashes. The name of that folder itself is empty. If
    no folder but the root holds all files, files with the same first two parts of their paths form a group, and a name
    begins with the name of the innermost folder that holds the whole group. Files in ``uploads`` get an empty name.
    """
    folders = {path: PurePath(path).parent for path in paths}
    groups: dict[tuple[str, ...], set[PurePath]] = defaultdict(set)
    known = {folder for folder in folders.values() if folder != uploads}
    if len(_common(known)) > 1:
        groups[()] = known
    else:
        for folder in known:
            groups[folder.parts[:2]].add(folder)
    names = {}
    for begin, members in groups.items():
        common = _common(members)
        top = common[-1:] if begin and len(common) > 1 else ()
        names.update({folder: "/".join((*top, *folder.parts[len(common) :])) for folder in members})
    return {path: names.get(folder, "") for path, folder in folders.items()}


def _common(folders: Iterable[PurePath]) -> tuple[str, ...]:
    parts = [folder.parts for folder in folders]
    first, last = min(parts, default=()), max(parts, default=())
    same = [one == other for one, other in zip(first, last, strict=False)]
    return first[: same.index(False) if False in same else len(same)]
