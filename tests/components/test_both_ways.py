"""The blocking and the asynchronous form of a method that has one body."""

import asyncio
import inspect
import pkgutil
import threading
from contextvars import ContextVar
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from haystack import component

from prefrag import components, pipelines
from prefrag.components.both_ways import as_async, as_blocking, call_component, call_matching, gather, in_thread_async
from tests.for_each import for_each


@component
class Doubler:
    """Doubles a number, with a body that awaits another method."""

    @component.output_types(number=int)
    async def run_async(self, number: int, times: int = 1) -> dict[str, int]:
        """Double a number."""
        for _ in range(times):
            number = await self._double(number)
        return {"number": number}

    run = as_blocking(run_async)

    async def _double(self, number: int) -> int:
        return await call_matching(self.block, self.wait, number)

    def block(self, number: int) -> int:
        # If an event loop is already running, a second one is refused.
        return asyncio.run(self.wait(number))

    async def wait(self, number: int) -> int:
        await asyncio.sleep(0)
        return 2 * number


@component
class Halver:
    """Halves a number; only odd numbers need a thread."""

    @component.output_types(number=int, thread=int)
    def run(self, number: int) -> dict[str, int]:
        """Halve a number."""
        return {"number": number // 2, "thread": threading.get_ident()}

    run_async = in_thread_async(run, when=lambda self, number: number % 2 == 1)


@for_each("kind", Doubler, Halver)
def test_both_forms_have_one_signature_docstring_and_outputs(kind: type[Any]):
    part = kind()

    assert inspect.signature(part.run) == inspect.signature(part.run_async)
    assert part.run.__doc__ == part.run_async.__doc__
    assert (part.run.__name__, part.run_async.__name__) == ("run", "run_async")
    assert part.run.__qualname__ == f"{kind.__name__}.run"
    assert not inspect.iscoroutinefunction(part.run)
    assert "number" in part.__haystack_output__._sockets_dict


async def test_each_form_calls_the_function_of_its_kind():
    assert await Doubler().run_async(3, times=2) == {"number": 12}
    assert await asyncio.to_thread(Doubler().run, 3, times=2) == {"number": 12}


async def test_the_blocking_form_runs_inside_an_event_loop_as_well():
    class Plain(Doubler):
        def block(self, number: int) -> int:
            return 2 * number

    assert Plain().run(3) == {"number": 6}
    assert await Plain().run_async(3) == {"number": 6}


def test_a_failure_leaves_the_thread_as_it_was():
    class Failing(Doubler):
        def block(self, number: int) -> int:
            raise LookupError("no number")

    with pytest.raises(LookupError, match="no number"):
        Failing().run(3)
    assert asyncio.run(Doubler().run_async(3)) == {"number": 6}


def test_a_body_that_waits_in_another_way_has_no_blocking_form():
    async def wait_async() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="wait_async has no blocking form"):
        as_blocking(wait_async)()


@pytest.mark.filterwarnings("error")
def test_bodies_give_their_results_in_order():
    async def double_all() -> list[int]:
        return await gather(*(Doubler()._double(number) for number in (1, 2)))

    assert as_blocking(double_all)() == asyncio.run(double_all()) == [2, 4]
    begun = []

    async def fail(number: int) -> None:
        begun.append(number)
        raise LookupError

    async def all_async() -> list[None]:
        return await gather(fail(1), fail(2))

    with pytest.raises(LookupError):
        as_blocking(all_async)()
    assert begun == [1]


class TestBodiesTogether:
    async def test_bodies_that_fail_end_the_others_with_the_first_error(self):
        cause, ended = KeyError("why"), []

        async def fail() -> None:
            await asyncio.sleep(0)
            raise LookupError("no number") from cause

        async def wait() -> None:
            try:
                await asyncio.Event().wait()
            finally:
                ended.append("cancelled")

        with pytest.raises(LookupError, match="no number") as raised:
            await gather(wait(), fail(), gather(wait(), wait()))

        assert raised.value.__cause__ is cause
        assert ended == ["cancelled"] * 3
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def test_end_with_the_task_that_waits_for_them(self):
        begun = asyncio.Event()

        async def wait() -> None:
            begun.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(gather(wait(), wait()))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

        assert asyncio.all_tasks() == {asyncio.current_task()}


class TestThreads:
    async def test_threads_that_hang_leave_room_for_other_runs(self):
        released = threading.Event()

        class Hanging:
            def run(self) -> None:
                released.wait(30)

            run_async = in_thread_async(run)

        hanging = [asyncio.create_task(Hanging().run_async()) for _ in range(50)]
        await asyncio.sleep(0)

        assert (await asyncio.wait_for(Halver().run_async(5), 20))["number"] == 2
        assert all(thread.daemon for thread in threading.enumerate() if thread is not threading.main_thread())

        released.set()
        await asyncio.gather(*hanging)

    async def test_have_the_context_of_the_caller(self):
        run: ContextVar[str] = ContextVar("run", default="")

        class Reading:
            def read(self) -> str:
                return run.get()

            read_async = in_thread_async(read)

        run.set("its own")

        assert await Reading().read_async() == "its own"

    def test_are_never_those_of_an_event_loops_own_pool(self):
        folders = (Path(components.__path__[0]), Path(pipelines.__path__[0]))
        pooled = [
            file.name for folder in folders for file in folder.rglob("*.py") if "run_in_executor" in file.read_text()
        ]

        assert pooled == []


async def test_a_method_that_computes_runs_in_a_thread_if_worth_it():
    here = threading.get_ident()

    assert (await Halver().run_async(4)) == {"number": 2, "thread": here}
    assert (await Halver().run_async(5))["thread"] != here
    assert await as_async(Halver().run)(5) == {"number": 2, "thread": here}


async def test_a_blocking_component_is_called_in_a_thread():
    class Blocking:
        def run(self, number: int) -> dict[str, Any]:
            return {"thread": threading.get_ident(), "number": number}

    async def body_async() -> dict[str, Any]:
        return await call_component(Blocking(), {"number": 1})

    assert (await body_async())["thread"] != threading.get_ident()
    assert as_blocking(body_async)()["thread"] == threading.get_ident()


def parts() -> list[type[Any]]:
    """All classes of components/ that have both forms of a method."""
    files = [module.name for module in pkgutil.walk_packages(components.__path__, "prefrag.components.")]
    classes = {member for name in files for _, member in inspect.getmembers(import_module(name), inspect.isclass)}
    return [
        owner
        for owner in classes
        if owner.__module__.startswith("prefrag.components") and not getattr(owner, "_is_protocol", False)
    ]


def test_each_part_has_one_body_for_both_forms_of_a_method():
    pairs, apart = 0, set()
    for part in parts():
        for name, waiting in vars(part).items():
            if not name.endswith("_async") or (method := vars(part).get(name.removesuffix("_async"))) is None:
                continue
            pairs += 1
            if waiting is not getattr(method, "__wrapped__", None) and method is not getattr(waiting, "__wrapped__", 0):
                apart.add(f"{part.__name__}.{method.__name__}")

    assert pairs > 50
    # These methods wait in different ways, so they need two bodies.
    assert apart == {"EmbeddedChatGenerator._wait", "HybridRetriever._call_all", "RetryPolicy._run"}
