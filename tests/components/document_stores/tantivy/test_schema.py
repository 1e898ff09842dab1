import json
from datetime import UTC, date, datetime

import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prefrag.components.document_stores.tantivy import schema
from tests.components.document_stores.tantivy.passages import ids, passage
from tests.for_each import for_each


class TestDocuments:
    def test_documents_come_back_whole(self, store):
        meta = {
            "title": "Tür",
            "page": 3,
            "share": 0.5,
            "flag": True,
            "none": None,
            "list": [1, "a", {"b": None}],
            "day": date(2024, 2, 29),
            "time": {"at": datetime(2024, 2, 29, 12, 30, 1, 5, tzinfo=UTC)},
            "file_path": "/tmp/a b.pdf",
        }
        store.write_documents([Document(id="x", content="héron \ud800 \U0001f985", meta=meta), Document(id="empty")])
        [back, empty] = store.documents_by_id(["x", "empty"])
        assert (back.content, back.meta) == ("héron \ud800 \U0001f985", meta)
        assert type(back.meta["flag"]) is bool
        assert (empty.content, empty.meta) == (None, {})

    def test_documents_are_read_as_utf_8_and_as_older_escapes(self, store, monkeypatch):
        text, meta = (
            "\u0426\u0430\u043f\u043b\u044f \u9dfa \u20ac \U0001f985",
            {"title": "\u0426\u0430\u043f\u043b\u044f", "day": date(2024, 2, 29)},
        )
        assert text.encode() in schema.to_tantivy(Document(content=text)).get_first("stored")
        store.write_documents([Document(id="new", content=text, meta=meta)])
        monkeypatch.setattr(schema, "_ENCODER", json.JSONEncoder(default=schema._tag_date))
        store.write_documents([Document(id="old", content=text, meta=meta)])
        assert [(document.content, document.meta) for document in store.documents_by_id(["new", "old"])] == [
            (text, meta)
        ] * 2

    json_values = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
        lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3),
        max_leaves=6,
    )

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(st.text(min_size=1, max_size=300), st.none() | st.text(), st.dictionaries(st.text(max_size=5), json_values))
    def test_come_back_whole_whatever_they_hold(self, store, key, content, meta):
        store.write_documents([Document(id=key, content=content, meta=meta)], DuplicatePolicy.OVERWRITE)
        [back] = store.documents_by_id([key])
        assert (back.id, back.content, back.meta) == (key, content, meta)

    @for_each("value", {1, 2}, (1, 2), {1: "a"}, float("nan"), b"x", {"__date__": "2024-02-29"})
    def test_metadata_that_would_change_is_refused(self, towns, value):
        with pytest.raises(ValueError, match=r"document 'odd'.*unchanged"):
            towns.write_documents([passage("fine", "heron"), passage("odd", "heron", bad=value)])
        assert (towns.search("heron"), towns.count_documents()) == ([], 4)

    def test_long_and_odd_ids_come_in_the_order_of_the_request(self, store):
        keys = ["a" * 100_000, "a" * 99_999, "\ud800", "?", "a b\x00"]
        store.write_documents([Document(id=key, content="heron") for key in keys])
        store.delete_documents([keys[0]])
        assert ids(store.documents_by_id([*keys[::-1], "nobody", "?"])) == keys[:0:-1]
