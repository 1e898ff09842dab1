"""A real browser, and a page whose runs the test scripts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from prefrag.components.state.state import Event
from prefrag.pipelines.trace_text import trace_text

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# This replaces the network: the test sends the parts of the stream, and sees if the page gives up.
_SCRIPTED_RUNS = """
(() => {
  const fetchFromServer = window.fetch;
  window.requests = [];
  window.fetch = async (address, request) => {
    if (!/\\/run$/.test(String(address))) return fetchFromServer(address, request);
    window.requests.push(JSON.parse(request.body));
    const encoder = new TextEncoder();
    const body = new ReadableStream({ start(controller) {
      window.sendPart = (text) => controller.enqueue(encoder.encode(text));
      window.endStream = () => controller.close();
      request.signal.addEventListener("abort", () => {
        window.wasStopped = true;
        controller.error(new DOMException("", "AbortError"));
      });
    } });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  };
})();
"""

_NAMELESS = """
() => [...document.querySelectorAll("button, input, select, textarea")]
  .filter((one) => one.checkVisibility({ visibilityProperty: true }))
  .filter((one) => !(one.getAttribute("aria-label") || one.labels?.length || one.textContent.trim()))
  .map((one) => one.outerHTML)
"""


@contextmanager
def open_browser() -> Iterator[Any]:
    """Start the system's Chromium, or skip with the reason.

    :yields: The browser of Playwright.
    """
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: make install EXTRAS=browser")
    program = next(filter(None, map(shutil.which, _NAMES)), None)
    if program is None:
        pytest.skip(f"needs a Chromium of the system: one of {', '.join(_NAMES)}")
    with sync_api.sync_playwright() as playwright:
        # The sandbox needs rights that a container lacks, and only this service's own pages are opened.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()


class ScriptedRuns:
    """The runs of a page, whose events the test sends one by one.

    :param page: The page, before it is opened.
    """

    def __init__(self, page: Any):
        self.page = page
        page.add_init_script(_SCRIPTED_RUNS)

    @property
    def requests(self) -> list[dict[str, Any]]:
        """The bodies of the requests that started runs."""
        return self.page.evaluate("window.requests")

    def begin(self, question: str = "Who?") -> None:
        """Ask, and wait until the page has sent the question."""
        begun = len(self.requests)
        self.page.fill("#question", question)
        self.page.press("#question", "Enter")
        wait_until(self.page, f"window.requests.length > {begun}")

    def wait(self) -> None:
        """Wait until no run goes on."""
        self.page.locator("body:not(.is-running)").wait_for()

    def send(self, *messages: Any) -> None:
        """Send messages of the stream."""
        for message in messages:
            self.page.evaluate("(text) => window.sendPart(text)", f"data: {json.dumps(message)}\n\n")

    def end(self, *messages: Any) -> None:
        """Send the last messages and end the stream."""
        parts = [f"data: {json.dumps(message)}\n\n" for message in messages]
        self.page.evaluate("(text) => { sendPart(text); endStream(); }", "".join([*parts, "data: [DONE]\n\n"]))


def wait_until(page: Any, condition: str) -> None:
    """Wait until a condition holds; `wait_for_function` would evaluate text in the page, which its policy forbids."""
    for _ in range(500):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(20)
    raise AssertionError(f"Still not so: {condition}")


def event(kind: str, step: int = 1, text: str = "", **data: Any) -> dict[str, Any]:
    return {"event": {"kind": kind, "step": step, "text": text or trace_text(Event(kind, step, data)), "data": data}}


def document(mark: str, content: str, title: str = "A title", **more: Any) -> dict[str, Any]:
    sources = {"W": "web", "A": "attached"}
    fields = {
        "mark": mark,
        "id": f"id-{mark}",
        "title": title,
        "content": content,
        "source": sources.get(mark[0], "local"),
    }
    return {**fields, "url": "", "score": 1.0, "step": 1, **more}


def result(text: str = "1974 [1]", documents: Any = (), **more: Any) -> dict[str, Any]:
    plain = text.partition(" [")[0]
    made = {
        "question": "Who?",
        "asked": "Who?",
        "answer": plain,
        "answer_with_citations": text,
        "answered": bool(text),
        "probability": None,
        "citations": [{key: passage[key] for key in ("mark", "id", "title", "source")} for passage in documents],
        "uncited": False,
        "not_found": not text,
        "guess": None,
        "evidence": [],
        "label": "CORRECT",
        "explanation": "",
        "forced": False,
        "documents": list(documents),
        "steps": [{}, {}],
        "counts": {"total": 2},
        "usage": {"llm_calls": 2, "seconds": 1.5},
        "errors": [],
        "without_model": [],
        "queries_sent_out": [],
        "queries_held_back": [],
        "sent_to_models": [],
        "trace": [],
    }
    return {"result": {**made, **more}}


def ask(page: Any, question: str) -> Any:
    """Ask by typing, and return the card of the answer."""
    page.fill("#question", question)
    page.press("#question", "Enter")
    page.wait_for_selector(".turn:last-child .card", timeout=60_000)
    return page.locator(".turn:last-child .card")


def overflows(page: Any) -> bool:
    """Check whether anything is wider than the screen or makes a view scroll sideways."""
    return page.evaluate("[...document.querySelectorAll('html, main')].some((e) => e.scrollWidth > e.clientWidth)")


def nameless_controls(page: Any) -> list[str]:
    """List the visible controls that a screen reader cannot name."""
    return page.evaluate(_NAMELESS)
