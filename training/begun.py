"""Compare what a training is made of with what its folder was begun with, so that it never continues another one."""

import hashlib
import json
from pathlib import Path

from prefrag.evaluation.datasets.dataset_file import DatasetFile
from prefrag.evaluation.runs.run_folder import replace_file
from prefrag.version import find_version


def check_begun(file: Path, **made_of: object) -> None:
    """Write into a file of a training's folder what the training is made of, if the folder holds no training yet.

    :param file: The file, which is made with its folder.
    :param made_of: All that the results in the folder depend on. Data and models are named by their digests.
    :raises ValueError: When the folder holds a training that is made of other things, or does not say of what.
    """
    current = json.loads(json.dumps({**made_of, "version of prefrag": find_version()}))
    before = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    file.parent.mkdir(parents=True, exist_ok=True)
    if before != current and any(path != file for path in file.parent.glob("[!.]*")):
        changed = ", ".join(name for name in current if before.get(name) != current[name])
        which = f"with another {changed}" if before else "that does not say what it is made of"
        raise ValueError(f"{file.parent} holds a training {which}: delete it, or name another output.")
    replace_file(file, json.dumps(current))


def fingerprint(made_of: object) -> str:
    """Return a digest of everything that a result depends on, and of the version of prefrag."""
    content = json.dumps([made_of, find_version()], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def digest(path: Path | str) -> str:
    """Return a digest of a file or a folder. A name on the Hugging Face hub stands for itself."""
    return DatasetFile(path).digest().hexdigest() if Path(path).expanduser().exists() else str(path)
