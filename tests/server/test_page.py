"""The page at ``/``: its files, their headers, and the choices that it offers."""

import re
import tomllib
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

import pytest
from fastapi import FastAPI
from haystack import Pipeline
from starlette.testclient import TestClient

from prefrag import pipelines
from prefrag.server.page import FOLDER, page_routes
from tests.for_each import for_each

Served = Callable[..., TestClient]
CHECKOUT = Path(__file__).resolve().parents[2]
FILES = sorted(FOLDER.iterdir())
SCRIPTS = [file for file in FILES if file.suffix == ".js"]
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
INDEX = (FOLDER / "index.html").read_text(encoding="utf-8")


class TestFiles:
    def test_the_page_is_at_the_root(self, served: Served):
        response = served().get("/")

        assert response.headers["content-type"] == TYPES[".html"]
        assert (response.status_code, response.text) == (200, INDEX)

    @pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
    def test_each_file_has_its_type_and_the_same_headers(self, served: Served, file: Path):
        response = served().get(f"/page/{file.name}")

        assert response.headers["content-type"] == TYPES[file.suffix]
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"
        policy = response.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "require-trusted-types-for 'script'" in policy
        assert "unsafe" not in policy

    def test_a_browser_keeps_a_file_until_it_changes(self, served: Served):
        client = served()
        first = client.get("/page/main.js")

        again = client.get("/page/main.js", headers={"If-None-Match": first.headers["etag"]})

        assert first.headers["cache-control"] == "no-cache"
        assert (again.status_code, again.text) == (304, "")

    @for_each("path", "/page/nothing.js", "/page/", "/page/..%2fserver%2fapp.py", "/page/../server/app.py")
    def test_nothing_else_is_served(self, served: Served, path: str):
        assert served().get(path).status_code == 404

    def test_they_are_in_the_wheel(self):
        settings = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))
        patterns = settings["tool"]["setuptools"]["package-data"]["prefrag.server"]

        assert all(any(fnmatch(f"page/{file.name}", pattern) for pattern in patterns) for file in FILES)


class TestContent:
    def test_page_loads_nothing_from_elsewhere_nor_inline_code(self):
        """No script and no style stand in it."""

        addresses = [
            address for file in FILES for address in re.findall(r"https?://[^\s\"')>]+", file.read_text("utf-8"))
        ]

        # These are the names of the SVG namespace, which no browser loads.
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}

        assert not re.search(r"<style|\sstyle=|\son\w+=|<script(?![^>]*\ssrc=)", INDEX)
        assert not re.search(r"(src|href)=\"/", INDEX), "an absolute path breaks behind a proxy's prefix"

    @pytest.mark.parametrize("script", SCRIPTS, ids=lambda file: file.name)
    def test_no_script_makes_markup_of_text(self, script: Path):
        code = re.sub(r"/\*.*?\*/|//[^\n]*", "", script.read_text(encoding="utf-8"), flags=re.DOTALL)

        assert not re.search(
            r"\.(inner|outer)HTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function", code
        )

    def test_every_module_that_is_imported_and_every_icon_is_there(self):
        scripts = [file.read_text(encoding="utf-8") for file in SCRIPTS]
        imported = {name for script in scripts for name in re.findall(r"from \"\./([\w.]+)\"", script)}
        drawn = set(re.findall(r"<symbol id=\"i-(\w+)\"", INDEX))
        named = {name for script in scripts for name in re.findall(r"\bicon\(\"(\w+)\"\)", script)}
        used = set(re.findall(r"href=\"#i-(\w+)\"", INDEX))

        assert imported <= {file.name for file in FILES}
        assert named | used <= drawn


class TestPipelines:
    def test_each_is_listed_with_its_sources(self, served: Served):
        assert served().get("/pipelines").json() == {
            "pipelines": [
                {
                    "name": "prefrag",
                    "sources": [
                        {"name": "local", "external": False, "open": True},
                        {"name": "web", "external": True, "open": True},
                    ],
                    "preferred": "local",
                    "top_k": 5,
                    "max_steps": 3,
                    "model": {"name": "", "here": True},
                }
            ]
        }

    @for_each(
        "variables, model",
        ({}, None),
        (
            {"PREFRAG_LLM_BASE_URL": "http://127.0.0.1:9/v1", "PREFRAG_LLM_MODEL": "/srv/ada/small"},
            {"name": "small", "here": True},
        ),
        (
            {"PREFRAG_LLM_BASE_URL": "http://gpu-server:9/v1", "PREFRAG_LOCAL_HOSTS": "gpu-server"},
            {"name": "small", "here": False},
        ),
        (
            {"PREFRAG_LLM_BASE_URL": "https://models.example/v1", "PREFRAG_LLM_MODEL": "large"},
            {"name": "large", "here": False},
        ),
        ({"PREFRAG_LLM_BASE_URL": "", "PREFRAG_LLM_GGUF": "/models/tiny-q4.gguf"}, {"name": "tiny-q4", "here": True}),
    )
    def test_the_model_that_answers_is_named_without_its_machine(
        self, monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], model: dict[str, object] | None
    ):
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        app = FastAPI()
        app.include_router(page_routes(lambda: {"prefrag": pipelines.load("prefrag")}))

        [listed] = TestClient(app).get("/pipelines").json()["pipelines"]

        assert listed["model"] == model

    def test_a_pipeline_of_another_kind_is_left_out(self):
        app = FastAPI()
        app.include_router(page_routes(lambda: {"other": Pipeline()}))

        assert TestClient(app).get("/pipelines").json() == {"pipelines": []}
