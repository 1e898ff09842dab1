"""Import the Python modules that lie beside a user's own YAML pipelines."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from prefrag.components.errors import BadInput

ALLOWLIST_VARIABLE = "HAYSTACK_DESERIALIZATION_ALLOWLIST"


def trust_modules(*names: str) -> None:
    """Let Haystack 3 build the components of some modules, because it only builds those of trusted modules.

    :param names: The names of modules or packages, whose submodules are trusted too.
    """
    listed = [name for name in os.environ.get(ALLOWLIST_VARIABLE, "").split(",") if name]
    os.environ[ALLOWLIST_VARIABLE] = ",".join(dict.fromkeys([*listed, *names]))


def make_importable(folder: Path, types: Iterable[str]) -> None:
    """Make the modules and packages in a folder importable, and trust only them.

    The folder goes to the end of the import path, so that nothing in it takes the place of an installed module.

    :param folder: The folder.
    :param types: The classes of the components that are about to be built, for example ``my_retriever.MyRetriever``.
    :raises BadInput: When one of them is in a module whose name an installed module has too.
    """
    files = {file.stem: file for file in folder.glob("*.py")}
    files |= {file.parent.name: file for file in folder.glob("*/__init__.py")}
    # `my.test.py` is no module, and looking it up would import `my`.
    modules = {name: file for name, file in files.items() if name.isidentifier() and name != "__init__"}
    if not modules:
        return
    if str(folder.resolve()) not in sys.path:
        sys.path.append(str(folder.resolve()))
    used = {name.partition(".")[0] for name in types}
    for name, file in sorted(modules.items()):
        found = _find_module_file(name)
        if found == file.resolve():
            trust_modules(name)
        elif name in used:
            raise BadInput(
                f"{file} has the name of another module, {found or name}, which is imported in its place: rename it."
            )


def _find_module_file(name: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(name)
    except ValueError:
        # A loaded module without a specification, as Hayhooks makes them for its wrappers.
        return None
    return Path(spec.origin).resolve() if spec and spec.origin and spec.has_location else None
