"""`prefrag model`: what is on the machine, what is fetched, and what answers."""

import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from prefrag import settings
from prefrag.cli import kept_model, local_files
from prefrag.cli import model as commands
from prefrag.cli.kept_model import Choice, apply_chosen_model, read_choice, store_choice
from prefrag.cli.local_servers import LocalServer
from prefrag.components.generators import embedded_chat_generator, model_files, model_source
from prefrag.components.generators.ability_probe import AbilityProbe
from prefrag.components.generators.model_files import NotEnoughMemory, OfferedModel, check_memory, models_directory
from prefrag.components.generators.warm_model import keep_warm
from tests.cli.running import prefrag
from tests.components.generators.hub import CONTENT, FILE, REPOSITORY, Hub, running_hub

SOURCE = f"hf:{REPOSITORY}/{FILE}"
OFFER = OfferedModel(
    name="tiny", repository=REPOSITORY, file=FILE, bytes=len(CONTENT), licence="mit", good_for="tests of its use"
)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without model servers and files of other programs, with llama.cpp, and one offered model."""
    monkeypatch.setattr(kept_model, "find_local_servers", lambda: [])
    monkeypatch.setattr(local_files, "_FOLDERS", {"LM Studio": (str(tmp_path / "studio"),)})
    monkeypatch.setattr(model_files, "read_offers", lambda: [OFFER])
    monkeypatch.setattr(model_source, "read_offers", lambda: [OFFER])
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: find("json" if name == "xllamacpp" else name))
    monkeypatch.setattr("prefrag.components.generators.chat_model.ChatModel.warm_up", lambda model: None)
    monkeypatch.setattr(AbilityProbe, "try_async", _pass)
    monkeypatch.delenv("PREFRAG_LLM_FORMAT")


async def _pass(probe: AbilityProbe) -> str:
    return "4 of 4 tasks right"


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with running_hub() as running:
        monkeypatch.setenv("HF_ENDPOINT", running.url)
        yield running


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """A person at a terminal, who answers with these words in turn. Returns the questions."""

    def answers(*words: Any) -> list[str]:
        asked: list[str] = []
        left = list(words)

        def answer(question: str, **settings: Any) -> Any:
            asked.append(question)
            return left.pop(0)

        monkeypatch.setattr(commands, "can_ask_user", lambda: True)
        monkeypatch.setattr("typer.prompt", answer)
        monkeypatch.setattr("typer.confirm", answer)
        return asked

    return answers


def gguf(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(CONTENT)
    return path


class TestGet:
    def test_an_offered_model_is_fetched_and_answers_from_now_on(self, hub: Hub, terminal: Callable[..., list[str]]):
        asked = terminal("1", True)

        result = prefrag("model", "get")

        assert result.exit_code == 0, result.output
        assert "tests of its use" in result.stdout
        assert asked[1] == f"Download {SOURCE}, about 0 MB, licence mit from 127.0.0.1"
        assert "its SHA-256 is the one that the hub states" in result.stdout
        assert "What it can do: 4 of 4 tasks right." in result.stdout
        assert Path((read_choice() or Choice()).gguf).read_bytes() == CONTENT

    def test_nothing_is_asked_of_the_hub_before_the_user_agrees(self, hub: Hub, terminal: Callable[..., list[str]]):
        terminal(False)

        assert "Nothing was downloaded." in prefrag("model", "get", "tiny").stdout
        assert prefrag("model", "get").exit_code == 1  # no answer is left
        assert hub.asked == []

    def test_where_nobody_can_be_asked_a_download_needs_yes(self, hub: Hub):
        assert "prefrag model get NAME --yes" in prefrag("model", "get").stdout
        assert prefrag("model", "get", "tiny").exit_code == 2
        assert hub.asked == []
        assert prefrag("model", "get", "tiny", "--yes").exit_code == 0

    def test_a_size_or_licence_that_was_not_known_is_asked_again(self, hub: Hub, terminal: Callable[..., list[str]]):
        asked = terminal(True, False)

        result = prefrag("model", "get", SOURCE)

        assert asked == [f"Download {SOURCE} from 127.0.0.1", "Download it"]
        assert "tiny-q4 has 0 MB, licence mit." in result.stdout
        assert ("GET", f"/blob/{FILE}", None) not in hub.asked

    def test_a_chosen_model_is_not_replaced(self, hub: Hub):
        store_choice(Choice("http://127.0.0.1:1/v1", "qwen3"))

        assert "Use it with: prefrag model use tiny" in prefrag("model", "get", "tiny", "--yes").stdout
        assert read_choice() == Choice("http://127.0.0.1:1/v1", "qwen3")

    def test_a_model_that_is_there_is_not_fetched_again(self, hub: Hub):
        prefrag("model", "get", "tiny", "--yes")
        hub.asked.clear()

        assert "tiny is there already" in prefrag("model", "get", "tiny", "--yes").stdout
        assert hub.asked == []

    def test_another_revision_of_it_is_not_there_already(self, hub: Hub):
        prefrag("model", "get", SOURCE, "--yes")

        result = prefrag("model", "get", f"{hub.url}/{REPOSITORY}/resolve/v2/{FILE}", "--yes")

        assert (result.exit_code, result.stdout) == (2, "")
        assert f"is there already, from {SOURCE}: remove it first" in result.stderr

    @pytest.mark.parametrize("command", ["get", "use"])
    def test_a_folder_of_an_unknown_user_is_no_model(self, command: str):
        result = prefrag("model", command, "~nouser/x.gguf")

        assert result.exit_code in (2, 3)
        assert "~nouser/x.gguf" in result.stderr

    def test_a_file_on_this_machine_stays_where_it_is(self, tmp_path: Path):
        file = gguf(tmp_path / "mine.gguf")

        assert "mine stays where it is" in prefrag("model", "get", file).stdout
        assert read_choice() == Choice(gguf=str(file))
        assert "stays." in prefrag("model", "remove", "mine").stdout
        assert file.exists()
        assert read_choice() == Choice()

    def test_a_failure_is_one_line_and_its_exit_code(self, hub: Hub):
        hub.refusals["HEAD"] = (429, {"Retry-After": "7"})

        result = prefrag("model", "get", "tiny", "--yes")

        assert result.exit_code == 1
        assert result.stderr.strip().endswith("repeat the command in 7 seconds.")
        assert read_choice() is None


class TestUse:
    def test_a_model_of_a_server_is_chosen_by_its_name(self, monkeypatch: pytest.MonkeyPatch):
        server = LocalServer("Ollama", "http://127.0.0.1:1/v1", ("qwen3",))
        monkeypatch.setattr(kept_model, "find_local_servers", lambda: [server])

        assert "goes to the server at http://127.0.0.1:1/v1" in prefrag("model", "use", "qwen3").stdout
        assert read_choice() == Choice(server.base_url, "qwen3")
        assert "* qwen3  (Ollama, http://127.0.0.1:1/v1): not tried yet" in prefrag("model").stdout

    def test_without_llama_one_command_is_shown_and_nothing_changes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)

        result = prefrag("model", "use", gguf(tmp_path / "mine.gguf"))

        assert result.exit_code == 3
        assert f"uv pip install --python {sys.executable} xllamacpp - then: prefrag model use" in result.stderr
        assert read_choice() is None

    def test_command_for_llama_quotes_as_the_shell_of_the_system(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
        monkeypatch.setattr(sys, "executable", r"C:\Program Files\py\python.exe")

        monkeypatch.setattr(commands, "_IS_WINDOWS", True)
        assert commands.install_command() == r'uv pip install --python "C:\Program Files\py\python.exe" xllamacpp'
        monkeypatch.setattr(commands, "_IS_WINDOWS", False)
        assert commands.install_command() == r"uv pip install --python 'C:\Program Files\py\python.exe' xllamacpp"

    def test_a_model_too_large_for_the_memory_is_refused(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        file = gguf(tmp_path / "mine.gguf")
        monkeypatch.setattr(model_files, "free_memory", lambda: 300_000_000)

        result = prefrag("model", "use", file)

        assert "needs about 400 MB of memory, and 300 MB are free" in result.stderr
        assert read_choice() is None
        with pytest.raises(NotEnoughMemory):
            check_memory(file)
        monkeypatch.setattr(model_files, "free_memory", lambda: None)
        check_memory(file)

    def test_none_is_no_model(self, tmp_path: Path):
        prefrag("model", "use", gguf(tmp_path / "mine.gguf"))

        assert "No model answers from now on" in prefrag("model", "use", "none").stdout
        assert read_choice() == Choice()

    @pytest.mark.parametrize("command", ["use", "remove"])
    def test_an_unknown_name_is_refused(self, command: str):
        assert prefrag("model", command, "unheard").exit_code == 3
        assert prefrag("model", command, "..").exit_code == 3

    def test_the_environment_goes_before_and_is_named(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_LLM_GGUF", "other.gguf")
        file = gguf(tmp_path / "mine.gguf")

        assert "The environment names a model" in prefrag("model", "use", file).stdout
        monkeypatch.setenv("PREFRAG_LLM_GGUF", "other.gguf")
        apply_chosen_model()
        assert os.environ["PREFRAG_LLM_GGUF"] == "other.gguf"


class TestChoice:
    def test_a_chosen_file_is_used_by_a_later_command(self, tmp_path: Path):
        store_choice(Choice(gguf=str(tmp_path / "mine.gguf")))

        apply_chosen_model()

        assert os.environ["PREFRAG_LLM_GGUF"] == str(tmp_path / "mine.gguf")

    def test_the_model_of_one_run_goes_before_everything(self, tmp_path: Path):
        os.environ["PREFRAG_LLM_BASE_URL"], os.environ["PREFRAG_LLM_MODEL"] = "http://127.0.0.1:1/v1", "qwen3"
        file = gguf(tmp_path / "mine.gguf")

        apply_chosen_model(str(file))

        assert os.environ["PREFRAG_LLM_GGUF"] == str(file)
        assert os.environ["PREFRAG_LLM_BASE_URL"] == ""
        apply_chosen_model("none")
        assert os.environ["PREFRAG_LLM_GGUF"] == ""

    def test_model_of_one_run_gets_no_key_or_adapter_of_another(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "key").write_text("sk-remote")
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "https://remote.example/v1")
        monkeypatch.setenv("PREFRAG_LLM_API_KEY_FILE", str(tmp_path / "key"))
        monkeypatch.setenv("PREFRAG_LLM_ADAPTER", "other.gguf")
        assert settings.models["llm"].api_key == "sk-remote"

        apply_chosen_model(str(gguf(tmp_path / "mine.gguf")))
        assert (settings.models["llm"].api_key, settings.models["llm"].adapter) == ("", "")

        monkeypatch.setenv("PREFRAG_LLM_API_KEY", "sk-remote")
        apply_chosen_model("none")
        assert settings.models["llm"].api_key == ""

    def test_a_question_takes_a_model_by_its_name(self, script_pipeline: Callable[..., None]):
        script_pipeline()

        assert prefrag("ask", "Who built alpha?", "--model", "none").exit_code == 0
        assert prefrag("ask", "Who built alpha?", "--model", "unheard").exit_code == 3


class TestList:
    def test_files_of_other_programs_are_found_once_and_used_by_name(self, tmp_path: Path):
        file = gguf(tmp_path / "studio/maker/tiny-GGUF/tiny.gguf")
        (file.parent / "again.gguf").symlink_to(file)
        gguf(file.parent / "mmproj-tiny.gguf")
        gguf(file.parent / "embedder-embed.gguf")
        gguf(file.parent / "big-00002-of-00003.gguf")
        (file.parent / "text.gguf").write_text("no model")

        listed = [line for line in prefrag("model", "list").stdout.splitlines() if "LM Studio" in line]

        assert len(listed) == 1
        assert listed[0].endswith(": not tried yet")
        name = listed[0].split()[0]
        assert prefrag("model", "use", name).exit_code == 0

    def test_two_of_a_name_are_told_apart_by_their_place(self, tmp_path: Path):
        for folder in ("one", "two"):
            gguf(tmp_path / f"studio/{folder}/tiny.gguf")

        assert "Several models are called tiny" in prefrag("model", "use", "tiny").stderr

    def test_a_chosen_model_that_is_gone_is_said(self, tmp_path: Path):
        store_choice(Choice(gguf=str(tmp_path / "gone.gguf")))

        assert "gone.gguf) is not there now" in prefrag("model").stdout

    def test_a_damaged_record_stands_for_nothing(self):
        (models_directory() / "tiny").mkdir(parents=True)
        (models_directory() / "tiny/model.json").write_text("{")

        assert "No model is on this machine" in prefrag("model").stdout


class TestServe:
    @pytest.fixture
    def warm(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A file whose model llama.cpp would load; the command ends as if Ctrl-C were pressed at once."""

        class Server:
            listening_address = "http://127.0.0.1:1417"

        def load_model(*arguments: object) -> Server:
            return Server()

        def interrupt() -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(embedded_chat_generator, "load_model", load_model)
        monkeypatch.setattr(commands, "_wait_for_interrupt", interrupt)
        return gguf(tmp_path / "mine.gguf")

    def test_the_chosen_file_is_loaded_until_the_user_stops_it(self, warm: Path):
        store_choice(Choice(gguf=str(warm)))

        result = prefrag("model", "serve", "--port", "0")

        assert result.exit_code == 0, result.output
        assert "mine is loaded, at http://127.0.0.1:1417/v1." in result.stdout
        assert "`prefrag ask`, `chat` and `serve` use it meanwhile." in result.stdout
        assert "What it can do: 4 of 4 tasks right." in result.stdout
        assert result.stdout.endswith("The model is no longer loaded.\n")

    def test_another_file_is_asked_by_its_name(self, warm: Path):
        result = prefrag("model", "serve", warm, "--port", "0")

        assert f"To ask it: prefrag ask --model {warm}" in result.stdout

    def test_a_command_calls_the_server_that_runs_its_file(self, warm: Path, tmp_path: Path):
        store_choice(Choice(gguf=str(warm)))

        with keep_warm(warm, 0, 512) as model:
            assert f"mine is kept loaded, at http://127.0.0.1:1417/v1: {warm}" in prefrag("model").stdout
            apply_chosen_model()
            llm = settings.models["llm"]
            assert (llm.base_url, llm.model, llm.api_key) == (model.base_url, "mine", model.api_key)

            apply_chosen_model(str(gguf(tmp_path / "other.gguf")))
            assert settings.models["llm"].base_url == ""

    def test_with_an_adapter_the_file_is_loaded_by_the_command(self, warm: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_LLM_ADAPTER", "adapter.gguf")
        monkeypatch.setenv("PREFRAG_LLM_GGUF", str(warm))

        with keep_warm(warm, 0, 512):
            apply_chosen_model()

        assert settings.models["llm"].base_url == ""

    def test_a_model_of_another_program_is_kept_by_that_program(self):
        store_choice(Choice("http://127.0.0.1:1/v1", "qwen3"))

        result = prefrag("model", "serve")

        assert result.exit_code == 2
        assert "The program that serves another model keeps it loaded itself." in result.stderr
