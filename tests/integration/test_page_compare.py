"""Two answers to one question on the page in a real browser: which comes first, what each rests on, who was right."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.browser import document, event, nameless_controls, overflows, result, wait_until
from tests.server_process import CHECKOUT

Open = Callable[..., Any]
OWN = document("1", "Alpha was built by Beta.", "The register")
OTHER = document("1", "Alpha was built by Gamma.", "The letters")
PHONE = {"viewport": {"width": 390, "height": 844}}
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]


@pytest.fixture
def open_compare(open_page: Open) -> Open:
    """Open the page with ``?compare``, on a service that has a language model if the test wants one."""

    def open_compare(model: bool = True, **settings: Any) -> Any:
        page = open_page(scripted=True, **settings)

        def with_model(route: Any) -> None:
            served = route.fetch().json()
            for pipeline in served["pipelines"]:
                pipeline["model"] = {"name": "small", "here": True} if model else None
            route.fulfill(json=served)

        page.context.route("**/pipelines", with_model)
        page.goto(f"{page.url}?compare")
        page.wait_for_selector("[data-source]")
        return page

    return open_compare


def answer_first(page: Any) -> None:
    """Ask, and end the run without the model."""
    page.runs.begin("Who built alpha?")
    page.runs.send(event("search", source="local", query="alpha"))
    page.runs.end(result("Beta [1]", [OWN], answered_by="reader"))
    wait_until(page, "window.requests.length === 2")


def answer_both(page: Any) -> None:
    """Ask, and end both runs."""
    answer_first(page)
    page.runs.end(result("Gamma [1]", [OTHER], answered_by="model"))
    page.runs.wait()


class TestAsking:
    def test_the_answer_without_the_model_comes_first(self, open_compare: Open):
        page = open_compare()

        answer_first(page)

        assert [request.get("model") for request in page.runs.requests] == [False, None]
        assert page.locator(".side").count() == 2
        assert "Beta" in page.locator(".side:first-child .card").inner_text()
        assert page.locator(".side:last-child .card").count() == 0

    def test_each_answer_shows_what_it_rests_on(self, open_compare: Open):
        page = open_compare()

        answer_both(page)

        reader, model = page.locator(".side").all()
        assert reader.locator("h3").first.inner_text() == "Without the language model"
        assert model.locator("h3").first.inner_text() == "With the language model"
        assert "The register" in reader.inner_text()
        assert "The letters" in model.inner_text()
        assert page.get_by_role("heading", name="Who built alpha?").count() == 1

    def test_neither_run_reads_the_other_as_an_earlier_turn(self, open_compare: Open):
        page = open_compare()
        answer_both(page)

        page.runs.begin("And when?")

        first, second, third = page.runs.requests
        assert "history" not in first
        assert "history" not in second
        assert [turn["content"] for turn in third["history"]] == ["Who built alpha?", "Gamma"]

    def test_stop_ends_both(self, open_compare: Open):
        page = open_compare()
        page.runs.begin("Who?")

        page.get_by_role("button", name="Stop").click()
        page.get_by_text("You stopped this run.").wait_for()
        page.runs.wait()

        assert len(page.runs.requests) == 1

    def test_the_model_is_asked_even_if_the_other_answer_fails(self, open_compare: Open):
        page = open_compare()
        page.runs.begin("Who?")

        page.runs.end({"error": {"message": "This method cannot answer without its model.", "status": 422}})
        wait_until(page, "window.requests.length === 2")
        page.runs.end(result("Gamma [1]", [OTHER]))
        page.runs.wait()

        assert "cannot answer without its model" in page.locator(".side:first-child").inner_text()
        assert page.get_by_text("Which answer was right?").count() == 0

    def test_a_stored_pair_is_shown_as_a_pair_again(self, open_compare: Open):
        page = open_compare()
        answer_both(page)

        page.reload()
        page.locator("#conversations button.conversation").first.click()

        assert page.locator(".pair .side .card").count() == 2
        assert page.get_by_text("Which answer was right?").is_visible()

    def test_a_saved_pair_is_opened_as_a_pair(self, open_compare: Open):
        page = open_compare()
        answer_both(page)

        page.get_by_role("button", name="More: Who built alpha?").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save as a file for this page").click()
        page.locator("#conversation-cancel").click()
        page.locator("#conversation-open").set_input_files(saved.value.path())

        wait_until(page, "document.querySelectorAll('#conversations .conversation').length === 2")
        assert page.locator(".pair .side .card").count() == 2


BUSY = {"error": {"message": "The model is busy.", "status": 503}}


def ask_again(page: Any) -> None:
    begun = len(page.runs.requests)
    page.get_by_role("button", name="Ask again").click()
    wait_until(page, f"window.requests.length > {begun}")


class TestAskingAgain:
    def test_a_side_that_failed_is_asked_in_its_place(self, open_compare: Open):
        page = open_compare()
        answer_first(page)
        page.runs.end(BUSY)
        page.runs.wait()
        page.runs.begin("And when?")
        page.runs.end(result("1974 [1]", [OWN]))
        wait_until(page, "window.requests.length === 4")
        page.runs.end(result("1975 [1]", [OTHER]))
        page.runs.wait()

        ask_again(page)
        page.runs.end(result("Gamma [1]", [OTHER]))
        page.runs.wait()

        last = page.runs.requests[-1]
        assert last == page.runs.requests[1], "as it was asked, with nothing that was asked later"
        assert page.locator(".pair").count() == 2
        first = page.locator(".pair").first
        assert [side.locator("h3").first.inner_text() for side in first.locator(".side").all()] == [
            "Without the language model",
            "With the language model",
        ]
        assert "The letters" in first.locator(".side:last-child").inner_text()
        assert page.get_by_text("Which answer was right?").count() == 2

    def test_the_first_side_stays_the_first_and_the_verdict_names_it(self, open_compare: Open):
        page = open_compare()
        bodies: list[Any] = []
        page.context.route(
            "**/feedback", lambda route: (bodies.append(route.request.post_data_json), route.fulfill(json={}))
        )
        page.runs.begin("Who built alpha?")
        page.runs.end(BUSY)
        wait_until(page, "window.requests.length === 2")
        page.runs.end(result("Gamma [1]", [OTHER]))
        page.runs.wait()

        ask_again(page)
        page.runs.end(result("Beta [1]", [OWN]))
        page.runs.wait()
        page.get_by_role("button", name="The one without the model", exact=True).click()
        page.get_by_role("button", name="Send feedback").click()
        page.get_by_text("Your feedback is kept").wait_for()

        assert page.runs.requests[-1]["model"] is False
        assert "The register" in page.locator(".side:first-child").inner_text()
        assert [(body["compared"], body["rating"]) for body in bodies] == [("model", "down"), ("reader", "up")]

    def test_after_a_stop_the_other_side_is_asked_too(self, open_compare: Open):
        page = open_compare()
        page.runs.begin("Who built alpha?")
        page.get_by_role("button", name="Stop").click()
        page.runs.wait()

        ask_again(page)
        page.runs.end(result("Beta [1]", [OWN]))
        wait_until(page, "window.requests.length === 3")
        page.runs.end(result("Gamma [1]", [OTHER]))
        page.runs.wait()

        assert [request.get("model") for request in page.runs.requests] == [False, False, None]
        assert page.locator(".pair").count() == 1
        assert page.get_by_text("Which answer was right?").is_visible()

    def test_a_stored_side_is_asked_and_stored_in_its_place(self, open_compare: Open):
        page = open_compare()
        answer_first(page)
        page.runs.end(BUSY)
        page.runs.wait()
        page.reload()
        page.wait_for_selector("[data-source]")
        page.locator("#conversations button.conversation").first.click()

        page.get_by_role("button", name="Ask again").click()
        wait_until(page, "window.requests.length === 1")
        page.runs.end(result("Gamma [1]", [OTHER]))
        page.runs.wait()
        page.reload()
        page.locator("#conversations button.conversation").first.click()

        assert page.locator(".pair .side .card").count() == 2
        assert page.get_by_role("button", name="Ask again").count() == 0

    def test_a_web_query_that_is_allowed_is_for_a_new_pair(self, open_compare: Open):
        page = open_compare()
        whole = "We sold the yard in 1974. Who built it?"
        offer = event("left_out", source="internet", text="We sold the yard in 1974.", offer=whole)
        page.runs.begin(whole)
        page.runs.end(offer, result("Beta [1]", [OWN]))
        wait_until(page, "window.requests.length === 2")
        page.runs.end(result("Gamma [1]", [OTHER]))
        page.runs.wait()

        page.get_by_role("button", name="Search the web for this?").click()
        wait_until(page, "window.requests.length === 3")
        page.runs.end(result("Beta [1]", [OWN]))
        wait_until(page, "window.requests.length === 4")
        page.runs.end(BUSY)
        page.runs.wait()

        sent = [(request.get("model"), request.get("web_query")) for request in page.runs.requests]
        assert sent == [(False, None), (None, None), (False, whole), (None, whole)]
        assert page.locator(".pair").count() == 2
        ask_again(page)
        assert "web_query" not in page.runs.requests[-1], "a click allows a query once"

    def test_the_model_is_not_asked_where_it_is_gone(self, open_compare: Open):
        page = open_compare()
        answer_first(page)
        page.runs.end(BUSY)
        page.runs.wait()
        page.context.unroute("**/pipelines")
        page.reload()
        page.wait_for_selector("[data-source]")
        page.locator("#conversations button.conversation").first.click()

        page.get_by_role("button", name="Ask again").click()

        page.get_by_text("there is no language model here now").wait_for()
        assert page.runs.requests == []


class TestSuggestedQuestions:
    def test_are_answered_twice_without_the_web(self, open_compare: Open):
        page = open_compare()
        suggested = {"questions": [{"question": "Who keeps the crane?", "name": "a.md"}], "pending": False}
        collections = {"collections": [{"name": "letters", "default": True, "web": True}]}
        page.context.route("**/questions", lambda route: route.fulfill(json=suggested))
        page.context.route("**/collections", lambda route: route.fulfill(json=collections))
        page.reload()
        page.wait_for_selector("[data-source]")

        page.get_by_role("button", name="Who keeps the crane?").click()
        wait_until(page, "window.requests.length === 1")
        page.runs.end(BUSY)
        wait_until(page, "window.requests.length === 2")
        page.runs.end(result("Gamma [1]", [OTHER]))
        page.runs.wait()
        ask_again(page)

        assert [request.get("model") for request in page.runs.requests] == [False, None, False]
        assert {request["web"] for request in page.runs.requests} == {False}
        assert page.locator(".pair").count() == 1


class TestVerdict:
    @pytest.mark.parametrize(
        ("button", "sent"),
        [
            ("The one without the model", [("model", "down"), ("reader", "up")]),
            ("The model\u2019s", [("reader", "down"), ("model", "up")]),
            ("Both", [("reader", "up"), ("model", "up")]),
            ("Neither", [("reader", "down"), ("model", "down")]),
        ],
    )
    def test_is_kept_for_each_answer(self, open_compare: Open, button: str, sent: list[tuple[str, str]]):
        page = open_compare()
        bodies: list[Any] = []
        page.context.route(
            "**/feedback", lambda route: (bodies.append(route.request.post_data_json), route.fulfill(json={}))
        )
        answer_both(page)

        page.get_by_role("button", name=button, exact=True).click()
        page.get_by_role("button", name="Send feedback").click()
        page.get_by_text("Your feedback is kept").wait_for()

        assert [(body["compared"], body["rating"]) for body in bodies] == sent
        answers = {"reader": "Beta", "model": "Gamma"}
        assert [body["result"]["answer"] for body in bodies] == [answers[side] for side, _ in sent]
        assert bodies[0]["result"]["usage"]["seconds"] == 1.5

    def test_is_taken_by_the_real_service(self, open_compare: Open):
        page = open_compare()
        answer_both(page)

        page.get_by_role("button", name="Both", exact=True).click()
        page.get_by_role("button", name="Send feedback").click()

        page.get_by_text("Your feedback is kept").wait_for()


class TestFirstView:
    def test_says_that_each_question_is_answered_twice(self, open_compare: Open):
        page = open_compare()

        page.get_by_text("Each question is answered twice").wait_for()
        page.get_by_role("link", name="Answer once").click()

        page.get_by_role("link", name="Compare them with sentences alone").wait_for()

    def test_says_so_where_there_is_no_model_and_answers_once(self, open_compare: Open):
        page = open_compare(model=False)

        page.get_by_text("So there are no two answers to compare.").wait_for()
        page.runs.begin("Who?")
        page.runs.end(result("Beta [1]", [OWN]))
        page.runs.wait()

        assert len(page.runs.requests) == 1
        assert page.locator(".side").count() == 0


@pytest.mark.parametrize("settings", [{}, PHONE], ids=["desktop", "phone"])
def test_both_fit_on_the_screen_and_every_control_has_a_name(open_compare: Open, settings: dict[str, Any]):
    page = open_compare(**settings)
    answer_both(page)

    assert not overflows(page)
    assert nameless_controls(page) == []
    first, second = (side.bounding_box() for side in page.locator(".side").all())
    assert (first["y"] == second["y"]) == (not settings)
