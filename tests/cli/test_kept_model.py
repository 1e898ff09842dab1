"""Model servers on this machine are offered at the first question."""

import os
from collections.abc import Callable

import pytest

from prefrag.cli import kept_model
from prefrag.cli.kept_model import Choice, apply_chosen_model, choice_file, offer_model, read_choice, store_choice
from prefrag.cli.local_servers import LocalServer
from tests.cli.running import prefrag

OLLAMA = LocalServer("Ollama", "http://127.0.0.1:11434/v1", ("llama3.2", "qwen3"))
VLLM = LocalServer("vLLM", "http://127.0.0.1:8000/v1", ("Qwen/Qwen3-8B",))


@pytest.fixture
def probes(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Two servers on this machine, and how often it was searched for servers."""
    made: list[str] = []

    def find() -> list[LocalServer]:
        made.append("probed")
        return [OLLAMA, VLLM]

    monkeypatch.setattr(kept_model, "find_local_servers", find)
    return made


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """A person at a terminal, who gives this answer."""

    def answer(text: str) -> None:
        monkeypatch.setattr(kept_model, "can_ask_user", lambda: True)
        monkeypatch.setattr("typer.prompt", lambda *words, **settings: text)

    return answer


def chosen() -> tuple[str | None, str | None]:
    return os.environ.get("PREFRAG_LLM_BASE_URL"), os.environ.get("PREFRAG_LLM_MODEL")


def test_a_chosen_one_is_used_now_and_later(probes: list[str], terminal: Callable[[str], None]):
    terminal("2")
    offer_model()
    assert chosen() == (OLLAMA.base_url, "qwen3")

    os.environ.pop("PREFRAG_LLM_BASE_URL")
    os.environ.pop("PREFRAG_LLM_MODEL")
    offer_model()

    assert chosen() == (OLLAMA.base_url, "qwen3")
    assert probes == ["probed"]


def test_no_is_the_default_and_is_kept_too(probes: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(kept_model, "can_ask_user", lambda: True)
    monkeypatch.setattr("typer.prompt", lambda *words, default, **settings: default)

    offer_model()
    offer_model()

    assert chosen() == (None, None)
    assert probes == ["probed"]
    assert read_choice() == Choice()


@pytest.mark.parametrize("text", ["9", "-1", "qwen3", ""])
def test_an_answer_that_is_none_is_not_kept(probes: list[str], terminal: Callable[[str], None], text: str):
    terminal(text)

    offer_model()

    assert read_choice() is None


def test_search_for_a_model_needs_a_terminal_and_a_server(
    probes: list[str], terminal: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
):
    offer_model()
    assert probes == []
    terminal("1")
    monkeypatch.setattr(kept_model, "find_local_servers", lambda: [])
    offer_model()
    assert read_choice() is None


@pytest.mark.parametrize("variable", ["PREFRAG_LLM_BASE_URL", "PREFRAG_LLM_MODEL", "PREFRAG_LLM_GGUF"])
def test_where_a_model_is_set_nothing_is_searched(probes: list[str], terminal: Callable[[str], None], variable: str):
    terminal("1")
    os.environ[variable] = "set"

    offer_model()

    assert probes == []


@pytest.mark.parametrize("text", ["", "no", "[]", '{"base_url": 5}', '{"base_url": "http://x/v1"}', None])
def test_choice_is_ignored_if_damaged_or_the_environment_chooses(text: str | None):
    store_choice(Choice(OLLAMA.base_url, "qwen3"))
    if text is None:
        os.environ["PREFRAG_LLM_GGUF"] = "model.gguf"
    else:
        choice_file().write_text(text, encoding="utf-8")
    apply_chosen_model()
    assert chosen() == (None, None)


@pytest.mark.parametrize(("options", "asked"), [(("--json",), []), (("--quiet",), []), ((), ["probed"])])
def test_the_first_question_asks_and_a_script_is_not_asked(
    probes: list[str],
    terminal: Callable[[str], None],
    script_pipeline: Callable[..., None],
    options: tuple[str, ...],
    asked: list[str],
):
    terminal("0")
    script_pipeline()

    assert prefrag("ask", "Who built alpha?", *options).exit_code == 0
    assert probes == asked
