"""A model that a process of its own keeps loaded."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.generators import embedded_chat_generator
from prefrag.components.generators.warm_model import find_warm_model, keep_warm
from prefrag.errors import BadInput
from tests.gguf import GGUF, needs_gguf

FILE = Path(GGUF)
_CHILD = """
from prefrag.components.generators.warm_model import find_warm_model
model = find_warm_model()
print(model.base_url if model else "none")
"""


class _Server:
    listening_address = "http://127.0.0.1:1"


@pytest.fixture
def loading(monkeypatch: pytest.MonkeyPatch) -> None:
    """llama.cpp, which loads every file at once."""
    monkeypatch.setattr(embedded_chat_generator, "load_model", lambda *arguments: _Server())


def _find_in_another_process() -> str:
    child = subprocess.run([sys.executable, "-c", _CHILD], capture_output=True, text=True, check=True)
    return child.stdout.strip()


@needs_gguf
class TestRealModel:
    def test_server_answers_only_who_has_the_key(self):
        body = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 3}

        with keep_warm(FILE, 0, 512) as model:
            url = f"{model.base_url}/chat/completions"
            reply = httpx.post(url, json=body, headers={"Authorization": f"Bearer {model.api_key}"}, timeout=60)
            refused = httpx.post(url, json=body, timeout=60)
            elsewhere = _find_in_another_process()

        assert reply.json()["choices"][0]["message"]["content"]
        assert refused.status_code == 401
        assert elsewhere == model.base_url
        assert _find_in_another_process() == "none"
        with pytest.raises(httpx.ConnectError):
            httpx.get(url, timeout=5)


@pytest.mark.usefixtures("loading")
class TestState:
    def test_model_is_found_by_any_name_of_its_file(self, tmp_path: Path):
        file, link = tmp_path / "model.gguf", tmp_path / "link.gguf"
        file.touch()
        link.symlink_to(file)

        with keep_warm(link, 0, 512) as model:
            assert find_warm_model() == model
            assert model.runs(str(file))
            assert not model.runs(str(tmp_path / "other.gguf"))
            assert model.api_key not in repr(model)

        assert find_warm_model() is None

    @pytest.mark.skipif(os.name != "posix", reason="no modes")
    def test_only_the_user_can_read_the_key(self, tmp_path: Path):
        with keep_warm(tmp_path / "model.gguf", 0, 512):
            assert (data_directory() / "warm-model.json").stat().st_mode & 0o777 == 0o600

    def test_two_servers_are_refused(self, tmp_path: Path):
        with keep_warm(tmp_path / "model.gguf", 0, 512), pytest.raises(BadInput, match="Another `prefrag model serve`"):
            keep_warm(tmp_path / "model.gguf", 0, 512).__enter__()

    def test_a_taken_port_is_named_before_the_model_is_loaded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(embedded_chat_generator, "load_model", pytest.fail)
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]

            with pytest.raises(BadInput, match=f"Port {port} is taken"):
                keep_warm(tmp_path / "model.gguf", port, 512).__enter__()

    def test_what_a_killed_server_left_stands_for_nothing(self, tmp_path: Path):
        with keep_warm(tmp_path / "model.gguf", 0, 512):
            left = (data_directory() / "warm-model.json").read_text()

        (data_directory() / "warm-model.json").write_text(left)

        assert json.loads(left)["base_url"] == "http://127.0.0.1:1/v1"
        assert find_warm_model() is None
        assert not (data_directory() / "warm-model.json").exists()

    def test_a_killed_server_is_forgotten_while_another_loads(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        def load_model(*arguments: object) -> _Server:
            assert find_warm_model() is None
            return _Server()

        monkeypatch.setattr(embedded_chat_generator, "load_model", load_model)
        data_directory().mkdir(parents=True, exist_ok=True)
        stale = {"base_url": "http://127.0.0.1:2/v1", "name": "old", "gguf": "old.gguf", "api_key": "old"}
        (data_directory() / "warm-model.json").write_text(json.dumps(stale))

        with keep_warm(tmp_path / "model.gguf", 0, 512) as model:
            assert find_warm_model() == model

    @pytest.mark.parametrize("text", ["{", "[]", "{}", '{"base_url": 1, "name": "a", "gguf": "b", "api_key": "c"}'])
    def test_a_damaged_description_stands_for_nothing(self, text: str, tmp_path: Path):
        with keep_warm(tmp_path / "model.gguf", 0, 512):
            (data_directory() / "warm-model.json").write_text(text)

            assert find_warm_model() is None
