"""The documents on the page, in a real browser: the tree, adding, opening, and asking about them."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.browser import ask, nameless_controls, overflows
from tests.server_process import CHECKOUT, server_process

Open = Callable[..., Any]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]
_DROPPED = """
(files) => {
  const data = new DataTransfer();
  files.forEach(([name, text]) => data.items.add(new File([text], name)));
  return data;
}
"""


def drop(page: Any, place: str, *files: tuple[str, str]) -> None:
    """Drop files on an element of the page."""
    for event in ("dragover", "drop"):
        page.dispatch_event(place, event, {"dataTransfer": page.evaluate_handle(_DROPPED, files)})


@pytest.fixture(scope="module")
def own_documents(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str]]:
    """A server with a user's own documents, and a key that may write."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "notes.md").write_text(
        "# The crane\n\nAda Quill keeps the crane. It stands in Ostermoor.\n", encoding="utf-8"
    )
    settings = {"PREFRAG_DATA_DIR": str(folder / "data"), "PREFRAG_WEB": "off", "PREFRAG_COLLECTIONS": "all"}

    for name, text in {
        "boats.csv": "boat,place\nHeron,quay",
        "letters/2024/2024-05-03 tide.txt": "High.",
        "letters/empty.md": "",
    }.items():
        (folder / "files" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "files" / name).write_text(text, encoding="utf-8")

    def prefrag(*arguments: str) -> str:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PREFRAG_")}
        command = [sys.executable, "-m", "prefrag.cli.main", *arguments]
        environment = {**inherited, **settings, "PYTHONPATH": str(CHECKOUT)}
        return subprocess.run(command, env=environment, cwd=CHECKOUT, capture_output=True, text=True).stdout

    prefrag("index", str(folder / "notes.md"))
    prefrag("index", str(folder / "files"), "--index", "files")
    key = prefrag("keys", "add", "ada", "--write").split()[0]
    with server_process("-m", "prefrag.cli.main", "serve", folder=folder, **settings) as client:
        yield client, key


class OnOwnDocuments:
    @pytest.fixture
    def page(self, browser: Any, own_documents: tuple[httpx.Client, str]) -> Iterator[Any]:
        server, key = own_documents
        context = browser.new_context()
        page = context.new_page()
        page.add_init_script(f"sessionStorage.setItem('prefrag.key', '{key}')")
        page.goto(str(server.base_url))
        page.wait_for_selector("[data-source]")
        yield page
        context.close()


class TestDocuments(OnOwnDocuments):
    def test_a_file_is_uploaded_answers_a_question_and_is_deleted(self, page: Any):
        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_text("notes.md").wait_for()
        file = {"name": "board.md", "mimeType": "text/markdown", "buffer": b"The harbour board meets in Pellhaven."}
        page.set_input_files("#files", [file])
        page.locator(".done").wait_for()
        assert page.locator(".done").inner_text() == "1 passage written."
        assert page.locator(".file-name").all_inner_texts() == ["board.md", "notes.md"]

        page.get_by_role("button", name="Ask", exact=True).click()
        ask(page, "Where does the harbour board meet?")
        assert "board" in page.locator(".card").inner_text()

        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_role("button", name="Delete board.md").click()
        assert "board.md and its 1 passage are removed" in page.locator("#confirm-dialog").inner_text()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_text("1 passage deleted.").wait_for()
        page.get_by_role("button", name="notes.md", exact=True).wait_for()
        assert page.locator(".file-name").count() == 1

    def test_source_opens_its_document_at_the_sentence_with_its_file(self, page: Any):
        page.get_by_role("button", name="Documents", exact=True).click()
        lines = "".join(f"## Quay {n}\n\n{f'Ship {n} lies at this quay. ' * 30}\n\n" for n in range(60))
        text = f"# Quays\n\n{lines}## The last\n\nThe pilot of Saltholm is called Ines Hale.\n"
        page.set_input_files("#files", [{"name": "quays.md", "mimeType": "text/markdown", "buffer": text.encode()}])
        page.locator(".done").wait_for()
        page.get_by_role("button", name="Ask", exact=True).click()
        ask(page, "What is the pilot of Saltholm called?").locator(".source").first.click()

        page.get_by_role("button", name="Open the document").click()

        marked = page.locator("#document .is-found mark")
        marked.wait_for()
        assert "Ines Hale" in marked.inner_text()
        page.wait_for_function("""() => {
          const mark = document.querySelector("#document .is-found mark").getBoundingClientRect();
          return mark.top > 0 && mark.bottom < innerHeight;
        }""")
        with page.expect_download() as download:
            page.get_by_role("button", name="Save the file").click()
        assert Path(download.value.path()).read_bytes() == text.encode()
        page.keyboard.press("Escape")
        page.keyboard.press("Escape")

        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_role("button", name="quays.md", exact=True).click()
        page.locator("#document .passages li").nth(60).wait_for(state="attached")
        page.keyboard.press("Escape")
        page.get_by_role("button", name="Delete quays.md").click()
        page.get_by_role("button", name="Delete", exact=True).click()
        page.get_by_text("passages deleted.").wait_for()

    def test_files_are_dropped_and_what_cannot_be_read_is_named(self, page: Any):
        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_text("notes.md").wait_for()
        drop(page, "header", ("dropped.txt", "Plain words."), ("odd.xyz", "0"))

        page.locator(".done").wait_for()
        assert page.locator(".skipped").inner_text() == "odd.xyz: of a kind that is not read"
        assert "dropped.txt" in page.locator(".files").inner_text()

    def test_field_is_empty_after_a_failed_upload_for_the_same_file(self, page: Any):
        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_text("notes.md").wait_for()
        page.route("**/collections/*/documents*", lambda route: route.fulfill(status=503, json={"detail": "Busy."}))

        page.set_input_files("#files", [{"name": "a.txt", "mimeType": "text/plain", "buffer": b"A."}])

        page.locator(".upload-status .problem").wait_for()
        assert page.input_value("#files") == ""

    def test_long_name_fits_a_phone_and_every_control_has_a_name(self, page: Any):
        page.set_viewport_size({"width": 390, "height": 844})
        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_text("notes.md").wait_for()
        name = "x" * 120 + ".txt"
        page.set_input_files("#files", [{"name": name, "mimeType": "text/plain", "buffer": b"Long."}])
        page.locator(".done").wait_for()

        assert not overflows(page)
        assert nameless_controls(page) == []

    def test_collection_is_made_by_its_first_file_and_searchable(self, page: Any):
        """It is searched when it is chosen."""

        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_text("notes.md").wait_for()
        page.get_by_label("Name of the new collection").fill("minutes")
        page.get_by_role("button", name="Add").click()
        page.set_input_files(
            "#files", [{"name": "may.txt", "mimeType": "text/plain", "buffer": b"The crane was sold in May."}]
        )
        page.locator(".done").wait_for()
        page.get_by_role("button", name="Ask", exact=True).click()
        page.get_by_label("Collection").first.select_option("minutes")

        with page.expect_request("**/prefrag/run") as sent:
            ask(page, "When was the crane sold?")

        assert json.loads(sent.value.post_data)["index"] == "minutes"
        assert "may" in page.locator(".card").inner_text()

    def test_thumbs_and_comment_are_stored_without_the_passages(self, page: Any):
        ask(page, "Who keeps the crane?")
        page.get_by_role("button", name="No, it was not").click()
        page.get_by_label("Comment (optional)").fill("It was another one.")
        page.get_by_label("The right answer (optional)").fill("Ada Quill")
        with page.expect_request("**/feedback") as sent:
            page.get_by_role("button", name="Send feedback").click()
        page.get_by_text("Thank you.").wait_for()

        assert sent.value.response().status == 200
        feedback = json.loads(sent.value.post_data)
        assert (feedback["rating"], feedback["answer"]) == ("down", "Ada Quill")
        assert feedback["result"]["question"] == "Who keeps the crane?"
        assert all("content" not in passage for passage in feedback["result"]["documents"])
        page.reload()
        page.get_by_role("button", name="Who keeps the crane?", exact=True).click()
        assert page.get_by_text("Thank you.").is_visible()

    def test_a_web_that_is_closed_is_shown_as_closed(self, page: Any):
        assert page.get_by_label("Web").is_disabled()
        assert page.locator("#closed").inner_text() == "The web is closed by PREFRAG_WEB=off."

    def test_command_that_opens_the_web_is_shown_with_the_collection(self, page: Any):
        web = {
            "name": "web",
            "external": True,
            "open": False,
            "reason": "open it with `prefrag index --web --collection x`",
        }
        served = {"name": "prefrag", "sources": [web], "preferred": "web", "top_k": 5, "max_steps": 4}
        page.route("**/pipelines", lambda route: route.fulfill(json={"pipelines": [served]}))
        page.reload()

        assert page.locator("#closed code").inner_text() == "prefrag index --web --collection default"
        assert page.locator("#closed").inner_text() == "Open it with prefrag index --web --collection default."

    def test_who_may_not_write_is_told_so(self, browser: Any, open_page: Open):
        page = open_page()

        page.get_by_role("button", name="Documents", exact=True).click()

        page.get_by_text("You can ask, but not add or delete files.").wait_for()
        assert page.locator("#files").count() == 0
        drop(page, "body", ("a.txt", "A."))
        assert page.get_by_text("a.txt").count() == 0

    def test_folders_are_a_tree_for_mouse_and_keyboard(self, page: Any):
        """What was not read is named."""

        page.get_by_role("button", name="Documents", exact=True).click()
        page.locator("#collection").select_option("files")
        rows = page.get_by_role("row").filter(has_not=page.get_by_role("columnheader"))
        page.locator(".is-folder").first.wait_for()

        assert [row.split("\n")[0] for row in rows.all_inner_texts()] == [
            "letters",
            "2024",
            "2024-05-03 tide.txt",
            "boats.csv",
        ]
        assert "2024-05-03" in rows.nth(2).locator(".cell-date").inner_text()
        assert re.fullmatch(r"changed [\d-]{10} \(UTC\)", rows.nth(3).locator(".cell-date").inner_text())
        assert page.locator(".failed-files summary").inner_text() == "1 file could not be read, or only in part"
        assert "letters/empty.md: it is empty" in page.locator(".failed-files").text_content()
        rows.nth(0).click()
        assert rows.count() == 2
        for key in ("ArrowRight", "ArrowRight", "ArrowDown", "ArrowLeft", "ArrowLeft"):
            page.keyboard.press(key)
        assert page.evaluate("[document.activeElement.ariaLevel, document.activeElement.ariaExpanded]") == [
            "2",
            "false",
        ]
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        page.locator("#document .passages li").wait_for()
        assert "Heron" in page.locator("#document").inner_text()

    def test_twenty_thousand_are_narrowed_and_drawn_only_on_screen(self, page: Any):
        kinds = ["pdf", "markdown"]
        listed = [
            {"id": str(n), "name": f"{n} note", "folder": f"f{n % 50}", "kind": kinds[n % 2], "passages": 1, "size": n}
            | ({"date": f"20{n % 20:02}-05-03"} if n % 4 else {"modified": "2001-01-01"})
            for n in range(20_000)
        ]
        page.route("**/collections/default/documents*", lambda route: route.fulfill(json={"documents": listed}))
        page.get_by_role("button", name="Documents", exact=True).click()
        page.locator(".is-folder").first.wait_for()
        assert page.locator(".tree-rows").evaluate("one => one.clientHeight") == 50 * 44
        assert page.locator(".tree-row").count() < 50

        page.get_by_label("Search the documents by name").fill("9 note")
        page.locator(".document-search").get_by_label("Kind").select_option("markdown")
        page.get_by_label("From").fill("2019-01-01")
        assert page.locator(".document-search [role=status]").inner_text() == "1,000 of 20,000 documents."
        assert page.locator(".tree-row").count() < 80
        page.locator(".tree-row").first.focus()
        page.keyboard.press("End")
        assert page.evaluate("document.activeElement.textContent").startswith("19999 note")
        assert page.locator(".tree-row").count() < 80


class TestAsking(OnOwnDocuments):
    def test_dropped_file_is_indexed_and_asked_about_until_removed(self, page: Any):
        drop(page, "h1", ("bell.txt", "The bell of Saltholm was cast by Edda Brook."), ("odd.xyz", "0"))
        page.locator(".attached", has_text="Not added: of a kind that is not read.").wait_for()
        page.fill("#question", "Who cast the bell?")
        page.press("#question", "Enter")
        assert page.locator(".turn").count() == 0
        page.get_by_role("button", name="Remove odd.xyz").click()

        with page.expect_request("**/prefrag/run") as sent:
            card = ask(page, "Who cast the bell?")

        asked = json.loads(sent.value.post_data)
        assert (asked["web"], asked["sources"], asked["filters"]["field"]) == (False, ["local"], "meta.file_hash")
        assert card.locator(".source").count() == 1
        assert "Edda Brook" in card.inner_text()
        assert page.locator(".asked-of").inner_text() == "Asked about bell.txt alone"
        page.get_by_role("button", name="Remove bell.txt").click()
        with page.expect_request("**/prefrag/run") as sent:
            ask(page, "Who keeps the crane?")
        assert "filters" not in json.loads(sent.value.post_data)

    def test_an_upload_that_fails_is_explained_in_one_sentence(self, page: Any):
        refused = {"status": 413, "json": {"detail": "The upload is larger than 9 bytes: send fewer files at once."}}
        page.route(
            "**/documents",
            lambda route: route.fulfill(**refused) if route.request.method == "POST" else route.continue_(),
        )

        page.set_input_files("#attach", [{"name": "b.txt", "mimeType": "text/plain", "buffer": b"B."}])

        page.locator(".attached", has_text="The upload is larger than 9 bytes: send fewer files at once.").wait_for()

    def test_a_question_is_narrowed_to_a_folder_a_kind_and_a_time(self, page: Any):
        late: list[Any] = []
        page.route("**/collections/default/documents*", lambda route: late.append(route))
        page.locator("#narrow summary").click()
        page.get_by_label("Collection").first.select_option("files")
        page.locator("#narrow").get_by_label("Folder").wait_for()
        with page.expect_response("**/collections/default/documents*"):
            late[0].fulfill(json={"documents": [{"folder": "of another collection", "kind": "text"}]})
        page.locator("#narrow").get_by_label("Folder").select_option("letters/2024")
        page.locator("#narrow").get_by_label("Kind").select_option("text")
        page.get_by_label("Since").fill("2024-05-01")
        no = {"status": 422, "json": {"detail": "No document has a date since 2024-05-01."}}
        page.route("**/prefrag/run", lambda route: route.fulfill(**no))

        with page.expect_request("**/prefrag/run") as sent:
            page.fill("#question", "How high is the tide?")
            page.press("#question", "Enter")

        asked = json.loads(sent.value.post_data)
        assert {name: asked.get(name) for name in ("folders", "kinds", "since", "until")} == {
            "folders": ["letters/2024"],
            "kinds": ["text"],
            "since": "2024-05-01",
            "until": None,
        }
        page.get_by_text("No document has a date since 2024-05-01.").wait_for()
        assert page.locator("#narrow-words").inner_text() == "Only letters/2024 · Text · since 2024-05-01"
        page.locator("#narrow summary").click()
        page.get_by_role("button", name="Choose other documents").click()
        assert page.locator("#narrow").get_by_label("Folder").is_visible()

    def test_suggested_questions_are_text_and_leave_the_web_closed(self, page: Any):
        suggested = {"questions": [{"question": "Who keeps the <b>crane</b>?", "name": "notes.md"}], "pending": False}
        page.route("**/questions", lambda route: route.fulfill(json=suggested))
        page.route("**/prefrag/run", lambda route: route.fulfill(status=502, json={"detail": "Try again."}), times=1)
        page.reload()

        for name in ("Who keeps the <b>crane</b>?", "Ask again"):
            with page.expect_request("**/prefrag/run") as sent:
                page.get_by_role("button", name=name).click()
            assert json.loads(sent.value.post_data)["web"] is False
        page.wait_for_selector(".card", timeout=20_000)
        assert not page.locator("#suggestions").is_visible()
