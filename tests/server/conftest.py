"""What the server's tests share: a served pipeline that replies from a script."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hayhooks.server.pipelines.registry import registry
from starlette.testclient import TestClient

from prefrag import pipelines
from prefrag.server.app import create_app
from tests.components.generators.fake_model_server import HANG, FakeModelServer
from tests.server.serving import SHARED

CHAT_MODEL = {"type": "prefrag.components.generators.chat_model.ChatModel"}


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, script_pipeline: Callable[..., None]) -> Iterator[FakeModelServer]:
    """A model server that never answers, and the pipeline that calls it."""
    model = FakeModelServer()
    model.answers = [(200, HANG)]
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", model.url)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "served")
    script_pipeline("unused", replace={"ChatModel": CHAT_MODEL})
    yield model
    model.close()


@pytest.fixture(scope="session")
def scripted_pipelines() -> Iterator[dict[str, Any]]:
    """The pipelines in the shared application, by their script."""
    yield {}
    SHARED.stop()


@pytest.fixture
def served(script_pipeline: Callable[..., None], scripted_pipelines: dict[str, Any]) -> Callable[..., TestClient]:
    """Put a scripted pipeline into the application that tests share."""

    def script(*replies: str, **settings: Any) -> TestClient:
        key = repr((replies, settings))
        if key not in scripted_pipelines:
            script_pipeline(*replies, **settings)
            scripted_pipelines[key] = pipelines.load()
            scripted_pipelines[key].warm_up()
        app, _ = SHARED.start()
        wrapper: Any = registry.get("prefrag")
        wrapper.pipeline = scripted_pipelines[key]
        return TestClient(app)

    return script


@pytest.fixture
def address(served: Callable[..., TestClient]) -> str:
    """The address of the shared application, with the default script."""
    served()
    return SHARED.start().address


@pytest.fixture
def serve(script_pipeline: Callable[..., None]) -> Iterator[Callable[..., TestClient]]:
    """Start an application around a scripted pipeline; the environment must be set before."""
    with SHARED.aside(), ExitStack() as clients:

        def start(*replies: str, **settings: Any) -> TestClient:
            script_pipeline(*replies, **settings)
            return clients.enter_context(TestClient(create_app()))

        yield start
