"""A user's own components, in Python modules beside the user's pipelines."""

import importlib.util
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from prefrag import pipelines
from prefrag.cli.main import app
from prefrag.pipelines.loading import ALLOWLIST_VARIABLE
from prefrag.server.app import create_app
from tests.pipelines.scripted import answer, scripted_block, search, write_yaml
from tests.server.serving import SHARED

QUESTION = "Who built alpha?"
RETRIEVER = '''
from haystack import Document, component


@component
class Shelf:
    """Give one passage of its own, whatever the question."""

    @component.output_types(documents=list[Document])
    def run(self, query: str):
        return {"documents": [Document(id="own", content="Alpha was built by Beta.", meta={"title": "My shelf"})]}
'''
Own = Callable[..., Path]


@pytest.fixture(autouse=True)
def _imports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Forget the imported and trusted modules afterwards."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(ALLOWLIST_VARIABLE, os.environ[ALLOWLIST_VARIABLE])
    yield
    for name in [name for name, module in sys.modules.items() if str(tmp_path) in (vars(module).get("__file__") or "")]:
        del sys.modules[name]


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Own:
    """Write a folder with the pipeline `mine`, whose retriever is in a module of the folder."""
    folder = tmp_path / "own"
    folder.mkdir()
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(folder))

    def write(type_: str = "my_shelf.Shelf", file: str = "my_shelf.py") -> Path:
        data = scripted_block(search("alpha"), answer("Beta"))
        data["components"]["local"]["init_parameters"]["retriever"] = {"type": type_, "init_parameters": {}}
        (folder / "mine.yaml").write_text(write_yaml(data), encoding="utf-8")
        (folder / file).parent.mkdir(exist_ok=True)
        (folder / file).write_text(RETRIEVER, encoding="utf-8")
        return folder

    return write


class TestAreImportedIn:
    def test_ask_imports_own_modules(self, own: Own):
        own()

        result = CliRunner().invoke(app, ["ask", QUESTION, "--pipeline", "mine", "--json"])

        assert [document["title"] for document in json.loads(result.stdout)["documents"]] == ["My shelf"]

    def test_evaluate_imports_own_modules(self, own: Own, tmp_path: Path):
        own()
        questions = tmp_path / "questions.jsonl"
        line = {"id": "q1", "question": QUESTION, "answers": ["Beta"]}
        questions.write_text(json.dumps(line) + "\n", encoding="utf-8")
        options = {"--pipeline": "mine", "--questions": questions, "--output": tmp_path / "run"}

        result = CliRunner().invoke(app, ["evaluate", *[str(part) for option in options.items() for part in option]])

        assert result.exit_code == 0, result.output
        (prediction,) = (tmp_path / "run" / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
        assert "My shelf" in prediction

    def test_serve_imports_own_modules(self, own: Own, monkeypatch: pytest.MonkeyPatch):
        own()
        monkeypatch.setenv("PREFRAG_SERVE", "mine")

        with SHARED.aside(), TestClient(create_app()) as client:
            result = client.post("/mine/run", json={"question": QUESTION}).json()["result"]

        assert [document["title"] for document in result["documents"]] == ["My shelf"]

    def test_an_own_package_is_imported(self, own: Own):
        own("my_shelves.wooden.Shelf", "my_shelves/wooden.py").joinpath("my_shelves", "__init__.py").touch()

        assert pipelines.ask(QUESTION, pipeline="mine")["documents"][0]["title"] == "My shelf"


class TestAreTrusted:
    def test_by_their_names_and_no_others(self, own: Own):
        folder = own()
        (folder / "statistics.py").touch()
        (folder / "notes").mkdir()
        for no_module in ("my_shelf.test.py", "absent.test.py", "__init__.py"):
            (folder / no_module).write_text("raise ImportError('no module')")
        before = os.environ[ALLOWLIST_VARIABLE].split(",")

        pipelines.load("mine")

        assert os.environ[ALLOWLIST_VARIABLE].split(",") == [*before, "my_shelf"]

    def test_not_when_they_lie_elsewhere(self, own: Own, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
        path = own() / "mine.yaml"
        monkeypatch.delenv("PREFRAG_PIPELINES_DIR")

        with pytest.raises(ValueError, match="my_shelf"):
            pipelines.load(str(path))


class TestWithTheNameOfAnInstalledModule:
    @pytest.mark.parametrize("name", ["statistics", "yaml", "sys", "prefrag"])
    def test_are_refused_in_words(self, own: Own, name: str):
        folder = own(f"{name}.Shelf", f"{name}.py")

        with pytest.raises(
            ValueError, match=rf"{folder / name}.py has the name of a module that is imported.*rename it"
        ):
            pipelines.load("mine")

    def test_do_not_take_its_place(self, own: Own):
        folder = own()
        (folder / "this.py").write_text("raise ImportError('the wrong one')")

        pipelines.load("mine")

        spec = importlib.util.find_spec("this")
        assert str(folder) in sys.path
        assert spec is not None
        assert spec.origin != str(folder / "this.py")
