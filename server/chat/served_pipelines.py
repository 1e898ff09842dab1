"""Choose the pipelines to serve, and prepare each for Hayhooks, Haystack's server."""

import functools
import os
from collections.abc import Callable, Iterable
from http import HTTPStatus
from pathlib import Path
from types import ModuleType
from typing import Any

from fastapi import HTTPException
from hayhooks.server.utils import deploy_utils, module_loader
from hayhooks.server.utils.base_pipeline_wrapper import BasePipelineWrapper
from hayhooks.server.utils.deploy_utils import prepare_pipeline_files, read_pipeline_files_from_dir
from hayhooks.server.utils.models import PreparedPipeline
from hayhooks.server.utils.module_loader import create_pipeline_wrapper_instance
from hayhooks.server.utils.yaml_pipeline_wrapper import YAMLPipelineWrapper

from prefrag.components.document_stores.tantivy.index_location import (
    DEFAULT_INDEX,
    INDEX_VARIABLE,
    own_index,
    resolve_index,
    set_index_variable,
)
from prefrag.components.parts import ELASTICSEARCH_STORE, TANTIVY_STORE
from prefrag.errors import BadInput, Missing
from prefrag.pipelines.blocks import blocks, is_block_of, parameters_of
from prefrag.pipelines.loading import find, folders, names, read_block
from prefrag.server.access.keys import current_access
from prefrag.server.chat.wrapper import ServedPipeline, TaskModel
from prefrag.settings import settings

ALL = "all"
# Only this pipeline is served by default. The others are for comparisons, and some need optional packages.
DEFAULT = "prefrag"


def choose_pipelines() -> dict[str, Path]:
    """Choose the pipelines to serve.

    ``PREFRAG_SERVE`` is ``all``, or names of pipelines and paths of YAML files, separated by commas. If it is not set,
    the wrappers (classes) in ``HAYHOOKS_PIPELINES_DIR`` are served. If neither is set, ``prefrag`` is served.
    """
    wrappers = _find_wrappers()
    chosen = settings.serve
    for folder in folders():
        if not any(folder.glob("*.yaml")):
            raise Missing(f"There are no YAML pipelines in {folder}: set PREFRAG_PIPELINES_DIR to a folder with some.")
    if chosen == (ALL,):
        return {name: find(name) for name in names()} | wrappers
    served: dict[str, Path] = {}
    for chosen_name in dict.fromkeys(chosen or wrappers or [DEFAULT]):
        path = wrappers.get(chosen_name) or find(chosen_name)
        name = chosen_name if path.is_dir() else path.stem
        if name in served:
            raise BadInput(f"{served[name]} and {path} would both be served as {name}: rename one of them.")
        served[name] = path
    return served


def check_index(files: Iterable[Path]) -> None:
    """Set ``PREFRAG_INDEX`` if it is not set. Raise an error if an index that a pipeline searches is missing."""
    try:
        chosen, several = own_index(), None
    except FileNotFoundError as error:
        chosen, several = DEFAULT_INDEX, error
    is_named = bool(settings.index)
    # Before the files are read, because they may name the variable.
    set_index_variable(chosen)
    parts = [part for file in files if not file.is_dir() for part in blocks(read_block(file))]
    if not is_named and any(is_block_of(part, ELASTICSEARCH_STORE) for part in parts):
        # The folder's index is on this machine. Elasticsearch has none of this name.
        os.environ[INDEX_VARIABLE] = DEFAULT_INDEX
    stores = [parameters_of(part) for part in parts if is_block_of(part, TANTIVY_STORE)]
    names = {store.get("index") for store in stores if not store.get("path")}
    if several and None in names:
        raise several
    for name in names:
        resolve_index(name)


def skips_broken() -> bool:
    """Check whether pipelines that cannot be loaded are skipped. This is so only if ``all`` was chosen."""
    return settings.serve == (ALL,)


def prepare_pipeline(name: str, path: Path) -> PreparedPipeline:
    """Load a pipeline and warm it up, ready for Hayhooks to serve it."""
    if path.is_dir():
        return prepare_pipeline_files(name, files=read_pipeline_files_from_dir(path), save_files=False)
    module = ModuleType(name)
    setattr(module, "PipelineWrapper", type("PipelineWrapper", (ServedPipeline,), {"name": str(path)}))  # noqa: B010
    return PreparedPipeline(name=name, wrapper=create_pipeline_wrapper_instance(module))


def prepare_task_model(prepared: PreparedPipeline) -> PreparedPipeline | None:
    """Prepare the model that does tasks of front ends, such as writing titles. It is served as ``NAME-tasks``."""
    served = prepared.wrapper
    if not isinstance(served, ServedPipeline):
        return None
    name = f"{prepared.name}-tasks"
    module = ModuleType(name)
    setattr(module, "PipelineWrapper", lambda: TaskModel(served))  # noqa: B010
    return PreparedPipeline(name=name, wrapper=create_pipeline_wrapper_instance(module))


def keep_modules_apart() -> None:
    """Load the modules of wrappers (classes that serve pipelines) under separate package names.

    Hayhooks imports a wrapper as a package with the pipeline's name. A wrapper deployed as ``prefrag`` would replace
    our own package in ``sys.modules``, and undeploying it would remove our package. Hayhooks' loader accepts other
    package names, but its deploy routes pass none. So this function replaces the three functions that load, list and
    unload modules for those routes. Tried with Hayhooks 2.1.0, the newest version.

    A wrapper that somebody else wrote may search anything, so keys that allow only some collections may not use it.
    """

    def package(name: str) -> str:
        return f"prefrag_wrapper_{name}"

    def load_module(name: str, dir_path: Any) -> ModuleType:
        module: ModuleType = module_loader.load_pipeline_module(name, dir_path, package_name=package(name))
        wrapper: Any = getattr(module, "PipelineWrapper", None)
        if wrapper is not None and not issubclass(wrapper, ServedPipeline):
            _refuse_restricted_keys(wrapper)
        return module

    deploy_utils.load_pipeline_module = load_module
    _refuse_restricted_keys(YAMLPipelineWrapper)
    deploy_utils.pipeline_modules = lambda name: module_loader.pipeline_modules(package(name))
    deploy_utils.unload_pipeline_modules = lambda name: module_loader.unload_pipeline_modules(package(name))


@functools.cache
def _refuse_restricted_keys(wrapper: Any) -> None:
    """Change a wrapper's run methods so that they refuse requests whose key may search only some collections."""

    def guard(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(*arguments: Any, **options: Any) -> Any:
            if current_access.get().collections is not None:
                message = "This pipeline may search any collection. Your key allows only some: use another pipeline."
                raise HTTPException(HTTPStatus.FORBIDDEN, message)
            # An asynchronous method returns a coroutine here, which Hayhooks awaits.
            return method(*arguments, **options)

        return run

    for name in dir(BasePipelineWrapper):
        # Change only overridden methods, which Hayhooks detects by comparing them with its own.
        if not name.startswith("run_"):
            continue
        method = getattr(wrapper, name)
        if method is not getattr(BasePipelineWrapper, name):
            setattr(wrapper, name, guard(method))


def _find_wrappers() -> dict[str, Path]:
    path = settings.wrappers_dir
    if path is None:
        return {}
    if not path.is_dir():
        raise Missing(f"There is no folder {path}: set HAYHOOKS_PIPELINES_DIR to an existing folder, or unset it.")
    wrappers = (wrapper.parent for wrapper in sorted(path.glob("*/pipeline_wrapper.py")))
    # Editors keep copies of files in hidden folders. These copies must not be run.
    return {wrapper.name: wrapper for wrapper in wrappers if not wrapper.name.startswith((".", "__"))}
