"""Finding and loading the YAML pipelines."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import haystack
import yaml

import prefrag
from prefrag.components.errors import Missing
from prefrag.pipelines.own_modules import make_importable, trust_modules

YAML_PIPELINES = Path(prefrag.__file__).parent / "yaml_pipelines"
PIPELINES_VARIABLE = "PREFRAG_PIPELINES_DIR"

# Haystack 3 has one class for both engines; 2.x has the asynchronous one apart.
Pipeline: Any = getattr(haystack, "AsyncPipeline", haystack.Pipeline)

_VARIABLE = re.compile(r"\$\{(?P<name>[A-Z][A-Z0-9_]*)(?::-(?P<default>[^}]*))?\}")

_TYPE = re.compile(r"\btype['\"]?:\s*['\"]?([\w.]+)")

trust_modules("prefrag", "duckduckgo_api_haystack")


class PipelineMissing(Missing, ValueError):
    """There is no such pipeline, or its YAML gives none."""


def folders() -> list[Path]:
    """:returns: Where pipelines are looked for: ``PREFRAG_PIPELINES_DIR`` if set, then the shipped folder."""
    own = os.environ.get(PIPELINES_VARIABLE)
    return [*([Path(own).expanduser()] if own else []), YAML_PIPELINES]


def names() -> list[str]:
    """:returns: The names of the pipelines that can be loaded."""
    return sorted({file.stem for folder in folders() for file in folder.glob("*.yaml")})


def find(name: str) -> Path:
    """Find the YAML of a pipeline.

    :param name: The name of a pipeline, or the path of a YAML file.
    :returns: The file.
    :raises PipelineMissing: When there is none.
    """
    if name.endswith((".yaml", ".yml")) or os.sep in name:
        path = Path(name).expanduser()
        if path.is_file():
            return path
        raise PipelineMissing(f"There is no pipeline file {path}.")
    for folder in folders():
        if (folder / f"{name}.yaml").is_file():
            return folder / f"{name}.yaml"
    raise PipelineMissing(f"There is no pipeline '{name}': choose from {', '.join(names())}, or give a YAML file.")


def read(path: Path) -> str:
    """Read a pipeline's YAML, put in the variables of the environment, and make the modules of one's own importable.

    :param path: The file.
    :returns: Its text, with every ``${NAME}`` and ``${NAME:-default}`` replaced.
    :raises ValueError: When a variable without a default is not set, or a module of one's own has the name of another.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match["name"]) or match["default"]
        if found is None:
            raise ValueError(f"{path.name} needs the environment variable {match['name']}: set it.")
        return found

    text = _VARIABLE.sub(value, path.read_text(encoding="utf-8"))
    if own := os.environ.get(PIPELINES_VARIABLE):
        make_importable(Path(own).expanduser(), _TYPE.findall(text))
    return text


def load(name: str = "prefrag") -> Any:
    """Load a pipeline from its YAML.

    :param name: The name of a pipeline in ``yaml_pipelines/``, or the path of a YAML file.
    :returns: The Haystack pipeline, not yet warmed up.
    :raises PipelineMissing: When the file is absent or cannot be read as a pipeline; the message says what is wrong.
    """
    path = find(name)
    return built(lambda: Pipeline.loads(read(path)), str(path))


def built(build: Callable[[], Any], name: str) -> Any:
    """Build a pipeline, and say in words why that cannot be done.

    :param build: Gives the pipeline.
    :param name: What the pipeline is called in the message.
    :returns: The Haystack pipeline.
    :raises PipelineMissing: When it cannot be built, or lacks the components that asking needs.
    """
    try:
        pipeline = build()
    except Exception as error:
        raise PipelineMissing(f"The pipeline {name} cannot be loaded: {_in_words(error)}") from error
    if missing := {"start", "answer"} - set(pipeline.graph.nodes):
        raise PipelineMissing(
            f"The pipeline {name} has no component {' and no '.join(sorted(missing))}: asking needs both."
        )
    return pipeline


def _in_words(error: Exception) -> str:
    if isinstance(error.__cause__, yaml.YAMLError):
        # It names the line.
        return str(error.__cause__)
    # Haystack prints the whole block between the name of the component and what is wrong with it.
    told = re.search(r"component '(?P<name>[^']+)'.*Original error: (?P<reason>.*)", str(error), re.DOTALL)
    return f"component '{told['name']}': {told['reason'].strip()}" if told else str(error)
