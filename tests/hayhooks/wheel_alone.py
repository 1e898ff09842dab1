"""Try the wheel alone, on the oldest and the newest Haystack and Hayhooks: `make test-haystack`.

Without an option, this builds the wheel, makes an environment for each pair of versions, and runs itself in each of
them with `--check`, in a folder without the checkout. With `--check`, it loads each shipped YAML in plain Haystack,
writes and reads it again, runs it if it needs nothing more, deploys it under Hayhooks, and asks it there. With
`--each-kind`, only those YAML files are tried that are no variants of another one.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).resolve().parents[2]
VERSIONS = {"oldest": ("haystack-ai==2.31.0", "hayhooks==2.1.0"), "newest": ("haystack-ai", "hayhooks")}
FOR_TESTS = ("pytest", "pytest-asyncio", "pandas")
SECONDS = 1_200.0
QUESTION = "Who designed the Shearwater Current Meter?"
# They need a server, an extra with PyTorch, the web, a model, or a second index.
WORDS = ("elasticsearch", "dense", "hybrid")
OTHERS = ("vanilla_web", "no_retrieval", "flare", "prefrag_three_sources")
FIXTURE = """
import pytest
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore

@pytest.fixture
def store(tmp_path):
    return TantivyDocumentStore(path=str(tmp_path / "index"))
"""


def needs_more(name: str) -> bool:
    """Whether a pipeline needs more than the wheel to answer."""
    return name in OTHERS or any(word in name for word in WORDS)


def check(each_kind: bool) -> bool:
    """Try the installed package in this interpreter. Print `N of N` for each thing that is tried."""
    # Imported only here: the interpreter that makes the environments need not have them.
    from fastapi.testclient import TestClient
    from hayhooks.server.app import create_app
    from haystack import Pipeline
    from loguru import logger

    import prefrag  # before Haystack is used, as docs/pipelines.md says
    from prefrag.pipelines.variants import table

    logger.disable("hayhooks")
    files = sorted((prefrag.ROOT / "yaml_pipelines").glob("*.yaml"))
    texts = {file.stem: file.read_text(encoding="utf-8") for file in files if not each_kind or file.stem not in table()}
    loaded: dict[str, Any] = {}

    def load(name: str) -> bool:
        loaded[name] = Pipeline.loads(texts[name])
        return True

    def round_trip(name: str) -> bool:
        return in_order(Pipeline.loads(loaded[name].dumps())) == in_order(loaded[name])

    def run(name: str) -> bool:
        return is_answer(loaded[name].run({"start": {"question": QUESTION}})["answer"]["result"])

    print(f"{prefrag.ROOT}: {', '.join(f'{name} {version}' for name, version in versions().items())}")
    runnable = [name for name in texts if not needs_more(name)]
    sound = [tell("loaded", texts, load), tell("round-tripped", texts, round_trip), tell("run", runnable, run)]
    with TestClient(create_app()) as client:

        def deploy(name: str) -> bool:
            yaml = {"name": name, "source_code": texts[name], "save_file": False}
            reply = client.post("/deploy-yaml", json=yaml)
            reply.raise_for_status()
            return True

        def ask(name: str) -> bool:
            reply = client.post(f"/{name}/run", json={"question": QUESTION}).raise_for_status()
            return is_answer(reply.json()["result"]["answer"]["result"])

        sound += [tell("deployed", texts, deploy), tell("answered under Hayhooks", runnable, ask)]
    return all(sound)


def tell(done: str, names: Any, attempt: Callable[[str], bool]) -> bool:
    """Try something with each pipeline, and print how often it worked, and why it did not."""
    faults = {}
    for name in names:
        try:
            faults |= {} if attempt(name) else {name: "another result than expected"}
        except Exception as error:
            faults[name] = f"{type(error).__name__}: {str(error)[:300]}"
    print(
        f"{done}: {len(names) - len(faults)} of {len(names)}",
        *(f"  {key}: {why}" for key, why in faults.items()),
        sep="\n",
    )
    return not faults


def in_order(pipeline: Any) -> dict[str, Any]:
    """Write a pipeline as plain values. Haystack's order of the connections differs from time to time."""
    data = pipeline.to_dict()
    return {**data, "connections": sorted(data["connections"], key=str)}


def is_answer(result: dict[str, Any]) -> bool:
    return "Tobias Greaves" in (result["answer"] or result["guess"])


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("prefrag", "haystack-ai", "hayhooks")}


def main() -> bool:
    """Build the wheel and try it in each environment."""
    with tempfile.TemporaryDirectory(prefix="prefrag-wheel-alone-") as name:
        folder = Path(name)
        sources = folder / "sources"
        ignored = shutil.ignore_patterns(".*", "build", "dist", "*.egg-info", "__pycache__")
        shutil.copytree(CHECKOUT, sources, symlinks=True, ignore=ignored)
        call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, sources, cwd=folder)
        (wheel,) = folder.glob("prefrag-*.whl")
        # Try both, even if the first has faults.
        sound = [try_in_environment(folder / label, wheel, pins) for label, pins in VERSIONS.items()]
        return all(sound)


def try_in_environment(folder: Path, wheel: Path, pins: tuple[str, ...]) -> bool:
    """Install the wheel with two versions, and run the checks and Haystack's tests of document stores."""
    print(f"{folder.name}: {', '.join(pins)}", flush=True)
    call(sys.executable, "-m", "venv", folder / "venv", cwd=folder.parent)
    python = folder / "venv" / ("Scripts" if sys.platform == "win32" else "bin") / "python"
    install = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet")
    call(*install, wheel, *pins, *FOR_TESTS, cwd=folder)
    return try_python(python, folder / "work")


def try_python(python: Path, work: Path) -> bool:
    """Run the checks with an interpreter that has the wheel, in a folder without the checkout."""
    (work / "tests").mkdir(parents=True)
    (work / "conftest.py").write_text(FIXTURE)
    stores = CHECKOUT / "tests" / "components" / "document_stores" / "tantivy" / "test_haystack_mixins.py"
    shutil.copy(stores, work)
    for name in ("for_each.py", "fakes.py", "marks.py"):
        shutil.copy(CHECKOUT / "tests" / name, work / "tests")
    mixins = (
        "-m",
        "pytest",
        "-q",
        "-o",
        "asyncio_mode=auto",
        "-W",
        "ignore",
        "--import-mode=append",
        "-p",
        "no:cacheprovider",
    )
    started = time.monotonic()
    results = [
        call(python, Path(__file__), "--check", cwd=work, must_succeed=False),
        call(python, *mixins, "-k", "TestHaystacks", "test_haystack_mixins.py", cwd=work, must_succeed=False),
    ]
    print(f"in {time.monotonic() - started:.0f} s", flush=True)
    return not any(results)


def call(*command: Any, cwd: Path, must_succeed: bool = True) -> int:
    """Run a command in a folder, with no settings but those of the checks. Return its exit status."""
    import os

    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PREFRAG_", "HAY", "PYTHONPATH"))}
    own = {"PREFRAG_DATA_DIR": str(cwd / "data"), "PREFRAG_INDEX": "demo", "PREFRAG_WEB": "off", "PYTHONSAFEPATH": "1"}
    cwd.mkdir(parents=True, exist_ok=True)
    done = subprocess.run([*map(str, command)], cwd=cwd, env={**kept, **own}, timeout=SECONDS, check=must_succeed)
    return done.returncode


if __name__ == "__main__":
    is_check = "--check" in sys.argv
    sys.exit(0 if (check("--each-kind" in sys.argv) if is_check else main()) else 1)
