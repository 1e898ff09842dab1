"""Corpora as JSONL and as a JSON list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from prefrag.indexing import corpus_files, index, list_documents, prune
from tests.indexing.samples import Make, stored, texts

PASSAGES = [{"id": "x", "title": "Karl", "text": "A church."}, {"id": "y", "text": "A chapel.", "year": 1730}]


def _list(passages: object = PASSAGES) -> str:
    return json.dumps(passages, indent=1)


class TestAListOfPassages:
    def test_is_a_corpus(self, make: Make) -> None:
        report = index([make("c.json", _list())])

        assert texts() == ["A chapel.", "A church."]
        assert stored()["y"].meta["year"] == 1730
        assert (report.files, report.written) == (1, 2)
        assert [entry.kind for entry in list_documents()] == ["corpus"]

    def test_is_unchanged_until_an_entry_changes(self, make: Make) -> None:
        index([make("c.json", _list())])

        report = index([make("c.json", _list([{**PASSAGES[0], "text": "Another."}, PASSAGES[1]]))])

        assert (report.written, report.unchanged) == (1, 1)
        assert texts() == ["A chapel.", "Another."]

    def test_is_pruned_of_entries_that_left_it(self, make: Make) -> None:
        index([make("c.json", _list())])
        make("c.json", _list(PASSAGES[:1]))

        prune()

        assert texts() == ["A church."]

    def test_has_its_broken_entries_reported(self, make: Make) -> None:
        report = index([make("c.json", _list([*PASSAGES, {"id": "z"}, {"id": "x", "text": "Twice."}]))])

        assert [skipped.line for skipped in report.skipped] == [3, 4]

    def test_that_is_broken_at_its_end_is_reported_once(self, make: Make) -> None:
        [skipped] = index([make("c.json", _list()[:-1])]).skipped

        assert "it is not JSON" in skipped.reason

    def test_that_is_too_large_is_to_become_lines(self, make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(corpus_files, "MOST_LIST_BYTES", 50)

        [skipped] = index([make("c.json", _list())]).skipped

        assert "make it a .jsonl file" in skipped.reason


@pytest.mark.parametrize(
    "text",
    [
        '{"id": "x", "text": "An object."}',
        '[{"name": "Ada"}]',
        '[[{"id": "x", "text": "y"}]]',
        '["id", "text"]',
        "[" + "{" * 10 + '"a": "b"' + "}" * 10 + "]",
    ],
)
def test_other_json_is_a_file(make: Make, text: str) -> None:
    path = make("a.json", text)

    assert not corpus_files.is_corpus(path)
    index([path])
    assert {passage.meta.get("kind") for passage in stored().values()} <= {"json"}


def test_a_file_of_other_json_is_read_as_text(make: Make) -> None:
    index([make("a.json", '{"name": "Ada", "born": 1815}')])

    assert texts() == ["name: Ada; born: 1815"]


def test_json_that_is_nested_too_deeply_is_no_corpus(tmp_path: Path) -> None:
    path = tmp_path / "deep.json"
    path.write_text("[" + '{"a":' * 100_000)

    assert not corpus_files.is_corpus(path)
