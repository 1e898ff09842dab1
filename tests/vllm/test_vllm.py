"""A real vLLM on this machine's processor: `make test-vllm`, or PREFRAG_TEST_VLLM names the python of its environment."""

import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from prefrag import pipelines
from prefrag.cli.checks import examine

PYTHON = os.environ.get("PREFRAG_TEST_VLLM", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="PREFRAG_TEST_VLLM names no python of an environment with vLLM")
QUESTION = "Which architect drew the customs house in which the Plover Suite was written?"
SECONDS = 300


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    subprocess.run([PYTHON, Path(__file__).with_name("make_models.py"), folder], check=True, timeout=SECONDS)
    return folder


def serve(models: Path, *arguments: str) -> Iterator[str]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = {"VLLM_CPU_KVCACHE_SPACE": "1", "HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", str(models / "base")]
    command += ["--served-model-name", "small", "--host", "127.0.0.1", "--port", str(port), "--dtype", "bfloat16"]
    command += ["--enforce-eager", "--max-num-seqs", "16", "--max-model-len", "2048", *arguments]
    with (models / "vllm.log").open("w") as log:
        process = subprocess.Popen(command, env={**os.environ, **given}, stdout=log, stderr=log)
    try:
        ends = time.monotonic() + SECONDS
        while True:
            is_alive = process.poll() is None and time.monotonic() < ends
            assert is_alive, (models / "vllm.log").read_text()[-2000:]
            try:
                if httpx.get(f"http://127.0.0.1:{port}/health", timeout=2).is_success:
                    break
            except httpx.HTTPError:
                time.sleep(1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()


@pytest.fixture(scope="module")
def started(models: Path) -> Iterator[str]:
    adapter = ("--enable-lora", "--lora-modules", f"judge={models / 'judge'}")
    yield from serve(
        models, *adapter, "--enable-auto-tool-choice", "--tool-call-parser", "hermes", "--enable-prompt-tokens-details"
    )


@pytest.fixture
def server(started: str, monkeypatch: pytest.MonkeyPatch) -> str:
    name(monkeypatch, started)
    return started


def name(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("PREFRAG_INDEX", "demo")
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", f"{address}/v1")
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "small")
    monkeypatch.setenv("PREFRAG_LLM_MAX_TOKENS", "80")


def ask(pipeline: str, replace: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return pipelines.ask(QUESTION, pipelines.load(pipeline, replace=replace or {}), deadline=SECONDS, **options)


def metric(address: str, line: str) -> float:
    found = re.findall(rf"^{line}.* ([\d.e+]+)$", httpx.get(f"{address}/metrics").text, re.MULTILINE)
    return sum(map(float, found))


class TestOneServer:
    def test_a_prompt_is_cut_to_the_window_that_the_server_states(self, server: str):
        text = " ".join(f"Fact {number}: the Plover Suite has part {number}." for number in range(700))
        result = ask("vanilla_local", documents=[{"title": "long", "content": text}])
        assert [one["context_window"] for one in result["trace"] if one["kind"] == "cut"] == [2048]

    def test_a_call_of_a_tool_is_really_made(self, server: str):
        result = ask(
            "prefrag", {"reasoner.reply_format": "tools", "reasoner.generation_kwargs": {"tool_choice": "required"}}
        )
        assert any(step["action"] == "search" for step in result["steps"])

    def test_an_adapter_judges_by_its_name_and_prompts_are_found_in_the_cache(
        self, server: str, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", f"{server}/v1")
        monkeypatch.setenv("PREFRAG_JUDGE_MODEL", "judge")
        result = ask(
            "prefrag", {"reasoner.reply_format": "tools", "reasoner.generation_kwargs": {"tool_choice": "required"}}
        )
        verdicts = [one for one in result["trace"] if one["kind"] == "verdict"]
        assert any(one["judged_by"] == "model" and one["parsed"] for one in verdicts), verdicts
        assert result["usage"]["cached_tokens"] > 0

    @pytest.mark.parametrize("pipeline", ["flare", "ircot"])
    def test_log_probabilities_and_continued_turns_are_taken(self, server: str, pipeline: str):
        assert ask(pipeline)["usage"]["llm_calls"] > 0

    def test_a_client_that_leaves_ends_its_call(self, server: str):
        body = {"model": "small", "messages": [{"role": "user", "content": "Count."}], "max_tokens": 1500}
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server}/v1/chat/completions", json={**body, "ignore_eos": True}, timeout=3)
        ends = time.monotonic() + 15
        while metric(server, "vllm:num_requests_running") and time.monotonic() < ends:
            time.sleep(0.5)
        assert metric(server, "vllm:num_requests_running") == 0


async def test_a_parser_of_reasoning_over_a_model_that_does_not_think_is_named(
    models: Path, monkeypatch: pytest.MonkeyPatch
):
    for address in serve(models, "--reasoning-parser", "qwen3"):
        name(monkeypatch, address)
        found = [one for one in await examine("prefrag", 1, False) if one.part == "model"]
        assert "--reasoning-parser" in found[-1].text
