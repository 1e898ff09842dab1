"""Which collections a request may search; it searches only the one that it names."""

import asyncio
import gc
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prefrag import pipelines
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.store_kinds import find_stores
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.errors import BadInput
from prefrag.server.access.keys import ANYONE, Access, current_access
from prefrag.server.library import collection_pipelines
from prefrag.server.library.collection_pipelines import CollectionPipelines
from prefrag.server.library.collections import NoSuchCollection, check_collection, is_listed, searchable_collections
from tests.for_each import for_each
from tests.pipelines.scripted import answer, retriever, search, verdict
from tests.server.keyed import Client, in_shared_application, make_index, serving, write_pipeline

CHAT = {"model": "prefrag", "messages": [{"role": "user", "content": "Who built the tower?"}]}
REFUSAL = str(NoSuchCollection())


@pytest.fixture(autouse=True)
def three_indexes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    make_index("default", "Ada built the tower.")
    make_index("maps", "Bea built the tower.")
    make_index("secret", "Cem built the tower.")
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path / "yaml"))
    return write_pipeline(tmp_path / "yaml")


@pytest.fixture(autouse=True)
def forget_the_key() -> Iterator[None]:
    yield
    current_access.set(ANYONE)


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Client]:
    monkeypatch.setenv("PREFRAG_COLLECTIONS", "maps")
    pipeline = pipelines.load()
    pipeline.warm_up()
    with in_shared_application(pipeline, tmp_path / "yaml" / "prefrag.yaml") as served:
        yield served


class TestWhichMayBeNamed:
    def test_by_default_the_served_one_and_listed_ones_or_all(self, monkeypatch: pytest.MonkeyPatch):
        """The administrator lists them."""

        check_collection("default")
        assert [collection.name for collection in searchable_collections(LocalCollection)] == ["default"]
        with pytest.raises(NoSuchCollection):
            check_collection("maps")
        monkeypatch.setenv("PREFRAG_COLLECTIONS", " maps, not-there-yet,")
        assert [collection.name for collection in searchable_collections(LocalCollection)] == ["default", "maps"]
        assert is_listed("not-there-yet")
        assert not is_listed("secret")
        for every in ("all", "*", "maps,all"):
            monkeypatch.setenv("PREFRAG_COLLECTIONS", every)
            assert [collection.name for collection in searchable_collections(LocalCollection)] == [
                "default",
                "maps",
                "secret",
            ]

    @pytest.mark.parametrize("name", ["demo", "demo-web", "maps-web", "stand-in", "../maps", "", ".hidden"])
    def test_what_stands_in_for_the_web_is_none_of_all(self, monkeypatch: pytest.MonkeyPatch, name: str):
        for stand_in in ("maps-web", "stand-in"):
            make_index(stand_in, "A page of the web.")
        monkeypatch.setenv("PREFRAG_WEB_INDEX", "stand-in")
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")

        assert not is_listed(name)
        assert [collection.name for collection in searchable_collections(LocalCollection)] == [
            "default",
            "maps",
            "secret",
        ]

    def test_what_stands_in_by_the_yaml_is_none_of_all_either(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        settings = {"search": retriever({}, "web"), "index": "maps"}
        web = {"type": "prefrag.components.web.web_retriever.WebRetriever", "init_parameters": settings}
        write_pipeline(tmp_path / "yaml", replace={"web.retriever": web})
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")
        with serving():
            assert not is_listed("maps")
            assert is_listed("secret")
            monkeypatch.setenv("PREFRAG_COLLECTIONS", "maps")
            assert is_listed("maps")

    def test_key_sees_only_its_own_and_opens_nothing_unlisted(self, monkeypatch: pytest.MonkeyPatch):
        current_access.set(Access("ada", frozenset({"secret"})))
        with pytest.raises(NoSuchCollection):
            check_collection("secret")

        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")
        current_access.set(Access("ada", frozenset({"maps"})))
        assert [collection.name for collection in searchable_collections(LocalCollection)] == ["maps"]
        with pytest.raises(NoSuchCollection):
            check_collection("default")

    @for_each("names", "a b", "maps,../x", "demo")
    def test_a_name_that_no_index_can_have_stops_the_start(self, monkeypatch: pytest.MonkeyPatch, names: str):
        monkeypatch.setenv("PREFRAG_COLLECTIONS", names)

        with pytest.raises(BadInput, match="PREFRAG_COLLECTIONS"), serving():
            pass


class TestQuestion:
    def test_searches_the_collection_that_it_names(self, client: Client):
        assert client.found() == ["Ada built the tower."]
        assert client.found("default") == ["Ada built the tower."]
        assert client.found("maps") == ["Bea built the tower."]
        assert client.get("/ready").json() == {"status": "ready"}
        assert client.found() == ["Ada built the tower."]

    def test_learns_nothing_of_a_collection_that_it_may_not_name(self, client: Client, monkeypatch: pytest.MonkeyPatch):
        there, absent = client.ask("secret"), client.ask("absent")
        assert there.status_code == absent.status_code == 404
        assert there.json() == absent.json() == {"detail": REFUSAL}
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "maps,later")
        assert client.ask("later").status_code == 404, "it has not been made"
        assert client.ask(collection=["maps"]).status_code == 422  # type: ignore[arg-type]

    def test_with_a_key_searches_its_only_collection_or_a_named_one(
        self, client: Client, monkeypatch: pytest.MonkeyPatch
    ):
        client.access = Access("ada", frozenset({"maps"}))
        assert client.found() == ["Bea built the tower."]
        assert client.ask("default").status_code == 404

        client.access = Access("ada", frozenset())
        assert (client.ask().status_code, client.ask("default").status_code) == (422, 404)

        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")
        client.access = Access("ada", frozenset({"maps", "secret"}))
        response = client.ask()
        assert response.status_code == 422
        assert "`collection`" in response.json()["detail"]
        assert client.found("secret") == ["Cem built the tower."]

    def test_has_an_older_name_for_the_option(self, client: Client):
        for named in ({"collection": "maps"}, {"index": "maps"}, {"collection": "maps", "index": "maps"}):
            assert "Bea built the tower." in client.ask(**named).text, named
        refused = client.ask(collection="maps", index="default")
        assert refused.status_code == 422
        assert "give only one of the two" in refused.json()["detail"]
        assert client.ask(collection="secret").json() == {"detail": REFUSAL}

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("option", ["collection", "index"])
    @pytest.mark.parametrize("place", [lambda named: named, lambda named: {"prefrag": named}])
    def test_in_a_chat_names_it_too(self, client: Client, stream: bool, place: Any, option: str):
        chat = {**CHAT, "stream": stream}

        assert "Bea built the tower." in client.post("/v1/chat/completions", json=chat | place({option: "maps"})).text
        refused = client.post("/v1/chat/completions", json=chat | place({option: "secret"}))
        assert (refused.status_code, refused.json()["detail"]) == (404, REFUSAL)


class TestWeb:
    @pytest.fixture(autouse=True)
    def only_the_default_may(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        replies = (search("tower"), search("tower delta"), answer("Ada"))
        write_pipeline(tmp_path / "yaml", *replies, verdicts=(verdict(False),))
        monkeypatch.delenv("PREFRAG_WEB")
        TantivyDocumentStore(index="default").keep_web_consent(True)
        TantivyDocumentStore(index="maps").keep_web_consent(False)

    def test_opens_by_the_answer_of_a_collection_also_if_it_changes(self, client: Client):
        assert client.ask().json()["result"]["queries_sent_out"]
        result = client.ask("maps").json()["result"]
        assert result["queries_sent_out"] == []
        assert {document["source"] for document in result["documents"]} == {"local"}
        listed = client.get("/collections").json()["collections"]
        assert {each["name"]: each["web"] for each in listed} == {"default": True, "maps": False}

        TantivyDocumentStore(index="maps").keep_web_consent(True)
        TantivyDocumentStore(index="default").keep_web_consent(False)
        assert client.ask("maps").json()["result"]["queries_sent_out"]
        assert not client.ask().json()["result"]["queries_sent_out"]


class TestLoading:
    @pytest.fixture
    def over(self, monkeypatch: pytest.MonkeyPatch) -> CollectionPipelines:
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")
        return CollectionPipelines("prefrag", pipelines.load())

    async def test_happens_once_for_all_who_wait(self, over: CollectionPipelines, monkeypatch: pytest.MonkeyPatch):
        loads = []
        load = pipelines.load
        monkeypatch.setattr(pipelines, "load", lambda *args, **options: loads.append(1) or load(*args, **options))

        found = await asyncio.gather(*(over.find("maps") for _ in range(5)))

        assert len(loads) == 1
        assert all(pipeline is found[0] for pipeline in found)

    async def test_goes_on_when_the_first_who_waits_leaves(
        self, over: CollectionPipelines, monkeypatch: pytest.MonkeyPatch
    ):
        may_load, load = threading.Event(), pipelines.load
        monkeypatch.setattr(pipelines, "load", lambda *args, **options: may_load.wait(30) and load(*args, **options))
        first, second = asyncio.create_task(over.find("maps")), asyncio.create_task(over.find("maps"))
        await asyncio.sleep(0)
        first.cancel()
        may_load.set()

        assert await second is not over.pipeline

    async def test_that_fails_is_tried_again(self, over: CollectionPipelines, monkeypatch: pytest.MonkeyPatch):
        with monkeypatch.context() as broken:
            broken.setattr(pipelines, "load", lambda *args, **options: 1 / 0)
            with pytest.raises(ZeroDivisionError):
                await over.find("maps")

        assert await over.find("maps")

    async def test_keeps_the_last_that_were_used_and_those_in_use(
        self, over: CollectionPipelines, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(collection_pipelines, "MOST_LOADED", 1)
        in_use = await over.find("maps")
        await over.find("secret")

        assert await over.find("maps") is in_use
        assert len(over._recent) == 1
        del in_use
        await over.find("secret")
        gc.collect()
        assert list(over._loaded) == ["secret"]

    async def test_gives_every_part_the_collection(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")
        monkeypatch.delenv("PREFRAG_PIPELINES_DIR")
        over = CollectionPipelines("prefrag", pipelines.load())

        pipeline = await over.find("maps")

        sources = {name: part for name, part in pipeline.walk() if isinstance(part, RetrievalSource)}
        assert sources["local_again"].retriever.document_store.index == "maps"
        assert [store.index for store in sources["web"].gate.stores] == ["maps"]
        assert sources["web"].retriever.local_index == "maps"
        assert pipeline.get_component("judge").judge.tree_judge.term_statistics.index == "maps"

    async def test_does_not_take_the_demo_web_for_another_collection(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")
        monkeypatch.setenv("PREFRAG_INDEX", "demo")
        monkeypatch.delenv("PREFRAG_PIPELINES_DIR")
        over = CollectionPipelines("prefrag", pipelines.load())

        assert over.pipeline.get_component("web").retriever.stays_local
        assert not (await over.find("maps")).get_component("web").retriever.stays_local

    async def test_over_elasticsearch_gives_an_index_listed_by_its_name(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all,articles")
        monkeypatch.delenv("PREFRAG_PIPELINES_DIR")
        over = CollectionPipelines("prefrag_elasticsearch", pipelines.load("prefrag_elasticsearch"))

        pipeline = await over.find("articles")

        assert {store._index for store in find_stores(pipeline)} == {"articles"}
        with pytest.raises(NoSuchCollection):
            await over.find("logs-of-somebody-else")
        assert [store._index for store in pipeline.get_component("web").gate.stores] == ["articles"]


class TestPipelinesOfOnesOwn:
    """A user's pipeline whose YAML names other places than the served index."""

    def over(self, **replace: Any) -> CollectionPipelines:
        return CollectionPipelines("prefrag", pipelines.load(replace=replace or None))

    async def test_an_index_that_the_yaml_names_is_its_own_collection(self, monkeypatch: pytest.MonkeyPatch):
        over = self.over(**{"TantivyDocumentStore.index": "secret"})
        assert await over.find(None) is over.pipeline
        assert await over.find("secret") is over.pipeline

        current_access.set(Access("ada", frozenset({"default"})))
        with pytest.raises(NoSuchCollection):
            await over.find("secret")

    async def test_a_folder_outside_the_data_directory_is_no_collection(self, tmp_path: Path):
        over = self.over(TantivyDocumentStore=TantivyDocumentStore(path=str(tmp_path)))
        assert await over.find(None) is over.pipeline
        with pytest.raises(BadInput, match="searches fixed collections"):
            await over.find("default")

        current_access.set(Access("ada", frozenset({"default"})))
        with pytest.raises(BadInput, match="documents that your key rules out"):
            await over.find(None)

    async def test_a_second_index_needs_a_key_for_it(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("PREFRAG_PIPELINES_DIR")
        make_index("archive", "An old tower.")
        over = CollectionPipelines("prefrag_three_sources", pipelines.load("prefrag_three_sources"))

        current_access.set(Access("ada", frozenset({"default"})))
        with pytest.raises(BadInput, match="documents that your key rules out"):
            await over.find(None)
        current_access.set(Access("ada", frozenset({"default", "archive"})))
        assert await over.find(None) is over.pipeline
