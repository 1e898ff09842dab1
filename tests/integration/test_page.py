"""The page at ``/`` in a real browser, on the demo and on a user's own documents, without a language model."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.integration.browser import ask
from tests.server_process import CHECKOUT

Open = Callable[..., Any]
ANSWERED = "What is the name of the café in the museum led by the former chief scientist of the Lantern Survey?"
NOT_ANSWERED = "Is the Shearwater Current Meter older than the Petrel CTD?"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]


def focused(page: Any) -> str:
    return page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")


class TestDemo:
    def test_question_is_answered_with_steps_sources_and_what_left(self, open_page: Open):
        page = open_page()

        card = ask(page, ANSWERED)

        assert card.locator(".answer-state").inner_text() == "Stated"
        assert card.locator(".evidence strong").inner_text() == "Krill"
        facts = card.locator(".facts").inner_text()
        assert "Stated" in facts
        assert "Correct" not in facts
        assert "%" not in facts
        assert card.locator(".label-good").count() == 0
        assert "no language model" in facts
        assert "Nothing: neither a query nor a passage." in facts
        steps = page.locator(".steps")
        steps.locator("summary").click()
        shown = steps.inner_text()
        assert "Search your documents" in shown
        assert "Verdict switch to another source (by the classifier). It is " in shown
        assert "Search the web" in shown
        assert "RV Constance Ley" in shown

    def test_the_demo_offers_questions_to_begin_with(self, open_page: Open):
        page = open_page()

        page.get_by_role("button", name="Who designed the Shearwater Current Meter?").click()

        page.wait_for_selector(".card", timeout=20_000)
        assert "Tobias Greaves" in page.locator(".evidence").inner_text()

    def test_chip_opens_the_passage_and_the_kind_is_a_word_there(self, open_page: Open):
        page = open_page()

        ask(page, ANSWERED).locator(".evidence .chip").click()

        passage = page.locator("#passage")
        assert "The museum café is called Krill" in passage.inner_text()
        assert passage.locator("mark").inner_text().startswith("The museum café is called")
        assert passage.locator(".kind").inner_text() == "Web"

    def test_what_a_user_says_of_an_answer_is_kept(self, open_page: Open, demo_data: Path):
        page = open_page()
        card = ask(page, ANSWERED)

        card.get_by_role("button", name="Yes, it was right").click()
        card.get_by_label("Comment (optional)").fill("Thank you.")
        card.get_by_role("button", name="Send feedback").click()
        card.get_by_text("Your feedback is kept").wait_for()

        *_, line = (demo_data / "feedback.jsonl").read_text(encoding="utf-8").splitlines()
        record = json.loads(line)
        assert (record["rating"], record["comment"], record["pipeline"]) == ("up", "Thank you.", "prefrag")
        assert (record["result"]["question"], record["result"]["answer"]) == (ANSWERED, "Krill")

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
        assert "No sure answer" in shown
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
            {"role": "assistant", "content": "Krill"},
        ]

    def test_everything_works_by_keyboard_alone(self, open_page: Open):
        page = open_page()
        assert page.evaluate("document.activeElement.id") == "question"
        page.keyboard.type(ANSWERED)
        page.keyboard.press("Enter")
        page.wait_for_selector(".card", timeout=20_000)
        # Shift+Tab goes back from the field over the thumbs, the list of passages and the source to the chip.
        for _ in range(12):
            page.keyboard.press("Shift+Tab")
            if focused(page).startswith("Passage W1 from the web: Museum of the Sea"):
                break
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"

        page.keyboard.press("Enter")
        assert page.locator("#passage").is_visible()
        assert focused(page) == "Close"
        page.keyboard.press("Escape")

        assert not page.locator("#passage").is_visible()
        assert focused(page).startswith("Passage W1 from the web: Museum of the Sea")

    def test_a_reload_keeps_the_conversation_and_clearing_forgets_it(self, open_page: Open):
        page = open_page()
        ask(page, ANSWERED)
        page.reload()

        page.locator("#conversations").get_by_role("button", name=ANSWERED, exact=True).click()
        assert "Krill" in page.locator(".card .evidence").inner_text()
        page.get_by_role("button", name="Clear history").click()
        page.get_by_role("button", name="Clear", exact=True).click()

        page.locator("#conversations li").first.wait_for(state="detached")
        assert page.evaluate("localStorage.getItem('prefrag.conversations')") is None
        assert "this browser only" in page.locator("#sidebar").inner_text()

    def test_conversations_are_named_pinned_searched_saved_reopened(self, open_page: Open, tmp_path: Path):
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
            page.get_by_role("button", name="Save as text (Markdown)").click()
        text = Path(written.value.path()).read_text("utf-8")
        assert text.startswith("# The \\<b\\>customs\\</b\\> house\n\n## ")
        assert "Krill" in text
        assert "- \\[W" in text
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as a file for this page").click()
        saved.value.save_as(tmp_path / "kept.json")
        page.get_by_role("button", name="Delete", exact=True).click()
        assert names.count() == 1

        page.set_input_files("#conversation-open", tmp_path / "kept.json")
        names.nth(1).wait_for()
        assert "Krill" in page.locator(".card .evidence").inner_text()
        foreign = b'{"kind": "prefrag conversation", "turns": [{"question": 1}]}'
        page.set_input_files("#conversation-open", {"name": "a.json", "mimeType": "text/json", "buffer": foreign})
        page.get_by_text("This file is not a conversation").wait_for()
        turn = {"question": "a", "pipeline": "b", "options": {}, "events": [], "failure": None}
        for result in ({"answer": {"toString": 1}}, {"documents": "x"}, {"documents": [{"mark": {}}], "steps": [{}]}):
            buffer = json.dumps({"kind": "prefrag conversation", "turns": [{**turn, "result": result}]}).encode()
            page.evaluate("document.getElementById('not-opened').hidden = true")
            page.set_input_files("#conversation-open", {"name": "a.json", "mimeType": "text/json", "buffer": buffer})
            page.locator("#not-opened").wait_for()
        page.reload()
        page.wait_for_selector("[data-source]")
        assert names.count() == 2


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
        locked.get_by_role("heading", name="Access key").wait_for()
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
        locked.get_by_role("heading", name="Access key").wait_for()

        assert locked.evaluate("localStorage.getItem('prefrag.key')") is None

    def test_a_question_is_not_lost_while_the_key_is_missing(self, locked: Any):
        locked.get_by_role("button", name="Cancel").click()
        locked.fill("#question", "Who?")
        locked.press("#question", "Enter")
        locked.get_by_role("heading", name="Access key").wait_for()

        assert locked.input_value("#question") == "Who?"

    def test_a_wrong_key_opens_the_field_again(self, locked: Any):
        locked.get_by_label("Key", exact=True).fill("wrong")
        locked.get_by_role("button", name="Use this key").click()

        locked.get_by_text("does not know the key").wait_for()
