"""Compute digests of the files that a pipeline reads: prompts, boosted decision trees and small models.

The digests are part of the description of a run. A run is not continued if a file has changed.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from prefrag.components.adaptive_rag.tree_question_classifier import SHIPPED_TREES as QUESTION_TREES
from prefrag.components.judge.tree_judge import SHIPPED_TREES as SWITCH_TREES
from prefrag.components.pair_classifier.tree_pair_scorer import SHIPPED_TREES as PAIR_TREES
from prefrag.components.prompts.render_prompt import MODES, PROMPTS
from prefrag.settings import settings

# The parameters of a block that may name such a file or folder.
_KEYS = ("model", "prompt", "trees")
# Only single files with these suffixes are read. Files with other suffixes may be language models of many gigabytes.
_SUFFIXES = (".json", ".jinja")


def part_files(pipeline: Mapping[str, object]) -> dict[str, str]:
    """Compute the digests of the files that a pipeline reads.

    :param pipeline: The content of the pipeline's YAML.
    :returns: The digests by the name of the file or folder. Two entries are always there: the prompts and the trees
        that are shipped with the project.
    """
    names = {*_find_names(pipeline), settings.pair_classifier}
    # An empty name stands for no file.
    names.discard("")
    digests = {
        "shipped prompts": _digest(sorted(PROMPTS.glob("*.jinja"))),
        "shipped trees": _digest([*PAIR_TREES.values(), SWITCH_TREES, QUESTION_TREES]),
    }
    for name in sorted(names):
        path = Path(name).expanduser()
        files = _list_files(path)
        if files:
            digests[name] = _digest(files, path)
    return digests


def digest_prompts(prompts: str) -> str:
    """Compute one digest of all prompts.

    :param prompts: "plain", "product", or a folder. Files in the folder replace shipped files of the same name.
    :returns: The digest: 64 hexadecimal digits.
    """
    files = {file.name: file for file in PROMPTS.glob("*.jinja")}
    if prompts not in MODES:
        files.update((file.name, file) for file in Path(prompts).expanduser().glob("*.jinja"))
    return _hash(files[name] for name in sorted(files))


def digest_folder(folder: Path) -> str:
    """Compute one digest of the names and contents of a folder's files.

    :param folder: The folder.
    :returns: The digest: 16 hexadecimal digits.
    """
    return _digest(_list_files(folder), folder)


def _find_names(value: object) -> Iterator[str]:
    """Yield each name of a file or folder in the YAML, at any depth."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            if key in _KEYS and isinstance(part, str):
                yield part
            else:
                yield from _find_names(part)
    elif isinstance(value, list | tuple):
        for part in value:
            yield from _find_names(part)


def _list_files(path: Path) -> list[Path]:
    """List the files of a folder without hidden files, or a file itself if its suffix is allowed."""
    if path.is_dir():
        return sorted(file for file in path.rglob("[!.]*") if file.is_file())
    if path.suffix in _SUFFIXES and path.is_file():
        return [path]
    return []


def _digest(files: Iterable[Path], folder: Path | None = None) -> str:
    """Return the first 16 digits of :func:`_hash`."""
    return _hash(files, folder)[:16]


def _hash(files: Iterable[Path], folder: Path | None = None) -> str:
    """Return the SHA-256 hash of the names and contents of files. With a folder, names are relative to it."""
    digest = hashlib.sha256()
    for file in files:
        name = file.relative_to(folder) if folder else file.name
        with file.open("rb") as content:
            digest.update(f"{name}\n".encode())
            digest.update(hashlib.file_digest(content, "sha256").digest())
    return digest.hexdigest()
