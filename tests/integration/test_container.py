"""Run the container image if there is one, and otherwise the lines of the Dockerfile in a folder that stands for its
root.
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
import uuid
import venv
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.container_files import CHECKOUT, compose, health_check, reaches_the_builder, stages, values
from tests.integration.installing import OFFLINE, SECONDS
from tests.server_process import server_process

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform == "win32", reason="the Dockerfile needs a Unix shell")]
KEY = {"Authorization": "Bearer a-key"}
QUESTION = {"question": "What did we promise the harbour board?"}
CONFINED = ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--tmpfs=/tmp"]


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documents")
    (folder / "board.md").write_text("# Board\n\nWe promised the harbour board a new crane by 1974.\n")
    folder.chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    folder = root / "build"
    folder.mkdir()
    # The Python of the base image, with its pip.
    venv.create(root / "base", with_pip=True)
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment["PATH"] = f"{root / 'base' / 'bin'}{os.pathsep}{environment['PATH']}"
    for name, flags, value in stages()[1]:
        if name == "ARG":
            variable, _, default = value.partition("=")
            environment[variable] = default.strip('"')
        elif name == "COPY":
            assert "from" not in flags
            *sources, target = value.split()
            for source in sources:
                copy(source, folder / target)
        elif name == "RUN":
            run(value.replace("/opt/prefrag", str(root / "opt" / "prefrag")), folder, environment)
        else:
            assert (name, value) in (("FROM", "${BASE} AS build"), ("WORKDIR", "/build")), name
    return root


def copy(source: str, target: Path) -> None:
    def left_behind(folder: str, names: list[str]) -> set[str]:
        inside = Path(folder).relative_to(CHECKOUT)
        return {name for name in names if not reaches_the_builder(str(inside / name))}

    if (CHECKOUT / source).is_dir():
        shutil.copytree(CHECKOUT / source, target, symlinks=True, ignore=left_behind)
    else:
        shutil.copy2(CHECKOUT / source, target)


def run(line: str, folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=2 * SECONDS,
        check=False,
    )
    if done.returncode and any(sign in done.stderr for sign in OFFLINE) and not os.environ.get("CI"):
        pytest.skip(f"needs a package index: {done.stderr.strip()[-200:]}")
    assert done.returncode == 0, f"{line}\n{done.stderr}"


def test_dockerfile_lines_build_what_indexes_and_serves_a_folder(root: Path, documents: Path):
    home, data = root / "opt" / "prefrag" / "bin", root / "data"
    data.mkdir()
    assert not (home / "pip").exists()
    (settings,) = values("ENV")
    own = dict(setting.split("=", 1) for setting in settings.split())
    own = {name: value.replace("/data", str(data)) for name, value in own.items() if name != "PATH"}
    own |= {"PYTHONPATH": "", "PREFRAG_API_KEYS": "a-key"}
    (program,) = json.loads(values("ENTRYPOINT")[0])
    indexed = subprocess.run(
        [home / program, "index", documents],
        cwd=data,
        env=os.environ | own,
        capture_output=True,
        text=True,
        check=False,
    )
    assert indexed.returncode == 0, indexed.stderr

    serve = json.loads(values("CMD")[0])
    with server_process(str(home / program), *serve, folder=root, python=home / "python", cwd=data, **own) as client:
        assert client.get("/ready").status_code == 200
        response = client.post("/prefrag/run", json=QUESTION, headers=KEY)
        check = [part.replace("http://127.0.0.1:1416", str(client.base_url).rstrip("/")) for part in health_check()]
        assert subprocess.run([home / check[0], *check[1:]], timeout=60, check=False).returncode == 0

    # Where the reader's answer begins depends on the processor, which rounds its numbers.
    assert response.json()["result"]["answer"].removeprefix("a ") == "new crane"
    assert subprocess.run([home / check[0], *check[1:]], capture_output=True, timeout=60, check=False).returncode == 1


@pytest.fixture(scope="module")
def image() -> str:
    if not (image := os.environ.get("PREFRAG_TEST_IMAGE")):
        pytest.skip("needs the image: build it, and set PREFRAG_TEST_IMAGE to its name")
    return image


def engine(*arguments: str) -> str:
    command = [*shlex.split(os.environ.get("PREFRAG_TEST_ENGINE", "docker")), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout.strip()


@pytest.fixture(scope="module")
def volume(image: str, documents: Path) -> Iterator[str]:
    name = f"prefrag-test-{uuid.uuid4().hex}"
    mounts = ["--volume", f"{name}:/data", "--volume", f"{documents}:/documents:ro"]
    printed = engine("run", "--rm", *CONFINED, *mounts, image, "index", "/documents")
    assert "Collection default: 1 passage written" in printed
    yield name
    engine("volume", "rm", name)


@pytest.fixture(scope="module")
def container(image: str, volume: str) -> Iterator[str]:
    options = [*CONFINED, "--init", "--publish", "127.0.0.1::1416", "--volume", f"{volume}:/data"]
    name = engine("run", "--detach", *options, "--env", "PREFRAG_API_KEYS=a-key", image)
    yield name
    engine("rm", "--force", name)


@pytest.fixture(scope="module")
def client(container: str) -> Iterator[httpx.Client]:
    address = engine("port", container, "1416").splitlines()[0]
    with httpx.Client(base_url=f"http://{address}", timeout=60, headers=KEY) as client:
        deadline = time.monotonic() + SECONDS
        while True:
            try:
                if client.get("/ready").status_code == 200:
                    break
            except httpx.TransportError:
                pass
            assert time.monotonic() < deadline, engine("logs", container)
            time.sleep(0.2)
        yield client


class TestTheImage:
    """The built image that ``PREFRAG_TEST_IMAGE`` names, run by ``PREFRAG_TEST_ENGINE`` (by default docker)."""

    def test_runs_without_root_and_writes_only_where_it_may(self, container: str):
        code = "import os; print(os.getuid(), [p for p in ('/', '/opt/prefrag', '/data', '/tmp') if os.access(p, os.W_OK)])"

        assert engine("exec", container, "python", "-c", code) == "10001 ['/data', '/tmp']"

    def test_answers_from_the_folder_that_was_indexed(self, client: httpx.Client):
        result = client.post("/prefrag/run", json=QUESTION).json()["result"]

        assert (result["answer"], result["queries_sent_out"]) == ("a new crane", [])

    def test_needs_the_key(self, client: httpx.Client):
        assert client.post("/prefrag/run", json=QUESTION, headers={"Authorization": ""}).status_code == 401

    @pytest.mark.parametrize(
        "command",
        [health_check(), compose()["services"]["prefrag"]["healthcheck"]["test"][1:]],
        ids=["image", "compose"],
    )
    def test_is_found_healthy(self, client: httpx.Client, container: str, command: list[str]):
        engine("exec", container, *command)

    def test_leaves_nothing_of_other_programs_with_its_data(self, client: httpx.Client, container: str):
        names = engine("exec", container, "ls", "-A", "/data").split()

        assert "indexes" in names
        assert [name for name in names if name.startswith(".")] == []

    def test_stops_when_it_is_told_to(self, client: httpx.Client, container: str):
        begun = time.monotonic()
        engine("stop", "--time", "35", container)

        assert time.monotonic() - begun < 25
        # 143 means ended by SIGTERM; a killed container ends with 137.
        assert engine("inspect", "--format", "{{.State.ExitCode}}", container) == "143"
