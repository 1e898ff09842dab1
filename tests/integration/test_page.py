"""The page at ``/`` in a real browser: on the demo and on documents of one's own, without a language model."""

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
ANSWERED = "Which architect drew the customs house in which the Plover Suite was written?"
NOT_ANSWERED = "Is the Shearwater Current Meter older than the Petrel CTD?"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]


def focused(page: Any) -> str:
    return page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")


class TestDemo:
    def test_a_question_is_answered_with_its_steps_its_sources_and_what_left_the_machine(self, open_page: Open):
        page = open_page()

        card = ask(page, ANSWERED)

        assert card.locator(".answer-state").inner_text() == "Stated"
        assert card.locator(".evidence strong").inner_text() == "Cosima Brandt"
        facts = card.locator(".facts").inner_text()
        assert "Stated" in facts
        assert "Correct" not in facts
        assert "%" not in facts
        assert card.locator(".label-good").count() == 0
        assert "no language model" in facts
        assert "Nothing: no query, no passage." in facts
        steps = page.locator(".steps")
        steps.locator("summary").click()
        shown = steps.inner_text()
        assert "Search your documents" in shown
        assert "Verdict switch to another source (by the classifier). A passage that is needed" in shown
        assert "Search the web" in shown
        assert "Tolmouth Software House" in shown

    def test_the_demo_offers_questions_to_begin_with(self, open_page: Open):
        page = open_page()

        page.get_by_role("button", name="Who designed the Shearwater Current Meter?").click()

        page.wait_for_selector(".card", timeout=20_000)
        assert "Tobias Greaves" in page.locator(".evidence").inner_text()

    def test_a_chip_opens_the_passage_and_the_kind_stands_there_as_a_word(self, open_page: Open):
        page = open_page()

        ask(page, ANSWERED).locator(".evidence .chip").click()

        passage = page.locator("#passage")
        assert "Its customs house was drawn by the architect Cosima Brandt" in passage.inner_text()
        assert passage.locator("mark").inner_text().startswith("Its customs house was drawn by the architect")
        assert passage.locator(".kind").inner_text() == "Web"

    def test_what_a_user_says_of_an_answer_is_kept(self, open_page: Open, demo_data: Path):
        page = open_page()
        card = ask(page, ANSWERED)

        card.get_by_role("button", name="Yes, it was right").click()
        card.get_by_label("Comment (optional)").fill("Thank you.")
        card.get_by_role("button", name="Send feedback").click()
        card.get_by_text("Your feedback is kept").wait_for()

        *_, line = (demo_data / "feedback.jsonl").read_text(encoding="utf-8").splitlines()
        kept = json.loads(line)
        assert (kept["rating"], kept["comment"], kept["pipeline"]) == ("up", "Thank you.", "prefrag")
        assert (kept["result"]["question"], kept["result"]["answer"]) == (ANSWERED, "Cosima Brandt")

    def test_the_web_is_switched_off_for_a_question(self, open_page: Open):
        page = open_page()
        page.get_by_label("Web").uncheck()

        with page.expect_request("**/prefrag/run") as sent:
            ask(page, ANSWERED)

        asked = json.loads(sent.value.post_data)
        assert asked["sources"] == ["local"]
        assert asked["web"] is False
        page.locator(".steps summary").click()
        assert "Search the web" not in page.locator(".steps").inner_text()

    def test_what_was_found_but_not_answered_is_shown_as_that(self, open_page: Open):
        page = open_page()

        card = ask(page, NOT_ANSWERED)

        shown = card.inner_text()
        assert "Found, not answered" in shown
        assert "guess" not in shown
        assert "Not answered" in card.locator(".facts").inner_text()
        card.locator(".evidence .chip").first.click()
        marked = page.locator("#passage mark").inner_text()
        assert marked == card.locator(".evidence blockquote").first.inner_text()

    def test_a_follow_up_is_sent_with_the_earlier_turns(self, open_page: Open):
        page = open_page()
        ask(page, ANSWERED)

        with page.expect_request("**/prefrag/run") as sent:
            ask(page, "And when was it drawn?")

        assert json.loads(sent.value.post_data)["history"] == [
            {"role": "user", "content": ANSWERED},
            {"role": "assistant", "content": "Cosima Brandt"},
        ]

    def test_everything_works_by_keyboard_alone(self, open_page: Open):
        page = open_page()
        assert page.evaluate("document.activeElement.id") == "question"
        page.keyboard.type(ANSWERED)
        page.keyboard.press("Enter")
        page.wait_for_selector(".card", timeout=20_000)
        # Backwards from the field: the thumbs, the list of passages, the source, the chip.
        for _ in range(12):
            page.keyboard.press("Shift+Tab")
            if focused(page).startswith("Passage W1 from the web: Tolmouth"):
                break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"

        page.keyboard.press("Enter")
        assert page.locator("#passage").is_visible()
        assert focused(page) == "Close"
        page.keyboard.press("Escape")

        assert not page.locator("#passage").is_visible()
        assert focused(page).startswith("Passage W1 from the web: Tolmouth")

    def test_a_reload_keeps_the_conversation_and_clearing_forgets_it(self, open_page: Open):
        page = open_page()
        ask(page, ANSWERED)
        page.reload()

        page.locator("#conversations").get_by_role("button", name=ANSWERED, exact=True).click()
        assert "Cosima Brandt" in page.locator(".card .evidence").inner_text()
        page.get_by_role("button", name="Clear history").click()
        page.get_by_role("button", name="Clear", exact=True).click()

        page.locator("#conversations li").first.wait_for(state="detached")
        assert page.evaluate("localStorage.getItem('prefrag.conversations')") is None
        assert "this browser only" in page.locator("#sidebar").inner_text()

    def test_conversations_are_named_pinned_searched_saved_and_opened_again(self, open_page: Open, tmp_path: Path):
        page = open_page()
        ask(page, ANSWERED)
        page.get_by_role("button", name="New conversation").click()
        ask(page, "Who designed the Shearwater Current Meter?")
        names = page.locator("#conversations .conversation")

        page.get_by_role("button", name=f"More: {ANSWERED}").click()
        page.get_by_label("Name", exact=True).fill("The <b>customs</b> house")
        page.get_by_label("Pinned").check()
        page.get_by_role("button", name="Done").click()
        assert names.all_inner_texts() == ["The <b>customs</b> house", "Who designed the Shearwater Current Meter?"]

        page.get_by_label("Search the conversations").fill("tobias greaves")
        assert names.all_inner_texts() == ["Who designed the Shearwater Current Meter?"]
        page.get_by_label("Search the conversations").fill("")
        page.get_by_role("button", name="More: The").click()
        with page.expect_download() as written:
            page.get_by_role("button", name="Save as Markdown").click()
        text = Path(written.value.path()).read_text("utf-8")
        assert text.startswith("# The \\<b\\>customs\\</b\\> house\n\n## ")
        assert "Cosima Brandt" in text
        assert "- \\[W" in text
        with page.expect_download() as kept:
            page.get_by_role("button", name="Save as a file").click()
        kept.value.save_as(tmp_path / "kept.json")
        page.get_by_role("button", name="Delete", exact=True).click()
        assert names.count() == 1

        page.set_input_files("#conversation-open", tmp_path / "kept.json")
        names.nth(1).wait_for()
        assert "Cosima Brandt" in page.locator(".card .evidence").inner_text()
        foreign = b'{"kind": "prefrag conversation", "turns": [{"question": 1}]}'
        page.set_input_files("#conversation-open", {"name": "a.json", "mimeType": "text/json", "buffer": foreign})
        page.get_by_text("This is no conversation").wait_for()
        turn = {"question": "a", "pipeline": "b", "options": {}, "events": [], "failure": None}
        for result in ({"answer": {"toString": 1}}, {"documents": "x"}, {"documents": [{"mark": {}}], "steps": [{}]}):
            buffer = json.dumps({"kind": "prefrag conversation", "turns": [{**turn, "result": result}]}).encode()
            page.set_input_files("#conversation-open", {"name": "a.json", "mimeType": "text/json", "buffer": buffer})
            page.wait_for_function("!document.getElementById('not-opened').hidden")
            page.evaluate("document.getElementById('not-opened').hidden = true")
        page.reload()
        page.wait_for_selector("[data-source]")
        assert names.count() == 2


@pytest.fixture(scope="module")
def own_documents(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, str]]:
    """A server on documents of one's own, and a key that may write."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "notes.md").write_text(
        "# The crane\n\nAda Quill keeps the crane. It stands in Ostermoor.\n", encoding="utf-8"
    )
    settings = {"PREFRAG_DATA_DIR": str(folder / "data"), "PREFRAG_WEB": "off", "PREFRAG_COLLECTIONS": "all"}

    def prefrag(*arguments: str) -> str:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PREFRAG_")}
        command = [sys.executable, "-m", "prefrag.cli.main", *arguments]
        environment = {**kept, **settings, "PYTHONPATH": str(CHECKOUT)}
        return subprocess.run(command, env=environment, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout

    prefrag("index", str(folder / "notes.md"))
    key = prefrag("keys", "add", "ada", "--write").split()[0]
    with server_process("-m", "prefrag.cli.main", "serve", folder=folder, **settings) as client:
        yield client, key


class TestDocuments:
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
        assert page.locator(".file-name").all_inner_texts() == ["notes.md"]

    def test_a_source_opens_its_document_at_the_sentence_and_gives_its_file(self, page: Any):
        page.get_by_role("button", name="Documents", exact=True).click()
        lines = "".join(f"## Quay {n}\n\n{f'Ship {n} lies at this quay. ' * 30}\n\n" for n in range(60))
        text = f"# Quays\n\n{lines}## The last\n\nThe pilot of Saltholm is called Ines Hale.\n"
        page.set_input_files("#files", [{"name": "quays.md", "mimeType": "text/markdown", "buffer": text.encode()}])
        page.locator(".done").wait_for()
        page.get_by_role("button", name="Ask", exact=True).click()
        ask(page, "What is the pilot of Saltholm called?").locator(".source").first.click()

        page.get_by_role("button", name="Open the document").click()

        found = page.locator("#document .is-found mark")
        found.wait_for()
        assert "Ines Hale" in found.inner_text()
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
        dropped = page.evaluate_handle(
            """() => {
              const data = new DataTransfer();
              data.items.add(new File(["Plain words."], "dropped.txt", { type: "text/plain" }));
              data.items.add(new File([new Uint8Array([0, 1, 2])], "odd.xyz"));
              return data;
            }"""
        )

        page.dispatch_event(".drop", "drop", {"dataTransfer": dropped})

        page.locator(".done").wait_for()
        assert "odd.xyz" in page.locator(".skipped").inner_text()
        assert "dropped.txt" in page.locator(".files").inner_text()

    def test_a_long_name_is_no_wider_than_a_phone_and_every_control_has_a_name(self, page: Any):
        page.set_viewport_size({"width": 390, "height": 844})
        page.get_by_role("button", name="Documents", exact=True).click()
        page.get_by_text("notes.md").wait_for()
        name = "x" * 120 + ".txt"
        page.set_input_files("#files", [{"name": name, "mimeType": "text/plain", "buffer": b"Long."}])
        page.locator(".done").wait_for()

        assert not overflows(page)
        assert nameless_controls(page) == []

    def test_another_collection_is_made_by_its_first_file_and_searched_when_it_is_chosen(self, page: Any):
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

    def test_thumbs_and_a_comment_are_kept_by_the_server_without_the_passages(self, page: Any):
        ask(page, "Who keeps the crane?")
        page.get_by_role("button", name="No, it was not").click()
        page.get_by_label("Comment (optional)").fill("It was another one.")
        page.get_by_label("The right answer (optional)").fill("Ada Quill")
        with page.expect_request("**/feedback") as sent:
            page.get_by_role("button", name="Send feedback").click()
        page.get_by_text("Thank you.").wait_for()

        assert sent.value.response().status == 200
        given = json.loads(sent.value.post_data)
        assert (given["rating"], given["answer"]) == ("down", "Ada Quill")
        assert given["result"]["question"] == "Who keeps the crane?"
        assert all("content" not in passage for passage in given["result"]["documents"])
        page.reload()
        page.get_by_role("button", name="Who keeps the crane?", exact=True).click()
        assert page.get_by_text("Thank you.").is_visible()

    def test_a_web_that_is_closed_is_shown_as_closed(self, page: Any):
        assert page.get_by_label("Web").is_disabled()
        assert page.locator("#closed").inner_text() == "The web is closed by PREFRAG_WEB=off."

    def test_the_command_that_opens_the_web_is_shown_as_one(self, page: Any):
        web = {"name": "web", "external": True, "open": False, "reason": "allow it with `prefrag index --web` or so"}
        served = {"name": "prefrag", "sources": [web], "preferred": "web", "top_k": 5, "max_steps": 4}
        page.route("**/pipelines", lambda route: route.fulfill(json={"pipelines": [served]}))
        page.reload()

        assert page.locator("#closed code").inner_text() == "prefrag index --web"
        assert page.locator("#closed").inner_text() == "Allow it with prefrag index --web or so."

    def test_who_may_not_write_is_told_so(self, browser: Any, open_page: Open):
        page = open_page()

        page.get_by_role("button", name="Documents", exact=True).click()

        page.get_by_text("Uploading and deleting need a key that may write.").wait_for()
        assert page.locator("#files").count() == 0


class TestKey:
    @pytest.fixture
    def locked(self, open_page: Open, browser: Any, demo_server: httpx.Client) -> Iterator[Any]:
        context = browser.new_context()
        page = context.new_page()

        def guard(route: Any) -> None:
            if route.request.headers.get("authorization") == "Bearer right":
                route.continue_()
            else:
                route.fulfill(status=401, json={"detail": "Send a valid API key."})

        page.route(re.compile(r"/(pipelines|access|collections|prefrag/run)$"), guard)
        page.goto(str(demo_server.base_url))
        yield page
        context.close()

    def test_a_field_for_the_key_opens_and_the_key_ends_with_the_tab(self, locked: Any):
        locked.get_by_role("heading", name="API key").wait_for()
        locked.get_by_label("Key", exact=True).fill("right")
        locked.get_by_role("button", name="Use this key").click()
        locked.wait_for_selector("[data-source]")

        assert locked.evaluate("[sessionStorage.getItem('prefrag.key'), localStorage.getItem('prefrag.key')]") == [
            "right",
            None,
        ]

    def test_it_is_remembered_only_where_that_is_chosen(self, locked: Any):
        locked.get_by_label("Key", exact=True).fill("right")
        locked.get_by_label("Remember it in this browser").check()
        locked.get_by_role("button", name="Use this key").click()
        locked.wait_for_selector("[data-source]")
        assert locked.evaluate("localStorage.getItem('prefrag.key')") == "right"

        locked.locator("#key-button").click()
        locked.get_by_role("button", name="Forget the key").click()
        locked.get_by_role("heading", name="API key").wait_for()

        assert locked.evaluate("localStorage.getItem('prefrag.key')") is None

    def test_a_question_is_not_lost_while_the_key_is_missing(self, locked: Any):
        locked.get_by_role("button", name="Cancel").click()
        locked.fill("#question", "Who?")
        locked.press("#question", "Enter")
        locked.get_by_role("heading", name="API key").wait_for()

        assert locked.input_value("#question") == "Who?"

    def test_a_wrong_key_opens_the_field_again(self, locked: Any):
        locked.get_by_label("Key", exact=True).fill("wrong")
        locked.get_by_role("button", name="Use this key").click()

        locked.get_by_text("does not know the key").wait_for()
