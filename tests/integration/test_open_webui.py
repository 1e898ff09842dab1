"""A real Open WebUI in front of the demo, driven in a browser.

``PREFRAG_TEST_OPEN_WEBUI`` names the command ``open-webui`` of an environment of its own. The browser is the system's
Chromium, driven by the package ``playwright``. Pictures are kept in the folder ``PREFRAG_TEST_PICTURES``.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.components.generators.fake_model_server import FakeModelServer
from tests.marks import put_codes
from tests.pipelines.scripted import answer, search, verdict
from tests.server_process import CHECKOUT, server_process

OPEN_WEBUI = os.environ.get("PREFRAG_TEST_OPEN_WEBUI", "")
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not OPEN_WEBUI, reason="needs a real Open WebUI: set PREFRAG_TEST_OPEN_WEBUI to its command"),
    pytest.mark.skipif(BROWSER is None, reason="needs Chromium"),
    pytest.mark.skipif(not (CHECKOUT / "demo" / "local.jsonl").is_file(), reason="this checkout has no demo corpus"),
]
QUESTION = (
    "In which year did the shipyard that built the research ship on which the Petrel CTD was first tried win the Halvard "
    "Prize?"
)
FILE = "Ada Quill keeps the crane of the yard. She has had its key since 1974.\n"
TASKS = {
    '"title"': '{"title": "The Halvard Prize"}',
    '"tags"': '{"tags": ["Ships"]}',
    '"follow_ups"': '{"follow_ups": ["Who designed the RV Amaranth?"]}',
    '"queries"': '{"queries": []}',
}
# With these settings, Open WebUI loads no model and calls only our server.
SETTINGS = {
    "WEBUI_AUTH": "false",
    "WEBUI_SECRET_KEY": "secret",
    "OFFLINE_MODE": "true",
    "HF_HUB_OFFLINE": "1",
    "ENABLE_OLLAMA_API": "false",
    "ENABLE_PERSISTENT_CONFIG": "false",
    "ENABLE_VERSION_UPDATE_CHECK": "false",
    "RAG_EMBEDDING_ENGINE": "openai",
    "BYPASS_EMBEDDING_AND_RETRIEVAL": "true",
    "OPENAI_API_KEYS": "none;none",
    "PYTHONPATH": "",
}


class Model:
    """A language model that replies to what the prompt asks for, and keeps every prompt."""

    def __init__(self) -> None:
        self.prompts: list[str] = []
        # While this is cleared, the second step waits.
        self.goes_on = threading.Event()
        self.goes_on.set()

    def reply(self, request: dict[str, Any]) -> str:
        prompt = request["messages"][-1]["content"]
        self.prompts.append(prompt)
        if prompt.startswith("### Task:"):
            return next(reply for key, reply in TASKS.items() if key in prompt)
        if "Rewrite the last question" in prompt:
            return '{"question": "Since when has Ada Quill had the key of the crane?"}'
        if "New information" in prompt:
            return verdict(False)
        if "board.txt" in prompt:
            return put_codes(answer("Since 1974 [[A1]]" if "Since when" in prompt else "Ada Quill [[A1]]"), prompt)
        if "\nObservation: [" not in prompt:
            return search("Petrel CTD first tried research ship")
        self.goes_on.wait(60)
        if history := re.search(r"\[(W\d+)[a-z]{2}\] Ostermoor Shipyard: A Short History", prompt):
            return put_codes(answer(f"1969 [[{history[1]}]][[1]]"), prompt)
        return search("Halvard Prize won by the shipyard of RV Amaranth")


@pytest.fixture(scope="module")
def model() -> Model:
    return Model()


@pytest.fixture(scope="module")
def address(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of Open WebUI. Its models are ``prefrag``, with a language model, and ``vanilla_local``, without."""
    fake = FakeModelServer()
    fake.answers = [(200, model.reply)]
    serve = ("-m", "prefrag.cli.main", "serve", "--demo")
    with_model = {"PREFRAG_LLM_BASE_URL": fake.url, "PREFRAG_LLM_MODEL": "fake", "PREFRAG_WEB": "on"}
    folders = [tmp_path_factory.mktemp(name) for name in ("prefrag", "vanilla", "open_webui")]
    with ExitStack() as running:
        running.callback(fake.close)
        prefrag = running.enter_context(server_process(*serve, folder=folders[0], **with_model))
        vanilla = running.enter_context(server_process(*serve, "--pipeline", "vanilla_local", folder=folders[1]))
        data = {"DATA_DIR": str(folders[2] / "data"), "STATIC_DIR": str(folders[2] / "static")}
        addresses = ";".join(f"{str(client.base_url).rstrip('/')}/open-webui/v1" for client in (prefrag, vanilla))
        client: httpx.Client = running.enter_context(
            server_process(
                *(OPEN_WEBUI, "serve", "--host", "127.0.0.1"),
                folder=folders[2],
                python=Path(OPEN_WEBUI).parent / "python",
                cwd=folders[2],
                seconds=300,
                **SETTINGS | data | {"OPENAI_API_BASE_URLS": addresses},
            )
        )
        assert client.get("/health").json() == {"status": True}
        yield str(client.base_url).rstrip("/")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the package playwright")
    with playwright.sync_playwright() as running:
        # In a container, Chromium runs as root, where it has no sandbox.
        chromium = running.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield chromium
        chromium.close()


@pytest.fixture
def open_chat(address: str, browser: Any, model: Model) -> Iterator[Callable[..., Any]]:
    """Open a new chat in a browser that may call only Open WebUI."""
    model.prompts.clear()
    page = browser.new_page(viewport={"width": 1100, "height": 700}, locale="en-GB")
    page.set_default_timeout(60_000)
    elsewhere: list[str] = []
    page.on(
        "request",
        lambda request: None if request.url.startswith((address, "data:", "blob:")) else elsewhere.append(request.url),
    )

    def open_chat(name: str = "prefrag", system: str = "") -> Any:
        page.goto(address)
        page.locator("#chat-input").wait_for()
        page.evaluate(
            """settings => fetch("/api/v1/users/user/settings/update", {
                method: "POST",
                headers: {"content-type": "application/json", authorization: `Bearer ${localStorage.token}`},
                body: JSON.stringify({ui: settings}),
            })""",
            # The news about a version would cover the chat.
            {
                "system": system,
                "version": page.evaluate("fetch('/api/config').then(r => r.json()).then(c => c.version)"),
            },
        )
        page.goto(f"{address}/?models={name}")
        page.locator("#chat-input").wait_for()
        page.get_by_role("button", name=f"Selected model: {name}").or_(
            page.get_by_text(name, exact=True)
        ).first.wait_for()
        return page

    yield open_chat
    page.close()
    assert elsewhere == []


def ask(page: Any, question: str) -> None:
    page.locator("#chat-input").click()
    page.keyboard.insert_text(question)
    page.keyboard.press("Enter")


def chips(page: Any) -> Any:
    """The citations in the text of an answer; unlike these, those in the list of sources have numbers."""
    return page.locator("#response-content-container button[aria-label^='View source']")


def keep_picture(page: Any, name: str) -> None:
    if folder := os.environ.get("PREFRAG_TEST_PICTURES"):
        # Without animations, elements that fade in are already visible.
        page.screenshot(path=Path(folder, f"open_webui_{name}.png"), animations="disabled")


def test_steps_come_as_they_happen_and_a_chip_opens_its_passage(open_chat: Callable[..., Any], model: Model):
    page = open_chat()
    model.goes_on.clear()

    ask(page, QUESTION)
    page.get_by_text("Verdict: keep what was found").wait_for()
    model.goes_on.set()
    page.get_by_text("Correct by the model's own check · 3 searches").wait_for()

    # The chips appear with the text, after the last line of status.
    chips(page).nth(1).wait_for()
    web, own = chips(page).all()
    assert (web.inner_text(), own.inner_text()) == ("Ostermoor Shipy...tory (web)", "Petrel CTD (your documents)")
    assert "Sources:" not in page.inner_text("body")
    assert "[W" not in page.inner_text("body")
    keep_picture(page, "answer")
    web.click()
    page.get_by_text("The Ostermoor Shipyard won the Halvard Prize in 1969").wait_for()
    assert page.get_by_text("Ostermoor Shipyard: A Short History (web)").is_visible()
    keep_picture(page, "passage")
    page.keyboard.press("Escape")
    page.get_by_label("Toggle status history").click()
    page.get_by_text("Search web: Halvard Prize won by the shipyard of RV Amaranth").wait_for()
    keep_picture(page, "steps")


def test_title_and_next_questions_are_written_by_the_model_alone(open_chat: Callable[..., Any], model: Model):
    page = open_chat()

    ask(page, QUESTION)
    page.get_by_text("Who designed the RV Amaranth?").first.wait_for()

    page.get_by_text("The Halvard Prize", exact=True).first.wait_for()
    tasks = [prompt for prompt in model.prompts if prompt.startswith("### Task:")]
    assert {key for key in TASKS for prompt in tasks if key in prompt} >= {'"title"', '"follow_ups"'}
    others = [prompt for prompt in model.prompts if prompt not in tasks]
    assert not any("chat_history" in prompt for prompt in others), "a task was taken for a question"


def test_attached_file_is_read_with_its_question_and_the_next(
    open_chat: Callable[..., Any], model: Model, tmp_path: Path
):
    file = tmp_path / "board.txt"
    file.write_text(FILE, encoding="utf-8")
    page = open_chat()
    page.locator("input[type=file]").first.set_input_files(file)
    page.get_by_role("button", name="board.txt").first.wait_for()

    ask(page, "Who keeps the crane?")
    page.get_by_text("Ada Quill").first.wait_for()
    page.get_by_text("Who designed the RV Amaranth?").first.wait_for()
    ask(page, "Since when?")
    page.get_by_text("Since 1974").first.wait_for()
    page.get_by_text("Correct by the model's own check · 0 searches · nothing sent out").nth(1).wait_for()
    chips(page).nth(1).wait_for()

    assert [chip.inner_text() for chip in chips(page).all()] == ["board.txt", "board.txt"]
    keep_picture(page, "file")
    reasoner = [prompt for prompt in model.prompts if prompt.startswith("Answer the question below from passages")]
    questions = [line for prompt in reasoner for line in prompt.splitlines() if line.startswith("Question: ")]
    assert questions[1::2] == [
        "Question: Who keeps the crane?",
        "Question: Since when has Ada Quill had the key of the crane?",
    ]
    assert all(FILE.strip() in prompt for prompt in reasoner)


def test_a_system_prompt_reaches_the_answer_and_nothing_else(open_chat: Callable[..., Any], model: Model):
    page = open_chat(system="Answer in Dutch.")

    ask(page, QUESTION)
    page.get_by_text("Correct by the model's own check · 3 searches").wait_for()

    told = {
        prompt.split("\n", 1)[0][:40]
        for prompt in model.prompts
        if "Instructions of the operator:\nAnswer in Dutch.\n" in prompt
    }
    others = [prompt for prompt in model.prompts if not prompt.startswith(("### Task:", *told))]
    assert len(told) == 1, "only the reasoner answers"
    assert others
    assert not any("Dutch" in prompt for prompt in others)


def test_without_a_model_the_reader_answers_with_chips(open_chat: Callable[..., Any], model: Model):
    page = open_chat("vanilla_local")

    ask(page, "Who designed the Shearwater Current Meter?")
    page.get_by_text(re.compile(r"· 1 search · nothing sent out")).first.wait_for()

    chips(page).first.wait_for()
    keep_picture(page, "reader")
    chips(page).first.click()
    page.get_by_text("(your documents)").first.wait_for()
    assert model.prompts == []
