"""The address that `prefrag serve` shows on a terminal opens the page without a key, whichever worker answers."""

from __future__ import annotations

import os
import re
import select
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.server.access.keys import add_key, keys_file
from tests.components.document_stores.tantivy.passages import passage
from tests.indexes import index_of
from tests.integration.browser import open_browser
from tests.server_process import server_process

pty = pytest.importorskip("pty", reason="needs the terminals of Unix")
pytestmark = pytest.mark.slow
Terminal = tuple[httpx.Client, Callable[[], str]]


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    """A server with two workers and a user's own documents, and a function that returns the next address shown."""
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    index_of([passage("a", "A heron.")], index_path("default"))
    reads, writes = pty.openpty()

    def shown() -> str:
        text, deadline = b"", time.monotonic() + 60
        while not (link := re.search(rb"http://\S+#token=\S+(?=\r\n)", text)):
            assert select.select([reads], [], [], max(0, deadline - time.monotonic()))[0], "No address was shown."
            text += os.read(reads, 1)
        return link[0].decode()

    command = ("-m", "prefrag.cli.main", "serve", "--workers", "2")
    with server_process(*command, folder=tmp_path, stdout=writes, PREFRAG_WEB="off") as client:
        yield client, shown
    os.close(reads)
    os.close(writes)


def test_token_works_once_and_its_cookie_in_all_workers(terminal: Terminal, tmp_path: Path):
    """No log has either of them."""

    client, shown = terminal
    own = {"Origin": str(client.base_url)}
    tokens = [shown().partition("#token=")[2]]

    def exchange() -> httpx.Response:
        return client.post("/access", headers={**own, "Authorization": f"Bearer {tokens[0]}"})

    assert exchange().status_code == 204
    cookies = dict(client.cookies)
    client.cookies.clear()
    tokens.append(shown().partition("#token=")[2])
    assert {exchange().status_code for _ in range(10)} == {403}
    add_key("ada")
    # Each request uses a new connection, so that both workers answer.
    answers = [httpx.get(f"{client.base_url}/access", headers=own, cookies=cookies).json() for _ in range(20)]
    assert answers == [{"key": "page:token", "web": False, "writes": True, "needs_key": True, "started": True}] * 20
    log = (tmp_path / "server.log").read_text()
    assert "/access" in log
    assert not [secret for secret in [*tokens, *cookies.values()] if secret in log]


def test_page_works_with_it_and_goes_on_when_a_key_is_made(terminal: Terminal):
    client, shown = terminal
    with open_browser() as browser:
        address, page = shown(), browser.new_page()
        page.goto(address)
        page.wait_for_selector("[data-source]")

        assert page.url == str(client.base_url) + "/"
        assert page.evaluate("[document.cookie, sessionStorage.length, localStorage.length]") == ["", 0, 0]
        add_key("ada")
        page.reload()
        page.get_by_role("button", name="Documents", exact=True).click()
        file = {"name": "board.md", "mimeType": "text/markdown", "buffer": b"The harbour board meets in Pellhaven."}
        page.set_input_files("#files", [file])
        page.get_by_text("1 passage written.").wait_for()
        page.get_by_role("button", name="Delete board.md").click()
        page.locator("#confirm-yes").click()
        page.locator(".file-name", has_text="board.md").wait_for(state="detached")

        other: Any = browser.new_page()
        other.goto(address)
        other.get_by_text("Open the address that the terminal shows now").wait_for()
        other.locator("#key-dialog").get_by_text("open the address that its terminal shows").wait_for()
        # The address is opened in the same tab, so the page is not loaded again.
        other.goto(shown())
        other.wait_for_selector("[data-source]")
    assert keys_file().exists()
