"""Keep the results of a training's steps, so that an interrupted training can continue."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def compute_once(file: Path, compute: Callable[[], Any]) -> Any:
    """Compute a value and save it in a file. If the file exists, read the value instead."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(".part")
        part.write_text(json.dumps(compute()), encoding="utf-8")
        part.replace(file)
    return json.loads(file.read_text(encoding="utf-8"))
