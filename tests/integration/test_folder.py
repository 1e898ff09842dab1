"""`prefrag FOLDER` as a person starts it: the folder changes, and questions about it are answered over HTTP."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.integration.browser import open_browser
from tests.server_process import server_process

pytestmark = pytest.mark.slow
COMMAND = ("-m", "prefrag.cli.main")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (made := tmp_path / "Documents").mkdir()
    (made / "board.txt").write_text("The harbour board meets in Pellhaven.")
    (made / "photo.png").touch()
    return made


@pytest.fixture
def service(folder: Path, tmp_path: Path) -> Iterator[httpx.Client]:
    """The running command, and a fake browser that records which address it should open."""
    (browser := tmp_path / "browser").write_text(f'#!/bin/sh\necho "$1" > "{tmp_path}/address"\n')
    browser.chmod(0o755)
    with server_process(*COMMAND, str(folder), folder=tmp_path, BROWSER=f"{browser} %s") as client:
        yield client


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.2)


def evidence(client: httpx.Client, question: str) -> str:
    return client.post("/prefrag/run", json={"question": question}).raise_for_status().text


def names(client: httpx.Client) -> list[str]:
    return sorted(document["name"] for document in client.get("/collections/Documents/documents").json()["documents"])


def state(client: httpx.Client) -> dict[str, object]:
    [collection] = client.get("/collections").json()["collections"]
    assert collection["folder"].pop("left_out", None) in (
        None,
        ["1 file of other kinds left out", "1 .png: pictures hold no text"],
    )
    return {**collection["folder"], "web": collection["web"]}


def test_changes_are_followed_and_a_lost_folder_still_answers(service: httpx.Client, folder: Path, tmp_path: Path):
    until(lambda: "Pellhaven" in evidence(service, "Where does the harbour board meet?"))
    until((tmp_path / "address").exists)
    address, _, token = (tmp_path / "address").read_text().strip().partition("#token=")
    assert address == str(service.base_url) + "/"
    sent = {"Origin": str(service.base_url), "Authorization": f"Bearer {token}"}
    assert service.post("/access", headers=sent).status_code == 204

    (folder / "notes").mkdir()
    (folder / "notes" / "tower.md").write_text("# Tower\n\nThe tower was built by Ada Quill.")
    until(lambda: "Ada Quill" in evidence(service, "Who built the tower?"))

    (folder / "notes" / "tower.md").write_text("# Tower\n\nThe tower was built by Edda Marsh.")
    until(lambda: "Edda Marsh" in evidence(service, "Who built the tower?"))
    assert "Ada Quill" not in evidence(service, "Who built the tower?")

    (folder / "notes").rename(folder / "kept")
    (folder / "board.txt").rename(folder / "meetings.txt")
    until(lambda: names(service) == ["meetings.txt", "tower.md"])

    (folder / "meetings.txt").unlink()
    until(lambda: names(service) == ["tower.md"])
    until(lambda: state(service) == {"state": "following", "web": False})

    folder.rename(tmp_path / "unplugged")
    until(lambda: state(service)["state"] == "away")
    assert "Edda Marsh" in evidence(service, "Who built the tower?")
    (tmp_path / "unplugged").rename(folder)
    (folder / "new.txt").write_text("The bell was cast in Brannock.")
    until(lambda: names(service) == ["new.txt", "tower.md"])
    shutil.rmtree(folder)
    until(lambda: state(service)["state"] == "away")


def test_page_tells_how_far_the_folder_is_read_or_if_it_is_gone(service: httpx.Client, folder: Path, tmp_path: Path):
    with open_browser() as browser:
        page = browser.new_page()
        page.goto(str(service.base_url))
        page.get_by_text("Reading Documents").wait_for(timeout=60_000)
        page.locator("#folder-state").wait_for(state="hidden", timeout=60_000)

        folder.rename(tmp_path / "unplugged")

        page.get_by_text("Documents is not there, or cannot be read.").wait_for(timeout=60_000)


def test_page_says_what_it_knows_and_its_starter_opens_the_web(service: httpx.Client, folder: Path, tmp_path: Path):
    (folder / "empty.md").touch()
    until(lambda: service.get("/collections").json()["collections"][0]["unread"] == 1)
    until((tmp_path / "address").exists)
    with open_browser() as browser:
        page = browser.new_page()
        page.goto((tmp_path / "address").read_text().strip())
        page.wait_for_selector("[data-source]")

        about = page.locator("#about").inner_text()
        assert f"Searched first: {folder}, 1 file, last changed " in about
        assert "There is no language model: answers are sentences from your files." in about
        page.get_by_role("button", name="1 file could not be read").click()
        page.get_by_text("empty.md").first.wait_for()
        page.get_by_role("button", name="Ask", exact=True).first.click()

        assert page.get_by_label("Web", exact=True).is_disabled()
        page.get_by_role("button", name="Open the web").last.click()
        assert "You are shown every query." in page.locator("#confirm-dialog").inner_text()
        page.locator("#confirm-no").click()
        assert page.get_by_label("Web", exact=True).is_disabled()
        page.get_by_role("button", name="Open the web").last.click()
        page.locator("#confirm-yes").click()
        page.locator("[data-source=web]:enabled").wait_for()
        assert state(service)["web"] is True

        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_role("button", name="Close the web").click()
        page.locator("#confirm-yes").click()
        page.get_by_role("button", name="Open the web").first.wait_for()
        assert state(service)["web"] is False
        # This server takes no new collection, so the page offers none.
        assert page.get_by_placeholder("New collection").count() == 0


def test_page_without_the_token_offers_no_decision_on_the_web(service: httpx.Client, folder: Path):
    until(lambda: names(service) == ["board.txt"])
    with open_browser() as browser:
        page = browser.new_page()
        page.goto(str(service.base_url))
        page.wait_for_selector("[data-source]")

        # Whoever sits at this machine sees which folder it is.
        assert str(folder) in page.locator("#about").inner_text()
        assert page.get_by_role("button", name="Open the web").count() == 0
        assert "prefrag index --web" in page.locator("#closed").inner_text()
        page.get_by_role("button", name="Documents", exact=True).click()
        told = page.locator("#documents-view .notice").inner_text()
        assert told.startswith("You can ask, but not add or delete files.")
