"""Indexing into a real Elasticsearch; PREFRAG_TEST_ELASTICSEARCH_URL is its address."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from elasticsearch import Elasticsearch
from haystack.document_stores.errors import DocumentStoreError
from haystack.errors import FilterError
from haystack.utils import Secret
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.indexing import delete_documents, index, list_documents, prune
from prefrag.collections.stores import ElasticsearchPassageStore, elasticsearch_store
from prefrag.components.document_stores.elasticsearch.fields import KnownFields
from prefrag.components.document_stores.elasticsearch.titles import ElasticsearchTitles
from prefrag.components.document_stores.narrowing import narrow_filters
from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from prefrag.errors import Missing
from prefrag.server.library.document_list import describe_documents

URL = os.environ.get("PREFRAG_TEST_ELASTICSEARCH_URL", "")
pytestmark = pytest.mark.skipif(not URL, reason="PREFRAG_TEST_ELASTICSEARCH_URL names no Elasticsearch to test with")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text("A sentence of six words is. " * 100)
    (tmp_path / "b.txt").write_text("The square lies in Vienna.")
    (tmp_path / "c.jsonl").write_text(line("x", "Karl", "A church on a square.") + line("y", "Anna", "A chapel."))
    return tmp_path


def line(passage_id: str, title: str, text: str, **more: Any) -> str:
    return json.dumps({"id": passage_id, "title": title, "text": text, **more}) + "\n"


def contents(client: Elasticsearch, name: str) -> dict[str, Any]:
    client.indices.refresh(index=name)
    return {hit["_id"]: hit["_source"] for hit in client.search(index=name, size=1000)["hits"]["hits"]}


def test_letters_with_accents_are_found_however_they_are_written(tmp_path: Path, name: str) -> None:
    (tmp_path / "Ko\u0308penick.txt").write_text("A Bru\u0308cke and an o\ufb03ce.")
    (tmp_path / "c.jsonl").write_text(line("x", "Ko\u0308penick", "Another Bru\u0308cke."))
    index([tmp_path], ElasticCollection(name))

    retriever = ElasticsearchMultiMatchRetriever(ElasticsearchDocumentStore(hosts=URL, index=name))
    for query in ("K\u00f6penick", "Ko\u0308penick", "br\u00fccke"):
        assert len(retriever.run(query=query)["documents"]) == 2
        assert retriever.document_frequencies([query]) == (2, {query: 2})
    assert len(retriever.run(query="office")["documents"]) == 1
    titles = ElasticsearchTitles(retriever.document_store).documents_by_title({"kopenick": "Bru\u0308cke"})
    assert all(passage.score > 0 for passage in titles["kopenick"])


def test_two_corpora_with_the_same_ids_keep_the_first(tmp_path: Path, name: str) -> None:
    for corpus, text in (("a.jsonl", "Alpha."), ("b.jsonl", "Beta.")):
        (tmp_path / corpus).write_text(line("x", "A title", text) + line(corpus, "A title", text))

    for written in (3, 0):
        report = index([tmp_path], ElasticCollection(name))
        assert (report.written, len(report.skipped)) == (written, 1)
        assert str(tmp_path / "a.jsonl") in report.skipped[0].reason


def test_corpus_with_its_own_title_key_is_not_written_twice(tmp_path: Path, name: str) -> None:
    (tmp_path / "c.jsonl").write_text(line("x", "A title", "Alpha.", title_key="mine"))

    assert [index([tmp_path], ElasticCollection(name)).written for _ in range(2)] == [1, 0]


def test_what_is_indexed_is_found_at_once_by_title_and_stem(folder: Path, name: str) -> None:
    report = index([folder], ElasticCollection(name))

    store = ElasticsearchDocumentStore(hosts=URL, index=name, api_key=Secret.from_token("x"), api_key_id=None)
    documents = ElasticsearchMultiMatchRetriever(store, top_k=2).run(query="Karl's squares and churches")["documents"]
    assert documents[0].id == "x"
    assert documents[0].meta == {"title": "Karl", "corpus": str(folder / "c.jsonl")}
    assert (report.skipped, report.written) == ([], store.count_documents())


def test_a_second_call_writes_nothing(folder: Path, name: str, client: Elasticsearch) -> None:
    index([folder], ElasticCollection(name))
    before = contents(client, name)

    report = index([folder], ElasticCollection(name))

    assert (report.written, report.unchanged, report.deleted) == (0, len(before), 0)
    assert contents(client, name) == before


def test_changed_and_removed_files_and_lines_lose_their_passages(
    folder: Path, name: str, client: Elasticsearch
) -> None:
    index([folder], ElasticCollection(name))
    (folder / "a.txt").write_text("Now short.")
    (folder / "b.txt").unlink()
    (folder / "c.jsonl").write_text(line("x", "Karl", "A changed text."))

    report = index([folder], ElasticCollection(name), prune=True)

    assert sorted(source["content"] for source in contents(client, name).values()) == ["A changed text.", "Now short."]
    assert report.pruned == [str(folder / "b.txt")]


def test_listing_and_deleting(folder: Path, name: str, client: Elasticsearch) -> None:
    index([folder], ElasticCollection(name))
    total = len(contents(client, name))

    listed = list_documents(ElasticCollection(name))
    assert [(Path(entry.path or "").name, entry.kind, entry.passages) for entry in listed] == [
        ("a.txt", "file", total - 3),
        ("b.txt", "file", 1),
        ("c.jsonl", "corpus", 2),
    ]

    deletion = delete_documents(["x", str(folder / "a.txt"), "nothing"], ElasticCollection(name))
    assert (deletion.passages, deletion.unknown) == (total - 2, ["nothing"])
    assert len(contents(client, name)) == 2


def test_passage_against_the_mapping_is_named_and_others_written(
    tmp_path: Path, name: str, client: Elasticsearch
) -> None:
    corpus = tmp_path / "c.jsonl"
    corpus.write_text(
        line("a", "T", "Text.", year=1990)
        + line("b", "T", "Text.", year="about 1990")
        + line("c", "T", "Text.", when="2020-01-01")
        + line("d", "T", "Text.", when="some day", long="x" * 50_000)
    )

    report = index([corpus], ElasticCollection(name))

    assert set(contents(client, name)) == {"a", "c", "d"}
    assert [(skipped.line, "year" in skipped.reason) for skipped in report.skipped] == [(2, True)]


def test_files_that_a_crash_left_half_written_are_repaired(
    folder: Path, name: str, client: Elasticsearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = ElasticsearchPassageStore.write

    def half(store: ElasticsearchPassageStore, passages: list[Any]) -> dict[str, str]:
        write(store, passages[: len(passages) // 2])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(ElasticsearchPassageStore, "write", half)
        with pytest.raises(KeyboardInterrupt):
            index([folder / "a.txt"], ElasticCollection(name))
    assert contents(client, name)

    index([folder / "a.txt"], ElasticCollection(name))

    passages = contents(client, name).values()
    assert {passage["split_count"] for passage in passages} == {len(passages)}


def test_sources_can_be_split_over_two_indexes(tmp_path: Path, name: str, client: Elasticsearch) -> None:
    corpus = tmp_path / "c.jsonl"
    corpus.write_text("".join(line(source, "T", "Text.", source=source) for source in ("local", "web", "both")))

    index([corpus], ElasticCollection(name), split_sources=True)

    assert set(contents(client, name)) == {"local", "both"}
    assert set(contents(client, f"{name}-web")) == {"web", "both"}


def test_more_passages_than_a_request_takes(
    tmp_path: Path, name: str, client: Elasticsearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ElasticsearchPassageStore, "batch", 300)
    corpus = tmp_path / "c.jsonl"
    corpus.write_text("".join(line(str(number), "T", f"Text {number}.") for number in range(1000)))

    assert index([corpus], ElasticCollection(name)).written == 1000
    assert index([corpus], ElasticCollection(name)).unchanged == 1000
    corpus.with_name("stays.txt").touch()
    corpus.unlink()
    assert prune(ElasticCollection(name)).deleted == 1000


def test_an_index_of_another_making_is_refused(folder: Path, name: str, client: Elasticsearch) -> None:
    client.indices.create(index=name)

    with pytest.raises(ValueError, match="was not made by prefrag"):
        index([folder], ElasticCollection(name))


def test_an_index_of_another_language_is_refused(folder: Path, name: str) -> None:
    index([folder / "b.txt"], ElasticCollection(name))

    with pytest.raises(ValueError, match="made for 'english', not for 'german'"):
        index([folder], ElasticCollection(name), language="german")


def test_a_language_without_an_analyzer_is_refused(folder: Path, name: str) -> None:
    with pytest.raises(DocumentStoreError, match="klingon"):
        index([folder], ElasticCollection(name), language="klingon")


def test_listing_does_not_make_an_index(name: str, client: Elasticsearch) -> None:
    with pytest.raises(FileNotFoundError, match="prefrag index"):
        list_documents(ElasticCollection(name))
    assert not client.indices.exists(index=name)


def test_a_name_with_capitals_is_refused_with_one_that_works(folder: Path, name: str) -> None:
    with pytest.raises(ValueError, match="use 'mine'"):
        index([folder], ElasticCollection("Mine"))


def test_the_variables_of_the_yaml_are_the_same(name: str) -> None:
    yaml = (Path(__file__).parents[2] / "yaml_pipelines" / "prefrag_elasticsearch.yaml").read_text(encoding="utf-8")

    for variable in ("URL", "API_KEY", "API_KEY_ID"):
        assert f"PREFRAG_ELASTICSEARCH_{variable}" in yaml


def test_the_metadata_of_files_filters_as_in_the_embedded_index(folder: Path, name: str) -> None:
    (folder / "sub").mkdir()
    (folder / "sub" / "d.csv").write_text("name,height\nGoliath,80\n")
    for file, day in (("a.txt", 1), ("b.txt", 2), ("sub/d.csv", 3)):
        noon = datetime(2024, 5, day, 12, tzinfo=UTC).timestamp()
        os.utime(folder / file, (noon, noon))
    index([folder], ElasticCollection(name))
    store = elasticsearch_store(URL, name)

    def found(field: str, operator: str, value: Any) -> set[str]:
        filters = {"field": f"meta.{field}", "operator": operator, "value": value}
        return {document.meta["file_name"] for document in store.filter_documents(filters)}

    assert found("modified", ">=", "2024-05-02") == {"b.txt", "d.csv"}
    assert found("modified", "<", "2024-05-02") == {"a.txt"}
    assert found("modified", "==", "2024-05-03") == {"d.csv"}
    assert found("folder", "==", str(folder)) == {"a.txt", "b.txt"}
    assert found("kind", "in", ["csv"]) == {"d.csv"}
    with pytest.raises(FilterError, match=r"meta\.file_name.*meta\.folder.*meta\.kind.*meta\.modified"):
        KnownFields(store).check({"field": "meta.date", "operator": "==", "value": "x"})


def test_question_is_narrowed_and_the_list_has_a_files_metadata(tmp_path: Path, name: str) -> None:
    for written in ("plans/2024-05-06 quay (draft).txt", "plans/quay.md", "mail/quay.txt"):
        (tmp_path / written).parent.mkdir(exist_ok=True)
        (tmp_path / written).write_text(f"The quay is mended. {written}")
    index([tmp_path], ElasticCollection(name))

    retriever = ElasticsearchMultiMatchRetriever(ElasticsearchDocumentStore(hosts=URL, index=name))
    for wanted, number in (({"folders": ["plans"]}, 2), ({"kinds": [".txt"]}, 2), ({"since": "2024-05"}, 1)):
        filters = narrow_filters([retriever.document_store], wanted)
        assert len(retriever.run(query="quay", filters=filters)["documents"]) == number
    listed = {document["name"]: document for document in describe_documents(ElasticCollection(name))["documents"]}
    draft = listed["2024-05-06 quay (draft).txt"]
    assert (draft["folder"], draft["standing"], draft["date_in"]) == ("plans", "draft", "name")
    assert "standing" not in listed["quay.md"]


def test_files_that_are_gone_are_told(folder: Path, name: str) -> None:
    index([folder], ElasticCollection(name))
    (folder / "b.txt").unlink()

    assert index([folder], ElasticCollection(name)).vanished == [str(folder / "b.txt")]


def test_an_index_is_listed_and_dropped(folder: Path, name: str, client: Elasticsearch) -> None:
    index([folder], ElasticCollection(name))
    ElasticCollection(name).keep_consent(True)
    foreign = f"{name}-foreign"
    client.indices.create(index=foreign)
    try:
        listed = {entry.name: entry for entry in (collection.summary() for collection in ElasticCollection.all())}

        assert (listed[name].files, listed[name].web, listed[name].problem) == (3, True, None)
        assert listed[name].passages == client.count(index=name)["count"]
        assert foreign not in listed
        with pytest.raises(Missing, match="that prefrag made"):
            ElasticCollection(foreign).drop()
    finally:
        client.indices.delete(index=foreign)

    ElasticCollection(name).drop()

    assert not client.indices.exists(index=name)
    with pytest.raises(Missing):
        ElasticCollection(name).drop()
