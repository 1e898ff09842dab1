"""`make docs` writes the site from the documents, and a browser that opens the site fetches nothing from elsewhere."""

import importlib.util
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.docs.markdown import CHECKOUT, GUIDES
from tests.for_each import for_each


@pytest.fixture
def hooks() -> Any:
    for package in ("mkdocs", "mkdocstrings", "mermaidx"):
        pytest.importorskip(package, reason="needs the packages of requirements-docs.lock")
    spec = importlib.util.spec_from_file_location("hooks", CHECKOUT / "docs" / "site" / "hooks.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_document_has_its_place():
    named = re.findall(r"[\w/.-]+\.md", (CHECKOUT / "mkdocs.yml").read_text(encoding="utf-8"))

    assert {file.relative_to(CHECKOUT).as_posix() for file in GUIDES} - set(named) == set()


@pytest.mark.slow
@pytest.mark.usefixtures("hooks")
def test_site_has_its_pictures_commands_interface_and_search(tmp_path: Path):
    command = ["make", "--no-print-directory", "docs", f"SITE={tmp_path}"]
    done = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr

    pages = {name: (tmp_path / name / "index.html").read_text(encoding="utf-8") for name in ("commands", "docs/api")}
    assert "Train the decision trees that judge whether to switch to another source" in pages["commands"]
    assert "When the run fails or is stopped." in pages["docs/api"]
    assert '<svg id="pipeline-' in (tmp_path / "docs/explanations/the_loop/index.html").read_text(encoding="utf-8")
    assert "Kittiwake" in (tmp_path / "search" / "search_index.json").read_text(encoding="utf-8")


@for_each(
    "text",
    '<script src="https://cdn.example.org/a.js"></script>',
    "<img alt='' src=//example.org/a.png>",
    '<link rel="preconnect" href="https://fonts.example.org">',
    "<style>@import url(https://example.org/a.css)</style>",
)
def test_what_would_be_fetched_from_another_host_ends_the_build(hooks: Any, text: str, tmp_path: Path):
    (tmp_path / "index.html").write_text(f'<a href="https://example.org">to follow</a>{text}', encoding="utf-8")

    with pytest.raises(hooks.PluginError, match=r"index\.html: .*example\.org"):
        hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))


def test_links_and_what_the_site_holds_are_nothing_to_refuse(hooks: Any, tmp_path: Path):
    text = '<a href="https://example.org">to follow</a><img src="a.png"><link rel="canonical" href="https://example.org/a">'
    (tmp_path / "index.html").write_text(text, encoding="utf-8")

    hooks.on_post_build(SimpleNamespace(site_dir=str(tmp_path)))
