"""Find and load the YAML pipelines.

The steps of :func:`load` are:

1. Find the file of the pipeline.
2. Read the file, and insert the values of environment variables.
3. Replace components or parameters, if the caller wants to.
4. Build the Haystack pipeline, and check its prompts, its web searches and its connections.
"""

import copy
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import haystack
import yaml
from haystack.core.pipeline.base import PipelineBase

import prefrag
from prefrag.components.document_stores.elasticsearch.connection import connection_settings
from prefrag.components.generators.model_host import refuse_remote_models
from prefrag.components.parts import ELASTICSEARCH_STORE, walk_parts
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.sources.source_rules import SourceRules
from prefrag.components.state.state_builder import StateBuilder
from prefrag.components.text.distinct import distinct
from prefrag.errors import BadInput, Missing
from prefrag.pipelines.advice import explain_error, explain_keys, explain_yaml
from prefrag.pipelines.blocks import Block, Change, blocks, is_block_of, parameters_of
from prefrag.pipelines.replacing import replace_parts
from prefrag.pipelines.wiring import check_wiring
from prefrag.settings import export_secrets, settings

# The folder of the shipped pipelines.
YAML_PIPELINES = prefrag.ROOT / "yaml_pipelines"

if TYPE_CHECKING:
    Pipeline = haystack.AsyncPipeline
else:
    # Haystack 3 has one pipeline class. Haystack 2 has a separate class for pipelines that run asynchronously.
    Pipeline = getattr(haystack, "AsyncPipeline", haystack.Pipeline)

# An environment variable in a YAML file, which may have a default behind ":-".
# Matches: "${HOME}", "${TOP_K:-5}". Does not match: "${top_k}", "$HOME".
_VARIABLE = re.compile(r"\$\{(?P<name>[A-Z][A-Z0-9_]*)(?::-(?P<default>[^}]*))?\}")
# The environment variable with the names of the modules from which Haystack 3 may build components.
ALLOWLIST_VARIABLE = "HAYSTACK_DESERIALIZATION_ALLOWLIST"


def trust_module(name: str) -> None:
    """Add a module to Haystack's allowlist. Haystack 3 builds components only from the modules listed there.

    :param name: The name of the module.
    """
    # The variable is set, because `prefrag` itself is listed when it is imported.
    listed = os.environ[ALLOWLIST_VARIABLE].split(",")
    os.environ[ALLOWLIST_VARIABLE] = ",".join(distinct([*listed, name]))


class PipelineMissing(Missing, ValueError):
    """The error when a pipeline does not exist, or when its YAML does not describe a pipeline."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A YAML loader that also reads the tuples that Haystack writes."""

    def flatten_mapping(self, node: Any) -> None:
        """Refuse a key that stands twice in a mapping, then merge the mappings that `<<` names.

        YAML itself would use the second value of such a key without a warning.
        """
        # If another mapping merges this mapping, it comes here again, with the keys that it has merged itself.
        if not getattr(node, "is_checked", False):
            node.is_checked = True
            seen: set[tuple[str, str]] = set()
            scalar_keys = [key for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
            for key in scalar_keys:
                if (key.tag, key.value) in seen:
                    problem = f"'{key.value}' stands here twice"
                    raise yaml.constructor.ConstructorError(problem=problem, problem_mark=key.start_mark)
                seen.add((key.tag, key.value))
        super().flatten_mapping(node)


def _read_tuple(loader: Any, node: object) -> tuple[object, ...]:
    """Read a tuple as Haystack writes it."""
    return tuple(loader.construct_sequence(node, deep=True))


_Loader.add_constructor("tag:yaml.org,2002:python/tuple", _read_tuple)


def folders() -> list[Path]:
    """List the folders with pipelines.

    :returns: The user's folder, if there is one, then the folder of the shipped pipelines. If both contain a pipeline
        of the same name, that of the first folder is loaded.
    """
    if settings.pipelines_dir:
        return [settings.pipelines_dir, YAML_PIPELINES]
    return [YAML_PIPELINES]


def names() -> list[str]:
    """List the pipelines that can be loaded by their names.

    :returns: The names, in alphabetical order.
    """
    stems: set[str] = set()
    for folder in folders():
        stems.update(file.stem for file in folder.glob("*.yaml"))
    return sorted(stems)


def find(pipeline: str | os.PathLike[str]) -> Path:
    """Find the YAML file of a pipeline.

    :param pipeline: The name of a pipeline, or the path of a YAML file.
    :returns: The file.
    :raises PipelineMissing: When there is no such file.
    """
    name = os.fspath(pipeline)
    if isinstance(pipeline, os.PathLike) or name.endswith((".yaml", ".yml")) or os.sep in name:
        path = Path(name).expanduser()
        if path.is_file():
            return path
        raise PipelineMissing(f"There is no pipeline file {path}.")
    for folder in folders():
        file = folder / f"{name}.yaml"
        if file.is_file():
            return file
    raise PipelineMissing(f"There is no pipeline '{name}': choose from {', '.join(names())}, or give a YAML file.")


def own_variables(*files: Path) -> set[str]:
    """Find the environment variables that a user's own pipelines read.

    The caller must not report these variables as misspelt settings.

    :param files: Further YAML files beside those in the user's folder.
    :returns: The names of the variables that begin with ``PREFRAG_``.
    """
    own_files = [*files]
    if settings.pipelines_dir:
        own_files += settings.pipelines_dir.glob("*.yaml")
    variables: set[str] = set()
    for file in own_files:
        if file.is_file():
            text = file.read_text(encoding="utf-8", errors="replace")
            variables.update(re.findall(r"PREFRAG_[A-Z0-9_]+", text))
    return variables


def read(path: Path) -> str:
    """Read the YAML of a pipeline, and insert the values of environment variables.

    :param path: The file.
    :returns: The text.
    :raises PipelineMissing: When a variable is not set and has no default.
    """

    def value(match: re.Match[str]) -> str:
        # An empty variable counts as not set.
        text = os.environ.get(match["name"]) or match["default"]
        if text is None:
            raise PipelineMissing(f"{path.name} needs the environment variable {match['name']}: set it.")
        return text

    return _VARIABLE.sub(value, path.read_text(encoding="utf-8"))


def load(
    pipeline: str | os.PathLike[str] = "prefrag", replace: Mapping[str, object] | Change | None = None
) -> Pipeline:
    """Load a pipeline from its YAML, and replace some of its components or parameters.

    ```python
    load("prefrag", replace={"ChatModel": OpenAIChatGenerator(), "web.retriever": my_retriever, "start.top_k": 3})
    ```

    A key of ``replace`` is a path into the YAML. Its first word is the name of a component or of a class. A class
    stands for all objects of this class. Each further word is a parameter, a key of a mapping, or a position in a list,
    counted from 0. Without further words, the whole component is replaced.

    If ``web_again`` takes all parameters of ``web`` by a YAML alias (``init_parameters: *web``), a key for ``web``
    changes both. For example, ``web.retriever`` also replaces the retriever of ``web_again``. To change objects inside
    several components, name their class. For example,
    ``{"TantivyDocumentStore.index": "mine", "WebRetriever.local_index": "mine"}`` sets your own index. The more
    specific key wins, whatever the order of the keys: a component wins over a class, and ``web_again.retriever`` wins
    over ``web.retriever``.

    A value is a component or another object with ``to_dict``, a plain value, or a mapping with ``type`` and
    ``init_parameters``. Objects are written as YAML and built again, so the pipeline can be saved like any other.

    :param pipeline: The name of a pipeline in ``yaml_pipelines/``, or the path of a YAML file.
    :param replace: The new values by their paths. Or a function that gets each mapping with a ``type``, inner mappings
        first, and returns its replacement. If None, nothing is replaced.
    :returns: The Haystack pipeline, not yet warmed up.
    :raises PipelineMissing: When the file is absent or cannot be read as a pipeline.
    :raises ValueError: When a key matches nothing, or a value cannot be written as YAML.
    """
    path = find(pipeline)
    block = read_block(path)
    if replace is not None:
        block = replace_parts(block, replace)
    return build(block, str(path))


def read_block(path: Path) -> Block:
    """Read a pipeline without building it.

    :param path: The YAML file.
    :returns: The content of the YAML.
    :raises PipelineMissing: When the file does not describe a pipeline.
    """
    text = read(path)
    try:
        block = copy.deepcopy(_parse(text))
    except yaml.YAMLError as error:
        raise PipelineMissing(f"The pipeline {path} cannot be loaded: {explain_yaml(error, text)}") from error
    if not isinstance(block, dict) or not isinstance(block.get("components", {}), dict):
        raise PipelineMissing(f"The pipeline {path} cannot be loaded: it has no `components`.")
    missing = explain_keys(block)
    if missing:
        raise PipelineMissing(f"The pipeline {path} cannot be loaded: {missing}")
    own = settings.pipelines_dir
    if own:
        make_importable(own, (part["type"] for part in blocks(block)))
    return block


def _shipped_types() -> set[str]:
    """List the paths of all classes that the shipped pipelines name."""
    types: set[str] = set()
    for file in sorted(YAML_PIPELINES.glob("*.yaml")):
        types.update(re.findall(r"\btype: ([\w.]+)", file.read_text(encoding="utf-8")))
    return types


@lru_cache(maxsize=64)
def _parse(text: str) -> object:
    """Parse a YAML text. The caller must copy the result, because the cache keeps it."""
    return yaml.load(text, Loader=_Loader)


def build(block: Block, name: str) -> Pipeline:
    """Build a pipeline and check it. Its components may be from modules in ``PREFRAG_PIPELINES_DIR``.

    :param block: The content of the YAML.
    :param name: The name of the pipeline or the path of its file, for messages, the audit log and spans.
    :returns: The Haystack pipeline, not yet warmed up.
    :raises PipelineMissing: When the pipeline cannot be built, or fails a check.
    """
    own = settings.pipelines_dir
    if own:
        make_importable(own, {part["type"] for part in blocks(block)})
    export_secrets()
    for part in blocks(block):
        if is_block_of(part, ELASTICSEARCH_STORE):
            parameters = parameters_of(part)
            part["init_parameters"] = {**parameters, **connection_settings(parameters.get("hosts"))}

    try:
        pipeline = Pipeline.from_dict(block)
    except Exception as error:
        # The name may be the path of a file. Then the error tells the line in it.
        is_file = name.endswith((".yaml", ".yml")) and Path(name).is_file()
        text = read(Path(name)) if is_file else ""
        reason = explain_error(error, block, text, _shipped_types())
        raise PipelineMissing(f"The pipeline {name} cannot be loaded: {reason}") from error

    missing = {"start", "answer"} - set(pipeline.graph.nodes)
    if missing:
        missing_names = " and no ".join(sorted(missing))
        raise PipelineMissing(f"The pipeline {name} has no component {missing_names}: add it.")
    try:
        _check_prompts(pipeline)
        guard_web(pipeline)
        check_wiring(pipeline)
    except ValueError as error:
        raise PipelineMissing(f"The pipeline {name} cannot be loaded: {error}") from error
    refuse_remote_models(pipeline)
    # The audit log and the spans show this name, for which Haystack declares no attribute.
    named: Any = pipeline
    named.name = Path(name).stem
    return pipeline


def _check_prompts(pipeline: PipelineBase) -> None:
    """Check that a reasoner with the reply format `steps` has the prompts `product`.

    With this format, the model may write NOT FOUND. Only with these prompts, NOT FOUND does not count as an answer.
    """
    prompts = getattr(pipeline.get_component("start"), "prompts", "product")
    for path, part in walk_parts(pipeline):
        if isinstance(part, Reasoner) and part.reply_format == "steps" and prompts != "product":
            raise ValueError(
                f"component '{path}' has reply_format `steps`, but with the prompts '{prompts}' NOT FOUND would be an "
                "answer: set reply_format to auto, or prompts to product."
            )


def guard_web(pipeline: PipelineBase) -> None:
    """Check that only external sources search the web, and set which indexes must allow web search.

    A component `start` without its own rules, as in older files, gets the rules of the shipped pipelines.

    :param pipeline: The Haystack pipeline.
    :raises ValueError: When another component than an external source would search the web.
    """
    start = pipeline.get_component("start")
    if not isinstance(start, StateBuilder):
        SourceRules().bind(pipeline)
        return
    start.rules = start.rules or SourceRules()
    start.bind(pipeline)


def make_importable(folder: Path, types: Iterable[str]) -> None:
    """Make the modules and packages in a folder importable, and add only them to Haystack's allowlist.

    The folder is added to the end of the import path, so that no module in it can replace an installed module.

    :param folder: The folder.
    :param types: The paths of the classes that a pipeline uses.
    :raises BadInput: When a used module in the folder has the name of a module that is imported in its place.
    """
    files = {file.stem: file for file in folder.glob("*.py")}
    files |= {file.parent.name: file for file in folder.glob("*/__init__.py")}
    # Names such as `my.test` are left out. `my.test.py` is not a module, and to look for it would import `my`.
    files.pop("__init__", None)
    modules = {name: file for name, file in files.items() if name.isidentifier()}
    if not modules:
        return
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))

    # The first word of the path of a class is its module or package.
    used_modules = {path.partition(".")[0] for path in types}
    for name, file in sorted(modules.items()):
        module_file = _find_module_file(name)
        if module_file == file.resolve():
            trust_module(name)
        elif name in used_modules:
            raise BadInput(
                f"{file} has the name of a module that is imported instead ({module_file or name}): rename it."
            )


def _find_module_file(name: str) -> Path | None:
    """Find the file from which a module would be imported. Return None if there is none."""
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:
        # The module is loaded but has no spec. Hayhooks makes such modules for its wrappers.
        return None
    if spec is None or not spec.origin or not spec.has_location:
        return None
    return Path(spec.origin).resolve()
