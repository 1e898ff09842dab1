"""What is known of a model, from its server or its file, and what other processes learn of it."""

import struct
from pathlib import Path
from typing import Any

import pytest

from prefrag.components.document_stores.tantivy.index_location import data_directory
from prefrag.components.generators import model_record
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.model_record import ModelRecord, find_record, read_size
from tests.components.generators.fake_model_server import QUESTION, FakeModelServer
from tests.for_each import for_each


@pytest.fixture(autouse=True)
def _nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_record, "_records", {})
    monkeypatch.delenv("PREFRAG_LLM_FORMAT")


def restart() -> None:
    """Forget everything that is not stored, as in a new process."""
    model_record._records.clear()


def warm(**settings: Any) -> ChatModel:
    model = ChatModel(**settings)
    model.warm_up()
    return model


def llama(server: FakeModelServer, weights: int | None, build: str = "b5000") -> None:
    """Let the server speak like llama.cpp's."""
    server.listed = {"data": [{"id": "tiny", "meta": {"n_ctx_train": 32_768, "n_params": weights}}]}
    server.pages["/props"] = {"default_generation_settings": {"n_ctx": 6_144}, "build_info": build}


@for_each(
    "is_silent, is_elsewhere, guess",
    (True, False, "steps"),
    (False, False, "text"),
    (True, True, "text"),
)
def test_a_silent_server_of_this_machine_counts_as_small(
    server: FakeModelServer, monkeypatch: pytest.MonkeyPatch, is_silent: bool, is_elsewhere: bool, guess: str
):
    """A machine that is busy with its model may not state its size in time."""
    model_record._records.clear()
    llama(server, None)
    if is_elsewhere:
        monkeypatch.setattr("prefrag.components.generators.chat_model.is_local", lambda host: False)
    model = ChatModel() if is_silent else warm()

    assert model.reply_format == guess


def test_estimate_by_a_servers_count_rises_fast_and_falls_slowly():
    record, factors = ModelRecord("m"), []
    for counted in (100, 150, 50, 50, 10_000):
        record.learn_tokens(counted, 100)
        factors.append(record.token_factor)

    assert factors == [1.0, 1.5, 1.0, 1.0, 3.0]
    record.learn_tokens(200, 100)
    assert record.token_factor == 2.5


class TestKeeping:
    def test_facts_are_shared_by_all_callers_and_later_processes(self, server: FakeModelServer):
        llama(server, 1_500_000_000)
        first, other = warm(), warm(role="judge")

        first.keep(reply_format="text", reason="4 of 4 tasks right", verdicts=(24, 30))

        assert other.record is first.record
        restart()
        later = warm().record
        assert (later.reply_format, later.reason, later.verdicts) == ("text", "4 of 4 tasks right", (24, 30))
        assert (later.window, later.parameters, later.build) == (6_144, 1_500_000_000, "b5000")

    def test_another_build_or_another_model_is_another_matter(self, server: FakeModelServer):
        llama(server, 1_500_000_000)
        warm().keep(reply_format="text")

        restart()
        llama(server, 1_500_000_000, "b6000")
        assert warm().record.reply_format == ""
        assert find_record(f"{server.url} large").reply_format == ""

    @for_each("content", "", "[]", '{"server tiny": 3}', "{", '{"server tiny": {"verdicts": "many"}}')
    def test_a_broken_file_is_named_and_written_anew(self, content: str, caplog: pytest.LogCaptureFixture):
        restart()
        data_directory().mkdir(parents=True, exist_ok=True)
        (data_directory() / "models.json").write_text(content)

        record = find_record("server tiny")
        record.keep(reply_format="steps")
        assert "models.json (it is damaged)" in caplog.text

        restart()
        assert find_record("server tiny").reply_format == "steps"

    def test_a_folder_that_cannot_be_written_to_is_no_error(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "file").touch()
        monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "file"))

        record = find_record("server tiny")
        record.keep(reply_format="steps", reason="2 of 4 tasks right")

        assert record.reply_format == "steps"


class TestSize:
    @for_each(
        "label, weights",
        *(("1.5B", 1_500_000_000), ("135M", 135_000_000), ("8x7B", 56_000_000_000), ("large", None), (7, None)),
    )
    def test_is_read_from_a_label(self, label: Any, weights: int | None):
        assert read_size(label) == weights

    @for_each(
        "head, rest, weights",
        (b"GGUF" + b"general.size_label" + struct.pack("<IQ", 8, 4) + b"1.5B" + b"\0", 0, 1_500_000_000),
        (b"GGUF" + b"general.parameter_count" + struct.pack("<IQ", 10, 135_000_000), 0, 135_000_000),
        (b"GGUF", 5_000, 5_004),
    )
    def test_of_a_file_is_what_the_file_states_or_about_its_bytes(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, head: bytes, rest: int, weights: int
    ):
        file = tmp_path / "model.gguf"
        file.write_bytes(head + b"\0" * rest)
        monkeypatch.setenv("PREFRAG_LLM_GGUF", str(file))
        restart()

        assert ChatModel().record.parameters == weights

    def test_a_file_that_was_replaced_is_another_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        file = tmp_path / "model.gguf"
        file.write_bytes(b"GGUF")
        monkeypatch.setenv("PREFRAG_LLM_GGUF", str(file))
        model = ChatModel()
        model.keep(reply_format="text")
        assert ChatModel().reply_format == "text"

        file.write_bytes(b"GGUF of another model")

        assert model.reply_format == "steps"


class TestOllama:
    @pytest.fixture(autouse=True)
    def _ollama(self, server: FakeModelServer) -> None:
        server.listed = {"data": [{"id": "tiny:latest", "owned_by": "library"}]}
        server.pages["/api/version"] = {"version": "0.9.0"}
        server.pages["/api/tags"] = {"models": [{"name": "tiny:latest", "details": {"parameter_size": "1.5B"}}]}
        server.pages["/api/ps"] = {"models": []}

    def test_unloaded_model_gets_the_usual_window_until_it_has_more(self, server: FakeModelServer):
        model = warm()
        assert (model.context_window, model.record.parameters, model.record.build) == (4_096, 1.5e9, "Ollama 0.9.0")

        server.pages["/api/ps"] = {"models": [{"name": "tiny:latest", "context_length": 16_384}]}
        model.record.silent_until = 0.5
        model.run(QUESTION)

        assert model.context_window == 16_384
        assert model.record.has_answered

    def test_another_server_without_a_window_keeps_the_usual_one(self, server: FakeModelServer):
        del server.pages["/api/version"]

        assert warm().context_window == 8_192


class TestFirstGuess:
    @for_each("weights, name", (1_500_000_000, "steps"), (7_600_000_000, "text"), (None, "text"))
    def test_goes_by_size_until_the_model_was_tried(self, server: FakeModelServer, weights: int | None, name: str):
        restart()
        llama(server, weights)

        model = warm()

        assert model.reply_format == name
        assert "has not been tried yet" in model.format_reason

    def test_gives_way_to_the_trial_and_that_to_the_setting(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        model = warm()
        model.keep(reply_format="steps", reason="2 of 4 tasks right")
        assert (model.reply_format, model.format_reason) == ("steps", "2 of 4 tasks right")

        monkeypatch.setenv("PREFRAG_LLM_FORMAT", "Tools")

        assert (model.reply_format, model.format_reason) == ("tools", "PREFRAG_LLM_FORMAT says so")

    def test_of_a_file_without_facts_is_small_and_of_no_model_none(self, monkeypatch: pytest.MonkeyPatch):
        assert (ChatModel().reply_format, ChatModel().record) == ("", ModelRecord(""))

        monkeypatch.setenv("PREFRAG_LLM_GGUF", "absent.gguf")

        assert ChatModel().reply_format == "steps"


@for_each("host, seconds", ("http://127.0.0.1:1/v1", 600), ("https://models.example/v1", 120))
def test_a_model_on_this_machine_has_more_time(host: str, seconds: float, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("PREFRAG_LLM_SECONDS", raising=False)
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", host)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "tiny")
    assert ChatModel().timeout == seconds

    monkeypatch.setenv("PREFRAG_LLM_SECONDS", "9")

    assert ChatModel().timeout == 9
