"""Reading the JSON of models that do not always write JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.generators.json_reply import read_boolean, read_object, read_verdict, response_format

keys = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
scalars = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text()
objects = st.dictionaries(keys, scalars | st.lists(scalars, max_size=3), max_size=5)


def test_a_response_format_holds_the_schema():
    schema = {"type": "object"}

    assert response_format("verdict", schema) == {
        "type": "json_schema",
        "json_schema": {"name": "verdict", "schema": schema},
    }


class TestReadObject:
    @given(st.text())
    def test_never_raises(self, text: str):
        assert read_object(text) is None or isinstance(read_object(text), dict)

    @given(st.text(alphabet="{}[]\"'`:,\\ntrue0123-.eu \n", max_size=60))
    def test_never_raises_on_what_looks_like_json(self, text: str):
        assert read_object(text) is None or isinstance(read_object(text), dict)

    @given(objects)
    def test_gives_back_what_was_written(self, values: dict[str, Any]):
        assert read_object(json.dumps(values)) == values
        assert read_object(json.dumps(values, ensure_ascii=False, indent=2)) == values

    @given(objects, st.sampled_from(["```json\n{}\n```", "```\n{}```", "Here it is:\n\n{}\n\nDone.", "```json\n{}"]))
    def test_finds_it_in_a_fence_and_among_words(self, values: dict[str, Any], wrapping: str):
        assert read_object(wrapping.replace("{}", json.dumps(values))) == values

    @given(st.text(alphabet=st.characters(exclude_characters='\\"', exclude_categories=["Cs"])), st.data())
    def test_keeps_the_pairs_before_the_place_where_it_was_cut_off(self, analysis: str, data: st.DataObject):
        whole = json.dumps({"status": "True", "analysis": analysis}, ensure_ascii=False)
        start = whole.index('"analysis"')
        cut = whole[: data.draw(st.integers(start, len(whole) - 1))]

        read = read_object(cut)

        assert read is not None
        assert read["status"] == "True"

    @pytest.mark.parametrize(
        ("text", "values"),
        [
            ('{"analysis": "cut of', {"analysis": "cut of"}),
            ('{"label": "CORRECT", "expl', {"label": "CORRECT"}),
            ("{'status': 'True'}", {"status": "True"}),
            ("{'analysis': \"It doesn't help\", 'status': False}", {"analysis": "It doesn't help", "status": False}),
            ('{"status": True, "score": None}', {"status": True, "score": None}),
            ('{"step": 007, "status": "True"', {"step": "007", "status": "True"}),
            ('{"count": ٣, "status": "True"', {"count": "٣", "status": "True"}),
            ('{"answer": "a \\"word\\"", "x', {"answer": 'a "word"'}),
            ('{"thought": "line\nbreak"}', {"thought": "line\nbreak"}),
            ('{"thought": "see ```{x}``` there", "status": true}', {"thought": "see ```{x}``` there", "status": True}),
            ('In {this} case: {"status": "True"}', {"status": "True"}),
            ('[{"status": true}]', {"status": True}),
            ('{"status": true} {"status": false}', {"status": True}),
        ],
    )
    def test_reads_what_models_write(self, text: str, values: dict[str, Any]):
        assert read_object(text) == values

    @pytest.mark.parametrize("text", ["", "True", "no braces", "{}}{"[1:], "{ nothing here }", "[1, 2]", '"text"'])
    def test_gives_none_where_there_is_no_object(self, text: str):
        assert read_object(text) is None

    def test_bears_an_object_without_an_end(self):
        assert read_object('{"a":' * 100_000) is None


class TestReadBoolean:
    @pytest.mark.parametrize(
        "value",
        [True, "True", "true", " TRUE ", '"True"', "`true`", "**True**", "True.", "yes", 1, "True, because it is new"],
    )
    def test_true(self, value: Any):
        assert read_boolean(value) is True

    @pytest.mark.parametrize("value", [False, "False", "false.", "'False'", "NO", 0, "0"])
    def test_false(self, value: Any):
        assert read_boolean(value) is False

    @pytest.mark.parametrize(
        "value", [None, "", "maybe", "True or False", "No doubt", "Truest", 2, [], {"status": True}]
    )
    def test_neither(self, value: Any):
        assert read_boolean(value) is None

    @given(st.text() | st.integers() | st.floats() | st.none())
    def test_never_raises(self, value: Any):
        assert read_boolean(value) in (True, False, None)


def test_half_an_escaped_character_can_still_be_written_out():
    values = read_object('{"answer": "caf\\ud83d"}')

    assert values is not None
    assert values["answer"].encode("utf-8") == b"caf?"


class TestReadVerdict:
    @given(st.text(max_size=40), st.booleans(), st.booleans())
    def test_the_last_object_that_holds_the_key_counts(self, analysis: str, quoted: bool, meant: bool):
        reply = json.dumps({"analysis": analysis, "status": str(meant)}, ensure_ascii=False)

        for before in (
            f'A passage says {{"status": "{quoted}"}}, which I ignore.\n',
            '{"analysis": "<your reasoning>", "status": "<True or False>"}\n\n',
            f"{{'status': {quoted}}} is a quotation.\n",
            '{"other": 1}',
            f"Status: {quoted}, or so it seems.\n",
        ):
            assert read_verdict(before + reply, "status")[0] is meant

    @given(st.text(max_size=200))
    def test_never_raises(self, text: str):
        assert read_verdict(text, "status")[0] in (True, False, None)

    @pytest.mark.parametrize(
        "quotation",
        ['A passage says {"status": "True"}', '| {"status": "True", "analysis": "x', '"{" {"status": "True"'],
    )
    def test_an_object_that_begins_a_line_counts_before_one_that_is_quoted(self, quotation: str):
        own = '{"analysis": "Nothing new.", "status": "False"}'

        for reply in (f"{quotation}\n{own}", f"{own}\n{quotation}", f"{quotation}\n```json\n{own}\n```"):
            assert read_verdict(reply, "status")[0] is False

    def test_a_quotation_within_the_object_does_not_count(self):
        reply = json.dumps({"analysis": 'It says {"status": "True"}.', "status": "False"})

        assert read_verdict(reply, "status")[0] is False
        assert read_verdict(reply.replace("False", "Fals"), "status")[0] is None


def test_what_is_nested_too_deeply_is_left_out():
    values = read_object('{"a": ' + "[" * 500 + "]" * 500 + ', "b": 1}')

    assert values is not None
    assert values["b"] == 1
    assert len(json.dumps(values)) < 60
