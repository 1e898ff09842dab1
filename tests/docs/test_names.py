"""The documented classes, settings, files and pipelines exist, and the documented Python runs."""

import ast
import inspect
import json
import os
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from haystack.components.agents import Agent

from prefrag import pipelines
from prefrag.components.judge.judge import Judge
from tests.cli.running import prefrag
from tests.docs.markdown import CHECKOUT, GUIDES, fenced, spans
from tests.for_each import for_each
from tests.rooms import PACKAGES, ROOMS

CODE = (*PACKAGES, "prefrag", "yaml_pipelines", "benchmarks", "demo")
PIPELINES = CHECKOUT / "docs" / "pipelines.md"
_CLASS = re.compile(r"[A-Z][a-z]+(?:[A-Z][a-z0-9]*)+")
_NAME = re.compile(r"[a-z]+(?:_[a-z0-9]+)*")
_FILE = re.compile(r"(?:[\w.-]+/)+(?:[\w.-]+)?|[\w-]+\.(?:py|yaml|md|jinja)")


@cache
def texts_of_the_code() -> dict[Path, str]:
    files = [file for folder in CODE for file in (CHECKOUT / folder).rglob("*")]
    return {file: file.read_text("utf-8") if file.suffix in (".py", ".yaml") else "" for file in files}


@cache
def words_of(file: Path) -> set[str]:
    """All names that a code file defines, takes or uses, and all words in its texts."""
    text = texts_of_the_code()[file]
    if file.suffix != ".py":
        return {file.stem, *re.findall(r"\w+", text)}
    nodes = ast.walk(ast.parse(text))
    values = (getattr(node, field, None) for node in nodes for field in ("name", "arg", "attr", "id", "value"))
    return {file.stem, *(value for value in values if isinstance(value, str))}


@cache
def is_in_the_code(name: str) -> bool:
    # Only files that contain the name are parsed, until one is found, because parsing all takes a second.
    return any(
        name in words_of(file) for file, text in texts_of_the_code().items() if name in text or name == file.stem
    )


@for_each("file", *GUIDES)
def test_each_class_between_backticks_exists(file: Path):
    named = {name for span in spans(file.read_text(encoding="utf-8")) for name in _CLASS.findall(span)}

    # Classes of tests stand in SECURITY.md; test_security_page.py looks for them.
    of_code = {name for name in named if not name.startswith("Test")}

    assert [name for name in of_code - {"MyRetriever"} if not is_in_the_code(name)] == []


@for_each("file", *GUIDES)
def test_each_name_between_backticks_exists(file: Path):
    extras = set(re.findall(r"^(\w+) = \[", (CHECKOUT / "pyproject.toml").read_text(), re.MULTILINE))
    of_others = {"make", "venv", "slow", "include", "openai", "reasoning_content"}
    of_others |= {"gen_ai", "proxy_buffering", "proxy_read_timeout"}
    # Prometheus adds `_total` to the name of each counter.
    named = {span.removesuffix("_total") for span in spans(file.read_text(encoding="utf-8")) if _NAME.fullmatch(span)}

    assert [name for name in named - extras - of_others if not is_in_the_code(name)] == []


def test_each_part_of_a_pipeline_stands_in_the_python_interface():
    files = [*(CHECKOUT / "yaml_pipelines").glob("*.yaml"), CHECKOUT / "pipelines" / "variants.yaml"]
    parts = {name for file in files for name in re.findall(r"type: (prefrag\.\S+)", file.read_text(encoding="utf-8"))}
    shown = re.findall(r"^::: (\S+)$", (CHECKOUT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)

    assert parts - set(shown) == set()


@for_each("file", *GUIDES)
def test_each_file_between_backticks_exists(file: Path):
    of_the_reader = {"my_retriever.py", "my.yaml", "my.jinja", ".venv/bin/python", "build/typed"}
    named = {span for span in spans(file.read_text(encoding="utf-8")) if _FILE.fullmatch(span)} - of_the_reader
    folders = [CHECKOUT, *(CHECKOUT / name for name in (*CODE, "tests", "evaluation/datasets"))]

    assert {name for name in named if not any((folder / name).exists() for folder in folders)} == set()


def test_the_examples_of_load_run(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    code, _ = fenced(PIPELINES.read_text(encoding="utf-8"), "python")
    loaded: list[object] = []
    names: dict[str, object] = {}
    for statement in ast.parse(code).body:
        exec(compile(ast.Module([statement], []), str(PIPELINES), "exec"), names)
        if isinstance(statement, ast.Assign) and "pipeline" in ast.unparse(statement.targets[0]):
            loaded.append(names["pipeline"])

    model, retriever, settings = loaded
    assert model.get_component("reasoner").chat_generator.model == "gpt-5-mini"
    assert model.get_component("reflector").chat_generator.model == "gpt-5"
    assert type(retriever.get_component("local_again").retriever).__name__ == "InMemoryBM25Retriever"
    assert not retriever.get_component("web").retriever.demo_stand_in
    assert settings.get_component("local").retriever.document_store.index == "mine"
    assert settings.get_component("judge").judge.tree_judge.cost_of_leaving == 5


@pytest.mark.slow
def test_the_example_in_plain_haystack_runs(tmp_path: Path):
    _, code = fenced(PIPELINES.read_text(encoding="utf-8"), "python")
    listed = "HAYSTACK_DESERIALIZATION_ALLOWLIST"
    environment = {name: value for name, value in os.environ.items() if name != listed}
    environment |= {"PREFRAG_DATA_DIR": str(tmp_path), "PYTHONPATH": str(CHECKOUT)}

    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)

    assert done.stdout.startswith("Tobias Greaves [1"), done.stderr


def test_the_example_of_an_own_third_source_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    text = PIPELINES.read_text(encoding="utf-8")
    (module,) = (code for code in fenced(text, "") if code.startswith("# my_notes.py"))
    (yaml,) = fenced(text, "yaml")
    (tmp_path / "my_notes.py").write_text(module, encoding="utf-8")
    (tmp_path / "notes_too.yaml").write_text(yaml, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("The kite Ottoline was built by Edda Thorne.\nBuy bread.\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path))
    monkeypatch.setenv("PREFRAG_INDEX", "demo")
    monkeypatch.setenv("PREFRAG_WEB", "off")

    done = prefrag("ask", "Who built the kite Ottoline?", "--json", "--pipeline", "notes_too")

    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert "Edda Thorne" in (result["answer"] or result["guess"])
    assert {"local", "notes"} <= {document["source"] for document in result["documents"]}
    assert result["queries_sent_out"] == []


def test_the_examples_of_parts_and_agents_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    parts, concat, tool, source, agent = fenced((CHECKOUT / "docs" / "agents.md").read_text(encoding="utf-8"), "python")
    has_hooks = "hooks" in inspect.signature(Agent.__init__).parameters
    code = "\n".join([parts, concat, tool, source, agent if has_hooks else ""])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    exec(compile(code, "docs/agents.md", "exec"), {"__name__": "__main__"})

    identifier, query, pairs, answer, searched = capsys.readouterr().out.splitlines()
    assert identifier == "meter-0001"
    assert query.startswith("Who designed the Shearwater Current Meter?")
    assert int(pairs) >= 1
    assert answer == "Tobias Greaves [1]"
    assert searched == "string meter-0001"


def test_the_picture_is_that_of_the_pipeline():
    from prefrag.pipelines.drawing import mermaid

    (drawn,) = fenced((CHECKOUT / "docs/explanations/the_loop.md").read_text(encoding="utf-8"), "mermaid")

    assert drawn.strip() == mermaid(pipelines.load("prefrag")).strip()


def test_contributing_lists_rooms_of_components_in_their_order():
    blocks = fenced((CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    (order,) = [block for block in blocks if block.startswith("agent_hooks")]
    components = CHECKOUT / "components"
    present = [room for room in ROOMS if (components / room).is_dir() or (components / f"{room}.py").exists()]

    assert [line.split()[0] for line in order.splitlines()] == present


def test_the_map_of_contributing_leads_to_files():
    text = (CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = text.split("## Where a behaviour is")[1].split("\n## ")[0].splitlines()[4:]
    named = [spans(row.rsplit("|", 2)[1]) for row in rows if row]

    assert len(named) > 30
    assert all(named), "each behaviour has a file"
    assert [name for names in named for name in names if not (CHECKOUT / name).is_file()] == []


def test_contributing_shows_the_protocol_of_a_judge():
    (shown,) = fenced((CHECKOUT / "CONTRIBUTING.md").read_text(encoding="utf-8"), "python")

    assert signatures(shown) == signatures(inspect.getsource(Judge))


def signatures(source: str) -> list[str]:
    methods = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    for method in methods:
        method.body = [ast.Expr(ast.Constant(...))]
    return [ast.unparse(method) for method in methods]
