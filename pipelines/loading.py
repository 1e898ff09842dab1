"""Find and load the YAML pipelines."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import haystack
import yaml

import prefrag
from prefrag.components.errors import Missing
from prefrag.pipelines.blocks import Block, Change, blocks
from prefrag.pipelines.own_modules import make_importable, trust_modules
from prefrag.pipelines.replacing import replace_parts

YAML_PIPELINES = Path(prefrag.__file__).parent / "yaml_pipelines"
PIPELINES_VARIABLE = "PREFRAG_PIPELINES_DIR"

# Haystack 3 has one class for both engines; 2.x has the asynchronous one apart.
Pipeline: Any = getattr(haystack, "AsyncPipeline", haystack.Pipeline)

_VARIABLE = re.compile(r"\$\{(?P<name>[A-Z][A-Z0-9_]*)(?::-(?P<default>[^}]*))?\}")

trust_modules("prefrag", "duckduckgo_api_haystack")


class PipelineMissing(Missing, ValueError):
    """There is no such pipeline, or its YAML gives none."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Reads YAML, with the tuples that Haystack writes into it."""


_Loader.add_constructor(
    "tag:yaml.org,2002:python/tuple", lambda loader, node: tuple(loader.construct_sequence(node, deep=True))
)


def folders() -> list[Path]:
    """Give the folders of pipelines, the first in which a name is found counting.

    :returns: ``PREFRAG_PIPELINES_DIR`` if set, then the shipped folder.
    """
    own = os.environ.get(PIPELINES_VARIABLE)
    return [*([Path(own).expanduser()] if own else []), YAML_PIPELINES]


def names() -> list[str]:
    """List the pipelines that can be loaded.

    :returns: Their names.
    """
    return sorted({file.stem for folder in folders() for file in folder.glob("*.yaml")})


def find(pipeline: str | os.PathLike[str]) -> Path:
    """Find the YAML of a pipeline.

    :param pipeline: The name of a pipeline, or the path of a YAML file.
    :returns: The file.
    :raises PipelineMissing: When there is none.
    """
    name = os.fspath(pipeline)
    if isinstance(pipeline, os.PathLike) or name.endswith((".yaml", ".yml")) or os.sep in name:
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
    :raises PipelineMissing: When a variable without a default is not set.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match["name"]) or match["default"]
        if found is None:
            raise PipelineMissing(f"{path.name} needs the environment variable {match['name']}: set it.")
        return found

    return _VARIABLE.sub(value, path.read_text(encoding="utf-8"))


def load(pipeline: str | os.PathLike[str] = "prefrag", replace: Mapping[str, Any] | Change | None = None) -> Any:
    """Load a pipeline from its YAML, with other parts in it where some are given.

    ```python
    load("prefrag", replace={"ChatModel": OpenAIChatGenerator(), "web.retriever": my_retriever, "start.top_k": 3})
    ```

    A key of ``replace`` is a path into the YAML. Its first word is the name of a component, or of a class, which stands
    for every block of that class; each further word is a parameter, a key of a mapping, or a place in a list, counted
    from 0. Without further words the whole component is replaced.

    Where the YAML repeats the parameters of a component whole (``init_parameters: *web``), what repeats them follows:
    ``web.retriever`` is also that of ``web_again``. What the YAML repeats inside a component does not: name its class,
    as in ``{"TantivyDocumentStore.index": "mine", "WebRetriever.local_index": "mine"}`` for an index of your own. The
    more exact key wins, whatever the order: a component before a class, ``web_again.retriever`` before
    ``web.retriever``.

    A value is a component or any object with ``to_dict``, a plain value, or a block with ``type`` and
    ``init_parameters``. Objects are written as YAML and built anew, so the pipeline can be saved as any other.

    :param pipeline: The name of a pipeline in ``yaml_pipelines/``, or the path of a YAML file.
    :param replace: New parts by their places; or a function that is called with each block, the inner ones first, and
        gives what takes its place.
    :returns: The Haystack pipeline, not yet warmed up.
    :raises PipelineMissing: When the file is absent or cannot be read as a pipeline.
    :raises ValueError: When a key leads nowhere, or a value cannot be written as YAML; the message says what is wrong.
    """
    path = find(pipeline)
    block = read_block(path)
    return build(block if replace is None else replace_parts(block, replace), str(path))


def read_block(path: Path) -> Block:
    """Read a pipeline without building it.

    :param path: The file.
    :returns: What its YAML says.
    :raises PipelineMissing: When the file is no pipeline's.
    """
    text = read(path)
    try:
        block = yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise PipelineMissing(f"The pipeline {path} cannot be loaded: {error}") from error
    if not isinstance(block, dict) or not isinstance(block.get("components"), dict):
        raise PipelineMissing(f"The pipeline {path} cannot be loaded: it has no `components`.")
    if own := os.environ.get(PIPELINES_VARIABLE):
        make_importable(Path(own).expanduser(), (part["type"] for part in blocks(block)))
    return block


def build(block: Block, name: str) -> Any:
    """Build a pipeline.

    :param block: What its YAML says; it stays as it is.
    :param name: What the pipeline is called in messages.
    :returns: The Haystack pipeline.
    :raises PipelineMissing: When it cannot be built, or lacks the components that asking needs.
    """
    try:
        pipeline = Pipeline.from_dict(block)
    except Exception as error:
        raise PipelineMissing(f"The pipeline {name} cannot be loaded: {_in_words(error)}") from error
    if missing := {"start", "answer"} - set(pipeline.graph.nodes):
        raise PipelineMissing(
            f"The pipeline {name} has no component {' and no '.join(sorted(missing))}: asking needs both."
        )
    return pipeline


def _in_words(error: Exception) -> str:
    # Haystack prints the whole block between the name of the component and what is wrong with it.
    match = re.search(r"component '(?P<name>[^']+)'.*Original error: (?P<reason>.*)", str(error), re.DOTALL)
    return f"component '{match['name']}': {match['reason'].strip()}" if match else str(error)
