"""A real vLLM on this machine's processor: `make test-vllm`, or set PREFRAG_TEST_VLLM to its python."""

import asyncio
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
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.judge.model_judge import ModelJudge
from tests.components.samples import document, found, search_step, state

PYTHON = os.environ.get("PREFRAG_TEST_VLLM", "")
pytestmark = pytest.mark.skipif(not PYTHON, reason="PREFRAG_TEST_VLLM names no python of an environment with vLLM")
QUESTION = "What is the name of the café in the museum led by the former chief scientist of the Lantern Survey?"
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
    # vLLM's cache can only be emptied in its developer mode.
    names = ("VLLM_SERVER_DEV_MODE", "VLLM_CPU_KVCACHE_SPACE", "HF_HUB_OFFLINE", "VLLM_NO_USAGE_STATS", "DO_NOT_TRACK")
    variables = dict.fromkeys(names, "1")
    command = [PYTHON, "-m", "vllm.entrypoints.openai.api_server", "--model", str(models / "base")]
    command += ["--served-model-name", "small", "--host", "127.0.0.1", "--port", str(port), "--dtype", "bfloat16"]
    command += ["--enforce-eager", "--max-num-seqs", "16", "--max-model-len", "2048", *arguments]
    with (models / "vllm.log").open("w") as log:
        process = subprocess.Popen(command, env={**os.environ, **variables}, stdout=log, stderr=log)
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
    values = re.findall(rf"^{line}.* ([\d.e+]+)$", httpx.get(f"{address}/metrics").text, re.MULTILINE)
    return sum(map(float, values))


class TestOneServer:
    def test_a_prompt_is_cut_to_the_window_that_the_server_states(self, server: str):
        text = " ".join(f"Fact {number}: the Plover Suite has part {number}." for number in range(700))
        result = ask("vanilla_local", documents=[{"title": "long", "content": text}])
        assert [event["context_window"] for event in result["trace"] if event["kind"] == "cut"] == [2048]

    @pytest.mark.parametrize("adapter", [True, False])
    def test_tool_is_called_adapter_judges_and_prompts_are_cached(
        self, adapter: bool, server: str, monkeypatch: pytest.MonkeyPatch
    ):
        """The model or an adapter judges."""

        if adapter:
            monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", f"{server}/v1")
            monkeypatch.setenv("PREFRAG_JUDGE_MODEL", "judge")
        else:
            # The model of the steps also judges, with the same limit of tokens.
            monkeypatch.setenv("PREFRAG_LLM_MAX_TOKENS", "300")
        # Cached text from earlier tests must not count.
        assert httpx.post(f"{server}/reset_prefix_cache").is_success
        before = metric(server, "vllm:prefix_cache_hits_total")
        # Without the penalty, so small a model repeats itself up to the limit.
        sampling = {"temperature": 0, "frequency_penalty": 1.0}
        replace = {"reasoner.reply_format": "tools", "ModelJudge.generation_kwargs": sampling}

        result = ask("prefrag", replace | {"reasoner.generation_kwargs": {**sampling, "tool_choice": "required"}})

        assert [step["action"] for step in result["steps"]][:2] == ["search", "search"]
        verdicts = [event for event in result["trace"] if event["kind"] == "verdict" and event["judged_by"] == "model"]
        assert {verdict["parsed"] for verdict in verdicts} == {True}
        cached, read = (result["usage"][name] for name in ("cached_tokens", "prompt_tokens"))
        judge = "an adapter" if adapter else "the same model"
        print(f"With {judge} as judge {cached} of {read} tokens of prompts were in the cache: {cached / read:.0%}")
        assert 0 < cached == metric(server, "vllm:prefix_cache_hits_total") - before

    def test_a_judge_is_held_to_its_schema_and_is_the_adapter(self, server: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", f"{server}/v1")
        monkeypatch.setenv("PREFRAG_JUDGE_MODEL", "judge")
        monkeypatch.setenv("PREFRAG_JUDGE_MAX_TOKENS", "80")
        passages = [document("alpha"), document("beta")]
        judge = ModelJudge(ChatModel(role="judge"))

        message, _ = judge.call.send_for_message(judge.prepare(state(search_step("beta", found(*passages)))))

        assert message.meta["model"] == "judge"
        assert judge.score(state(), passages)[0].parsed
        monkeypatch.setenv("PREFRAG_JUDGE_STRUCTURED", "off")
        assert not judge.score(state(), passages)[0].parsed, "the schema makes it readable"

    def test_flare_reads_the_log_probabilities(self, server: str):
        # With fewer tokens, the reply would end with "The next sentence is:".
        sampling = {"temperature": 0, "logprobs": True, "extra_body": {"min_tokens": 25}}
        looked = [
            event for event in ask("flare", {"reasoner.generation_kwargs": sampling})["trace"] if "lowest" in event
        ]
        assert 0 < looked[0]["lowest"] < 1

    async def test_a_run_that_is_left_ends_its_call(self, server: str, monkeypatch: pytest.MonkeyPatch):
        async def comes_to(number: int) -> bool:
            for _ in range(30):
                if await asyncio.to_thread(metric, server, "vllm:num_requests_running") == number:
                    return True
                await asyncio.sleep(0.5)
            return False

        monkeypatch.setenv("PREFRAG_LLM_MAX_TOKENS", "1200")
        endless = {"reasoner.generation_kwargs": {"extra_body": {"ignore_eos": True}}}
        assert await comes_to(0)
        run = asyncio.create_task(pipelines.ask_async(pipelines.load("vanilla_local", replace=endless), QUESTION))
        assert await comes_to(1)
        run.cancel()
        assert await comes_to(0)
        assert run.cancelled()


async def test_parser_of_reasoning_over_a_plain_model_is_named(models: Path, monkeypatch: pytest.MonkeyPatch):
    for address in serve(models, "--reasoning-parser", "qwen3"):
        name(monkeypatch, address)
        findings = [finding for finding in await examine("prefrag", 1, False) if finding.part == "model"]
        assert "--reasoning-parser" in findings[-1].text
