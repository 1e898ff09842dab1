"""Pipelines deployed while the server runs, which an administrator may allow."""

import sys
from collections.abc import Callable

import pytest
from starlette.testclient import TestClient

import prefrag

QUESTION = {"question": "In which year did the yard that built alpha win the prize?"}
WRAPPER = """
from prefrag.server.chat.wrapper import ServedPipeline

from .naming import PIPELINE


class PipelineWrapper(ServedPipeline):
    name = PIPELINE
"""
FILES = {"pipeline_wrapper.py": WRAPPER, "naming.py": 'PIPELINE = "prefrag"\n'}


@pytest.fixture
def client(serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch) -> TestClient:
    monkeypatch.setenv("PREFRAG_OPEN_DEPLOY", "on")
    return serve()


@pytest.fixture(autouse=True)
def _our_package_stays() -> object:
    before = {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "prefrag"}
    yield
    assert {name: sys.modules.get(name) for name in before} == before


def answers(client: TestClient, name: str = "prefrag") -> bool:
    response = client.post(f"/{name}/run", json=QUESTION)
    return response.status_code == 200 and response.json()["result"]["answer"] == "1974"


def test_prefrag_is_undeployed_and_deployed_again(client: TestClient):
    assert client.post("/undeploy/prefrag").status_code == 200
    assert client.post("/prefrag/run", json=QUESTION).status_code == 404
    assert client.get("/ready").json()["not_loaded"] == ["prefrag"]

    assert client.post("/deploy_files", json={"name": "prefrag", "files": FILES}).status_code == 200
    assert answers(client)
    misspelt = client.post("/prefrag/run", json={**QUESTION, "source": ["local"]})
    assert (misspelt.status_code, misspelt.json()["detail"][0]["loc"]) == (422, ["body", "source"])
    assert client.get("/ready").status_code == 200


def test_prefrag_is_deployed_over_itself(client: TestClient):
    for _ in range(2):
        body = {"name": "prefrag", "files": FILES, "overwrite": True}
        assert client.post("/deploy_files", json=body).status_code == 200
        assert answers(client)


def test_deployment_that_fails_leaves_what_was_served(client: TestClient):
    """One that succeeds may have any name."""

    files = {"pipeline_wrapper.py": "raise ImportError('no such extra')"}

    response = client.post("/deploy_files", json={"name": "prefrag", "files": files, "overwrite": True})

    assert response.status_code == 422
    assert answers(client)
    for name in ("mine", "json"):
        before = sys.modules.get(name)
        assert client.post("/deploy_files", json={"name": name, "files": FILES}).status_code == 200
        assert answers(client, name)
        assert client.post("/undeploy/" + name).status_code == 200

        assert sys.modules.get(name) is before
        assert sys.modules["prefrag"] is prefrag
