"""The page at ``/`` in a real browser: on the demo, without a language model, and on runs that the test scripts."""

from __future__ import annotations

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

from tests.integration.browser import ScriptedRuns, document, event, open_browser, result
from tests.server_process import CHECKOUT, server_process

Open = Callable[..., Any]
ANSWERED = "Which architect drew the customs house in which the Plover Suite was written?"
NOT_ANSWERED = "Where was the engineer born who chose the depth of the tank under the Pellhaven Calibration Hall?"
FOUND = document("1", "Alpha was built by Beta. It won in 1974. That is all.", sentence={"start": 25, "end": 40})
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with open_browser() as browser:
        yield browser


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the server keeps its data."""
    return tmp_path_factory.mktemp("server") / "data"


@pytest.fixture(scope="module")
def server(browser: Any, data: Path) -> Iterator[httpx.Client]:
    folder = data.parent
    with server_process("-m", "prefrag.service.cli.main", "serve", "--demo", folder=folder) as client:
        assert client.get("/ready").status_code == 200, (folder / "server.log").read_text()
        yield client


@pytest.fixture
def open_page(browser: Any, server: httpx.Client) -> Iterator[Open]:
    """Open the page in a browser of its own; what its scripts complain about fails the test."""
    contexts, complaints = [], []

    def open_page(scripted: bool = False, **settings: Any) -> Any:
        context = browser.new_context(reduced_motion="reduce", **settings)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.runs = ScriptedRuns(page) if scripted else None
        page.goto(str(server.base_url))
        page.wait_for_selector("[data-source]")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def ask(page: Any, question: str) -> Any:
    """Ask by typing, and give the card of the answer."""
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_selector(".turn:last-child .card", timeout=20_000)
    return page.locator(".turn:last-child .card")


NAMELESS = """
() => [...document.querySelectorAll("button, input, select, textarea")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .filter((one) => !(one.getAttribute("aria-label") || one.labels?.length || one.textContent.trim()))
  .map((one) => one.outerHTML)
"""


def overflows(page: Any) -> bool:
    return page.evaluate("document.documentElement.scrollWidth > window.innerWidth")


def focused(page: Any) -> str:
    return page.evaluate("document.activeElement.getAttribute('aria-label') || document.activeElement.textContent")


class TestDemo:
    def test_a_question_is_answered_with_its_steps_its_sources_and_what_left_the_machine(self, open_page: Open):
        page = open_page()

        card = ask(page, ANSWERED)

        assert card.locator(".answer").inner_text().split() == ["Cosima", "Brandt", "W1"]
        facts = card.locator(".facts").inner_text()
        assert "Correct" in facts
        assert "88%" in facts
        assert "no language model" in facts
        assert "Nothing: no query, no passage." in facts
        steps = page.locator(".steps")
        steps.locator("summary").click()
        shown = steps.inner_text()
        assert "Search your documents" in shown
        assert "Verdict: switch to another source (by the classifier) A passage that is needed" in shown
        assert "Search the web" in shown
        assert "Tolmouth Software House" in shown

    def test_the_demo_offers_questions_to_begin_with(self, open_page: Open):
        page = open_page()

        page.get_by_role("button", name="Who designed the Shearwater Current Meter?").click()

        page.wait_for_selector(".card", timeout=20_000)
        assert "Tobias Greaves" in page.locator(".answer").inner_text()

    def test_a_chip_opens_the_passage_and_the_kind_stands_there_as_a_word(self, open_page: Open):
        page = open_page()

        ask(page, ANSWERED).locator(".answer .chip").click()

        passage = page.locator("#passage")
        assert "Its customs house was drawn by the architect Cosima Brandt" in passage.inner_text()
        assert passage.locator("mark").inner_text().startswith("Its customs house was drawn by the architect")
        assert passage.locator(".kind").inner_text() == "Web"

    def test_what_a_user_says_of_an_answer_is_kept(self, open_page: Open, data: Path):
        page = open_page()
        card = ask(page, ANSWERED)

        card.get_by_role("button", name="Yes, it was right").click()
        card.get_by_label("Comment (optional)").fill("Thank you.")
        card.get_by_role("button", name="Send feedback").click()
        card.get_by_text("Your feedback is kept").wait_for()

        *_, line = (data / "feedback.jsonl").read_text(encoding="utf-8").splitlines()
        kept = json.loads(line)
        assert (kept["rating"], kept["comment"], kept["pipeline"]) == ("up", "Thank you.", "prefrag")
        assert kept["result"]["question"] == ANSWERED
        assert kept["result"]["answer"] == "Cosima Brandt"

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
        assert "A guess, not an answer, 57% likely: " in shown
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

        page.get_by_role("button", name=ANSWERED, exact=True).click()
        assert "Cosima Brandt" in page.locator(".card .answer").inner_text()
        page.get_by_role("button", name="Clear history").click()
        page.get_by_role("button", name="Clear", exact=True).click()

        assert page.locator("#conversations li").count() == 0
        assert page.evaluate("localStorage.getItem('prefrag.conversations')") is None
        assert "this browser only" in page.locator("#sidebar").inner_text()


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
        command = [sys.executable, "-m", "prefrag.service.cli.main", *arguments]
        environment = {**kept, **settings, "PYTHONPATH": str(CHECKOUT)}
        return subprocess.run(command, env=environment, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout

    prefrag("index", str(folder / "notes.md"))
    key = prefrag("keys", "add", "ada", "--write").split()[0]
    with server_process("-m", "prefrag.service.cli.main", "serve", folder=folder, **settings) as client:
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
        assert page.evaluate(NAMELESS) == []

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
        assert given["rating"] == "down"
        assert given["answer"] == "Ada Quill"
        assert given["result"]["question"] == "Who keeps the crane?"
        assert all("content" not in passage for passage in given["result"]["documents"])
        page.reload()
        page.get_by_role("button", name="Who keeps the crane?", exact=True).click()
        assert page.get_by_text("Thank you.").is_visible()

    def test_a_web_that_is_closed_is_shown_as_closed(self, page: Any):
        assert page.get_by_label("Web").is_disabled()
        assert page.locator("#closed").inner_text() == "The web is closed by PREFRAG_WEB=off."

    def test_who_may_not_write_is_told_so(self, browser: Any, open_page: Open):
        page = open_page()

        page.get_by_role("button", name="Documents", exact=True).click()

        page.get_by_text("Uploading and deleting need a key that may write.").wait_for()
        assert page.locator("#files").count() == 0


class TestStream:
    def test_each_step_is_shown_as_soon_as_it_is_sent(self, open_page: Open):
        page = open_page(scripted=True)
        page.runs.begin()

        page.runs.send(event("search", source="local", query="alpha"))
        page.wait_for_selector(".event-search")
        assert page.locator(".steps").get_attribute("open") is not None
        assert page.locator(".steps summary").inner_text() == "Searching your documents"
        page.runs.send(event("found", source="local", titles=["Alpha"], seconds=0.01, sent_out=False, error=None))
        page.wait_for_selector(".event-found")
        assert page.locator(".card").count() == 0
        page.runs.end(result(documents=[FOUND]))
        page.wait_for_selector(".card")

        assert page.locator(".steps").get_attribute("open") is None
        assert page.locator("#announcer").inner_text() == "Answer: 1974. Correct by its own check."

    def test_those_who_hear_it_are_told_of_steps_and_answer(self, open_page: Open):
        page = open_page(scripted=True)
        page.runs.begin()

        assert page.locator(".steps-list").get_attribute("aria-live") == "polite"
        assert page.locator("#announcer").get_attribute("role") == "status"

    def test_stop_ends_the_run(self, open_page: Open):
        page = open_page(scripted=True)
        page.runs.begin()
        page.runs.send(event("search", source="local", query="alpha"))

        page.get_by_role("button", name="Stop").click()
        page.get_by_text("You stopped this run.").wait_for()

        assert page.evaluate("window.wasStopped")
        assert page.get_by_role("button", name="Ask again").is_visible()

    def test_a_stream_that_ends_without_a_result_is_no_answer(self, open_page: Open):
        page = open_page(scripted=True)
        page.runs.begin()

        page.runs.end()

        page.get_by_text("The connection broke off before the answer came.").wait_for()

    def test_a_run_that_breaks_off_is_explained_and_shows_what_it_had_found(self, open_page: Open):
        page = open_page(scripted=True)
        page.runs.begin()

        page.runs.end({"error": {"message": "The model is down.", "status": 502}, **result("", [FOUND])})

        failure = page.locator(".failure")
        failure.wait_for()
        assert "The run broke off" in failure.inner_text()
        assert "The model is down." in failure.inner_text()
        assert "A title" in page.locator(".card").inner_text()

    @pytest.mark.parametrize(
        ("status", "headers", "words"),
        [
            (422, {}, ["It cannot be asked like this", "shorten it"]),
            (503, {"Retry-After": "5"}, ["The service has too much to do", "Ask again in 5 s."]),
            (401, {}, ["A key is needed"]),
        ],
    )
    def test_a_refusal_is_explained(self, open_page: Open, status: int, headers: dict[str, str], words: list[str]):
        page = open_page()
        answer = {"status": status, "headers": headers, "json": {"detail": "shorten it"}}
        page.route("**/prefrag/run", lambda route: route.fulfill(**answer))

        page.fill("#question", "Who?")
        page.press("#question", "Enter")

        page.locator(".failure").wait_for()
        assert all(word in page.locator(".failure").inner_text() for word in words)


class TestAnswer:
    def show(self, page: Any, *messages: Any) -> Any:
        page.runs.begin()
        page.runs.end(*messages)
        page.wait_for_selector(".turn:last-child .card")
        return page.locator(".turn:last-child .card")

    def test_the_sentence_of_a_passage_is_marked_where_python_counted_it(self, open_page: Open):
        page = open_page(scripted=True)
        content = "\U0001f6a2\U0001f6a2 A ship. The yard won in 1974. More."
        start = content.index("The yard")
        card = self.show(page, result(documents=[document("1", content, sentence={"start": start, "end": start + 21})]))

        card.locator(".answer .chip").click()

        assert page.locator("#passage mark").inner_text() == "The yard won in 1974."
        assert page.locator(".passage-text").inner_text() == content

    def test_kinds_differ_by_icon_word_and_border(self, open_page: Open):
        page = open_page(scripted=True)
        documents = [document("1", "a"), document("W1", "b", url="https://example.org/b"), document("A1", "c")]
        card = self.show(page, result("1974 [1][W1, A1]", documents))

        chips = card.locator(".answer .chip")
        borders = chips.evaluate_all("all => all.map((one) => getComputedStyle(one).borderTopStyle)")
        icons = chips.evaluate_all("all => all.map((one) => one.querySelector('use').getAttribute('href'))")
        assert borders == ["solid", "dashed", "dotted"]
        assert len(set(icons)) == 3
        assert card.locator(".source .kind").all_inner_texts() == ["Your documents", "Web", "Attached"]

    def test_brackets_that_name_no_passage_are_a_part_of_the_answer(self, open_page: Open):
        page = open_page(scripted=True)
        card = self.show(page, result("x in [1, 2] [9]", [FOUND], answer="x in [1, 2] [9]"))

        assert card.locator(".answer").inner_text() == "x in [1, 2] [9]"
        assert card.locator(".answer .chip").count() == 0

    def test_what_left_the_machine_is_beside_the_answer(self, open_page: Open):
        page = open_page(scripted=True)
        left = {
            "queries_sent_out": [{"source": "web", "query": "yard prize", "provider": "x"}],
            "queries_held_back": [{"source": "web", "query": "a long one", "reason": "too long"}],
            "sent_to_models": [
                {"remote": True, "role": "llm", "calls": 3, "prompt_tokens": 1000, "completion_tokens": 200},
                {"remote": False, "role": "judge", "calls": 1, "prompt_tokens": 10, "completion_tokens": 2},
            ],
        }
        shown = self.show(page, result(documents=[FOUND], **left)).locator(".left").inner_text()

        assert "To the web: yard prize" in shown
        assert "To a remote model (llm): 3 calls, 1,200 tokens, with your passages." in shown
        assert "Held back: a long one (too long)" in shown
        assert "1 model call stayed on this machine or network." in shown
        assert "Nothing" not in shown

    def test_doubts_are_written_out(self, open_page: Open):
        page = open_page(scripted=True)
        doubts = {
            "forced": True,
            "label": "INCORRECT",
            "uncited": True,
            "errors": ["web: timed out"],
            "explanation": "Why.",
        }
        shown = self.show(page, result("1974", [FOUND], **doubts)).inner_text()

        assert "The steps were used up, so it had to answer." in shown
        assert "The model's own check calls this answer incorrect. Why." in shown
        assert "The answer names none of the passages." in shown
        assert "web: timed out" in shown


HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><b>x</b> ![t](https://evil.example/)'


class TestHostileText:
    def test_a_passage_runs_no_script_loads_nothing_and_links_nowhere_but_to_the_web(
        self, open_page: Open, server: httpx.Client
    ):
        page = open_page(scripted=True)
        requested: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        addresses = [
            "javascript:window.hacked=1",
            "data:text/html,<script>1</script>",
            'https://example.org/"onx=1',
            "//evil.example",
        ]
        documents = [
            document(
                mark, HOSTILE, HOSTILE, url=address, heading=HOSTILE, file=HOSTILE, sentence={"start": 0, "end": 20}
            )
            for mark, address in zip(("1", "2", "W1", "A1"), addresses, strict=True)
        ]
        marked = {"mark": "1", "title": HOSTILE, "sentence": HOSTILE, "source": "local", "id": "id-1", "query": HOSTILE}
        page.runs.begin(HOSTILE)
        page.runs.send(
            event("thought", text=f"Thought: {HOSTILE}"),
            event("search", source=HOSTILE, query=HOSTILE),
            event("found", source="web", titles=[HOSTILE], seconds=1, sent_out=True, error=HOSTILE),
            event("verdict", status=False, judged_by=HOSTILE, analysis=HOSTILE, parsed=True),
            event(HOSTILE, text=HOSTILE),
        )
        notes = {"errors": [HOSTILE], "without_model": [HOSTILE], "explanation": HOSTILE, "label": "INCORRECT"}
        sent = {"queries_sent_out": [{"source": HOSTILE, "query": HOSTILE, "provider": HOSTILE}]}
        page.runs.end(result(f"{HOSTILE} [1]", documents, asked=HOSTILE, question="x", **notes, **sent))
        page.wait_for_selector(".card")
        links = []
        for number in range(len(documents)):
            page.locator(".source").nth(number).click()
            links += page.locator("#passage a").evaluate_all("all => all.map((one) => [one.protocol, one.rel])")
            page.keyboard.press("Escape")
        page.runs.begin("Again?")
        page.runs.end(result("", documents, evidence=[marked], guess=HOSTILE))
        page.locator(".evidence").wait_for()

        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script, main b, dialog img, dialog script").count() == 0
        assert links == [["https:", "noopener noreferrer"]]
        assert [url for url in requested if not url.startswith(str(server.base_url))] == []

    def test_the_policy_forbids_what_the_page_never_does(self, open_page: Open):
        page = open_page()

        refused = page.evaluate(
            "(() => { try { document.body.innerHTML = '<b>x</b>'; } catch (error) { return error.name; } })()"
        )

        assert refused == "TypeError"

    def test_no_other_page_can_frame_it(self, server: httpx.Client):
        assert "frame-ancestors 'none'" in server.get("/").headers["content-security-policy"]


class TestKey:
    @pytest.fixture
    def locked(self, open_page: Open, browser: Any, server: httpx.Client) -> Iterator[Any]:
        context = browser.new_context()
        page = context.new_page()

        def guard(route: Any) -> None:
            if route.request.headers.get("authorization") == "Bearer right":
                route.continue_()
            else:
                route.fulfill(status=401, json={"detail": "Send a valid API key."})

        page.route(re.compile(r"/(pipelines|access|collections|prefrag/run)$"), guard)
        page.goto(str(server.base_url))
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


LUMINANCE = """
() => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (rgb) => rgb.slice(0, 3).map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, place) => sum + one * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (node) => {
    for (; node; node = node.parentElement) {
      const rgb = parse(getComputedStyle(node).backgroundColor);
      if (rgb.length === 3 || rgb[3] === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const low = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].some((one) => one.nodeType === 3 && one.data.trim());
    if (!own || !node.checkVisibility({ visibilityProperty: true }) || node.matches(":disabled, .visually-hidden, .skip, noscript")) continue;
    const [a, b] = [light(parse(getComputedStyle(node).color)), light(ground(node))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) low.push(`${node.className}: ${((a + 0.05) / (b + 0.05)).toFixed(2)}`);
  }
  return low;
}
"""


class TestShape:
    @pytest.mark.parametrize("scheme", ["light", "dark"])
    def test_text_has_enough_contrast(self, open_page: Open, scheme: str):
        page = open_page(scripted=True, color_scheme=scheme)
        assert page.evaluate(LUMINANCE) == []
        documents = [
            document("1", "a b c", sentence={"start": 2, "end": 3}),
            document("W1", "b", url="https://example.org"),
            document("A1", "c"),
        ]
        page.runs.begin()
        page.runs.send(
            event("search", source="web", query="alpha"),
            event("found", source="web", titles=["Alpha"], seconds=1, sent_out=True, error="x"),
            event("verdict", status=False, judged_by="model", analysis="y", parsed=False),
        )
        page.runs.end(result("1974 [1][W1][A1]", documents, forced=True, probability=0.5, label="PARTIALLY CORRECT"))
        page.wait_for_selector(".card")
        page.locator(".steps summary").click()
        assert page.evaluate(LUMINANCE) == []
        assert page.evaluate(NAMELESS) == []
        page.locator(".answer .chip").first.click()
        assert page.evaluate(LUMINANCE) == []

    def test_the_switch_of_colours_is_kept(self, open_page: Open):
        page = open_page(color_scheme="light")
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Colours: as the system").click()
        page.get_by_role("button", name="Colours: light").click()
        page.reload()

        assert page.get_by_role("button", name="Colours: dark").is_visible()
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before

    def test_on_a_phone_nothing_is_wider_than_the_screen(self, open_page: Open):
        page = open_page(scripted=True, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
        assert not overflows(page)
        long = "x" * 400
        page.runs.begin(long)
        page.runs.send(
            event("search", source="local", query=long),
            event("found", source="local", titles=[long], seconds=1, sent_out=True, error=long),
            event("thought", text=f"Thought: {long}"),
        )
        assert not overflows(page)
        page.runs.end(result(f"{long} [1]", [document("1", long, long, url=f"https://example.org/{long}", file=long)]))
        page.wait_for_selector(".card")
        page.locator(".steps summary").click()
        assert not overflows(page)
        page.locator(".answer .chip").click()
        assert not overflows(page)
        assert page.locator("#passage").bounding_box()["width"] == 390
        assert page.locator(".bar").bounding_box()["height"] < 60
        page.keyboard.press("Escape")

        page.get_by_role("button", name="Conversations").click()
        page.get_by_role("button", name="New conversation").click()
        assert page.get_by_role("heading", name="Ask your documents").is_visible()
        assert not overflows(page)

    def test_who_wants_no_motion_gets_none(self, open_page: Open):
        page = open_page(scripted=True)
        page.runs.begin()

        assert page.locator(".pulse").first.evaluate("(node) => getComputedStyle(node).animationName") == "none"
