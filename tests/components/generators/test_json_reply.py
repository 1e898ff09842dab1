"""Reading the JSON of models that do not always write JSON."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.generators.json_reply import read_object, response_format
from tests.for_each import for_each

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
    @given(st.text() | st.text(alphabet="{}[]\"'`:,\\ntrue0123-.eu \n", max_size=60))
    def test_never_raises_also_on_what_looks_like_json(self, text: str):
        assert read_object(text) is None or isinstance(read_object(text), dict)

    @given(objects, st.sampled_from(["```json\n{}\n```", "```\n{}```", "Here it is:\n\n{}\n\nDone.", "```json\n{}"]))
    def test_finds_what_was_written_also_in_a_fence_and_among_words(self, values: dict[str, Any], wrapping: str):
        assert read_object(json.dumps(values)) == values
        assert read_object(json.dumps(values, ensure_ascii=False, indent=2)) == values
        assert read_object(wrapping.replace("{}", json.dumps(values))) == values

    @given(st.text(alphabet=st.characters(exclude_characters='\\"', exclude_categories=["Cs"])), st.data())
    def test_keeps_the_pairs_before_the_place_where_it_was_cut_off(self, analysis: str, data: st.DataObject):
        whole = json.dumps({"status": "True", "analysis": analysis}, ensure_ascii=False)
        start = whole.index('"analysis"')
        cut = whole[: data.draw(st.integers(start, len(whole) - 1))]

        read = read_object(cut)

        assert read is not None
        assert read["status"] == "True"

    @for_each(
        "text, values",
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
    )
    def test_reads_what_models_write(self, text: str, values: dict[str, Any]):
        assert read_object(text) == values

    @for_each("text", "", "True", "no braces", "}{", "{ nothing here }", "[1, 2]", '"text"', '{"a":' * 100_000)
    def test_gives_none_where_there_is_no_object_or_none_that_ends(self, text: str):
        assert read_object(text) is None


def test_half_an_escape_can_be_written_and_deep_nesting_is_left():
    values = read_object('{"answer": "caf\\ud83d"}')

    assert values is not None
    assert values["answer"].encode("utf-8") == b"caf?"

    values = read_object('{"a": ' + "[" * 500 + "]" * 500 + ', "b": 1}')

    assert values is not None
    assert values["b"] == 1
    assert len(json.dumps(values)) < 60
