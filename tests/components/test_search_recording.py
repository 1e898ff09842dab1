"""What sources gave, kept in one file."""

from __future__ import annotations

import threading
from datetime import date
from pathlib import Path

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from components.search_recording import SearchRecording
from tests.components.samples import document

YEAR = {"field": "meta.year", "operator": ">", "value": 2000}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "kept.jsonl"


def recording(path: Path, mode: str = "reuse") -> SearchRecording:
    return SearchRecording(str(path), mode)  # type: ignore[arg-type]


class TestInit:
    def test_knows_three_modes(self, path: Path):
        with pytest.raises(ValueError, match="set it to record, replay or reuse"):
            recording(path, "rewind")

    def test_needs_something_to_replay(self, path: Path):
        with pytest.raises(ValueError, match=r"no recording at .*record one first"):
            recording(path, "replay")

    @pytest.mark.parametrize("line", ["{", "[]", '{"key": "a"}', '{"key": "a", "documents": [1]}'])
    def test_names_a_line_that_is_broken(self, path: Path, line: str):
        recording(path).record("web", "a", 5, None, [])
        with path.open("a") as file:
            file.write(line + "\n")

        with pytest.raises(ValueError, match=r"Line 2 of the recording .*kept.jsonl is broken"):
            recording(path)

    def test_bears_empty_lines(self, path: Path):
        recording(path).record("web", "a", 5, None, [])
        path.write_text("\n" + path.read_text() + "\n\n")

        assert recording(path).play("web", "a", 5, None) == ()


def test_survives_serialisation(path: Path):
    kept = recording(path, "record")

    again = SearchRecording.from_dict(kept.to_dict())

    assert (again.path, again.mode) == (str(path), "record")


class TestPlaying:
    def test_gives_what_was_kept_to_the_next_process_too(self, path: Path):
        found = [document("a", url="https://example.org", year=2001), Document(id="bare")]
        recording(path, "record").record("web", "a", 5, None, found)

        for mode in ("replay", "reuse"):
            assert recording(path, mode).play("web", "a", 5, None) == tuple(found)

    def test_an_empty_finding_is_one(self, path: Path):
        recording(path).record("web", "a", 5, None, [])

        assert recording(path, "replay").play("web", "a", 5, None) == ()

    @pytest.mark.parametrize(
        "other", [("local", "a", 5, None), ("web", "b", 5, None), ("web", "a", 6, None), ("web", "a", 5, YEAR)]
    )
    def test_tells_searches_apart(self, path: Path, other: tuple):
        recording(path).record("web", "a", 5, None, [document("a")])

        assert recording(path).play(*other) is None
        with pytest.raises(LookupError, match="does not hold this search"):
            recording(path, "replay").play(*other)

    def test_no_filter_and_an_empty_one_are_the_same(self, path: Path):
        recording(path).record("web", "a", 5, {}, [document("a")])

        assert recording(path).play("web", "a", 5, None) is not None

    def test_never_plays_while_it_records(self, path: Path):
        kept = recording(path, "record")
        kept.record("web", "a", 5, None, [document("a")])

        assert kept.play("web", "a", 5, None) is None

    def test_of_two_recordings_of_a_search_the_last_counts(self, path: Path):
        recording(path, "record").record("web", "a", 5, None, [document("old")])
        recording(path, "record").record("web", "a", 5, None, [document("new")])

        played = recording(path, "replay").play("web", "a", 5, None)

        assert played is not None
        assert [found.id for found in played] == ["new"]


class TestRecording:
    def test_makes_the_folder_with_the_first_search(self, tmp_path: Path):
        path = tmp_path / "new" / "folder" / "kept.jsonl"
        kept = recording(path)
        assert not path.parent.exists()

        kept.record("web", "a", 5, None, [])

        assert path.is_file()

    @given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"])))
    def test_keeps_any_text(self, tmp_path_factory: pytest.TempPathFactory, text: str):
        path = tmp_path_factory.mktemp("kept") / "kept.jsonl"
        recording(path).record("web", text, 5, None, [Document(id="a", content=text, meta={"title": text})])

        played = recording(path).play("web", text, 5, None)

        assert played is not None
        assert (played[0].content, played[0].meta["title"]) == (text, text)

    @pytest.mark.parametrize("separator", ["\u2028", "\u2029", "\x85", "\x0c", "\r", "\r\n"])
    def test_keeps_the_line_separators_of_web_pages(self, path: Path, separator: str):
        recording(path).record("web", "a", 5, None, [document("a", content=f"one{separator}two")])

        played = recording(path).play("web", "a", 5, None)

        assert played is not None
        assert played[0].content == f"one{separator}two"

    def test_keeps_metadata_that_json_does_not_know_as_text(self, path: Path):
        recording(path).record("local", "a", 5, None, [document("a", day=date(2024, 5, 1))])

        played = recording(path).play("local", "a", 5, None)

        assert played is not None
        assert played[0].meta["day"] == "2024-05-01"

    def test_of_several_threads_stays_whole(self, path: Path):
        kept = recording(path)

        def record(number: int) -> None:
            for turn in range(20):
                kept.record("web", f"{number}-{turn}", 5, None, [document(str(number), content="x" * 2_000)])

        threads = [threading.Thread(target=record, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

        replayed = recording(path, "replay")
        assert all(replayed.play("web", f"{number}-{turn}", 5, None) for number in range(4) for turn in range(20))
