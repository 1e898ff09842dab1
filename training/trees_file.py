"""The file that a training writes."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def output_file(path: Path) -> Path:
    """Say early that a training could not be kept.

    :param path: The file to be written.
    :returns: The same, with the user's home folder filled in.
    :raises FileNotFoundError: When its folder is absent.
    """
    path = Path(path).expanduser()
    if not path.parent.is_dir():
        raise FileNotFoundError(f"There is no folder {path.parent}: make it, or name another file.")
    return path


def write_trees(booster: Any, output: Path) -> None:
    """Write trees as a whole, so that a file that is there already is never half another.

    :param booster: An ``xgboost.Booster``.
    :param output: The file, JSON.
    """
    part = output.with_name(f".{output.stem}.{os.getpid()}.json")
    try:
        booster.save_model(part)
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
