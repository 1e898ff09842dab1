"""Where the served pipelines lie."""

from __future__ import annotations

import os
from pathlib import Path

FOLDERS_VARIABLE = "HAYHOOKS_PIPELINES_DIR"
PIPELINE_FOLDERS = Path(__file__).resolve().parent.parent / "hayhooks"


def pipeline_folders() -> Path:
    """
    :returns: The folder that holds a folder with a ``pipeline_wrapper.py`` for each pipeline:
        ``HAYHOOKS_PIPELINES_DIR`` if set, else the shipped one.
    :raises FileNotFoundError: When it does not exist.
    """
    folders = Path(os.environ.get(FOLDERS_VARIABLE) or PIPELINE_FOLDERS).expanduser()
    if not folders.is_dir():
        raise FileNotFoundError(f"There is no folder of pipelines {folders}: set {FOLDERS_VARIABLE} to one.")
    return folders
