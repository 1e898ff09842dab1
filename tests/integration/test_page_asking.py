"""What the page asks, in a real browser: a question is never asked with fewer limits than its user saw."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.browser import event, result, wait_until
from tests.server_process import CHECKOUT

Open = Callable[..., Any]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]
BUSY = {"error": {"message": "Busy.", "status": 503}}
NOTHING_BUT_OWN = {"sources": ["local"], "web": False}
LIMITS = ("index", "sources", "web", "filters", "folders", "kinds", "since", "until")


def only(*names: str) -> dict[str, Any]:
    """Only files, by the hashes that the scripted service gives them."""
    filters = {"field": "meta.file_hash", "operator": "in", "value": [f"hash of {name}" for name in names]}
    return {**NOTHING_BUT_OWN, "filters": filters}


class Uploads:
    """The uploads of a page, which the test answers."""

    def __init__(self, page: Any):
        self.page = page
        self.listed = [{"name": "letter.txt", "folder": "letters", "kind": "text"}]
        self.waiting: list[Any] = []
        page.context.route("**/collections/*/documents*", self.take)
        page.context.route("**/collections/*/documents/*", self.open)

    def take(self, route: Any) -> None:
        if route.request.method == "POST":
            self.waiting.append(route)
        else:
            route.fulfill(json={"documents": self.listed, "failed": []})

    def open(self, route: Any) -> None:
        route.fulfill(json={"hash": f"hash of {route.request.url.rpartition('/')[2].replace('%20', ' ')}"})

    def attach(self, *names: str) -> None:
        """Choose files."""
        files = [{"name": name, "mimeType": "text/plain", "buffer": name.encode()} for name in names]
        self.page.set_input_files("#attach", files)

    def end(self, *names: str) -> None:
        """Take the next upload, under these names."""
        for _ in range(100):
            if self.waiting:
                break
            self.page.wait_for_timeout(20)
        taken = [{"id": name, "name": name, "position": position} for position, name in enumerate(names)]
        self.waiting.pop(0).fulfill(json={"documents": taken, "skipped": [], "written": len(taken)})

    def read(self, *names: str) -> None:
        """Attach files, which are read at once."""
        self.attach(*names)
        self.end(*names)
        wait_until(self.page, "!document.querySelector('.attached .hint')")


@pytest.fixture
def page(open_page: Open) -> Any:
    """A page that may add files to two collections, and asks with one of two methods."""
    page = open_page(scripted=True)
    page.collections = [
        {"name": name, "default": name == "mine", "web": True, "writes": True} for name in ("mine", "other")
    ]
    page.methods = [
        {
            "name": name,
            "sources": [
                {"name": "local", "external": False, "open": True},
                {"name": web, "external": True, "open": True},
            ],
        }
        for name, web in (("first", "web"), ("second", "internet"))
    ]
    page.context.route("**/access", lambda route: route.fulfill(json={"writes": True, "needs_key": False}))
    page.context.route("**/pipelines", lambda route: route.fulfill(json={"pipelines": page.methods}))
    page.context.route("**/collections", lambda route: route.fulfill(json={"collections": page.collections}))
    page.context.route("**/questions", lambda route: route.fulfill(json={"questions": [], "pending": False}))
    page.uploads = Uploads(page)
    reload(page)
    return page


def reload(page: Any) -> None:
    page.reload()
    page.wait_for_selector("[data-source]")


def press_enter(page: Any, question: str = "What does it say?") -> None:
    page.fill("#question", question)
    page.press("#question", "Enter")


def ask(page: Any, question: str = "What does it say?", end: dict[str, Any] | None = None) -> dict[str, Any]:
    """Ask, end the run, and return the limits that were sent."""
    page.runs.begin(question)
    return end_run(page, end)


def end_run(page: Any, end: dict[str, Any] | None = None) -> dict[str, Any]:
    page.runs.end(end or result())
    page.runs.wait()
    return {name: value for name, value in page.runs.requests[-1].items() if name in LIMITS}


def ask_again(page: Any) -> dict[str, Any]:
    begun = len(page.runs.requests)
    page.get_by_role("button", name="Ask again").last.click()
    wait_until(page, f"window.requests.length > {begun}")
    return end_run(page)


def open_first(page: Any) -> None:
    page.locator("#conversations .conversation").first.click()


def remove(page: Any) -> None:
    page.get_by_role("button", name="Remove contract.txt").click()


def begin_new(page: Any) -> None:
    page.get_by_role("button", name="New conversation").click()


def choose_other(page: Any) -> None:
    page.get_by_label("Collection").first.select_option("other")


class TestWhileAFileIsRead:
    @pytest.mark.parametrize(
        ("change", "reason"),
        [
            (begin_new, "you have opened another conversation"),
            (open_first, "you have opened another conversation"),
            (choose_other, "an attached file was removed"),
            (remove, "an attached file was removed"),
        ],
    )
    def test_a_question_is_not_asked_without_what_it_was_about(
        self, page: Any, change: Callable[..., None], reason: str
    ):
        ask(page, "About the harbour?")
        begin_new(page)
        page.uploads.attach("contract.txt")
        press_enter(page)

        change(page)
        page.uploads.end("contract.txt")

        page.locator("#said", has_text=f"Not asked: {reason}").wait_for()
        page.wait_for_timeout(100)
        assert len(page.runs.requests) == 1
        assert page.input_value("#question") == "What does it say?"

    def test_a_file_that_comes_later_is_not_part_of_the_question(self, page: Any):
        page.uploads.attach("contract.txt")
        press_enter(page)
        page.uploads.attach("later.txt")

        page.uploads.end("contract.txt")
        wait_until(page, "window.requests.length")

        assert end_run(page) == only("contract.txt")
        assert page.locator(".asked-of").all_inner_texts() == ["Asked about contract.txt alone"]

    def test_another_question_can_be_asked_in_another_conversation(self, page: Any):
        page.uploads.attach("contract.txt")
        press_enter(page)
        begin_new(page)

        assert ask(page, "How high is the tide?") == {}


class TestFilesOfOneName:
    def test_are_both_asked_about(self, page: Any):
        page.uploads.listed.append({"name": "scan (2).txt", "folder": "", "kind": "text"})
        page.uploads.attach("scan.txt", "scan.txt")

        page.uploads.end("scan.txt", "scan (3).txt")

        assert ask(page) == only("scan.txt", "scan (3).txt")
        assert page.locator(".attached-name").all_inner_texts() == ["scan.txt", "scan (3).txt"]

    def test_are_kept_apart_if_one_is_attached_already(self, page: Any):
        page.uploads.read("scan.txt")

        with page.expect_request(lambda request: request.method == "POST") as sent:
            page.uploads.attach("Scan.txt")

        assert 'filename="Scan (2).txt"' in sent.value.post_data

    def test_are_told_apart_by_their_places_in_the_form(self, page: Any):
        page.uploads.attach("u\u0308.txt", "plain.txt")
        page.wait_for_timeout(200)
        refused = {"name": "plain.txt", "reason": "it is empty", "position": 1}
        taken = {"id": "a", "name": "another.txt", "position": 0}
        page.uploads.waiting.pop().fulfill(json={"documents": [taken], "skipped": [refused]})

        page.locator(".attached", has_text="Not added: it is empty.").wait_for()
        assert page.locator(".attached.problem").count() == 1


class TestAgain:
    def test_is_asked_about_the_same_files(self, page: Any):
        page.uploads.read("contract.txt")
        ask(page, end=BUSY)
        reload(page)
        open_first(page)

        assert ask_again(page) == only("contract.txt")
        assert page.locator(".asked-of").all_inner_texts() == ["Asked about contract.txt alone"] * 2

    def test_is_asked_in_the_same_collection_without_the_web(self, page: Any):
        page.get_by_label("Web").uncheck()
        choose_other(page)
        ask(page, end=BUSY)
        reload(page)
        open_first(page)

        assert ask_again(page) == {"index": "other", **NOTHING_BUT_OWN}
        assert page.locator(".asked-of").all_inner_texts() == ["In other · Without the web"] * 2

    def test_is_asked_of_the_same_folder_and_time(self, page: Any):
        page.locator("#narrow summary").click()
        page.locator("#narrow").get_by_label("Folder").select_option("letters")
        page.get_by_label("Since").fill("2024-05-01")
        ask(page, end=BUSY)
        reload(page)
        open_first(page)

        assert ask_again(page) == {"folders": ["letters"], "since": "2024-05-01"}
        assert page.locator("#narrow-words").inner_text() == "Only letters · since 2024-05-01"

    def test_stays_off_the_web_if_that_was_closed_since(self, page: Any):
        ask(page, end=BUSY)
        page.get_by_label("Web").uncheck()

        assert ask_again(page) == NOTHING_BUT_OWN
        assert not page.get_by_label("Web").is_checked()


class TestFollowUp:
    def test_keeps_the_limits_of_the_conversation(self, page: Any):
        page.get_by_label("Web").uncheck()
        choose_other(page)
        ask(page)
        reload(page)
        open_first(page)

        page.locator("#said", has_text="Where to search is chosen again").wait_for()
        assert not page.get_by_label("Web").is_checked()
        assert page.get_by_label("Collection").first.input_value() == "other"
        assert ask(page, "And the other one?") == {"index": "other", **NOTHING_BUT_OWN}

    def test_keeps_the_files_of_the_conversation(self, page: Any):
        page.uploads.read("contract.txt")
        ask(page)
        reload(page)
        open_first(page)

        assert page.locator(".attached-name").inner_text() == "contract.txt"
        assert ask(page, "And the other one?") == only("contract.txt")

    def test_keeps_a_folder_that_is_there_no_more(self, page: Any):
        page.locator("#narrow summary").click()
        page.locator("#narrow").get_by_label("Folder").select_option("letters")
        ask(page)
        page.uploads.listed[:] = []
        reload(page)
        open_first(page)
        page.locator("#narrow summary").click()

        assert page.locator("#narrow").get_by_label("Folder").input_value() == "letters"
        assert ask(page, "And the other one?") == {"folders": ["letters"]}

    def test_is_told_if_the_collection_is_gone(self, page: Any):
        choose_other(page)
        ask(page)
        page.collections.pop()
        reload(page)
        open_first(page)

        page.get_by_text("The collection other is not there any more: now mine is searched.").wait_for()

    def test_by_another_method_stays_off_its_web(self, page: Any):
        page.get_by_label("Web").uncheck()
        ask(page)

        page.get_by_label("Method").select_option("second")

        assert not page.locator("[data-source=internet]").is_checked()
        assert ask(page, "And the other one?") == NOTHING_BUT_OWN

    def test_of_a_suggested_question_stays_off_the_web(self, page: Any):
        suggested = {"questions": [{"question": "Who keeps the crane?", "name": "a.md"}], "pending": False}
        page.context.route("**/questions", lambda route: route.fulfill(json=suggested))
        reload(page)
        page.get_by_role("button", name="Who keeps the crane?").click()
        wait_until(page, "window.requests.length")
        end_run(page)

        assert ask(page, "And since when?") == NOTHING_BUT_OWN


def test_file_from_somebody_else_opens_no_web_and_sets_no_option(page: Any):
    options = {"web": True, "question": "Another question", "history": [], "folders": ["letters"]}
    turn = {"question": "Who?", "pipeline": "first", "options": options, "events": [], "result": None}
    saved = {"kind": "prefrag conversation", "turns": [{**turn, "failure": {"status": 503, "message": ""}}]}
    page.set_input_files(
        "#conversation-open", {"name": "a.json", "mimeType": "text/json", "buffer": json.dumps(saved).encode()}
    )
    page.locator(".turn").wait_for()

    assert ask_again(page) == {"folders": ["letters"]}
    assert page.runs.requests[-1]["question"] == "Who?"


class TestAMessageOfWhichAPartStayedHere:
    OFFER = "We sold the yard in 1974. Who built it?"

    @pytest.fixture
    def offered(self, page: Any) -> Any:
        page.runs.begin(self.OFFER)
        page.runs.end(
            event("left_out", source="internet", text="We sold the yard in 1974.", offer=self.OFFER), result()
        )
        page.runs.wait()
        return page

    def test_is_sent_as_a_whole_only_after_a_click_that_shows_it(self, offered: Any):
        assert [request.get("web_query") for request in offered.runs.requests] == [None]
        assert offered.locator(".offer q").inner_text() == self.OFFER

        offered.get_by_role("button", name="Search the web for this?").click()
        wait_until(offered, "window.requests.length == 2")
        # Only a question that failed can be asked again.
        end_run(offered, BUSY)

        assert offered.runs.requests[-1]["web_query"] == offered.runs.requests[-1]["question"] == self.OFFER
        assert ask_again(offered).get("web_query") is None
        assert "web_query" not in offered.runs.requests[-1]

    def test_is_not_sent_where_the_web_is_switched_off(self, offered: Any):
        offered.get_by_label("Web").uncheck()

        offered.get_by_role("button", name="Search the web for this?").click()

        offered.get_by_text("Not asked: the web is switched off.").wait_for()
        assert len(offered.runs.requests) == 1


def test_question_is_not_asked_again_in_a_lost_collection(page: Any):
    choose_other(page)
    page.runs.begin()
    page.runs.end(BUSY)
    page.runs.wait()
    page.collections.pop()
    reload(page)
    open_first(page)

    page.get_by_role("button", name="Ask again").click()

    page.get_by_text("Not asked again: the collection other is not there any more.").wait_for()
    assert page.runs.requests == []
