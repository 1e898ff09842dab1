"""Replies of sources and models, recorded in a file."""

import gc
import json
import os
import threading
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from haystack import Document
from haystack.dataclasses import ChatMessage, ToolCall
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.recording import Entry, NotRecorded, Recording
from tests.components.samples import document
from tests.for_each import for_each

YEAR = {"field": "meta.year", "operator": ">", "value": 2000}
SEARCH: tuple[Any, ...] = ("search", "web", "a", 5, {})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept.jsonl"


def recording(path: Path, mode: str = "reuse") -> Recording:
    return Recording(str(path), mode)  # type: ignore[arg-type]


def found(*documents: Document) -> Entry:
    return Entry(documents=documents)


def keep(tape: Recording, *documents: Document) -> None:
    tape.record(found(*documents), *SEARCH)


class TestInit:
    def test_knows_three_modes_and_needs_something_to_replay(self, path: Path):
        with pytest.raises(ValueError, match="set it to record, replay or reuse"):
            recording(path, "rewind")

        with pytest.raises(ValueError, match=r"no recording at .*record one first"):
            recording(path, "replay")

    @pytest.mark.parametrize("line", ["{", "[]", '{"key": "a"}', '{"key": "a", "documents": [1]}', '{"a": 1}'])
    def test_names_a_line_that_is_broken(self, path: Path, line: str):
        keep(recording(path))
        with path.open("a") as file:
            file.write(line + "\n")

        with pytest.raises(ValueError, match=r"Line 2 of the recording .*kept.jsonl is broken"):
            recording(path)

    def test_bears_empty_lines_and_a_last_line_without_its_end(self, path: Path):
        keep(recording(path))
        path.write_text("\n" + path.read_text() + "\n\n")

        assert recording(path).play(*SEARCH) == found()

        path.write_text(path.read_text().strip("\n"))

        assert recording(path, "replay").play(*SEARCH) == found()
        recording(path).record(found(), "search", "web", "b", 5, {})
        assert len(path.read_text().splitlines()) == 2

    def test_bears_a_last_line_that_its_writer_never_finished(self, path: Path):
        keep(recording(path))
        whole = path.read_text()
        path.write_text(whole + '{"key": "search [')

        recording(path, "replay")
        assert path.read_text() != whole

        assert recording(path).play(*SEARCH) == found()
        assert path.read_text() == whole


class TestPlaying:
    def test_playing_gives_the_last_entry_unless_it_records(self, path: Path):
        documents = [document("a", url="https://example.org", year=2001), Document(id="bare")]
        for earlier in ([document("old")], documents):
            first = recording(path, "record")
            keep(first, *earlier)
            assert first.play(*SEARCH) is None
        del first
        gc.collect()
        for mode in ("replay", "reuse"):
            assert recording(path, mode).play(*SEARCH) == found(*documents)
        second = recording(path)
        path.unlink()
        assert recording(path).play(*SEARCH) is None
        assert second.path == str(path)

    @for_each(
        "other",
        ("search", "local", "a", 5, {}),
        ("search", "web", "b", 5, {}),
        ("search", "web", "a", 6, {}),
        ("search", "web", "a", 5, YEAR),
        ("reply", "web", "a", 5, {}),
    )
    def test_distinguishes_requests(self, path: Path, other: tuple[Any, ...]):
        keep(recording(path), document("a"))

        assert recording(path).play(*other) is None
        with pytest.raises(NotRecorded, match=f"does not contain this {other[0]} of {other[1]}: {other[2]}"):
            recording(path, "replay").play(*other)

    def test_sees_what_another_process_has_written_since(self, path: Path):
        first = recording(path)
        keep(first, document("a"))
        line = json.loads(path.read_text())
        with path.open("a") as file:
            file.write(json.dumps({**line, "key": line["key"].replace('"a"', '"b"')}) + "\n")

        assert recording(path, "replay").play("search", "web", "b", 5, {}) == found(document("a"))


class TestFailures:
    def test_failures_are_replayed_and_tried_again_in_reuse(self, path: Path):
        tape = recording(path)
        tape.record(Entry(error="rate limit"), *SEARCH)
        assert recording(path, "replay").play(*SEARCH) == Entry(error="rate limit")
        assert tape.play(*SEARCH) is None
        keep(tape, document("a"))
        assert recording(path, "replay").play(*SEARCH) == found(document("a"))


class TestRecording:
    def test_makes_the_folder_with_the_first_entry(self, tmp_path: Path):
        path = tmp_path / "new" / "folder" / "kept.jsonl"
        tape = recording(path)
        assert not path.parent.exists()

        keep(tape)

        assert path.is_file()

    def test_keeps_the_first_of_two_outcomes_while_it_is_reused(self, path: Path):
        tape = recording(path)

        first = tape.record(found(document("first")), *SEARCH)
        second = tape.record(found(document("second")), *SEARCH)

        assert first == second == found(document("first"))
        assert len(path.read_text().splitlines()) == 1

    @given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
    def test_keeps_any_text(self, text: str):
        search, call = ("search", "web", text, 5, {}), ("reply", "llm", text)
        entry = found(Document(id="a", content=text, meta={"title": text}))
        reply = Entry(replies=(ChatMessage.from_assistant(text, tool_calls=[ToolCall("t", {"q": text})]),))
        with TemporaryDirectory() as folder:
            path = Path(folder, "kept.jsonl")
            recording(path).record(entry, *search)  # type: ignore[arg-type]
            recording(path).record(reply, *call)  # type: ignore[arg-type]
            # Under a name that no recording of this process has read.
            again = path.rename(path.with_name("again.jsonl"))

            assert recording(again).play(*search) == entry  # type: ignore[arg-type]
            assert recording(again).play(*call) == reply  # type: ignore[arg-type]

    def test_a_recording_keeps_line_separators_and_odd_metadata(self, path: Path):
        tape = recording(path)
        text = "1\u20282\u20293\x854\x0c5\r6\r\n7"
        at_once = tape.record(found(document("a", content=text, day=date(2024, 5, 1))), *SEARCH)
        assert (at_once.documents[0].content, at_once.documents[0].meta["day"]) == (text, "2024-05-01")
        del tape
        gc.collect()
        assert recording(path).play(*SEARCH) == at_once

    def test_two_recordings_of_one_file_share_what_they_keep(self, path: Path, monkeypatch: pytest.MonkeyPatch):
        keep(recording(path), document("a"))
        gc.collect()
        read: list[Path] = []
        read_bytes = Path.read_bytes
        monkeypatch.setattr(Path, "read_bytes", lambda self: read.append(self) or read_bytes(self))  # type: ignore[func-returns-value]

        first, two = recording(path), recording(Path(os.path.relpath(path)))
        first.record(found(), "search", "web", "b", 5, {})

        assert two.play("search", "web", "b", 5, {}) == found()
        assert len(read) == 1

    def test_of_several_threads_stays_whole(self, path: Path):
        def record(number: int) -> None:
            tape = recording(path)
            for turn in range(20):
                entry = found(document(str(number), content="x" * 2_000))
                tape.record(entry, "search", "web", f"{number}-{turn}", 5, {})

        threads = [threading.Thread(target=record, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gc.collect()

        replayed = recording(path, "replay")
        assert all(replayed.play("search", "web", f"{n}-{turn}", 5, {}) for n in range(4) for turn in range(20))
