"""What /ready and the log report about pipelines that cannot answer, over real connections."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.pipelines.loading import YAML_PIPELINES, Pipeline, find, read, read_block
from prefrag.server.chat import served_pipelines
from prefrag.server.http import readiness
from prefrag.server.http.readiness import find_outages
from tests.components.document_stores.tantivy.passages import damage, passage
from tests.components.generators.fake_model_server import HANG, FakeModelServer
from tests.for_each import for_each
from tests.indexes import index_of
from tests.pipelines.scripted import answer, scripted_block, search, write_yaml
from tests.server.elasticsearch_stub import Stub, elasticsearch
from tests.server.serving import listening

Write = Callable[..., None]


@pytest.fixture
def write(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Write:
    """Write a scripted pipeline with this name, whose `local` can search as the shipped one does."""
    folder = tmp_path / "yaml"
    folder.mkdir()
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(folder))

    def pipeline(name: str, local: str | None = None, **settings: Any) -> None:
        data = scripted_block(search("alpha"), answer("1974"), pipeline=name, **settings)
        if local is not None:
            shipped = read_block(YAML_PIPELINES / f"{local}.yaml")
            shipped = shipped["components"]["local"]["init_parameters"]["retriever"]
            data["components"]["local"]["init_parameters"]["retriever"] = shipped
        (folder / f"{name}.yaml").write_text(write_yaml(data), encoding="utf-8")

    return pipeline


@pytest.fixture
def nowhere() -> Iterator[str]:
    """An address at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}"


class TestElasticsearch:
    @pytest.fixture(autouse=True)
    def served(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PREFRAG_SERVE", "prefrag,prefrag_elasticsearch")
        monkeypatch.setenv("PREFRAG_INDEX", "articles")
        write("prefrag")

    @pytest.fixture
    def named(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        def at(url: str) -> None:
            monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", url)
            write("prefrag_elasticsearch", local="prefrag_elasticsearch")

        return at

    def test_that_answers_is_ready(self, named: Callable[[str], None]):
        with elasticsearch(Stub()) as stub:
            named(stub.url)
            with listening() as (_, address):
                response = httpx.get(f"{address}/ready", timeout=30)

        assert (response.status_code, response.json()) == (200, {"status": "ready"})
        assert {path.partition("?")[0] for path in stub.paths} == {"/articles/_search"}

    def test_that_is_not_there_is_named_at_once_and_the_rest_goes_on(
        self, named: Callable[[str], None], nowhere: str, capfd: pytest.CaptureFixture[str]
    ):
        named(nowhere)
        with listening() as (_, address):
            response = httpx.get(f"{address}/ready", timeout=30)
            started = capfd.readouterr().err
            answered = httpx.post(f"{address}/prefrag/run", json={"question": "Who built alpha?"})

        assert response.status_code == 503
        advice = response.json()["unreachable"]["prefrag_elasticsearch"]
        assert "start it, or set PREFRAG_ELASTICSEARCH_URL" in advice
        assert nowhere not in response.text
        assert f"Not ready: prefrag_elasticsearch. No Elasticsearch answers at {nowhere}" in started
        # The problem is logged when it begins, not at every probe.
        assert started.count("Not ready") == 1
        assert answered.json()["result"]["answer"] == "1974"

    def test_that_comes_and_goes_is_reported_with_what_to_do(
        self, named: Callable[[str], None], capfd: pytest.CaptureFixture[str]
    ):
        advice = {404: "prefrag index", 401: "PREFRAG_ELASTICSEARCH_API_KEY", 503: "PREFRAG_ELASTICSEARCH"}
        with elasticsearch(Stub()) as stub:
            named(stub.url)
            with listening() as (_, address):
                for status in (200, 404, 401, 503, 200):
                    stub.status = status
                    response = httpx.get(f"{address}/ready", timeout=30)
                    assert response.status_code == (503 if status in advice else 200)
                    if status in advice:
                        assert advice[status] in response.json()["unreachable"]["prefrag_elasticsearch"]
                    assert "articles" not in response.text
                    assert "secret" not in response.text

        log = capfd.readouterr().err
        assert log.count("Not ready") == log.count("Ready again: prefrag_elasticsearch") == 1

    async def test_that_hangs_is_given_up(self, named: Callable[[str], None], monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(readiness, "DEADLINE_SECONDS", 0.1)
        with elasticsearch(Stub()) as stub:
            stub.answers.clear()
            named(stub.url)
            found = await find_outages({"mine": loaded("prefrag_elasticsearch")})

        assert "does not answer" in found["mine"].advice

    async def test_is_found_inside_other_retrievers(self, nowhere: str, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", nowhere)
        data = read_block(find("prefrag_linked"))
        elastic = read_block(find("prefrag_elasticsearch"))["components"]["local"]["init_parameters"]
        data["components"]["local"]["init_parameters"]["retriever"]["init_parameters"]["retriever"] = elastic[
            "retriever"
        ]

        assert (await find_outages({"mine": Pipeline.from_dict(data)})).keys() == {"mine"}

    async def test_with_a_bad_address_is_reported_only_if_it_is_searched(self, named: Callable[[str], None]):
        named("localhost:9200")

        assert "scheme" in (await find_outages({"mine": loaded("prefrag_elasticsearch")}))["mine"].details
        assert await find_outages({"prefrag": loaded("prefrag")}) == {}


class TestModel:
    @pytest.fixture
    def model(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
        model = FakeModelServer()
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", model.url)
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "served")
        monkeypatch.setenv("PREFRAG_LLM_API_KEY", "sk-secret")
        monkeypatch.setattr(readiness, "_models", {})
        write("prefrag", replace={"ChatModel": {"type": "prefrag.components.generators.chat_model.ChatModel"}})
        yield model
        model.close()

    def test_that_answers_is_ready_and_that_refuses_is_reported(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        """Unless the indexes alone are asked for."""

        with listening() as (_, address):
            for status, advice in ((200, ""), (503, "PREFRAG_LLM_BASE_URL"), (401, "PREFRAG_LLM_API_KEY"), (404, "")):
                readiness._models.clear()
                model.health = status
                response = httpx.get(f"{address}/ready", timeout=30)
                assert response.status_code == (503 if advice else 200)
                assert advice in response.json().get("unreachable", {}).get("prefrag", "")
            readiness._models.clear()
            model.health = 500
            for asked_for, code in (("index", 200), ("all", 503)):
                monkeypatch.setenv("PREFRAG_READY", asked_for)
                assert httpx.get(f"{address}/ready", timeout=30).status_code == code
        assert set(model.looked_up) == {"/v1/models", "/api/version"}
        assert model.requests == [], "it costs no tokens"

    def test_that_was_never_tried_is_tried_while_questions_can_come(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.delenv("PREFRAG_LLM_FORMAT")
        model.answers = [(200, HANG)]

        with listening() as (_, address):
            assert model.called.wait(30)
            assert httpx.get(f"{address}/ready", timeout=30).status_code == 200

        assert "Marlow Lift" in model.requests[0]["messages"][0]["content"]
        assert len(model.requests) == 1

    def test_that_is_down_is_named_neither_by_address_nor_by_key(
        self, model: FakeModelServer, capfd: pytest.CaptureFixture[str]
    ):
        model.close()
        with listening() as (_, address):
            response = httpx.get(f"{address}/ready", timeout=30)

        assert response.status_code == 503
        assert "start it, or set PREFRAG_LLM_BASE_URL" in response.json()["unreachable"]["prefrag"]
        assert model.url not in response.text
        log = capfd.readouterr().err
        assert model.url in log
        assert "sk-secret" not in response.text + log

    async def test_that_hangs_is_given_up(self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(readiness, "DEADLINE_SECONDS", 0.1)
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            silent.listen()
            monkeypatch.setenv("PREFRAG_LLM_BASE_URL", f"http://127.0.0.1:{silent.getsockname()[1]}/v1")
            found = await find_outages({"mine": loaded("prefrag")})

        assert "does not answer" in found["mine"].advice

    async def test_is_not_called_at_every_probe(self, model: FakeModelServer):
        for _ in range(5):
            assert await find_outages({"mine": loaded("prefrag")}) == {}

        assert len(model.looked_up) == 1


class TestIndex:
    @pytest.fixture
    def index(self, write: Write, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.setenv("PREFRAG_INDEX", "mine")
        path = index_path("mine")
        documents = [passage(f"{n}", f"The heron number {n} by the river", f"Bird {n}") for n in range(300)]
        index_of(documents, path)
        write("prefrag", local="prefrag")
        return path

    async def test_that_can_be_searched_is_ready(self, index: Path):
        assert await find_outages({"mine": loaded("prefrag")}) == {}

    @pytest.mark.parametrize("file", ["fast", "idx", "store", "term"])
    async def test_that_is_damaged_is_reported(self, index: Path, file: str):
        damage(index, file)
        found = await find_outages({"mine": loaded("prefrag")})
        assert "move its folder away and index the documents again" in found["mine"].advice
        assert str(index) not in found["mine"].advice
        assert str(index) in found["mine"].details

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "remove", [shutil.rmtree, lambda path: LocalCollection(path.name).drop()], ids=["removed", "dropped"]
    )
    def test_that_vanishes_is_reported_and_nothing_takes_its_place(self, index: Path, remove: Callable[[Path], None]):
        with listening() as (_, address):
            before = httpx.get(f"{address}/ready", timeout=30)
            remove(index)
            asked = httpx.post(f"{address}/prefrag/run", json={"question": "Which bird stands there?"}, timeout=30)
            after = httpx.get(f"{address}/ready", timeout=30)

        assert (before.status_code, after.status_code) == (200, 503)
        assert "prefrag index YOUR_FILES" in after.json()["unreachable"]["prefrag"]
        assert "There is no collection" in asked.text


class TestAll:
    @pytest.fixture(autouse=True)
    def three(self, write: Write, monkeypatch: pytest.MonkeyPatch, nowhere: str) -> None:
        """Three pipelines: one can answer, one has no index, and one no server."""
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", nowhere)
        monkeypatch.setenv("PREFRAG_INDEX", "unmade")
        for name, local in (("prefrag", None), ("react", "react"), ("prefrag_elasticsearch", "prefrag_elasticsearch")):
            write(name, local)
        monkeypatch.setattr(served_pipelines, "names", lambda: ["prefrag", "prefrag_elasticsearch", "react"])

    def test_serves_what_is_ready_and_reports_what_it_left_out(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ):
        monkeypatch.setenv("PREFRAG_SERVE", "all")
        with listening() as (_, address):
            response = httpx.get(f"{address}/ready", timeout=30)
            models = httpx.get(f"{address}/v1/models").json()["data"]
            left_out = httpx.post(f"{address}/prefrag_elasticsearch/run", json={"question": "Who built alpha?"})

        assert response.status_code == 200
        assert response.json() == {"status": "ready", "left_out": ["prefrag_elasticsearch", "react"]}
        assert [model["id"] for model in models] == ["prefrag", "prefrag-tasks"]
        assert left_out.status_code == 404
        reported = [line for line in capfd.readouterr().err.splitlines() if "Left out" in line]
        assert len(reported) == 2
        assert any("Left out: react." in line and "There is no collection 'unmade'" in line for line in reported)
        assert any("Left out: prefrag_elasticsearch. No Elasticsearch answers" in line for line in reported)

    @for_each(
        "chosen, prefrag, expected",
        ("all", "prefrag", {"left_out": 3}),
        # Naming all pipelines is not the same as `all`.
        ("prefrag,react,prefrag_elasticsearch", None, {"not_loaded": 1, "unreachable": 1}),
    )
    def test_with_what_is_not_there_is_not_ready(
        self, monkeypatch: pytest.MonkeyPatch, write: Write, chosen: str, prefrag: str | None, expected: dict[str, int]
    ):
        monkeypatch.setenv("PREFRAG_SERVE", chosen)
        write("prefrag", prefrag)
        with listening() as (_, address):
            response = httpx.get(f"{address}/ready", timeout=30)

        reported = response.json()
        assert response.status_code == 503
        assert {name: len(reported[name]) for name in reported if name != "status"} == expected
        assert expected.keys() == {"left_out"} or reported["not_loaded"] == ["react"]


def loaded(name: str) -> Any:
    return Pipeline.loads(read(find(name)))
