"""Make sure that a training only continues a training with the same data and settings.

A training keeps intermediate results in a folder. A file in this folder records everything that the results depend on.
"""

import hashlib
import json
from pathlib import Path

from prefrag.evaluation.datasets.dataset_file import DatasetFile
from prefrag.evaluation.runs.run_folder import replace_file
from prefrag.version import find_version


def check_begun(file: Path, **made_of: object) -> None:
    """Record what a training depends on, or compare it with what an earlier call has recorded.

    :param file: The file of the record, in the folder of the training. The file and its folder are made if needed.
    :param made_of: Everything that the results in the folder depend on, by name. Data and models are given by their
        digests.
    :raises ValueError: If the folder contains a training that depends on other things, or results without a record.
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
    """Return a digest of everything that a result depends on, and of the version of prefrag.

    :param made_of: What the result depends on, in any form that can be written as JSON.
    :returns: The first 16 hexadecimal digits of a SHA-256 digest.
    """
    content = json.dumps([made_of, find_version()], sort_keys=True, default=str)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def digest(path: Path | str) -> str:
    """Return a digest of a file or a folder.

    :param path: The path, or a name on the Hugging Face hub.
    :returns: The digest, in hexadecimal digits. If there is no such path, it is a name, which is returned unchanged.
    """
    if not Path(path).expanduser().exists():
        return str(path)
    return DatasetFile(path).digest().hexdigest()
