"""`prefrag chat`: questions one after the other, and the commands between them."""

import os
import signal
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from typer.testing import CliRunner

from prefrag.cli.main import app
from tests.components.generators.fake_model_server import HANG, FakeModelServer
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search
from tests.python_process import start_python

QUESTION = "In which year did the yard that built alpha win the prize?"
STATED = "We sold the yard to Quill in 1974."


@pytest.fixture
def chat(script_pipeline: Callable[..., None]) -> Callable[..., Any]:
    """Type lines to a scripted pipeline, without a terminal."""

    def run(*lines: str, options: tuple[str, ...] = (), script: tuple[str, ...] = (answer("1974"),)) -> Any:
        script_pipeline(*script)
        return CliRunner().invoke(app, ["chat", *options], input="\n".join(lines) + "\n")

    return run


def prompts() -> list[str]:
    return [call["prompt"] for call in CALLS["model"]]


def test_each_line_is_a_question(chat: Callable[..., Any]):
    result = chat("Who built alpha?", "", "And beta?")

    assert (result.exit_code, result.stdout.count("Answer: 1974\nLabel: no label")) == (0, 2)
    assert "Question: Who built alpha?\n" in result.stdout
    assert "Question: And beta?\n" in result.stdout


@for_each("options, looks", ((), 1), (("--quiet",), 0))
def test_local_model_is_looked_for_unless_quiet(
    chat: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, options: tuple[str, ...], looks: int
):
    offer = mock.Mock()
    monkeypatch.setattr("prefrag.cli.chat.offer_model", offer)

    chat("Who built alpha?", options=options)

    assert offer.call_count == looks


def test_follow_up_is_understood_until_a_new_conversation(chat: Callable[..., Any]):
    chat("Who built alpha?", "And beta?", script=(answer("Gamma"),))
    assert "user: Who built alpha?\nassistant: Gamma" in prompts()[1]

    CALLS.clear()
    chat("Who built alpha?", "/new", "And beta?", script=(answer("Gamma"),))
    assert len(prompts()) == 2
    assert "Gamma" not in prompts()[1]


def test_steps_are_shown_unless_it_is_quiet(chat: Callable[..., Any]):
    script = (search("alpha"), answer("Beta"))

    assert "Search local: alpha" in chat(QUESTION, script=script).stdout
    assert chat(QUESTION, script=script, options=("--quiet",)).stdout == "Answer: Beta\nLabel: no label\n"


class TestCommands:
    def test_sources_are_listed_and_chosen(self, chat: Callable[..., Any]):
        result = chat("/sources", "/sources local", "/sources all")

        assert result.stdout.splitlines() == [
            "local: searched",
            "web (external): searched, if it is allowed",
            "local: searched",
            "web (external): left out",
            "local: searched",
            "web (external): searched, if it is allowed",
        ]

    def test_web_is_closed_and_opened_unless_administrator_closed_it(
        self, chat: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ):
        result = chat("/web off", "/web on", options=("--quiet",))
        assert result.stdout.splitlines() == ["The web is closed.", "The web is open."]
        assert os.environ["PREFRAG_WEB"] == "on"
        monkeypatch.setenv("PREFRAG_WEB", "off")
        result = chat("/web on")
        assert (result.exit_code, "unset that to open it" in result.stderr) == (2, True)

    def test_are_listed_by_help_and_quit_ends(self, chat: Callable[..., Any]):
        assert "/sources" in chat("/help").stdout
        for line in ("/quit", "/exit"):
            assert chat(line, "Who built alpha?").stdout == ""

    @for_each("line", "/nonsense", "/web maybe", "/sources nowhere")
    def test_unknown_command_is_named_and_the_conversation_goes_on(self, chat: Callable[..., Any], line: str):
        result = chat(line, "Who built alpha?")

        assert "There is no" in result.stderr
        assert "Answer: 1974" in result.stdout
        assert result.exit_code == 2


class TestFailures:
    def test_failed_question_is_told_and_not_remembered(self, chat: Callable[..., Any]):
        result = chat("long " * 1_000, "Who built alpha?")

        assert result.exit_code == 2
        assert "Error:" in result.stderr
        assert "Answer: 1974" in result.stdout
        assert len(prompts()) == 1

    @pytest.mark.slow
    def test_ctrl_c_gives_up_the_question_and_keeps_the_conversation(self, script_pipeline: Callable[..., None]):
        script_pipeline("unused", replace={"ChatModel": {"type": "prefrag.components.generators.chat_model.ChatModel"}})
        model = FakeModelServer()
        model.answers = [(200, HANG)]
        variables = {"PREFRAG_LLM_BASE_URL": model.url, "PREFRAG_LLM_MODEL": "served"}
        try:
            with start_python("-m", "prefrag.cli.main", "chat", **variables) as process:
                assert process.stdin is not None
                process.stdin.write(f"{QUESTION}\n")
                process.stdin.flush()
                assert model.called.wait(60)
                process.send_signal(signal.SIGINT)
                assert model.left.wait(20)
                output, errors = process.communicate("/sources\n", timeout=60)
        finally:
            model.close()

        assert "The conversation goes on without this question." in errors
        assert "local: searched" in output
        assert process.returncode == 0


@for_each("says, queries", (True, ["What is alpha?", f"{STATED} What is alpha?"]), (False, ["What is alpha?"]))
def test_a_message_is_sent_as_a_whole_only_if_the_person_says_so(
    chat: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, says: bool, queries: list[str]
):
    monkeypatch.setattr("prefrag.cli.web_consent.can_ask_user", lambda: True)
    confirm = mock.Mock(return_value=says)
    monkeypatch.setattr("prefrag.cli.web_consent.typer.confirm", confirm)

    chat(f"{STATED} What is alpha?", script=(answer("1812", "INCORRECT"), answer()) * 2)

    assert [call["query"] for call in CALLS["web"]] == queries
    (shown,) = confirm.call_args.args
    assert shown.endswith(f"Search the web for this? {STATED} What is alpha?")
