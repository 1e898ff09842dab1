"""Choose the pipelines to serve, and prepare each of them for Hayhooks, Haystack's server.

Hayhooks does not serve a pipeline itself but a wrapper: an object of a class with methods such as ``run_api``. Our own
pipelines are YAML files, which all get the wrapper `ServedPipeline`. Users may also have folders with wrappers of their
own.
"""

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
from prefrag.components.text.distinct import distinct
from prefrag.errors import BadInput, Missing
from prefrag.pipelines.blocks import blocks, is_block_of, parameters_of
from prefrag.pipelines.loading import find, folders, names, read_block
from prefrag.server.access.keys import current_access
from prefrag.server.chat.wrapper import ServedPipeline, TaskModel
from prefrag.settings import settings

# The value of ``PREFRAG_SERVE`` that chooses all pipelines.
ALL = "all"
# Only this pipeline is served by default. The others are for comparisons, and some need optional packages.
DEFAULT = "prefrag"


def choose_pipelines() -> dict[str, Path]:
    """Choose the pipelines to serve.

    - If ``PREFRAG_SERVE`` is ``all``, all pipelines and wrappers are served.
    - Otherwise it may have names of pipelines and paths of YAML files, separated by commas. These are served.
    - If it is not set, the wrappers in ``HAYHOOKS_PIPELINES_DIR`` are served.
    - If there are no wrappers either, the pipeline ``prefrag`` is served.

    :returns: The YAML file of each pipeline or the folder of each wrapper, by the name under which it is served.
    :raises Missing: If a folder, a name or a file does not exist.
    :raises BadInput: If two pipelines would be served under the same name.
    """
    wrappers = _find_wrappers()
    chosen = settings.serve
    for folder in folders():
        if not any(folder.glob("*.yaml")):
            raise Missing(f"There are no YAML pipelines in {folder}: set PREFRAG_PIPELINES_DIR to a folder with some.")
    if chosen == (ALL,):
        return {name: find(name) for name in names()} | wrappers

    served: dict[str, Path] = {}
    # Without a choice, serve the user's own wrappers or, if there are none, the default pipeline.
    chosen_names = distinct(chosen or wrappers or [DEFAULT])
    for chosen_name in chosen_names:
        path = wrappers.get(chosen_name) or find(chosen_name)
        name = chosen_name if path.is_dir() else path.stem
        if name in served:
            raise BadInput(f"{served[name]} and {path} would both be served as {name}: rename one of them.")
        served[name] = path
    return served


def check_index(files: Iterable[Path]) -> None:
    """Choose the default index and check that the indexes of the pipelines exist.

    The choice is written to the environment variable ``PREFRAG_INDEX``, if this is not set. An index that the YAML file
    locates by a path is not checked.

    :param files: The YAML files of the pipelines. Folders of wrappers are ignored.
    :raises FileNotFoundError: If an index that a pipeline searches is missing, or if none could be chosen.
    """
    unclear_choice: FileNotFoundError | None = None
    try:
        default_index = own_index()
    except FileNotFoundError as error:
        # There are several indexes, and none of them was named. This is wrong only if a pipeline needs the choice.
        default_index = DEFAULT_INDEX
        unclear_choice = error
    is_named = bool(settings.index)
    # Set the variable before the files are read, because a file may refer to it.
    set_index_variable(default_index)

    # The description of each part of each pipeline.
    parts: list[dict[str, object]] = []
    for file in files:
        if not file.is_dir():
            parts += blocks(read_block(file))
    if not is_named and any(is_block_of(part, ELASTICSEARCH_STORE) for part in parts):
        # The chosen index belongs to a folder on this machine. Elasticsearch has no index of this name.
        os.environ[INDEX_VARIABLE] = DEFAULT_INDEX

    # The indexes that the pipelines name. None stands for the chosen index.
    stores = [parameters_of(part) for part in parts if is_block_of(part, TANTIVY_STORE)]
    names = {store.get("index") for store in stores if not store.get("path")}
    if unclear_choice and None in names:
        raise unclear_choice
    for name in names:
        resolve_index(name)


def skips_broken() -> bool:
    """Check whether pipelines that cannot be loaded are skipped. This is so only if ``all`` was chosen."""
    return settings.serve == (ALL,)


def prepare_pipeline(name: str, path: Path) -> PreparedPipeline:
    """Load a pipeline and warm it up, so that Hayhooks can serve it.

    :param name: The name under which it is served.
    :param path: Its YAML file, or the folder of its wrapper.
    """
    if path.is_dir():
        return prepare_pipeline_files(name, files=read_pipeline_files_from_dir(path), save_files=False)
    module = ModuleType(name)
    setattr(module, "PipelineWrapper", type("PipelineWrapper", (ServedPipeline,), {"name": str(path)}))  # noqa: B010
    return PreparedPipeline(name=name, wrapper=create_pipeline_wrapper_instance(module))


def prepare_task_model(prepared: PreparedPipeline) -> PreparedPipeline | None:
    """Prepare the model that does tasks of front ends, such as writing titles. It is served as ``NAME-tasks``.

    :param prepared: The pipeline whose model it is.
    :returns: The model as a pipeline of its own. None if a user's own wrapper serves the pipeline.
    """
    served = prepared.wrapper
    if not isinstance(served, ServedPipeline):
        return None
    name = f"{prepared.name}-tasks"
    module = ModuleType(name)
    setattr(module, "PipelineWrapper", lambda: TaskModel(served))  # noqa: B010
    return PreparedPipeline(name=name, wrapper=create_pipeline_wrapper_instance(module))


def keep_modules_apart() -> None:
    """Load the modules of users' own wrappers under separate package names.

    Hayhooks imports a wrapper as a package with the name of its pipeline. A wrapper deployed as ``prefrag`` would
    replace our own package in ``sys.modules``, and undeploying it would remove our package. Hayhooks' loader accepts
    other package names, but its deploy routes pass none. So this function replaces the three functions that load, list
    and unload modules for those routes. Tried with Hayhooks 2.1.0, the newest version.

    A wrapper that somebody else wrote may search anything. So keys that allow only some collections may not use it.
    """

    def package(name: str) -> str:
        return f"prefrag_wrapper_{name}"

    def load_module(name: str, dir_path: object) -> ModuleType:
        """Load the module of a wrapper. If somebody else wrote the wrapper, it refuses restricted keys."""
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
def _refuse_restricted_keys(wrapper: object) -> None:
    """Change the run methods of a wrapper class so that they refuse keys that allow only some collections."""

    def guard(method: Callable[..., object]) -> Callable[..., object]:
        """Return a method that refuses restricted keys and otherwise calls the given method."""

        @functools.wraps(method)
        def run(*arguments: object, **options: object) -> object:
            if current_access.get().collections is not None:
                message = "This pipeline may search any collection. Your key allows only some: use another pipeline."
                raise HTTPException(HTTPStatus.FORBIDDEN, message)
            # An asynchronous method returns a coroutine here, which Hayhooks awaits.
            return method(*arguments, **options)

        return run

    names = [name for name in dir(BasePipelineWrapper) if name.startswith("run_")]
    for name in names:
        # Change only methods that the wrapper overrides. Hayhooks finds them in the same way: it compares each method
        # with its own. A method that is not overridden must stay the same object.
        method = getattr(wrapper, name)
        if method is not getattr(BasePipelineWrapper, name):
            setattr(wrapper, name, guard(method))


def _find_wrappers() -> dict[str, Path]:
    """Return the folder of each wrapper in ``HAYHOOKS_PIPELINES_DIR``, by its name. Empty if that is not set."""
    path = settings.wrappers_dir
    if path is None:
        return {}
    if not path.is_dir():
        raise Missing(f"There is no folder {path}: set HAYHOOKS_PIPELINES_DIR to an existing folder, or unset it.")
    folders = [file.parent for file in sorted(path.glob("*/pipeline_wrapper.py"))]
    # Editors keep copies of files in hidden folders. The copies must not be run.
    return {folder.name: folder for folder in folders if not folder.name.startswith((".", "__"))}
