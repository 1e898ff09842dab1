"""The page at ``/`` in a real browser: steps, answers, hostile text and layout, on runs that the test scripts."""

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.integration.browser import document, event, nameless_controls, overflows, result
from tests.server_process import CHECKOUT

Open = Callable[..., Any]
FOUND = document("1", "Alpha was built by Beta. It won in 1974. That is all.", sentence={"start": 25, "end": 40})
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]


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
        assert page.locator("#announcer").inner_text() == "Answer: 1974. Correct by the model's own check."

    def test_those_who_hear_it_are_told_of_steps_and_answer(self, open_page: Open):
        page = open_page(scripted=True)
        page.runs.begin()

        assert page.get_by_role("log").get_attribute("aria-live") == "polite"
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

    def test_run_that_breaks_off_is_explained_and_shows_its_evidence(self, open_page: Open):
        page = open_page(scripted=True)
        page.runs.begin()

        page.runs.end({"error": {"message": "The model is down.", "status": 502}, **result("", [FOUND])})

        failure = page.locator(".failure")
        failure.wait_for()
        assert "The answer broke off" in failure.inner_text()
        assert "The model is down." in failure.inner_text()
        assert "A title" in page.locator(".card").inner_text()

    @pytest.mark.parametrize(
        ("status", "headers", "words"),
        [
            (422, {}, ["Something in the question or its settings is not allowed", "shorten it"]),
            (503, {"Retry-After": "5"}, ["The service is busy", "Ask again in 5 s."]),
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

    def test_sentence_of_a_passage_is_marked_where_python_counted_it(self, open_page: Open):
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

    def test_source_that_counts_no_more_is_marked_beside_its_place(self, open_page: Open):
        page = open_page(scripted=True)
        # The first heading equals the title, so it is not repeated.
        place = {"title": "Crane", "file": "Crane.md", "heading": "Crane > Care", "date": "2024-05-03"}
        old = [document("1", "a", standing="superseded", **place), document("2", "b", standing="<b>new</b>")]
        card = self.show(page, result("1974 [1][2]", old))

        assert card.locator(".source .hint").all_inner_texts() == ["Care · 2024-05-03superseded"]

    def test_the_day_of_a_files_last_change_says_whose_day_it_is(self, open_page: Open):
        page = open_page(scripted=True)
        card = self.show(page, result(documents=[document("1", "a", modified="2024-05-03")]))

        assert card.locator(".source .hint").inner_text() == "changed 2024-05-03 (UTC)"

    def test_sentence_that_stands_twice_is_marked_at_the_best_place(self, open_page: Open):
        page = open_page(scripted=True)
        twice = document("1", "Alpha. It won. Beta. It won.", sentence={"start": 21, "end": 28})
        evidence = [{"mark": "1", "title": "A title", "sentence": "It won."}]
        card = self.show(page, result("", [twice], evidence=evidence))

        card.locator(".evidence .chip").click()

        before = page.locator("#passage-mark").evaluate("(mark) => mark.previousSibling.data")
        assert before == "Alpha. It won. Beta. "

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
        assert "Not sent: a long one (too long)" in shown
        assert "1 model call went only to this machine or its local network." in shown
        assert "Nothing" not in shown

    def test_doubts_are_written_out(self, open_page: Open):
        page = open_page(scripted=True)
        doubts = {
            "forced": True,
            "label": "INCORRECT",
            "uncited": True,
            "errors": ["web: timed out"],
            "explanation": "Why.",
            "trace": [{"kind": "exhausted"}],
        }
        shown = self.show(page, result("1974", [FOUND], **doubts)).inner_text()

        assert "The model ran out of steps and had to answer, so this answer may be incomplete." in shown
        assert "The model's own check calls this answer incorrect. Why." in shown
        assert "The answer cites none of the passages." in shown
        assert "web: timed out" in shown

    CARRIER = {"mark": "1", "title": "A title", "sentence": "It won in 1974."}
    CHECKED = {"answered_by": "model", "certainty": "stated", "documents": [FOUND]}

    def test_models_answer_in_a_sentence_is_bold_and_its_label_added(self, open_page: Open):
        page = open_page(scripted=True)
        span = {**self.CARRIER, "answer": {"start": 10, "end": 14}}
        card = self.show(page, result("1974 [1]", evidence=[span], forced=True, uncited=True, **self.CHECKED))

        assert card.locator(".answer-state").inner_text() == "Stated"
        assert card.locator(".evidence strong").inner_text() == "1974"
        assert "by its words, in a passage; correct by the model's own check" in card.locator(".facts").inner_text()
        assert card.locator(".label-good, .notes").count() == 0
        assert page.locator("#announcer").inner_text() == "Stated: 1974"

    def test_longer_answer_is_in_the_models_words_with_marked_doubts(self, open_page: Open):
        """What stands in no passage is marked."""

        page = open_page(scripted=True)
        text = "It won in 1974 [1]. It sank (twice) [1] in 1980."
        checked = {**self.CHECKED, "certainty": "probably", "label": None, "unsupported": ["It sank (twice) in 1980."]}
        card = self.show(page, result(text, evidence=[{**self.CARRIER, "answer": None}], **checked))

        marked = card.locator(".answer .unsupported")
        assert card.locator(".answer-state").inner_text() == "Probably"
        assert marked.get_attribute("title") == "Stands in no passage"
        assert marked.text_content() == "It sank (twice) 1 in 1980. (stands in no passage)"
        assert card.locator(".answer .chip").count() == 2
        assert card.locator(".evidence blockquote").inner_text() == "It won in 1974."
        assert "What is underlined stands in no passage." in card.locator(".notes").inner_text()

    @pytest.mark.parametrize(
        ("mark", "heading"), [("1", "Not found in your documents"), ("W1", "Not in the passages found")]
    )
    def test_words_that_stand_in_no_passage_are_kept_apart(self, open_page: Open, mark: str, heading: str):
        page = open_page(scripted=True)
        missed = {**self.CHECKED, "certainty": "not_found", "guess": "1812", "documents": [document(mark, "a")]}
        trace = [{"kind": "checked", "certainty": "not_found"}]
        card = self.show(page, result("", evidence=[{**self.CARRIER, "mark": mark}], trace=trace, **missed))

        assert card.locator(".answer-state").inner_text() == heading
        assert card.locator(".guess").inner_text() == "The language model's own words, not confirmed: 1812"
        assert page.locator("#announcer").inner_text() == f"{heading}. 1 sentence found."

    def test_answer_without_a_search_is_not_correct_or_looked_for(self, open_page: Open):
        page = open_page(scripted=True)
        card = self.show(page, result("1974", counts={"total": 0}))

        assert "Nothing was searched: this answer is the model's own." in card.inner_text()
        assert "Not checked" in card.locator(".facts").inner_text()


HOSTILE = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script><b>x</b> ![t](https://evil.example/)'


class TestHostileText:
    def test_passage_runs_no_script_and_loads_nothing(self, open_page: Open, demo_server: httpx.Client):
        """It links nowhere but to the web."""

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
        page.runs.end(result("", documents, evidence=[marked], guess=HOSTILE, answered_by="model"))
        page.locator(".evidence").wait_for()

        assert page.evaluate("window.hacked") is None
        assert page.locator("main img, main script, main b, dialog img, dialog script").count() == 0
        assert links == [["https:", "noopener noreferrer"]]
        assert [url for url in requested if not url.startswith(str(demo_server.base_url))] == []

    def test_the_policy_forbids_what_the_page_never_does(self, open_page: Open):
        page = open_page()

        refused = page.evaluate(
            "(() => { try { document.body.innerHTML = '<b>x</b>'; } catch (error) { return error.name; } })()"
        )

        assert refused == "TypeError"

    def test_no_other_page_can_frame_it(self, demo_server: httpx.Client):
        assert "frame-ancestors 'none'" in demo_server.get("/").headers["content-security-policy"]


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
        assert nameless_controls(page) == []
        page.locator(".answer .chip").first.click()
        assert page.evaluate(LUMINANCE) == []

    def test_the_switch_of_colours_is_kept(self, open_page: Open):
        page = open_page(color_scheme="light")
        before = page.evaluate("getComputedStyle(document.body).backgroundColor")
        page.get_by_role("button", name="Colours: same as the system").click()
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
