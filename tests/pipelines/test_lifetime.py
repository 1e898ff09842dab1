"""However a run ends, it leaves nothing running: no task, no model call, no retry."""

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing
from contextvars import ContextVar
from typing import Any

import pytest

from prefrag import pipelines
from prefrag.errors import BadInput
from prefrag.pipelines import RunFailed
from prefrag.pipelines.asking import limit_deadline
from prefrag.pipelines.cancelling import cancel_tasks_at_end
from prefrag.pipelines.trace_text import trace_text
from tests.components.generators.fake_model_server import HANG, FakeModelServer
from tests.for_each import for_each
from tests.pipelines.scripted import answer, script, scripted, search

QUESTION = "In which year did the yard that built alpha win the prize?"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
    server = FakeModelServer()
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", server.url)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "served")
    yield server
    server.close()


def calling_the_server() -> Any:
    """The shipped pipeline with scripted sources and the model that the environment names."""
    parts = script(answer())
    del parts["ChatModel"]
    pipeline = pipelines.load("prefrag", parts)
    pipeline.warm_up()
    return pipeline


async def is_reached(event: Any) -> bool:
    return await asyncio.to_thread(event.wait, 20)


def tasks_left() -> set[Any]:
    return asyncio.all_tasks() - {asyncio.current_task()}


class TestModelCall:
    async def test_is_cancelled_when_whoever_asked_leaves(self, server: FakeModelServer):
        server.answers = [(200, HANG)]
        run = asyncio.ensure_future(pipelines.ask_async(calling_the_server(), QUESTION))
        assert await is_reached(server.called)

        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

        assert tasks_left() == set()
        assert await is_reached(server.left)

    async def test_is_cancelled_when_the_events_are_no_longer_read(self, server: FakeModelServer):
        server.answers = [(200, HANG)]
        events = pipelines.stream(scripted(search("alpha"), answer()), QUESTION)

        await anext(events)
        await events.aclose()

        assert tasks_left() == set()

    async def test_is_cancelled_when_the_progress_is_no_longer_read(self, server: FakeModelServer):
        server.answers = [(200, HANG)]
        events = pipelines.stream(scripted(search("alpha"), answer()), QUESTION, progress=True)

        await anext(events)
        await events.aclose()

        assert tasks_left() == set()

    async def test_a_model_call_tells_how_far_it_is_outside_the_trace(self, server: FakeModelServer):
        server.listed = {"data": [{"id": "served", "meta": {"n_ctx_train": 8_192}}]}
        server.pages["/props"] = {"default_generation_settings": {"n_ctx": 8_192}, "build_info": "b6000"}
        reading = {"choices": [], "prompt_progress": {"processed": 1_200, "total": 3_400}}
        said = {"choices": [{"delta": {"content": "Final Answer: 1974"}, "finish_reason": "stop"}]}
        server.answers = [(200, "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in (said, reading)))]

        outputs = [output async for output in pipelines.stream(calling_the_server(), QUESTION, progress=True)]

        *events, result = outputs
        told = [trace_text(event) for event in events if event.kind == "progress"]
        assert told[:1] == ["The model reads: 1,200 of 3,400 tokens"]
        assert "progress" not in [event["kind"] for event in result["trace"]]

    async def test_that_a_busy_server_refuses_says_when_to_ask_again(
        self, server: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        server.answers, server.headers = [(429, {})], {"retry-after": "0.01"}

        with pytest.raises(RunFailed) as failure:
            await pipelines.ask_async(calling_the_server(), QUESTION)

        assert failure.value.http_status == 429


class TestEngine:
    async def test_loses_the_tasks_that_it_created_and_no_others(self):
        of_others = asyncio.ensure_future(asyncio.Event().wait())

        made = set()

        async def engine() -> Any:
            made.add(asyncio.create_task(asyncio.Event().wait()))
            yield 1
            made.add(asyncio.create_task(asyncio.Event().wait()))
            await asyncio.Event().wait()

        outputs = cancel_tasks_at_end(engine(), until=asyncio.get_running_loop().time() + 0.05)
        assert await anext(outputs) == 1
        with pytest.raises(TimeoutError):
            await anext(outputs)

        assert tasks_left() == {of_others}
        of_others.cancel()

    async def test_leaves_the_factory_of_tasks_as_it_was(self):
        loop = asyncio.get_running_loop()
        made: list[Any] = []

        def create(loop: Any, work: Any, **options: Any) -> Any:
            made.append(work)
            return asyncio.Task(work, loop=loop, **options)

        async def engine() -> Any:
            yield await asyncio.create_task(asyncio.sleep(0, "done"))

        loop.set_task_factory(create)
        outputs = [output async for output in cancel_tasks_at_end(engine(), until=loop.time() + 5)]

        assert outputs == ["done"]
        assert len(made) == 1
        assert loop.get_task_factory() is create
        loop.set_task_factory(None)

    async def test_is_left_in_the_context_in_which_it_ran(self):
        span: ContextVar[str] = ContextVar("span", default="")
        ended = []

        async def engine() -> Any:
            token = span.set("run")
            try:
                yield span.get()
            finally:
                span.reset(token)
                ended.append(span.get())

        async with aclosing(cancel_tasks_at_end(engine(), until=asyncio.get_running_loop().time() + 5)) as outputs:
            assert await anext(outputs) == "run"

        assert ended == [""]

    async def test_may_fail_as_before(self):
        async def engine() -> Any:
            yield await asyncio.create_task(asyncio.sleep(0))
            raise LookupError("lost")

        with pytest.raises(LookupError, match="lost"):
            async for _ in cancel_tasks_at_end(engine(), until=asyncio.get_running_loop().time() + 5):
                pass


class TestDeadline:
    def test_of_a_request_may_only_shorten(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_RUN_SECONDS", "20")

        assert [limit_deadline(seconds) for seconds in (None, 5, 20, 500)] == [20, 5, 20, 20]

    @for_each("seconds", 0, -1, float("nan"), "5", True, [1])
    def test_of_a_request_is_a_number_above_zero_for_every_caller(self, seconds: Any):
        with pytest.raises(BadInput, match="deadline is .*: give the seconds .* a number above zero"):
            limit_deadline(seconds)
        with pytest.raises(BadInput, match="deadline is"):
            pipelines.ask(QUESTION, scripted(answer()), deadline=seconds)

    async def test_of_a_call_is_bounded_by_that_of_the_operator(
        self, monkeypatch: pytest.MonkeyPatch, server: FakeModelServer
    ):
        server.answers = [(200, HANG)]
        monkeypatch.setenv("PREFRAG_RUN_SECONDS", "0.2")

        with pytest.raises(RunFailed, match=r"given up after 0\.2 s"):
            await pipelines.ask_async(calling_the_server(), QUESTION, deadline=60)

    async def test_a_deadline_before_the_first_component_leaves_a_result(self):
        whole = await pipelines.ask_async(scripted(answer()), QUESTION)
        token = pipelines.asking.arrived.set(asyncio.get_running_loop().time() - 100)

        with pytest.raises(RunFailed, match="given up after 90 s") as failure:
            await pipelines.ask_async(scripted(answer()), QUESTION, deadline=90)

        pipelines.asking.arrived.reset(token)
        result = failure.value.result
        assert result.keys() == whole.keys()
        assert (result["question"], result["answered"], result["trace"], result["documents"]) == (
            QUESTION,
            False,
            [],
            [],
        )
        assert result["errors"] == [str(failure.value)]

    async def test_holds_without_being_given(self, monkeypatch: pytest.MonkeyPatch, server: FakeModelServer):
        server.answers = [(200, HANG)]
        monkeypatch.setenv("PREFRAG_RUN_SECONDS", "0.2")

        with pytest.raises(RunFailed, match=r"given up after 0\.2 s.*PREFRAG_RUN_SECONDS"):
            await pipelines.ask_async(calling_the_server(), QUESTION)

    async def test_counts_from_the_arrival_of_the_request(self, server: FakeModelServer):
        server.answers = [(200, HANG)]
        token = pipelines.asking.arrived.set(asyncio.get_running_loop().time() - 100)

        with pytest.raises(RunFailed, match="given up after 90 s"):
            await pipelines.ask_async(calling_the_server(), QUESTION, deadline=90)

        pipelines.asking.arrived.reset(token)
