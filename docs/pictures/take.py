"""Take the pictures of the page: of the demo, and each view for a desktop and a phone, in light and dark.

python -m docs.pictures.take [FOLDER] [--axe axe.min.js]

The documents are those of the invented organisations in `evaluation/own_files`. It needs Chromium on this machine, the
extras `files` and `browser`, and Pillow, which writes small files. With --axe, axe-core (`npm pack axe-core`) also
checks each view, and the exit code is 1 if it finds faults.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from PIL import Image
from playwright.sync_api import sync_playwright

from prefrag.evaluation.own_files.office_documents import write_organisations
from tests.server_process import server_process

DEMO_QUESTION = "What is the name of the café in the museum led by the former chief scientist of the Lantern Survey?"
QUESTIONS = (
    "When does the lease of Elm House 14 begin?",
    "What does a further key cost?",
    "When does the night shift begin?",
)
# The files are dated one day apart, from this day on.
_FIRST_DAY = datetime(2025, 9, 1, tzinfo=UTC).timestamp()
_A_DAY = 86_400.0  # seconds
SIZES = {"desktop": (1100, 800), "phone": (390, 780)}
_COLOURS = 96
# A busy machine is slow, but a view that does not come is a fault.
_SECONDS = 600.0


def show_views(page: Any) -> Iterator[str]:
    """Show one view of the page after the other, and yield the name of each."""
    page.wait_for_selector("#suggestions button")
    yield "suggestions"
    page.locator("#narrow summary").click()
    page.locator("#narrow").get_by_label("Folder").select_option("orchard")
    page.locator("#narrow").get_by_label("Since").fill("2024-01-01")
    yield "narrowing"
    page.get_by_role("button", name="All documents").last.click()
    page.locator("#narrow summary").click()
    for question in reversed(QUESTIONS):
        page.evaluate("document.querySelector('#new-conversation').click()")
        page.fill("#question", question)
        page.press("#question", "Enter")
        page.wait_for_selector(".card")
    page.evaluate("document.activeElement.blur()")
    yield "answer"
    if page.locator("#menu").is_visible():
        page.locator("#menu").click()
    page.get_by_role("button", name=f"More: {QUESTIONS[1]}").click()
    page.get_by_label("Pin").check()
    yield "conversations"
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Documents", exact=True).click()
    page.locator(".is-folder", has_text="kestrel").click()
    if page.locator("#menu").is_visible():
        page.locator(".is-folder", has_text="kestrel").evaluate("(one) => one.scrollIntoView()")
    page.evaluate("document.activeElement.blur()")
    yield "documents"
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator(".evidence .chip").first.click()
    page.get_by_role("button", name="Open the document").click()
    page.locator("#document .sheet mark").first.wait_for()
    page.wait_for_load_state("networkidle")
    yield "document"


def show_demo(page: Any) -> Iterator[str]:
    """Show the answer to the demo's question with its steps, and the passage that it cites."""
    page.fill("#question", DEMO_QUESTION)
    page.press("#question", "Enter")
    page.wait_for_selector(".card")
    page.get_by_text("What was done").click()
    page.evaluate("document.activeElement.blur(); scrollTo(0, 0)")
    yield "answer"
    page.locator(".evidence .chip").first.click()
    page.locator("#passage mark").first.wait_for()
    yield "passage"


def save(page: Any, file: Path) -> None:
    """Save the present view in few colours."""
    Image.open(io.BytesIO(page.screenshot())).convert("RGB").quantize(_COLOURS).save(file, optimize=True)


def examine(page: Any, axe: str) -> list[str]:
    """Run axe-core on the present view."""
    page.evaluate("(text) => (0, eval)(text)", axe)
    found = page.evaluate("async () => (await axe.run(document, { resultTypes: ['violations'] })).violations")
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]


def take(
    folder: Annotated[Path, typer.Argument(help="Where the pictures go.")] = Path(__file__).parent,
    axe: Annotated[Path | None, typer.Option(help="axe.min.js of axe-core.")] = None,
) -> None:
    """Take all pictures."""
    faults = 0
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        place = Path(name)
        write_organisations(place / "Papers")
        for number, path in enumerate(sorted((place / "Papers").rglob("*.*"))):
            os.utime(path, (_FIRST_DAY + number * _A_DAY,) * 2)
        settings = {"PREFRAG_DATA_DIR": str(place / "data"), "PREFRAG_INDEX": "Papers", "PREFRAG_WEB": "off"}

        def prefrag(*arguments: str) -> str:
            command = [sys.executable, "-m", "prefrag.cli.main", *arguments]
            return subprocess.run(command, env={**os.environ, **settings}, capture_output=True, text=True).stdout

        prefrag("index", str(place / "Papers"))
        key = prefrag("keys", "add", "ada", "--write").split()[0]
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with server_process("-m", "prefrag.cli.main", "serve", folder=place, seconds=_SECONDS, **settings) as server:
            for size, (width, height) in SIZES.items():
                for scheme in ("light", "dark"):
                    context = browser.new_context(
                        viewport={"width": width, "height": height},
                        color_scheme=scheme,
                        reduced_motion="reduce",
                        bypass_csp=axe is not None,
                    )
                    context.set_default_timeout(_SECONDS * 1000)
                    page = context.new_page()
                    page.add_init_script(f"sessionStorage.setItem('prefrag.key', '{key}')")
                    page.goto(str(server.base_url))
                    for view in show_views(page):
                        save(page, folder / f"page-{view}-{size}-{scheme}.png")
                        for fault in examine(page, axe.read_text("utf-8")) if axe else ():
                            faults += 1
                            print(f"{view}, {size}, {scheme}: {fault}", file=sys.stderr)
                    context.close()
        settings = {"PREFRAG_DATA_DIR": str(place / "demo")}
        with server_process(
            "-m", "prefrag.cli.main", "serve", "--demo", folder=place, seconds=_SECONDS, **settings
        ) as server:
            page = browser.new_page(viewport={"width": 1280, "height": 1150}, reduced_motion="reduce")
            page.set_default_timeout(_SECONDS * 1000)
            page.goto(str(server.base_url))
            for view in show_demo(page):
                save(page, folder / f"page-{view}.png")
    raise typer.Exit(bool(faults))


if __name__ == "__main__":
    typer.run(take)
