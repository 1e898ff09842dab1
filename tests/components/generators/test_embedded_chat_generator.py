"""The model in this process. A real model runs here, so the calls are few and short."""

import asyncio
import copy
import json
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from haystack.dataclasses import ChatMessage

from prefrag.components.generators import embedded_chat_generator
from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator
from tests.gguf import GGUF, needs_gguf
from tests.python_process import run_python

QUESTION = [ChatMessage.from_user("Is Paris in France?")]
SCHEMA = {
    "type": "object",
    "properties": {"status": {"type": "boolean"}},
    "required": ["status"],
    "additionalProperties": False,
}
CONSTRAINED = {
    "temperature": 0.0,
    "seed": 1,
    "max_tokens": 24,
    "response_format": {"type": "json_schema", "json_schema": {"name": "verdict", "schema": SCHEMA}},
}


class FakeServer:
    """llama.cpp's server as this component uses it: it sends chunks to a callback, and stops if that returns True."""

    def __init__(self, *chunks: dict[str, Any]):
        self.chunks = chunks
        self.bodies: list[dict[str, Any]] = []
        self.entered = threading.Event()
        self.stopped = threading.Event()

    def handle_chat_completions(self, body: dict[str, Any], receive: Any) -> None:
        self.bodies.append(body)
        for chunk in self.chunks:
            if receive(chunk):
                return
        if not self.chunks:
            self.entered.set()
            while not receive({"choices": []}):
                self.stopped.wait(0.001)
            self.stopped.set()


def delta(content: str | None, finish_reason: str | None = None) -> dict[str, Any]:
    return {"model": "m.gguf", "choices": [{"delta": {"content": content}, "finish_reason": finish_reason}]}


USAGE = {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}}


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Load the server that the test chooses, and end the model's thread afterwards."""
    models: dict[Any, Any] = {}
    monkeypatch.setattr(embedded_chat_generator, "_models", models)

    def load(*chunks: dict[str, Any]) -> FakeServer:
        server = FakeServer(*chunks)
        monkeypatch.setattr(embedded_chat_generator, "load_model", lambda *args: server)
        return server

    yield load
    for model in models.values():
        model.close()


class TestReply:
    def test_chunks_become_one_message(self, fake: Any):
        fake(delta(None), delta("Pa"), delta("ris"), delta(None, "stop"), USAGE)
        reply = EmbeddedChatGenerator("m.gguf").run(QUESTION)["replies"][0]
        assert reply.text == "Paris"
        assert reply.meta == {"model": "m.gguf", "index": 0, "finish_reason": "stop", "usage": USAGE["usage"]}

    def test_log_probabilities_are_collected_over_the_chunks(self, fake: Any):
        tokens = [{"token": "Pa", "logprob": -0.5}, {"token": "ris", "logprob": 0.0}]
        chunks = [delta(token["token"]) for token in tokens]  # type: ignore[arg-type]
        for chunk, token in zip(chunks, tokens, strict=True):
            chunk["choices"][0]["logprobs"] = {"content": [{**token, "top_logprobs": []}]}
        server = fake(*chunks, delta(None, "stop"), USAGE)
        reply = EmbeddedChatGenerator("m.gguf").run(QUESTION, {"logprobs": True})["replies"][0]
        assert server.bodies[0]["logprobs"] is True
        assert reply.meta["logprobs"] == {"content": [{**token, "bytes": None} for token in tokens]}

    def test_parameters_keep_their_openai_names(self, fake: Any):
        server = fake(delta("x", "stop"))
        generator = EmbeddedChatGenerator("m.gguf")
        generator.run(QUESTION)
        generator.run(QUESTION, {"max_tokens": 3, "stop": ["."]})
        generator.run(QUESTION, {"max_completion_tokens": 4, "n": 1})
        assert [body["max_tokens"] for body in server.bodies] == [512, 3, 4]
        assert server.bodies[1]["stop"] == ["."]
        assert server.bodies[0]["messages"] == [{"role": "user", "content": "Is Paris in France?"}]

    @pytest.mark.parametrize(
        ("chunk", "kind", "message"),
        [
            (
                {"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 9_000, "n_ctx": 4_096}},
                *(ValueError, "9000 tokens.*4096"),
            ),
            (
                {"error": {"type": "invalid_request_error", "message": "type must be number"}},
                *(ValueError, "type must be number"),
            ),
            (delta("Pa"), RuntimeError, "middle of its reply"),
        ],
    )
    def test_what_llama_refuses_or_breaks_off_is_explained(self, fake: Any, chunk: Any, kind: Any, message: str):
        fake(chunk)
        with pytest.raises(kind, match=message):
            EmbeddedChatGenerator("m.gguf").run(QUESTION)


class TestWaiting:
    async def test_a_call_that_takes_too_long_is_stopped_on_both_ways(self, fake: Any):
        server = fake()
        generator = EmbeddedChatGenerator("m.gguf", timeout=0.05)
        for run in (lambda messages: asyncio.to_thread(generator.run, messages), generator.run_async):
            server.stopped.clear()
            with pytest.raises(TimeoutError, match=r"within 0\.05 seconds"):
                await run(QUESTION)
            assert server.stopped.wait(10)

    async def test_cancelled_call_stops_the_model_and_leaves_the_loop_free(self, fake: Any):
        server = fake()
        task = asyncio.ensure_future(EmbeddedChatGenerator("m.gguf", timeout=30).run_async(QUESTION))
        assert await asyncio.to_thread(server.entered.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert server.stopped.wait(10)

    def test_more_calls_than_the_default_executor_has_threads(self, fake: Any):
        server = fake(delta("x", "stop"))
        generators = [EmbeddedChatGenerator("m.gguf") for _ in range(100)]

        async def many() -> int:
            return len(await asyncio.gather(*(generator.run_async(QUESTION) for generator in generators)))

        before = threading.active_count()
        assert (asyncio.run(many()), asyncio.run(many())) == (100, 100)
        assert len(server.bodies) == 200
        assert threading.active_count() <= before + 1, "one thread for all instances"


class TestLoading:
    def test_a_missing_file_is_named_and_may_be_repaired(self, tmp_path: Path, fake: Any):
        generator = EmbeddedChatGenerator(model_path=str(tmp_path / "none.gguf"))
        with pytest.raises(FileNotFoundError, match=r"none\.gguf.*PREFRAG_LLM_GGUF.*PREFRAG_LLM_BASE_URL"):
            generator.warm_up()
        fake(delta("x", "stop"))
        assert generator.run(QUESTION)["replies"][0].text == "x"

    @needs_gguf
    @pytest.mark.parametrize("begins", ["", "not a model", "GGUF"], ids=["empty", "text", "cut off"])
    def test_a_file_that_is_no_model_is_named(self, tmp_path: Path, begins: str):
        path = tmp_path / "text.gguf"
        path.write_text(begins)
        with pytest.raises(RuntimeError, match=r"text\.gguf is not a GGUF file.*PREFRAG_LLM_GGUF"):
            EmbeddedChatGenerator(str(path)).warm_up()

    def test_a_missing_package_states_what_to_install(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        monkeypatch.setitem(sys.modules, "xllamacpp", None)
        path = tmp_path / "model.gguf"
        path.touch()
        with pytest.raises(ImportError, match=r'pip install "prefrag\[llama\]".*PREFRAG_LLM_BASE_URL') as caught:
            EmbeddedChatGenerator(str(path)).warm_up()
        assert caught.value.name == "xllamacpp"

    def test_bad_numbers_no_messages_and_several_replies_are_refused(self):
        for name in ("context_window", "timeout"):
            with pytest.raises(ValueError, match=name):
                EmbeddedChatGenerator("m.gguf", **{name: 0})
        with pytest.raises(ValueError, match="at least one"):
            EmbeddedChatGenerator("m.gguf").run([])
        with pytest.raises(ValueError, match="leave `n` out"):
            EmbeddedChatGenerator("m.gguf").run(QUESTION, {"n": 2})


def test_an_absent_adapter_is_named(tmp_path: Path):
    model = tmp_path / "model.gguf"
    model.touch()
    with pytest.raises(FileNotFoundError, match="no adapter at .*judge.gguf: correct `adapter_path`"):
        EmbeddedChatGenerator(str(model), adapter_path=str(tmp_path / "judge.gguf")).warm_up()


@pytest.mark.parametrize(
    ("cores", "quota", "chosen", "threads"),
    [
        (None, "max 100000", None, 1),
        (1, "max 100000", None, 1),
        (2, "max 100000", None, 1),
        (8, "max 100000", None, 7),
        (8, "max 100000", 8, 8),
        # A container with three of eight cores.
        (8, "300000 100000", None, 2),
        (8, "50000 100000", None, 1),
    ],
)
def test_leaves_one_core_to_others_unless_told(
    fake: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    cores: int | None,
    quota: str,
    chosen: int | None,
    threads: int,
):
    server, loaded = fake(delta("x", "stop")), []
    (tmp_path / "cpu.max").write_text(f"{quota}\n", encoding="utf-8")
    monkeypatch.setattr(embedded_chat_generator, "_CPU_QUOTA", tmp_path / "cpu.max")
    monkeypatch.delattr(embedded_chat_generator.os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(embedded_chat_generator.os, "cpu_count", lambda: cores)
    monkeypatch.setattr(embedded_chat_generator, "load_model", lambda *args: (loaded.append(args), server)[1])

    EmbeddedChatGenerator("m.gguf", threads=chosen).run(QUESTION)

    assert [args[-1] for args in loaded] == [threads]


def test_questions_one_after_another_load_the_file_once(fake: Any, monkeypatch: pytest.MonkeyPatch):
    server, loaded = fake(delta("x", "stop")), []
    monkeypatch.setattr(embedded_chat_generator, "load_model", lambda *args: (loaded.append(args), server)[1])

    for _ in range(3):
        EmbeddedChatGenerator("m.gguf").run(QUESTION)

    assert len(loaded) == 1


def test_models_with_other_adapters_load_apart_and_copies_agree(fake: Any):
    fake(delta("x", "stop"))
    for adapter in (None, "judge.gguf", "judge.gguf"):
        EmbeddedChatGenerator("m.gguf", adapter_path=adapter).run(QUESTION)
    assert len(embedded_chat_generator._models) == 2

    generator = EmbeddedChatGenerator("model.gguf", timeout=100)

    assert copy.deepcopy(generator).to_dict() == generator.to_dict()


@pytest.mark.slow
@needs_gguf
def test_real_model_keeps_to_a_schema_silently_and_can_end():
    """The program runs in a new process, because its output and its end are tested too."""
    program = f"""
import threading
from haystack.dataclasses import ChatMessage
from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator

generator = EmbeddedChatGenerator({GGUF!r}, context_window=512)
reply = generator.run([ChatMessage.from_user("Is Paris in France?")], {CONSTRAINED!r})["replies"][0]
usage = reply.meta["usage"]
assert usage["prompt_tokens"] > 5 and 0 < usage["completion_tokens"] <= 24, usage
print(reply.text)

def run():
    try:
        generator.run([ChatMessage.from_user("Tell me a long story.")], {{"max_tokens": 400, "ignore_eos": True}})
    except Exception:
        pass

threading.Thread(target=run, daemon=True).start()
threading.Event().wait(0.3)
"""
    done = run_python(program)
    assert (done.returncode, done.stderr) == (0, "")
    assert isinstance(json.loads(done.stdout)["status"], bool)


@pytest.mark.slow
@needs_gguf
async def test_the_real_model_answers_asynchronously():
    generator = EmbeddedChatGenerator(GGUF, context_window=512)
    outputs = await asyncio.gather(*(generator.run_async(QUESTION, CONSTRAINED) for _ in range(2)))
    for output in outputs:
        assert isinstance(json.loads(output["replies"][0].text or "")["status"], bool)
