"""Reading the verdict in a reply."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.judge.model_judge import read_boolean, read_verdict
from tests.for_each import for_each


class TestReadBoolean:
    @for_each(
        "value, read",
        *(
            (value, True)
            for value in (True, "True", "true", " TRUE ", '"True"', "`true`", "**True**", "True.", "yes", 1)
        ),
        ("True, because it is new", True),
        *((value, False) for value in (False, "False", "false.", "'False'", "NO", 0, "0")),
        *(
            (value, None)
            for value in (None, "", "maybe", "True or False", "No doubt", "Truest", 2, [], {"status": True})
        ),
    )
    def test_words_for_true_and_false_are_read_and_no_others(self, value: Any, read: bool | None):
        assert read_boolean(value) is read

    @given(st.text() | st.integers() | st.floats() | st.none())
    def test_never_raises(self, value: Any):
        assert read_boolean(value) in (True, False, None)
        assert read_verdict(str(value), "status")[0] in (True, False, None)


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

    @for_each(
        "quotation", 'A passage says {"status": "True"}', '| {"status": "True", "analysis": "x', '"{" {"status": "True"'
    )
    def test_an_object_that_begins_a_line_counts_before_a_quoted(self, quotation: str):
        own = '{"analysis": "Nothing new.", "status": "False"}'

        for reply in (f"{quotation}\n{own}", f"{own}\n{quotation}", f"{quotation}\n```json\n{own}\n```"):
            assert read_verdict(reply, "status")[0] is False

    def test_a_quotation_within_the_object_does_not_count(self):
        reply = json.dumps({"analysis": 'It says {"status": "True"}.', "status": "False"})

        assert read_verdict(reply, "status")[0] is False
        assert read_verdict(reply.replace("False", "Fals"), "status")[0] is None
