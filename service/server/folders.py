"""Where the served pipelines lie."""

from __future__ import annotations

import os
from pathlib import Path

SERVE_VARIABLE = "PREFRAG_SERVE"
ALL = "all"
# Served when nothing is said: the other methods are there to be compared with, and some need more than the core.
DEFAULT = "prefrag"
FOLDERS_VARIABLE = "HAYHOOKS_PIPELINES_DIR"
PIPELINE_FOLDERS = Path(__file__).resolve().parent.parent.parent / "hayhooks"


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


def served() -> list[Path]:
    """
    :returns: The folders (or YAML files) of the pipelines to serve: those named in ``PREFRAG_SERVE``, separated by
        commas, or all for ``all``; by default ``prefrag`` of the shipped ones, and all of a folder of one's own.
    :raises FileNotFoundError: When the folder, or one that is named in it, does not exist.
    """
    folders = pipeline_folders()
    there = {
        path.stem if path.is_file() else path.name: path
        for path in sorted(folders.iterdir())
        if not path.name.startswith((".", "__")) and (path.is_dir() or path.suffix in (".yaml", ".yml"))
    }
    by_default = DEFAULT if folders.resolve() == PIPELINE_FOLDERS else ALL
    wanted = (os.environ.get(SERVE_VARIABLE) or by_default).split(",")
    names = list(dict.fromkeys(name.strip() for name in wanted if name.strip()))
    if names == [ALL]:
        return list(there.values())
    if unknown := [name for name in names if name not in there]:
        raise FileNotFoundError(
            f"There is no pipeline to serve named {', '.join(unknown)} in {folders}: choose from {', '.join(there)}."
        )
    return [there[name] for name in names]


def leaves_out() -> bool:
    """
    :returns: Whether what cannot be served is left out, because ``all`` was asked for and nothing by its name.
    """
    return os.environ.get(SERVE_VARIABLE, "").strip() == ALL
