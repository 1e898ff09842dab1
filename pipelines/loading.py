"""Find and load the YAML pipelines."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import haystack
import yaml

import prefrag
from prefrag.components.errors import Missing
from prefrag.components.generators.model_host import refuse_remote_models
from prefrag.components.settings import settings, share_secrets
from prefrag.pipelines.blocks import Block, Change, blocks
from prefrag.pipelines.own_modules import make_importable, trust_modules
from prefrag.pipelines.replacing import replace_parts
from prefrag.pipelines.web_access import guard_web

YAML_PIPELINES = prefrag.ROOT / "yaml_pipelines"

# Haystack 3 has one class for both engines; 2.x has a separate class for the asynchronous one.
Pipeline: Any = getattr(haystack, "AsyncPipeline", haystack.Pipeline)

_VARIABLE = re.compile(r"\$\{(?P<name>[A-Z][A-Z0-9_]*)(?::-(?P<default>[^}]*))?\}")

trust_modules("prefrag", "duckduckgo_api_haystack")


class PipelineMissing(Missing, ValueError):
    """There is no such pipeline, or its YAML does not describe one."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A YAML loader that also reads the tuples that Haystack writes."""


_Loader.add_constructor(
    "tag:yaml.org,2002:python/tuple", lambda loader, node: tuple(loader.construct_sequence(node, deep=True))
)


def folders() -> list[Path]:
    """List the folders of pipelines; the first one that holds a name wins.

    :returns: ``PREFRAG_PIPELINES_DIR`` if set, then the shipped folder.
    """
    return [*filter(None, [settings.pipelines_dir]), YAML_PIPELINES]


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


def own_variables(*files: Path) -> set[str]:
    """Find the variables that a user's own pipelines read, so that they are not taken for misspelt settings.

    :param files: Pipelines beside those in ``PREFRAG_PIPELINES_DIR``.
    :returns: Their names.
    """
    own = [*files, *(file for folder in folders()[:-1] for file in folder.glob("*.yaml"))]
    texts = (file.read_text(encoding="utf-8", errors="replace") for file in own if file.is_file())
    return {name for text in texts for name in re.findall(r"PREFRAG_[A-Z0-9_]+", text)}


def read(path: Path) -> str:
    """Read a pipeline's YAML and fill in the environment variables.

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
    """Load a pipeline from its YAML, with the given parts replaced.

    ```python
    load("prefrag", replace={"ChatModel": OpenAIChatGenerator(), "web.retriever": my_retriever, "start.top_k": 3})
    ```

    A key of ``replace`` is a path into the YAML. Its first word is the name of a component, or of a class and
    then means every block of that class; each further word is a parameter, a key of a mapping, or a position in a list,
    counted from 0. Without further words the whole component is replaced.

    Where the YAML repeats all parameters of a component (``init_parameters: *web``), the repetition changes with it:
    ``web.retriever`` also replaces that of ``web_again``. A part that the YAML repeats inside a component does not:
    name its class, as in ``{"TantivyDocumentStore.index": "mine", "WebRetriever.local_index": "mine"}`` for an index of
    your own. The more exact key wins, whatever the order: a component over a class, ``web_again.retriever`` over
    ``web.retriever``.

    A value is a component or any object with ``to_dict``, a plain value, or a block with ``type`` and
    ``init_parameters``. Objects are written as YAML and rebuilt, so the pipeline can be saved like any other.

    :param pipeline: The name of a pipeline in ``yaml_pipelines/``, or the path of a YAML file.
    :param replace: New parts by their paths; or a function that is called with each block, the inner ones first, and
        returns its replacement.
    :returns: The Haystack pipeline, not yet warmed up.
    :raises PipelineMissing: When the file is absent or cannot be read as a pipeline.
    :raises ValueError: When a key matches nothing, or a value cannot be written as YAML, as the message states.
    """
    path = find(pipeline)
    block = read_block(path)
    return build(block if replace is None else replace_parts(block, replace), str(path))


def read_block(path: Path) -> Block:
    """Read a pipeline without building it.

    :param path: The file.
    :returns: The content of its YAML.
    :raises PipelineMissing: When the file does not describe a pipeline.
    """
    text = read(path)
    try:
        block = copy.deepcopy(_parse(text))
    except yaml.YAMLError as error:
        raise PipelineMissing(f"The pipeline {path} cannot be loaded: {error}") from error
    if not isinstance(block, dict) or not isinstance(block.get("components"), dict):
        raise PipelineMissing(f"The pipeline {path} cannot be loaded: it has no `components`.")
    if own := settings.pipelines_dir:
        make_importable(own, (part["type"] for part in blocks(block)))
    return block


@lru_cache(maxsize=64)
def _parse(text: str) -> Any:
    return yaml.load(text, Loader=_Loader)


def build(block: Block, name: str) -> Any:
    """Build a pipeline, whose components may be in modules that lie in ``PREFRAG_PIPELINES_DIR``.

    :param block: The content of its YAML, which is not changed.
    :param name: The name of the pipeline in messages.
    :returns: The Haystack pipeline.
    :raises PipelineMissing: When it cannot be built, lacks the components that a run needs, or searches the web outside
        an external source.
    :raises RemoteModelRefused: When it has a model on another machine and ``PREFRAG_REMOTE_MODEL`` is off.
    """
    if own := settings.pipelines_dir:
        make_importable(own, {part["type"] for part in blocks(block)})
    share_secrets()
    try:
        pipeline = Pipeline.from_dict(block)
    except Exception as error:
        raise PipelineMissing(f"The pipeline {name} cannot be loaded: {_explain(error)}") from error
    if missing := {"start", "answer"} - set(pipeline.graph.nodes):
        raise PipelineMissing(
            f"The pipeline {name} has no component {' and no '.join(sorted(missing))}: asking needs both."
        )
    try:
        guard_web(pipeline)
    except ValueError as error:
        raise PipelineMissing(f"The pipeline {name} cannot be loaded: {error}") from error
    refuse_remote_models(pipeline)
    # For the audit log.
    pipeline.name = Path(name).stem
    return pipeline


def _explain(error: Exception) -> str:
    # Haystack prints the whole block between the name of the component and what is wrong with it.
    match = re.search(r"component '(?P<name>[^']+)'.*Original error: (?P<reason>.*)", str(error), re.DOTALL)
    return f"component '{match['name']}': {match['reason'].strip()}" if match else str(error)
