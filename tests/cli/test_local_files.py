"""Where other programs keep their models, on Linux, macOS and Windows."""

import ntpath
from pathlib import Path, PureWindowsPath

import pytest

from prefrag.cli import local_files
from prefrag.cli.local_files import find_local_files

VARIABLES = ("LLAMA_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA", "APPDATA", "HF_HUB_CACHE", "HF_HOME")
LINUX = {
    "LM Studio": [".lmstudio/models/lmstudio-community/Qwen3-4B-GGUF/a.gguf", ".cache/lm-studio/models/x/y/b.gguf"],
    "llama.cpp": [".cache/llama.cpp/ggml-org_gemma-3-1b-it-GGUF_c.gguf"],
    "Jan": [".config/Jan/data/llamacpp/models/qwen/d.gguf", "jan/models/qwen/e.gguf"],
    "Hugging Face": [".cache/huggingface/hub/models--Qwen--Qwen3/snapshots/0123abc/f.gguf"],
    "GPT4All": [".local/share/nomic.ai/GPT4All/g.gguf"],
    "Downloads": ["Downloads/h.gguf"],
}
MACOS = {
    "LM Studio": [".lmstudio/models/x/y/a.gguf"],
    "llama.cpp": ["Library/Caches/llama.cpp/b.gguf"],
    "Jan": ["Library/Application Support/Jan/data/llamacpp/models/qwen/c.gguf"],
    "GPT4All": ["Library/Application Support/nomic.ai/GPT4All/d.gguf"],
}
WINDOWS = {
    "LM Studio": [".lmstudio/models/x/y/a.gguf"],
    "llama.cpp": ["AppData/Local/llama.cpp/b.gguf"],
    "Jan": ["AppData/Roaming/Jan/data/llamacpp/models/qwen/c.gguf"],
    "GPT4All": ["AppData/Local/nomic.ai/GPT4All/d.gguf"],
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a user who has set none of the variables."""
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    # Windows names the folder in another variable.
    for variable in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(variable, str(tmp_path))
    return tmp_path


def put(file: Path, content: bytes = b"GGUF") -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)


@pytest.mark.parametrize("system", [LINUX, MACOS, WINDOWS], ids=["linux", "macos", "windows"])
def test_every_program_is_found_in_its_folder(
    home: Path, monkeypatch: pytest.MonkeyPatch, system: dict[str, list[str]]
):
    if system is WINDOWS:
        monkeypatch.setenv("LOCALAPPDATA", str(home / "AppData" / "Local"))
        monkeypatch.setenv("APPDATA", str(home / "AppData" / "Roaming"))
    wanted = {(program, home / file) for program, files in system.items() for file in files}
    for _, file in wanted:
        put(file)

    assert set(find_local_files()) == wanted


def test_variables_of_the_programs_go_before(home: Path, monkeypatch: pytest.MonkeyPatch):
    for variable, file in (
        ("LLAMA_CACHE", "llama/a.gguf"),
        ("XDG_CACHE_HOME", "cache/llama.cpp/b.gguf"),
        ("HF_HUB_CACHE", "hub/models--a--b/snapshots/0/c.gguf"),
        ("HF_HOME", "hf/hub/models--a--b/snapshots/0/d.gguf"),
    ):
        put(home / file)
        monkeypatch.setenv(variable, str(home / file.split("/")[0]))

    assert sorted(path.name for _, path in find_local_files()) == ["a.gguf", "b.gguf", "c.gguf", "d.gguf"]


def test_what_answers_nothing_is_left_out(home: Path):
    models = home / ".lmstudio" / "models" / "x" / "y"
    for name in ("nomic-embed.gguf", "mmproj-f16.gguf", "big-00002-of-00003.gguf", "notes.txt"):
        put(models / name)
    put(models / "web-page.gguf", b"<html>")
    put(models / "big-00001-of-00003.gguf")
    put(home / "Downloads" / "folder" / "deep.gguf")

    assert [path.name for _, path in find_local_files()] == ["big-00001-of-00003.gguf"]


def test_every_folder_is_absolute_on_windows_too(monkeypatch: pytest.MonkeyPatch):
    for variable in VARIABLES:
        monkeypatch.setenv(variable, "C:\\Users\\me\\somewhere")

    folders = [folder for folders in local_files._FOLDERS.values() for folder in folders]

    for folder in folders:
        place = PureWindowsPath(ntpath.expandvars(folder).replace("~", "C:\\Users\\me", 1))
        assert place.is_absolute(), folder
