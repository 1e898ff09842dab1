"""The conversations that a browser stores, in a real browser: what is deleted stays deleted, in every tab."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.integration.browser import ScriptedRuns, document, result, wait_until
from tests.server_process import CHECKOUT

Open = Callable[..., Any]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]
FILL = """
() => {
  for (let size = 4000000; size >= 1;) {
    try { localStorage.setItem(`filler ${size} ${Math.random()}`, "x".repeat(size)); } catch { size = Math.floor(size / 2); }
  }
}
"""
BLOCK = """
for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
"""


@pytest.fixture
def page(open_page: Open) -> Any:
    return open_page(scripted=True)


def open_tab(page: Any) -> Any:
    """Open the page in another tab of the same browser."""
    tab = page.context.new_page()
    tab.runs = ScriptedRuns(tab)
    tab.goto(page.url)
    tab.wait_for_selector("[data-source]")
    return tab


def ask(page: Any, question: str) -> None:
    page.runs.begin(question)
    page.runs.end(result())
    page.runs.wait()


def stored(page: Any) -> list[Any]:
    return json.loads(page.evaluate("localStorage.getItem('prefrag.conversations')") or "[]")


def stored_questions(page: Any) -> list[list[str]]:
    return [[turn["question"] for turn in conversation["turns"]] for conversation in stored(page)]


def shown_questions(page: Any) -> list[str]:
    return page.locator(".turn h2").all_inner_texts()


def open_first(page: Any) -> None:
    page.locator("#conversations .conversation").first.click()


def clear(page: Any) -> None:
    page.get_by_role("button", name="Clear history").click()
    page.get_by_role("button", name="Clear", exact=True).click()


def delete(page: Any) -> None:
    page.locator("#conversations .icon-button").first.click()
    page.get_by_role("button", name="Delete", exact=True).click()


def rename(page: Any, name: str) -> None:
    page.locator("#conversations .icon-button").first.click()
    page.get_by_label("Name", exact=True).fill(name)
    page.get_by_label("Pinned").check()
    page.get_by_role("button", name="Done").click()


class TestDuringARun:
    @pytest.mark.parametrize("forget", [clear, delete])
    def test_what_is_deleted_stays_deleted(self, page: Any, forget: Callable[[Any], None]):
        ask(page, "One?")
        page.runs.begin("Two?")

        forget(page)
        wait_until(page, "window.wasStopped")
        page.runs.wait()

        assert stored_questions(page) == []
        assert page.locator("#conversations li").count() == 0

    def test_a_name_and_a_pin_are_kept(self, page: Any):
        ask(page, "One?")
        page.runs.begin("Two?")

        rename(page, "My name")
        page.runs.end(result())
        page.runs.wait()

        assert [
            (conversation["name"], conversation["pinned"], len(conversation["turns"])) for conversation in stored(page)
        ] == [("My name", True, 2)]

    def test_click_on_the_shown_conversation_changes_nothing(self, page: Any):
        ask(page, "One?")
        page.runs.begin("Two?")

        open_first(page)
        page.runs.end(result())
        page.runs.wait()

        assert shown_questions(page) == ["One?", "Two?"]
        assert stored_questions(page) == [["One?", "Two?"]]


class TestTwoTabs:
    def test_keep_what_each_of_them_has_asked(self, page: Any):
        ask(page, "One?")
        other = open_tab(page)
        open_first(other)

        page.runs.begin("Two?")
        ask(other, "Three?")
        page.runs.end(result())
        page.runs.wait()
        other.locator(".turn").nth(2).wait_for()

        assert stored_questions(page) == [["One?", "Three?", "Two?"]]
        assert sorted(shown_questions(page)) == sorted(shown_questions(other)) == ["One?", "Three?", "Two?"]

    @pytest.mark.parametrize("forget", [clear, delete])
    def test_both_forget_what_one_deletes(self, page: Any, forget: Callable[[Any], None]):
        ask(page, "Private?")
        other = open_tab(page)

        forget(other)
        page.get_by_role("heading", name="Ask your documents").wait_for()
        ask(page, "Harmless?")

        assert stored_questions(page) == [["Harmless?"]]
        assert "history" not in page.runs.requests[-1]

    def test_a_first_question_that_still_runs_is_forgotten_too(self, page: Any):
        ask(page, "One?")
        other = open_tab(page)
        other.runs.begin("Private?")

        clear(page)
        wait_until(other, "window.wasStopped")
        other.runs.wait()

        assert stored_questions(page) == []

    def test_a_tab_that_slept_writes_no_deleted_conversation(self, page: Any):
        page.add_init_script("addEventListener('storage', (event) => event.stopImmediatePropagation(), true)")
        page.reload()
        page.wait_for_selector("[data-source]")
        ask(page, "Private?")
        other = open_tab(page)
        clear(other)

        ask(page, "Harmless?")

        assert stored_questions(page) == []
        page.get_by_text("This conversation was deleted, so this is not stored.").wait_for()

    def test_keep_the_name_and_the_rating_that_one_gives(self, page: Any):
        page.context.route("**/feedback", lambda route: route.fulfill(json={}))
        ask(page, "One?")
        other = open_tab(page)
        rename(other, "My name")
        open_first(other)
        other.get_by_role("button", name="Yes, it was right").click()
        other.get_by_role("button", name="Send feedback").click()
        other.get_by_text("Thank you.").wait_for()

        ask(page, "Two?")

        [conversation] = stored(page)
        assert (conversation["name"], conversation["pinned"]) == ("My name", True)
        assert [turn.get("rating") for turn in conversation["turns"]] == ["up", None]

    def test_conversations_of_an_earlier_version_are_read(self, page: Any):
        turn = {"question": "One?", "pipeline": "prefrag", "options": {}, "events": [], "failure": None, **result()}
        page.evaluate(
            "(text) => localStorage.setItem('prefrag.conversations', text)",
            json.dumps([{"id": "m1-a", "turns": [turn]}]),
        )
        page.reload()
        page.wait_for_selector("[data-source]")
        open_first(page)

        ask(page, "Two?")

        assert stored_questions(page) == [["One?", "Two?"]]


class TestStorage:
    def test_of_pinned_conversations_alone_has_no_room_and_says_so(self, page: Any):
        turn = {"question": "?", "pipeline": "x", "options": {}, "events": [], "result": None, "failure": None}
        pinned = [{"id": f"m{number}-a", "pinned": True, "turns": [turn]} for number in range(50)]
        page.evaluate("(text) => localStorage.setItem('prefrag.conversations', text)", json.dumps(pinned))

        ask(page, "One?")

        page.get_by_text(
            "50 pinned conversations are stored already, so this is lost when you close the page."
        ).wait_for()
        assert len(stored(page)) == 50

    def test_that_is_full_is_named_and_loses_nothing(self, page: Any):
        ask(page, "One?")
        page.evaluate(FILL)

        ask(page, "Two? " + "x" * 3000)
        rename(page, "x" * 200)

        page.get_by_text("This browser has no room left for this page, so this is lost").wait_for()
        page.locator("#conversation-problem", has_text="delete some conversations first").wait_for()
        assert stored_questions(page) == [["One?"]]
        page.get_by_role("button", name="Cancel").last.click()

    def test_that_is_blocked_is_named_and_a_question_is_asked(self, open_page: Open):
        page = open_page(scripted=True)
        page.add_init_script(BLOCK)
        page.reload()
        page.wait_for_selector("[data-source]")
        page.get_by_role("button", name="Colours: same as the system").click()

        ask(page, "One?")
        ask(page, "Two?")

        assert shown_questions(page) == ["One?", "Two?"]
        assert [turn["content"] for turn in page.runs.requests[-1]["history"]] == ["One?", "1974"]
        page.get_by_text("This browser stores nothing for this page").last.wait_for()

    def test_that_is_blocked_keeps_a_key_in_the_page(self, page: Any):
        page.add_init_script(BLOCK)

        def guard(route: Any) -> None:
            if route.request.headers.get("authorization") == "Bearer right":
                route.continue_()
            else:
                route.fulfill(status=401, json={"detail": "Send a valid API key."})

        page.route("**/pipelines", guard)
        page.reload()
        page.get_by_label("Key", exact=True).fill("right")
        page.get_by_role("button", name="Use this key").click()

        page.wait_for_selector("[data-source]")


class TestAFileFromSomebodyElse:
    """What such a file holds is shown as text, or the file is refused; it changes nothing else."""

    SCRIPT = "<script>window.hacked = 1</script><img src=x onerror='window.hacked = 1'> [1](javascript:window.hacked=1)"

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.file = tmp_path / "a.json"

    def open_file(self, page: Any, content: bytes) -> None:
        self.file.write_bytes(content)
        page.evaluate("document.getElementById('not-opened').hidden = true")
        page.set_input_files("#conversation-open", self.file)

    def saved(self, **more: Any) -> bytes:
        shown = {**result("1974 [1]", documents=[document("1", self.SCRIPT, self.SCRIPT)])["result"], **more}
        turn = {"question": self.SCRIPT, "pipeline": self.SCRIPT, "options": {}, "events": [], "failure": None}
        events = [{"kind": self.SCRIPT, "step": 1, "text": self.SCRIPT, "data": {"source": self.SCRIPT}}]
        whole = {
            "kind": "prefrag conversation",
            "name": self.SCRIPT,
            "turns": [{**turn, "events": events, "result": shown}],
        }
        return json.dumps(whole).encode()

    def test_runs_no_script_and_loads_nothing(self, page: Any):
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))

        self.open_file(page, self.saved(answer=self.SCRIPT, answer_with_citations=f"{self.SCRIPT} [1]"))
        page.locator(".turn .card").wait_for()
        page.locator(".chip").first.click()

        assert page.evaluate("window.hacked") is None
        assert page.locator(".turn script, .turn img, .turn a[href^=javascript]").count() == 0
        assert self.SCRIPT in page.locator(".turn h2").inner_text()
        assert [url for url in asked if not url.startswith(page.url.split("/ui")[0].rstrip("/"))] == []

    def test_with_a_citation_of_no_passage_shows_no_chip_for_it(self, page: Any):
        self.open_file(page, self.saved(answer_with_citations="Sold in 1974 [7] [W1] [1].", answer="Sold in 1974."))

        page.locator(".turn .card").wait_for()

        assert set(page.locator(".answer .chip").all_inner_texts()) == {"1"}
        assert "[7] [W1]" in page.locator(".answer").inner_text()

    def test_that_is_too_large_broken_or_misshapen_is_refused(self, page: Any):
        """The page goes on."""

        ask(page, "One?")
        half = self.saved()[:-40]
        deep = b'{"kind": "prefrag conversation", "turns": ' + b"[" * 100_000
        wrong = [self.saved(documents="none"), self.saved(documents=[7]), self.saved(answer={"a": 1}), b"\xff\xfe", b""]
        for content in (b" " * 50_000_000 + self.saved(), half, deep, *wrong):
            self.open_file(page, content)
            page.get_by_text("This file is not a conversation that was saved from this page.").wait_for()
            assert stored_questions(page) == [["One?"]], content[:60]

        ask(page, "Two?")
        assert stored_questions(page) == [["One?", "Two?"]]
