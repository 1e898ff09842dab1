from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.document_date import find_date
from tests.for_each import for_each


@for_each(
    "meta, text, name, date, place",
    ({"date": "2021-03-04"}, "Date: 2022-01-01", "2023-01-01.md", "2021-03-04", "document"),
    ({"date": "2021-03-04T10:00:00Z"}, "", "a.md", "2021-03-04", "document"),
    ({"date": "5 March 2024"}, "", "a.md", "2024-03-05", "document"),
    ({"date": "last spring"}, "", "a.md", None, None),
    ({"date": 2024}, "", "2023-11.md", "2023-11", "name"),
    ({}, "The yard\nLast updated on 6 November 2023\nText.", "2020-01-01.md", "2023-11-06", "document"),
    ({}, "Stand: 06.11.2023", "a.txt", "2023-11-06", "document"),
    ({}, "Cork, Nov 6th, 2023.", "a.txt", "2023-11-06", "document"),
    ({}, "The yard was opened on 6 November 2023 by the queen.", "minutes-20231106.txt", "2023-11-06", "name"),
    ({}, "06/11/2023", "minutes_06-11-2023 v2.txt", "2023-11-06", "name"),
    ({}, "", "report_2023-11.pdf", "2023-11", "name"),
    ({}, "31.02.2023", "2023-13-01.txt", None, None),
    ({}, "Text.\n" * 20 + "2023-11-06", "call 020231106 now.txt", None, None),
)
def test_is_the_one_that_it_states_or_that_in_its_name(
    meta: dict[str, Any], text: str, name: str, date: str | None, place: str | None
):
    found = find_date(meta, text, name)

    assert (found.get("date"), found.get("date_in")) == (date, place)


@given(st.text(), st.text())
def test_any_text_and_any_name_are_read(text: str, name: str):
    assert set(find_date({}, text, name)) in ({"date", "date_in"}, set())
