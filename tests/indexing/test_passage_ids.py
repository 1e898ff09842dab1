"""The ids of a corpus."""

from __future__ import annotations

from pathlib import Path

import pytest

from prefrag.indexing.passage_ids import PassageIds, contains_id, read_ids
from prefrag.indexing.report import IndexReport
from tests.indexing.samples import Make, line


@pytest.mark.parametrize("most_unsorted", [1, 2, 500_000])
def test_an_id_is_new_once(monkeypatch: pytest.MonkeyPatch, most_unsorted: int) -> None:
    monkeypatch.setattr(PassageIds, "_MOST_UNSORTED", most_unsorted)
    ids = PassageIds()
    assert [ids.add(each) for each in "abcabcd"] == [True, True, True, False, False, False, True]


def test_those_of_a_corpus_are_known_again(make: Make) -> None:
    ids = read_ids(str(make("c.jsonl", line("a") + line(7))))
    assert ids is not None
    assert [contains_id(ids, each) for each in ("a", "7", "b")] == [True, True, False]


def test_those_of_an_empty_corpus_are_none(make: Make) -> None:
    ids = read_ids(str(make("c.jsonl", "")))
    assert ids is not None
    assert not contains_id(ids, "a")


def test_a_corpus_that_cannot_be_read_has_unknown_ids_and_is_reported_once(make: Make, tmp_path: Path) -> None:
    report = IndexReport()
    broken, missing = str(make("c.jsonl", line("a") + "[]")), str(tmp_path / "nowhere")
    assert [read_ids(each, report) for each in (broken, broken, missing)] == [None, None, None]
    assert [skipped.path for skipped in report.skipped] == [broken, missing]
    assert "line 2: expected a JSON object" in report.skipped[0].reason
