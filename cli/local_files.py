"""Find the GGUF files of other programs on this machine."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from prefrag.components.generators.model_files import is_gguf

# The folders in which programs keep GGUF files, by the name of the program. `~` is the user's folder.
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
# How deep a file may lie: LM Studio keeps PUBLISHER/REPOSITORY/FILE, Hugging Face REPOSITORY/snapshots/COMMIT/FILE.
_DEPTHS = {"Downloads": 1}
_DEPTH = 5
_MOST_FILES = 30
_MOST_ENTRIES = 20_000
# Files that hold no model that answers: those that only embed, pictures' encoders, and the later parts of split models.
_NO_MODEL = re.compile(r"embed|mmproj|-(?!00001)\d{5}-of-\d{5}", re.IGNORECASE)


def find_local_files() -> Iterator[tuple[str, Path]]:
    """Find GGUF files in the folders of other programs: the program and the path of each, every file once."""
    real: set[str] = set()
    for program, folders in _FOLDERS.items():
        for folder in folders:
            path = Path(os.path.expandvars(folder)).expanduser()
            # A variable that is not set stays as it is.
            if not path.is_absolute():
                continue
            for file in _walk(path, _DEPTHS.get(program, _DEPTH)):
                place = os.path.realpath(file)
                if place not in real and len(real) < _MOST_FILES and is_gguf(file):
                    real.add(place)
                    yield program, file


def _walk(top: Path, depth: int) -> Iterator[Path]:
    seen = 0
    for folder, inner, files in os.walk(top):
        if len(Path(folder).relative_to(top).parts) + 1 >= depth:
            inner.clear()
        inner.sort()
        for name in sorted(files):
            seen += 1
            if seen > _MOST_ENTRIES:
                return
            if name.lower().endswith(".gguf") and not _NO_MODEL.search(name):
                yield Path(folder, name)
