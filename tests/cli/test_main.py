"""The tree of commands and its help, and `prefrag pipelines`."""

import os
import re
from pathlib import Path

import pytest

from prefrag.cli.main import main
from prefrag.components.state.run_options import RunOptions
from prefrag.version import find_version
from tests.cli.running import prefrag
from tests.for_each import for_each
from tests.python_process import run_python

COMMANDS = (
    *("ask", "chat", "doctor", "mcp", "index", "documents list", "pipelines", "serve", "evaluate", "report"),
    *("train pairs", "train questions"),
)


@for_each("command", "", "documents", "train", *COMMANDS)
def test_help_lists_the_exit_codes(command: str):
    assert "Exit codes" in prefrag(*command.split(), "--help").stdout


@for_each("command", "ask", "chat", "evaluate")
def test_option_of_a_run_has_its_text_from_run_options(command: str):
    lines = prefrag(command, "--help").stdout.splitlines()
    [line_of_option] = [line for line in lines if "--top-k" in line]
    first_word, *_ = str(RunOptions.model_fields["top_k"].description).split()

    assert first_word in line_of_option


def test_the_version_is_one_line():
    result = prefrag("--version")

    assert (result.exit_code, result.stdout) == (0, f"prefrag {find_version()}\n")


def test_completion_is_offered_at_the_root_alone():
    assert "--install-completion" in prefrag("--help").stdout
    assert "--install-completion" not in prefrag("documents", "--help").stdout


ALWAYS = "torch transformers scipy xgboost sklearn matplotlib openai elasticsearch elastic_transport aiohttp ray"
SERVING = "hayhooks fastapi uvicorn prometheus_client watchfiles limits mcp"
ASKING = "onnxruntime tokenizers ddgs lxml tenacity jinja2 jsonschema anyio haystack.document_stores.in_memory"
LISTING = "haystack tantivy networkx numpy httpx yaml posthog pydantic"
# Each step imports more than the one before.
STEPS = (
    (f"{ALWAYS} {SERVING} {ASKING} {LISTING}", "app(['--help'], standalone_mode=False)"),
    (f"{ALWAYS} {SERVING} {ASKING}", "app('documents list --collection demo'.split(), standalone_mode=False)"),
    (f"{ALWAYS} {SERVING}", "app('ask --collection demo --quiet'.split(), standalone_mode=False)"),
    (ALWAYS, "from prefrag.server import app; from prefrag.pipelines import load; load('prefrag').warm_up()"),
)


@pytest.mark.slow
def test_no_package_is_imported_before_it_is_used():
    shown = [f"{code}\nprint('imported', *{set(unused.split())} & sys.modules.keys())" for unused, code in STEPS]

    finished = run_python("\n".join(["import sys", "from prefrag.cli.main import app", *shown]), PREFRAG_INDEX="demo")

    assert finished.returncode == 0, finished.stderr
    assert re.findall("^imported.*", finished.stdout, re.MULTILINE) == ["imported"] * len(STEPS)


def test_lists_the_pipelines_and_draws_one_from_its_yaml():
    assert "prefrag" in prefrag("pipelines").stdout.split()
    result = prefrag("pipelines", "--draw", "prefrag")

    assert result.exit_code == 0
    assert result.stdout.startswith("flowchart TD")
    assert "n_judge -->|switch_web| n_to_web" in result.stdout


@for_each("text", None, "components: [", "components: {}")
def test_a_pipeline_that_is_absent_or_unusable_ends_with_3(tmp_path: Path, text: str | None):
    if text is not None:
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")

    result = prefrag("pipelines", "--draw", tmp_path / "mine.yaml")

    assert result.exit_code == 3
    assert "mine.yaml" in " ".join(result.stderr.split())


@pytest.mark.skipif("os.name != 'posix'")
def test_what_a_command_writes_only_its_user_can_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a.txt").write_text("A heron stands.")
    data = tmp_path / "data"
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(data))
    monkeypatch.setattr("sys.argv", ["prefrag", "index", str(tmp_path / "a.txt"), "--no-web"])
    before = os.umask(0)

    try:
        with pytest.raises(SystemExit, match="^0$"):
            main()
    finally:
        os.umask(before)

    assert data.is_dir()
    assert [path.name for path in [data, *data.rglob("*")] if path.stat().st_mode & 0o077] == []
