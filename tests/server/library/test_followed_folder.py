"""The thread that follows a folder: which paths it orders to be indexed, and how it describes itself."""

import os
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from watchfiles import Change

from prefrag.collections.local_collection import LocalCollection
from prefrag.errors import PrefragError
from prefrag.indexing.report import IndexReport
from prefrag.server.library import followed_folder
from prefrag.server.library.followed_folder import FOLDER_VARIABLE, FollowedFolder

Script = Callable[..., list[list[str]]]


@pytest.fixture
def orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """The ordered paths, a list for each order, when changes come as given."""

    def run(*batches: list[str] | Callable[[], Any], replies: Any = ()) -> list[list[str]]:
        ordered: list[list[str]] = []
        answers = iter(replies)

        def index(_: str, folder: Path, changed: set[str], *__: Any) -> IndexReport:
            ordered.append(sorted(os.path.relpath(path, folder) for path in changed))
            answer = next(answers, IndexReport())
            if isinstance(answer, Exception):
                raise answer
            return answer

        def watch(*_: Any, **__: Any) -> Iterator[set[tuple[Change, str]]]:
            for batch in batches:
                names = batch if isinstance(batch, list) else batch() or []
                yield {(Change.modified, str(tmp_path / name)) for name in names}
            followed.stop()

        followed = FollowedFolder(tmp_path, mock.Mock(**{"name": "own"}), mock.Mock(follow=index))
        run.followed = followed  # type: ignore[attr-defined]
        monkeypatch.setattr(followed_folder, "watch", watch)
        followed._run()
        return ordered

    return run


def test_whole_folder_comes_first_and_then_batches_of_changes(orders: Script):
    assert orders([], [], ["a.txt", "b.txt"], [], ["a.txt"]) == [["."], ["a.txt", "b.txt"], ["a.txt"]]
    assert orders.followed.describe() == {"state": "following"}  # type: ignore[attr-defined]


def test_kinds_not_read_are_told_after_a_look_at_the_folder(orders: Script):
    whole, change = IndexReport(other_kinds=Counter({".zip": 2})), IndexReport(other_kinds=Counter({".png": 1}))
    orders([], ["a.png"], replies=[whole, change])

    told = orders.followed.describe()["left_out"]  # type: ignore[attr-defined]
    assert told == ["2 files of other kinds left out", "2 .zip: archives are not opened: unpack them"]


def test_very_many_changes_at_once_cause_a_look_through_it_all(orders: Script, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(followed_folder, "_MOST_CHANGES", 2)

    assert orders([], ["a.txt", "b.txt", "c.txt"], ["a.txt"])[1:] == [[".", "a.txt", "b.txt", "c.txt"], ["a.txt"]]


def test_what_failed_is_done_with_what_comes_next_after_a_pause(orders: Script, monkeypatch: pytest.MonkeyPatch):
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr(followed_folder.time, "monotonic", lambda: next(clock))
    full = PrefragError("The disk is full.")

    # A failed order is repeated after the pause, and only then.
    assert orders([], ["a.txt"], ["b.txt"], [], replies=[IndexReport(), full]) == [["."], ["a.txt"], ["a.txt", "b.txt"]]
    assert orders([], ["a.txt"], replies=[full, full]) == [["."], [".", "a.txt"]]
    assert orders.followed.describe() == {"state": "failed"}  # type: ignore[attr-defined]


def test_a_name_that_ends_the_watching_keeps_no_other_file_out(orders: Script):
    waits: list[float] = []

    def stumble() -> None:
        raise RuntimeError("Unable to decode path")

    def wait(_: Any, seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            orders.followed.stop()  # type: ignore[attr-defined]

    with mock.patch.object(followed_folder.threading.Event, "wait", wait):
        assert orders(stumble) == [["."], ["."]]
    assert waits == [2.0, 30.0, 30.0, 2.0]
    assert orders.followed.describe() == {"state": "following"}  # type: ignore[attr-defined]


def test_without_its_folder_it_orders_nothing(orders: Script, tmp_path: Path):
    def take_away() -> None:
        tmp_path.rename(tmp_path.with_name("away"))

    def stop(_: Any, __: float) -> None:
        orders.followed.stop()  # type: ignore[attr-defined]

    with mock.patch.object(followed_folder.threading.Event, "wait", stop):
        assert orders([], take_away, ["a.txt"]) == [["."]]
    assert orders.followed.describe() == {"state": "away"}  # type: ignore[attr-defined]


def test_what_cannot_be_watched_is_looked_through(orders: Script, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(followed_folder, "_AWAY_SECONDS", 0.0)

    def fail() -> None:
        raise OSError("OS file watch limit reached")

    def watched() -> bool:
        return not orders.followed._polls  # type: ignore[attr-defined]

    assert orders(lambda: fail() if watched() else [], ["a.txt"]) == [["."], ["a.txt"]]
    assert orders.followed.describe() == {"state": "following"}  # type: ignore[attr-defined]


def test_hidden_files_do_not_concern_it(tmp_path: Path):
    followed = FollowedFolder(tmp_path / ".notes", "own", mock.Mock())
    names = ["a.txt", "sub/a.txt", ".a.txt.swp", ".git/a.txt", "node_modules/a.js", "sub/.obsidian/a.md"]

    concerned = [name for name in names if followed._concerns(Change.added, str(tmp_path / ".notes" / name))]

    assert concerned == ["a.txt", "sub/a.txt"]


def test_only_a_server_that_was_given_a_folder_follows_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_INDEX", "own")
    assert FollowedFolder.offered(mock.Mock()) is None

    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    followed = FollowedFolder.offered(mock.Mock())

    assert followed is not None
    assert followed.collection == LocalCollection("own")
    assert FOLDER_VARIABLE not in os.environ
