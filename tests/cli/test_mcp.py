"""`prefrag mcp`: a client of the official library starts the command and calls its tools."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.cli.running import prefrag
from tests.components.generators.fake_model_server import HANG, FakeModelServer

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

QUESTION = "In which year did the yard that built alpha win the prize?"
GREETER = '''
from hayhooks import BasePipelineWrapper

class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None:
        print("noise")

    def run_api(self, name: str) -> str:
        """Greet somebody."""
        print("more noise")
        return f"Hello {name}"
'''


@asynccontextmanager
async def started(*options: str, **variables: str) -> AsyncIterator[ClientSession]:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "prefrag.cli.main", "mcp", "--index", "demo", *options],
        env={**os.environ, **variables},
    )
    async with stdio_client(command) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        yield session


@pytest.mark.slow
async def test_offers_the_chosen_pipelines(script_pipeline: Callable[..., None], tmp_path: Path):
    script_pipeline()
    wrapper = tmp_path / "wrappers" / "greeter" / "pipeline_wrapper.py"
    wrapper.parent.mkdir(parents=True)
    wrapper.write_text(GREETER, encoding="utf-8")
    options = ("--pipeline", "prefrag", "--pipeline", "greeter")
    async with started(*options, HAYHOOKS_PIPELINES_DIR=str(tmp_path / "wrappers")) as session:
        tools = (await session.list_tools()).tools
        answered = await session.call_tool("prefrag", {"question": QUESTION})
        greeted = await session.call_tool("greeter", {"name": "Ada"})
        refused = await session.call_tool("prefrag", {"question": "long " * 1_000})

    assert sorted(tool.name for tool in tools) == ["greeter", "prefrag"]
    assert answered.structuredContent["answer"] == "1974"
    assert [part.text for part in greeted.content] == ["Hello Ada"]
    assert refused.isError


class TestCancelling:
    @pytest.fixture
    def model(self, script_pipeline: Callable[..., None]) -> Iterator[FakeModelServer]:
        script_pipeline("unused", replace={"ChatModel": {"type": "prefrag.components.generators.chat_model.ChatModel"}})
        model = FakeModelServer()
        model.answers = [(200, HANG)]
        yield model
        model.close()

    @pytest.mark.slow
    async def test_a_cancelled_call_ends_the_call_of_the_model(self, model: FakeModelServer):
        async with started(PREFRAG_LLM_BASE_URL=model.url, PREFRAG_LLM_MODEL="served") as session:
            running = asyncio.ensure_future(session.call_tool("prefrag", {"question": QUESTION}))
            assert await asyncio.to_thread(model.called.wait, 20)
            number = session._request_id - 1
            parameters = CancelledNotificationParams(requestId=number)
            note = CancelledNotification(method="notifications/cancelled", params=parameters)
            await session.send_notification(ClientNotification(note))

            assert await asyncio.to_thread(model.left.wait, 20)
            with pytest.raises(Exception, match="cancelled"):
                await running


def test_without_the_package_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "mcp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "prefrag.server.chat.mcp_tools", raising=False)
    monkeypatch.setitem(sys.modules, "mcp", None)

    result = prefrag("mcp", "--index", "demo")

    assert result.exit_code == 3
    assert 'pip install "prefrag[mcp]"' in result.stderr


def test_without_documents_it_does_not_start():
    result = prefrag("mcp")

    assert result.exit_code == 3
    assert "prefrag index YOUR_FILES" in result.stderr
