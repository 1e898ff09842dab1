"""Find GGUF files, which contain language models, in the folders of other programs on this machine.

Users can choose them as their model, and so need not fetch a model that they already have.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from prefrag.components.generators.model_files import is_gguf

# The folders in which programs store GGUF files, by the name of the program. `~` is the user's folder.
_FOLDERS = {
    "LM Studio": ("~/.lmstudio/models", "~/.cache/lm-studio/models"),
    "llama.cpp": (
        "$LLAMA_CACHE",
        "$XDG_CACHE_HOME/llama.cpp",
        "~/.cache/llama.cpp",
        "~/Library/Caches/llama.cpp",
        "$LOCALAPPDATA/llama.cpp",
    ),
    "Jan": (
        "~/jan/models",
        "~/.config/Jan/data",
        "~/.local/share/Jan/data",
        "~/Library/Application Support/Jan/data",
        "$APPDATA/Jan/data",
    ),
    "Hugging Face": ("$HF_HUB_CACHE", "$HF_HOME/hub", "~/.cache/huggingface/hub"),
    "GPT4All": (
        "~/.local/share/nomic.ai/GPT4All",
        "~/Library/Application Support/nomic.ai/GPT4All",
        "$LOCALAPPDATA/nomic.ai/GPT4All",
    ),
    "Downloads": ("~/Downloads",),
}
# How many levels of a folder are searched, for programs where this is not `_DEPTH`. 1 means only the folder itself.
_DEPTHS = {"Downloads": 1}
# How many levels of a folder are searched. LM Studio uses three (PUBLISHER/REPOSITORY/FILE), and Hugging Face uses four
# (REPOSITORY/snapshots/COMMIT/FILE).
_DEPTH = 5
# How many files are returned at most.
_MOST_FILES = 30
# After this many files in a folder and its subfolders, its search ends. GGUF files and other files count.
_MOST_ENTRIES = 20_000
# A name of a file without a model that can answer:
#
# - A model that only embeds, such as "nomic-embed-text.gguf".
# - An encoder of pictures, such as "mmproj-model.gguf".
# - A later part of a split model, such as "qwen-00002-of-00003.gguf". The first part, "qwen-00001-of-00003.gguf", does
#   not match.
_NO_MODEL = re.compile(r"embed|mmproj|-(?!00001)\d{5}-of-\d{5}", re.IGNORECASE)


def find_local_files() -> Iterator[tuple[str, Path]]:
    """Find GGUF files in the folders of other programs.

    :returns: An iterator over pairs of the name of the program and the path of the file. A file to which several paths
        lead is returned once.
    """
    real_paths: set[str] = set()
    for program, folders in _FOLDERS.items():
        for folder in folders:
            path = Path(os.path.expandvars(folder)).expanduser()
            # A variable that is not set stays in the path as it is, so the path is not absolute.
            if not path.is_absolute():
                continue
            for file in _walk(path, _DEPTHS.get(program, _DEPTH)):
                real_path = os.path.realpath(file)
                if real_path not in real_paths and len(real_paths) < _MOST_FILES and is_gguf(file):
                    real_paths.add(real_path)
                    yield program, file


def _walk(top: Path, depth: int) -> Iterator[Path]:
    """Yield the GGUF files in a folder and its subfolders, down to a depth. Depth 1 is the folder itself."""
    seen = 0
    for folder, subfolders, files in os.walk(top):
        depth_of_folder = len(Path(folder).relative_to(top).parts) + 1
        # `os.walk` enters the folders that stay in this list, in its order.
        if depth_of_folder >= depth:
            subfolders.clear()
        subfolders.sort()
        for name in sorted(files):
            seen += 1
            if seen > _MOST_ENTRIES:
                return
            if name.lower().endswith(".gguf") and not _NO_MODEL.search(name):
                yield Path(folder, name)
