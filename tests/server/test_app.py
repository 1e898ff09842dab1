"""The served application: what it answers, and what it refuses."""

import json
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

from prefrag.server.app import create_app
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search

Serve = Served = Callable[..., TestClient]
QUESTION = {"question": "In which year did the yard that built alpha win the prize?"}
CHAT = {"model": "prefrag", "messages": [{"role": "user", "content": QUESTION["question"]}]}
QUESTION_REST = json.dumps(QUESTION).encode()[10:]
WITH_KEY = {"Authorization": "Bearer second"}


class TestRun:
    def test_answers_with_the_whole_result(self, served: Served):
        response = served().post("/prefrag/run", json=QUESTION)

        assert response.status_code == 200
        result = response.json()["result"]
        assert (result["answer"], result["label"]) == ("1974", "CORRECT")
        assert [step["source"] for step in result["steps"]] == ["local", "web", None]
        assert [document["id"] for document in result["documents"]] == ["local-alpha", "web-delta"]
        assert result["trace"]

    def test_a_request_may_narrow_top_k_steps_preference_and_filters(self, served: Served):
        filters = {"field": "meta.year", "operator": "==", "value": 2020}
        options = {"preferred": "web", "top_k": 3, "max_steps": 1, "filters": filters}

        result = served().post("/prefrag/run", json={**QUESTION, **options}).json()["result"]

        assert CALLS["web"][0]["filters"] == filters
        assert result["steps"][0]["source"] == "web"

    def test_documents_of_the_request_are_read_with_the_question(self, served: Served):
        """Other origins are closed by default."""

        documents, origin = [{"title": "plan.txt", "content": "The yard is Beta."}], {"Origin": "https://chat.example"}
        response = served().post("/prefrag/run", json={**QUESTION, "documents": documents}, headers=origin)
        assert "The yard is Beta." in CALLS["model"][0]["prompt"]
        assert response.json()["result"]["documents"][0]["source"] == "attached"
        assert "access-control-allow-origin" not in response.headers

    def test_run_whose_sources_all_failed_is_a_bad_gateway(self, served: Served):
        """It has its result."""

        client = served(search("alpha"), answer("1974"), errors={"local": "down", "web": "down"})

        response = client.post("/prefrag/run", json={**QUESTION, "sources": ["local"]})

        assert response.status_code == 502
        assert response.json()["detail"].startswith("No source could be searched, so the answer rests on no document.")
        assert response.json()["result"]["answer"] == "1974"

    @for_each(
        "option, message",
        ({"question": "x" * 4001}, "4000"),
        ({"question": " "}, "empty"),
        ({"sources": ["attic"]}, "no source 'attic'"),
        ({"sources": []}, "No source is left"),
        ({"preferred": "attic"}, "no source 'attic'"),
        ({"sources": ["local"], "preferred": "web"}, "preferred"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 1_000}, "top_k"),
        ({"max_steps": 99}, "max_steps"),
        ({"filters": {"field": "meta.year"}}, "filters cannot be understood"),
        ({"source": ["local"]}, "source"),
        ({"prompts": "/etc"}, "prompts"),
    )
    def test_option_that_cannot_be_used_is_refused_with_the_reason(self, served: Served, option: dict, message: str):
        response = served().post("/prefrag/run", json={**QUESTION, **option})

        assert response.status_code == 422
        assert message in str(response.json()["detail"])
        assert "web" not in CALLS

    def test_a_failing_model_is_a_bad_gateway_with_the_trace_so_far(self, served: Served):
        response = served(search("alpha"), "!the model server is down").post("/prefrag/run", json=QUESTION)

        assert response.status_code == 502
        body = response.json()
        assert "the model server is down" in body["detail"]
        assert [step["query"] for step in body["result"]["steps"]] == ["alpha"]
        assert any(event["kind"] == "found" for event in body["result"]["trace"])


class TestReady:
    def test_names_the_pipelines_that_did_not_load(
        self, serve: Serve, script_pipeline: Callable[..., None], monkeypatch: pytest.MonkeyPatch
    ):
        script_pipeline("never read", name="broken", replace={"start.preferred": "a secret attic"})
        monkeypatch.setenv("PREFRAG_SERVE", "prefrag,broken")
        monkeypatch.setenv("PREFRAG_API_KEYS", "first")

        client = serve()
        response = client.get("/ready")

        assert (response.status_code, response.json()["not_loaded"]) == (503, ["broken"])
        assert "attic" not in response.text
        assert client.get("/live").status_code == 200


@pytest.mark.parametrize(
    ("variable", "value", "error"),
    [
        ("PREFRAG_PIPELINES_DIR", "nowhere", FileNotFoundError),
        ("PREFRAG_API_KEYS", " , ", ValueError),
        ("PREFRAG_SERVE", "nonsense", FileNotFoundError),
    ],
)
def test_a_setting_that_cannot_work_stops_the_start(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, error: type[Exception]
):
    monkeypatch.setenv(variable, value)

    with pytest.raises(error, match=f"{variable}|no pipeline 'nonsense'"):
        create_app()


DEPLOY = [
    *(("POST", path) for path in ("/deploy_files", "/deploy-yaml", "/undeploy/prefrag", "/v1/files", "/files")),
    *(("POST", path) for path in ("http://127.0.0.1//deploy_files", "/deploy_files/", "/%64eploy_files")),
    *(("POST", "/x/../deploy_files"), ("POST", "/v1/responses"), ("GET", "/draw/prefrag"), ("GET", "/traces")),
]


class TestClosedRoutes:
    def test_are_not_there_whatever_their_spelling_and_not_described(self, served: Served):
        client = served()
        for method, path in DEPLOY:
            assert client.request(method, path, json={"name": "x", "files": {}}).status_code == 404, path
            assert client.get("/ready").status_code == 200
        paths = client.get("/openapi.json").json()["paths"]
        assert {"/prefrag/run", "/ready", "/v1/chat/completions", "/status/{pipeline_name}"} <= paths.keys()
        assert not [path for path in paths if "deploy" in path or "files" in path or "draw" in path]


class TestLimits:
    @for_each(
        "content, status",
        (b" " * 1_000_001, 413),
        ([b" " * 100_000] * 11, 413),
        ([json.dumps(QUESTION).encode()[:10], QUESTION_REST], 200),
    )
    def test_a_body_is_read_within_the_limit_also_in_chunks(
        self, served: Served, content: bytes | list[bytes], status: int
    ):
        sent = content if isinstance(content, bytes) else iter(content)
        response = served().post("/prefrag/run", content=sent, headers={"Content-Type": "application/json"})
        assert ("content-length" in response.request.headers) is isinstance(content, bytes)
        assert response.status_code == status
        assert status == 200 or "1,000,000" in response.json()["detail"]


class TestCors:
    PREFLIGHT = {"Origin": "https://chat.example", "Access-Control-Request-Method": "POST"}

    def test_opens_for_the_origins_that_the_administrator_names(self, serve: Serve, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_CORS_ORIGINS", "https://chat.example")
        monkeypatch.setenv("PREFRAG_API_KEYS", "second")
        client = serve()

        # A browser first sends a preflight request without the key.
        assert client.options("/prefrag/run", headers=self.PREFLIGHT).status_code == 200
        refused = client.options("/prefrag/run", headers={**self.PREFLIGHT, "Origin": "https://other.example"})
        assert refused.status_code == 400
        answered = client.post("/prefrag/run", json=QUESTION, headers={**self.PREFLIGHT, **WITH_KEY})
        assert answered.headers["access-control-allow-origin"] == "https://chat.example"


class TestLog:
    def test_holds_no_question(self, serve: Serve, capfd: pytest.CaptureFixture[str]):
        client = serve()
        client.post("/prefrag/run", json=QUESTION)
        client.post("/v1/chat/completions", json=CHAT)

        logged = capfd.readouterr().err
        assert "Running pipeline" in logged
        assert "alpha" not in logged
