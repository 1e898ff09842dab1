"""The surroundings of every test: no settings of the machine, no network, and fakes without memory."""

import atexit
import gc
import inspect
import os
import ssl
import sys
import typing
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace

import pytest
import yaml
from haystack.marshal import yaml as haystack_yaml

# A client of a model server first reads all certificates of the machine, which takes longer than most tests.
ssl.create_default_context = cache(ssl.create_default_context)

# Python 3.11 lists the attributes of a protocol at each isinstance, and Haystack checks each value that way.
if sys.version_info < (3, 12):
    typing._get_protocol_attrs = cache(typing._get_protocol_attrs)  # type: ignore[attr-defined]

# Haystack reads a component's signatures again for each instance, which takes half of the time to load a pipeline.
for module, name in ((inspect, "signature"), (typing, "get_type_hints")):
    read_once = SimpleNamespace(**{**vars(module), name: cache(getattr(module, name))})
    setattr(import_module("haystack.core.component.component"), module.__name__, read_once)

# Haystack reads and writes YAML in Python, which takes ten times as long as the same in C.
if yaml.__with_libyaml__:

    class _Loader(yaml.CSafeLoader):
        yaml_constructors = haystack_yaml.YamlLoader.yaml_constructors
        construct_python_tuple = haystack_yaml.YamlLoader.construct_python_tuple

    class _Dumper(yaml.CSafeDumper):
        yaml_representers = haystack_yaml.YamlDumper.yaml_representers
        represent_tuple = haystack_yaml.YamlDumper.represent_tuple

    haystack_yaml.YamlLoader, haystack_yaml.YamlDumper = _Loader, _Dumper  # type: ignore[misc]

# Imports and test collection leave no garbage; looking for it would double the time of the collection.
gc.disable()
atexit.register(gc.unfreeze)

from tests import fakes  # noqa: E402
from tests.indexes import MEMORY  # noqa: E402
from tests.scripted_pipeline import script_pipeline  # noqa: E402, F401


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()
    # Python looks for garbage at every 700 new objects, which takes a twentieth of the time of the tests.
    gc.set_threshold(20_000)


def pytest_sessionfinish() -> None:
    # Otherwise pytest would look for garbage five times before it ends.
    gc.freeze()


@pytest.fixture(scope="session")
def _data_directories() -> Iterator[Iterator[Path]]:
    # To number its temporary folders, pytest reads the names of all others beside them, which are thousands with one
    # per test. Few tests need such a folder, and those make one themselves.
    with TemporaryDirectory(prefix="prefrag-data-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        yield (Path(folder) / str(number) for number in count())


@pytest.fixture(autouse=True)
def _own_surroundings(monkeypatch: pytest.MonkeyPatch, _data_directories: Iterator[Path]) -> None:
    for name in list(os.environ):
        if name.startswith(("PREFRAG_", "HAYHOOKS_", "OPENAI_")) and not name.startswith("PREFRAG_TEST_"):
            monkeypatch.delenv(name)
    # The web of the tests is a script, so it is open. Tests of a web without consent set this themselves.
    monkeypatch.setenv("PREFRAG_WEB", "on")
    # A scripted model is not tried: that would use up its replies. Tests of the trial unset this.
    monkeypatch.setenv("PREFRAG_LLM_FORMAT", "text")
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(next(_data_directories)))
    fakes.CALLS.clear()
