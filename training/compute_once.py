"""Save intermediate results of a training in files, so that an interrupted training can continue."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def compute_once(file: Path, compute: Callable[[], object]) -> Any:
    """Compute a value and save it as JSON. If the file exists already, read the value from it instead.

    :param file: The file. Its folder is made if needed.
    :param compute: A function that computes the value.
    :returns: The value, as JSON returns it. For example, a tuple has become a list.
    """
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(json.dumps(compute()), encoding="utf-8")
        part.replace(file)
    return json.loads(file.read_text(encoding="utf-8"))
