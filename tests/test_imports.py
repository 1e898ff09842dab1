"""Importing and loading our parts does not import heavy modules or Haystack's telemetry."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.for_each import for_each
from tests.python_process import run_python

# Each of these tests starts a process.
pytestmark = pytest.mark.slow

# One process is enough for all tests, because each stage imports more than those before.
STAGES = """
import json, sys
stages = {}
from typer.testing import CliRunner
from prefrag.cli.main import app
assert CliRunner().invoke(app, ["--help"]).exit_code == 0
stages["first"] = list(sys.modules)
for command in [(), ("documents",), ("train",), ("ask",), ("index",), ("documents", "list"), ("pipelines",),
                ("serve",), ("evaluate",), ("report",), ("train", "pairs"), ("train", "judge")]:
    assert CliRunner().invoke(app, [*command, "--help"]).exit_code == 0, command
stages["help"] = list(sys.modules)
assert CliRunner().invoke(app, ["documents", "list"]).exit_code == 3
stages["list"] = list(sys.modules)
import prefrag.components.generators.chat_model
stages["model"] = list(sys.modules)
assert CliRunner().invoke(app, ["ask", "--quiet"]).exit_code == 0
stages["ask"] = list(sys.modules)
from prefrag.server.app import create_app
create_app()
stages["serve"] = list(sys.modules)
from prefrag import pipelines
for name in pipelines.names():
    if "dense" in name or "hybrid" in name:
        pipelines.load(name)
stages["dense"] = list(sys.modules)
from prefrag.components.reader.extractive_reader import ExtractiveReader
ExtractiveReader().warm_up()
import haystack.telemetry._telemetry
stages["all"] = list(sys.modules)
stages["telemetry"] = repr(haystack.telemetry._telemetry.telemetry)
print(json.dumps(stages))
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def stages(home: Path) -> dict[str, Any]:
    # The tests switch telemetry off, so undo that here.
    bare = "import os; [os.environ.pop(name, None) for name in ('HAYSTACK_TELEMETRY_ENABLED', 'ORT_DISABLE_TELEMETRY')]"
    done = run_python(f"{bare}; os.environ['HOME'] = {str(home)!r}\n{STAGES}", XDG_CACHE_HOME="")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@for_each(
    "stage, heavy",
    ("first", "pydantic"),
    ("help", "haystack numpy fastapi openai httpx tantivy yaml matplotlib scipy"),
    ("list", "elasticsearch elastic_transport trafilatura openai onnxruntime fastapi jinja2"),
    ("model", "openai xllamacpp onnxruntime tokenizers xgboost"),
    ("ask", "elasticsearch elastic_transport trafilatura openai fastapi hayhooks mcp xgboost sentence_transformers"),
    ("serve", "elasticsearch elastic_transport trafilatura openai docutils xgboost sentence_transformers ray"),
    ("dense", "sentence_transformers lancedb torch"),
)
def test_heavy_modules_are_imported_where_they_are_used(stages: dict[str, Any], stage: str, heavy: str):
    assert [name for name in heavy.split() if name in stages[stage]] == []


def test_telemetry_is_off_unless_somebody_switches_it_on(stages: dict[str, Any]):
    assert stages["telemetry"] == "None"


@pytest.mark.parametrize(("chosen", "is_on"), [(None, False), ("True", True)], ids=["by default", "switched on"])
def test_telemetry_is_off_even_if_haystack_was_imported_first(chosen: str | None, is_on: bool, tmp_path: Path):
    set_it = f"os.environ['HAYSTACK_TELEMETRY_ENABLED'] = {chosen!r}" if chosen else ""
    done = run_python(
        f"""
import os
os.environ["HOME"] = {str(tmp_path)!r}
del os.environ["HAYSTACK_TELEMETRY_ENABLED"]
{set_it}
import haystack
import prefrag
print(haystack.telemetry._telemetry.telemetry is not None)
"""
    )

    assert done.stdout.strip() == str(is_on), done.stderr


def test_the_runtime_of_the_reader_reports_to_nobody(stages: dict[str, Any], home: Path):
    # On import, ONNX Runtime would make an id for this device, and collect events to send to its maker.
    assert "onnxruntime" in stages["all"]
    assert [*home.rglob("*onnxruntime*")] == []


@for_each("variable", "ORT_DISABLE_TELEMETRY", "OPENBLAS_NUM_THREADS")
@pytest.mark.parametrize(("chosen", "kept"), [(None, "1"), ("0", "0")], ids=["by default", "chosen"])
def test_what_libraries_read_at_their_import_can_be_chosen(variable: str, chosen: str | None, kept: str):
    set_it = f"os.environ[{variable!r}] = {chosen!r}" if chosen else ""

    done = run_python(
        f"import os; os.environ.pop({variable!r}, None); {set_it}\nimport prefrag; print(os.environ[{variable!r}])"
    )

    assert done.stdout.strip() == kept, done.stderr
