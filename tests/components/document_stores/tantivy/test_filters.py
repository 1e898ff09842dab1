import pytest
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.document_stores.filter_fields import named_fields
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from tests.components.document_stores.tantivy.passages import ids, passage
from tests.for_each import for_each


class TestFilters:
    @for_each(
        "filters, expected",
        ({"field": "meta.country", "operator": "==", "value": "at"}, {"vienna", "linz"}),
        ({"field": "country", "operator": "==", "value": "at"}, {"vienna", "linz"}),
        ({"field": "meta.country", "operator": "!=", "value": "at"}, {"passau", "bern"}),
        ({"field": "meta.country", "operator": "in", "value": ["de", "ch"]}, {"passau", "bern"}),
        ({"field": "meta.country", "operator": "not in", "value": ["de", "ch"]}, {"vienna", "linz"}),
        ({"field": "meta.country", "operator": "in", "value": []}, set()),
        ({"field": "meta.year", "operator": "==", "value": 799.0}, {"linz"}),
        ({"field": "meta.year", "operator": ">", "value": 1000}, {"vienna", "bern"}),
        ({"field": "meta.year", "operator": "==", "value": None}, {"passau"}),
        ({"field": "id", "operator": "in", "value": ["bern", "linz"]}, {"bern", "linz"}),
        ({"field": "content", "operator": "==", "value": "Bears live beside the Aare."}, {"bern"}),
        (
            {
                "operator": "AND",
                "conditions": [
                    {"field": "meta.country", "operator": "==", "value": "at"},
                    {"field": "meta.year", "operator": "<", "value": 1000},
                ],
            },
            {"linz"},
        ),
        (
            {
                "operator": "OR",
                "conditions": [
                    {"field": "meta.country", "operator": "==", "value": "ch"},
                    {"field": "meta.year", "operator": "<", "value": 1000},
                ],
            },
            {"linz", "bern"},
        ),
        (
            {"operator": "NOT", "conditions": [{"field": "meta.country", "operator": "==", "value": "at"}]},
            {"passau", "bern"},
        ),
    )
    def test_select_documents(self, towns, filters, expected):
        assert set(ids(towns.filter_documents(filters))) == expected
        everything = "danube town capital rivers bears"
        assert set(ids(towns.search(everything, filters=filters))) == expected

    def test_filtered_results_keep_scores_and_order(self, towns):
        unfiltered = [d for d in towns.search("danube town", top_k=4) if d.meta["country"] == "at"]
        filtered = towns.search("danube town", filters={"field": "meta.country", "operator": "==", "value": "at"})
        assert [(d.id, pytest.approx(d.score)) for d in filtered] == [(d.id, d.score) for d in unfiltered]
        assert set(ids(towns.filter_documents())) == {"vienna", "linz", "passau", "bern"}

    @pytest.mark.parametrize("operator", ["==", "<="])
    def test_a_rare_filter_finds_documents_below_thousands(self, store, operator):
        common = [passage(f"c{n}", "heron heron heron", rank=n + 100) for n in range(3000)]
        rare = [passage(f"r{n}", "one heron in " + "many other words " * 9, rank=7) for n in range(8)]
        store.write_documents(common + rare)
        filters = {"field": "meta.rank", "operator": operator, "value": 7}
        assert set(ids(store.search("heron", top_k=5, filters=filters))) <= set(ids(rare))
        assert len(store.search("heron", top_k=5, filters=filters)) == 5
        assert len(store.search("heron", top_k=50, filters=filters)) == 8

    def test_nested_metadata(self, store):
        store.write_documents([passage("a", "heron", seen={"by": {"name": "Ada"}}), passage("b", "heron")])
        documents = store.search("heron", filters={"field": "meta.seen.by.name", "operator": "==", "value": "Ada"})
        assert ids(documents) == ["a"]

    scalars = st.one_of(
        st.sampled_from([0, 1, 1.0, True, False, "1", "x", "n1", None]),
        st.floats(allow_nan=False),
        st.text(max_size=4),
        st.text("ab\ud800é", min_size=199, max_size=201),
        st.lists(st.integers(0, 2), max_size=2),
    )
    comparisons = st.builds(
        lambda key, operator, value, values: {
            "field": f"meta.{key}",
            "operator": operator,
            "value": values if "in" in operator else value,
        },
        st.sampled_from("ab"),
        st.sampled_from(["==", "!=", "in", "not in"]),
        scalars,
        st.lists(scalars, max_size=3),
    )
    filters = st.recursive(
        comparisons,
        lambda children: st.builds(
            lambda operator, conditions: {"operator": operator, "conditions": conditions},
            st.sampled_from(["AND", "OR", "NOT"]),
            st.lists(children, max_size=3),
        ),
        max_leaves=5,
    )

    @given(st.lists(st.dictionaries(st.sampled_from("ab"), scalars), min_size=1, max_size=8), filters)
    def test_agree_with_haystack(self, tmp_path_factory, metas, condition):
        store = TantivyDocumentStore(path=str(tmp_path_factory.mktemp("filters") / "index"))
        documents = [Document(id=str(n), content="heron", meta=meta) for n, meta in enumerate(metas)]
        store.write_documents(documents)
        expected = [document.id for document in documents if document_matches_filter(condition, document)]
        assert sorted(ids(store.filter_documents(condition))) == expected
        if set(named_fields(condition)) <= {name for meta in metas for name in meta}:
            assert sorted(ids(store.search("heron", top_k=20, filters=condition))) == expected
        else:
            with pytest.raises(FilterError, match="No document has the field"):
                store.search("heron", filters=condition)

    @for_each(
        "filters",
        {"field": "meta.a", "value": 1},
        {"field": "meta.a", "operator": "=", "value": 1},
        {"field": "meta.a", "operator": "in", "value": 1},
        {"field": 3, "operator": "==", "value": 1},
        {"operator": "XOR", "conditions": []},
        {"operator": "AND", "conditions": {}},
        {"operator": "AND", "conditions": [{"meta.a": 1}]},
        {"a": 1},
        ["a"],
    )
    def test_mistakes_are_named_even_where_nothing_would_match(self, store, filters):
        with pytest.raises(FilterError):
            store.search("anything", filters=filters)
        with pytest.raises(FilterError):
            store.filter_documents(filters)

    @for_each("field, value", ("meta.country", 1000), ("meta.year", {"a": 1}))
    def test_values_that_cannot_be_compared_are_named(self, towns, field, value):
        with pytest.raises(FilterError):
            towns.search("danube", filters={"field": field, "operator": ">", "value": value})


class TestAFieldThatNoDocumentHas:
    @pytest.fixture
    def store(self, tmp_path):
        store = TantivyDocumentStore(path=str(tmp_path / "index"))
        metas = [{"file_path": "/a.md", "place": {"town": "Graz"}}, {"tags": ["tide"], "long": "ö" * 300}]
        store.write_documents([Document(id=str(n), content="heron", meta=meta) for n, meta in enumerate(metas)])
        return store

    @pytest.mark.parametrize("field", ["meta.file", "meta.path", "file", "meta.place.country"])
    @pytest.mark.parametrize("query", ["heron", "a word that is nowhere"])
    def test_is_refused_and_the_fields_that_there_are_are_named(self, store, field, query):
        filters = {"operator": "NOT", "conditions": [{"field": field, "operator": "==", "value": "/a.md"}]}
        with pytest.raises(
            FilterError, match=rf"No document has the field '(meta.)?{field}'.*meta.file_path, meta.long"
        ):
            store.search(query, filters=filters)
        with pytest.raises(FilterError, match="No document has the field"):
            store.documents_by_title({"graz": "Graz"}, filters=filters)

    @for_each("field", "meta.file_path", "place", "meta.place.town", "meta.tags", "meta.long", "id")
    def test_differs_from_one_that_a_document_has_in_whatever_form(self, store, field):
        assert store.search("heron", filters={"field": field, "operator": "==", "value": "another"}) == []

    def test_is_no_mistake_in_an_empty_index(self, store):
        store.delete_all_documents()
        assert store.search("heron", filters={"field": "meta.file", "operator": "==", "value": "x"}) == []
