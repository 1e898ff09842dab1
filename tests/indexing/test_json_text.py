"""JSON as text."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.json_text import read_json
from prefrag.indexing.report import CannotRead


def test_an_object_is_a_line_of_names_and_values() -> None:
    value = {"name": "Ada", "address": {"city": "London", "tags": ["a", "b"]}, "known": True, "died": None}

    assert read_json(json.dumps(value)) == ["name: Ada; address city: London; address tags: a, b; known: true"]


def test_each_object_of_a_list_has_a_line() -> None:
    value = {"title": "Staff", "people": [{"name": "Ada", "pets": [{"kind": "cat"}]}, {"name": "Bob"}]}

    assert read_json(json.dumps(value)) == [
        "title: Staff",
        "people: name: Ada",
        "people > pets: kind: cat",
        "people: name: Bob",
    ]


def test_numbers_stay_as_they_are_written() -> None:
    number = "1" * 5_000

    assert read_json(f"[1.10, 1e999, {number}]") == [f"1.10, 1e999, {number}"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "{", "", "[1] x"])
def test_what_is_no_json_or_too_deep_is_refused(text: str) -> None:
    with pytest.raises(CannotRead, match="not JSON|too deeply"):
        read_json(text)


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(_VALUES)
def test_any_json_becomes_lines(value: object) -> None:
    assert all("\n" not in line for line in read_json(json.dumps(value)))


@pytest.mark.parametrize("value", [{"k" * 10_000: [{"a": 1}] * 100}, {"k" * 10_000: dict.fromkeys("abcdefghij", 1)}])
def test_a_long_name_is_not_written_in_full_before_each_value(value: object) -> None:
    assert len("".join(read_json(json.dumps(value)))) < 25_000


def test_more_text_than_is_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("prefrag.indexing.tables._MOST_TEXT", 1_000)

    with pytest.raises(CannotRead, match="more text than is read"):
        read_json(json.dumps({"people": [{"name": "Ada"}] * 100}))
