"""Real servers and real data, where they are."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

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
    """Where a real Elasticsearch listens."""
    url = os.environ.get("PREFRAG_TEST_ELASTICSEARCH_URL")
    if not url:
        pytest.skip("needs a real Elasticsearch: set PREFRAG_TEST_ELASTICSEARCH_URL")
    return url


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; not for the whole session, because Playwright keeps the event loop of the thread for itself."""
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def demo_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server keeps its data."""
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
    """Open the page in a browser of its own; what its scripts complain about fails the test."""
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
