"""Real servers and real data, if this machine has them."""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from elasticsearch import Elasticsearch
from haystack_integrations.document_stores.elasticsearch import ElasticsearchDocumentStore

from prefrag.components.retrievers.elasticsearch_multi_match_retriever import ElasticsearchMultiMatchRetriever
from tests.integration.browser import ScriptedRuns, open_browser
from tests.server_process import server_process

SHARED = Path(os.environ.get("PREFRAG_TEST_SHARED", Path(__file__).resolve().parents[3] / "shared"))


@pytest.fixture
def hotpotqa() -> Path:
    """The folder of the HotpotQA subset."""
    folder = SHARED / "data" / "multihop" / "hotpotqa"
    if not folder.is_dir():
        pytest.skip("needs the benchmark data beside the checkout, in ../shared/data")
    return folder


@pytest.fixture
def elasticsearch_url() -> str:
    """The address of a real Elasticsearch."""
    url = os.environ.get("PREFRAG_TEST_ELASTICSEARCH_URL")
    if not url:
        pytest.skip("needs a real Elasticsearch: set PREFRAG_TEST_ELASTICSEARCH_URL")
    return url


@pytest.fixture
def client(elasticsearch_url: str) -> Iterator[Elasticsearch]:
    with Elasticsearch(elasticsearch_url) as client:
        yield client


@pytest.fixture
def name(elasticsearch_url: str, client: Elasticsearch, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of an index for one test, which does not exist yet and is deleted afterwards."""
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", elasticsearch_url)
    name = f"prefrag-test-{uuid.uuid4().hex}"
    yield name
    for made in (name, f"{name}-web"):
        client.options(ignore_status=404).indices.delete(index=made)


@pytest.fixture
def store(name: str, elasticsearch_url: str) -> Iterator[ElasticsearchDocumentStore]:
    mapping = ElasticsearchMultiMatchRetriever.recommended_mapping()
    store = ElasticsearchDocumentStore(hosts=elasticsearch_url, index=name, custom_mapping=mapping)
    yield store
    store.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, started for each module, because Playwright keeps the event loop of the thread for itself."""
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the server keeps its data."""
    return tmp_path_factory.mktemp("demo") / "data"


@pytest.fixture(scope="module")
def demo_server(browser: Any, demo_data: Path) -> Iterator[httpx.Client]:
    """The application on the demo, without a language model."""
    folder = demo_data.parent
    with server_process("-m", "prefrag.cli.main", "serve", "--demo", folder=folder) as client:
        assert client.get("/ready").status_code == 200, (folder / "server.log").read_text()
        yield client


@pytest.fixture
def open_page(browser: Any, demo_server: httpx.Client) -> Iterator[Callable[..., Any]]:
    """Open the page in a new browser context; the test fails if a script of the page reports an error."""
    contexts, complaints = [], []

    def open_page(scripted: bool = False, **settings: Any) -> Any:
        context = browser.new_context(reduced_motion="reduce", **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.runs = ScriptedRuns(page) if scripted else None
        page.goto(str(demo_server.base_url))
        page.wait_for_selector("[data-source]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []
