"""Pictures of pages: shared among keys, within a few seconds, and no longer than somebody waits for them."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from prefrag.errors import BadInput
from prefrag.indexing.converter_process import LimitReached
from prefrag.indexing.report import CannotRead
from prefrag.server.access.shares import Busy
from prefrag.server.library import page_pictures
from prefrag.server.library.page_pictures import PagePictures


class Process:
    """In place of the process that draws. Page 7 is drawn until the process is killed; page 8 reaches a limit."""

    drawn: list[int]
    begun: threading.Event

    def __init__(self, seconds: float, wait: float):
        assert (seconds, wait) == (5, 5)
        self._killed = threading.Event()

    def draw(self, data: bytes, page: int, sentence: str) -> dict[str, Any]:
        self.drawn.append(page)
        if page == 7:
            self.begun.set()
            assert self._killed.wait(30)
        if page in (7, 8):
            self._killed.clear()
            raise LimitReached("it takes too long")
        if page == 9:
            raise CannotRead("it has no page 9")
        return {"page": page}

    def kill(self) -> None:
        self._killed.set()

    def close(self) -> None:
        self.kill()


@pytest.fixture(autouse=True)
def drawn(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The pages that were drawn."""
    pages: list[int] = []
    monkeypatch.setattr(Process, "drawn", pages, raising=False)
    monkeypatch.setattr(Process, "begun", threading.Event(), raising=False)
    monkeypatch.setattr(page_pictures, "ConverterProcess", Process)
    return pages


@pytest.fixture
def paths(tmp_path: Path) -> list[Path]:
    """Four files with different content."""
    files = [tmp_path / f"{name}.pdf" for name in "abcd"]
    for file in files:
        file.write_bytes(file.name.encode())
    return files


@pytest.fixture
def path(paths: list[Path]) -> Path:
    return paths[0]


def pictures(shared: bool = True) -> PagePictures:
    return PagePictures(lambda: shared)


async def begin(drawing: PagePictures, path: Path, holder: str = "ada") -> asyncio.Task[dict[str, Any]]:
    """Begin a drawing that lasts until it is killed."""
    Process.begun.clear()
    task = asyncio.create_task(drawing.draw(holder, path, 7, ""))
    assert await asyncio.get_running_loop().run_in_executor(None, Process.begun.wait, 30)
    return task


async def leave(task: asyncio.Task[dict[str, Any]]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_drawing_given_up_at_its_start_gives_its_place_back(path: Path):
    drawing = pictures()
    process: Any = drawing._idle[-1]
    kill, kills = process.kill, []

    def kill_late() -> None:
        # The first call comes before there is a process.
        kills.append(1)
        if len(kills) > 1:
            kill()

    process.kill = kill_late
    async with asyncio.timeout(10):
        await leave(await begin(drawing, path))

    assert await drawing.draw("ada", path, 1, "") == {"page": 1}


async def test_a_page_that_reached_a_limit_is_not_tried_at_once(
    paths: list[Path], drawn: list[int], monkeypatch: pytest.MonkeyPatch
):
    drawing = pictures()
    path, other, *_ = paths
    for _ in range(3):
        with pytest.raises(BadInput, match=r"within 5 s.*Its text is in the passages"):
            await drawing.draw("ada", path, 8, "")
    assert drawn == [8]
    assert await drawing.draw("ada", path, 1, "") == {"page": 1}

    with pytest.raises(BadInput):
        await drawing.draw("ada", other, 8, "")
    assert drawn == [8, 1, 8]

    monkeypatch.setattr(page_pictures, "_REMEMBERED_SECONDS", -1.0)
    monkeypatch.setattr(drawing, "_too_slow", {})
    for _ in range(2):
        with pytest.raises(BadInput):
            await drawing.draw("ada", path, 8, "")
    assert drawn == [8, 1, 8, 8, 8]


async def test_only_a_bounded__is_remembered(paths: list[Path], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_pictures, "_MOST_REMEMBERED", 2)
    drawing = pictures()
    for path in paths:
        with pytest.raises(BadInput):
            await drawing.draw("ada", path, 8, "")

    assert len(drawing._too_slow) == 2


async def test_drawing_nobody_waits_for_ends_and_blames_no_page(path: Path, drawn: list[int]):
    drawing = pictures()

    await leave(await begin(drawing, path))

    assert drawing._too_slow == {}
    await leave(await begin(drawing, path))
    assert drawn == [7, 7]


async def test_places_are_not_all_for_a_key_and_a_refusal_returns_its(path: Path):
    drawing = pictures()
    with pytest.raises(BadInput, match="it has no page 9"):
        await drawing.draw("ada", path, 9, "")
    first = await begin(drawing, path)

    waiting = asyncio.create_task(drawing.draw("ada", path, 1, ""))
    assert await asyncio.wait_for(drawing.draw("bob", path, 2, ""), 30) == {"page": 2}
    assert not waiting.done()

    await leave(first)
    assert await waiting == {"page": 1}


async def test_the_wait_for_a_place_ends(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_pictures, "_WAIT_SECONDS", 0.01)
    drawing = pictures()
    monkeypatch.setattr(drawing._places, "most", 0)

    with pytest.raises(Busy):
        await drawing.draw("ada", path, 1, "")


async def test_a_process_that_does_not_start_in_time_is_ended(path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(page_pictures, "_WAIT_SECONDS", 0.05)

    with pytest.raises(TimeoutError):
        await pictures().draw("ada", path, 7, "")
