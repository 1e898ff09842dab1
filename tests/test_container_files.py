"""The image and compose.yaml are as docs/containers.md says; tests/integration/test_container.py runs them."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from prefrag.components.generators.model_host import is_local
from prefrag.server.app import _LAST_SECONDS
from tests.container_files import (
    CHECKOUT,
    compose,
    copied_from_the_checkout,
    health_check,
    reaches_the_builder,
    stages,
    values,
)
from tests.docs.commands import problem
from tests.docs.markdown import fenced
from tests.docs.variables import settings
from tests.for_each import for_each
from tests.server.serving import listening

SERVICES: dict[str, Any] = compose()["services"]
HEALTH_CHECKS = {"image": health_check(), "compose": SERVICES["prefrag"]["healthcheck"]["test"][1:]}
FILES = ("Dockerfile", "compose.yaml")


def seconds(duration: str) -> int:
    return int(duration.removesuffix("s"))


class TestTheImage:
    def test_image_has_a_numbered_user_writes_to_data_and_can_stop(
        self,
    ):
        """It stops with the signal that lets runs end."""

        assert values("USER") == ["10001:10001"], "another than root"
        assert "--uid 10001 --gid 10001" in " ".join(values("RUN"))
        assert "PREFRAG_DATA_DIR=/data" in values("ENV")[0]
        assert values("VOLUME") == values("WORKDIR") == ["/data"]
        assert values("STOPSIGNAL") == ["SIGTERM"]
        assert values("ENTRYPOINT") == ['["prefrag"]'], "a shell would not pass the signal on"

    def test_the_image_has_a_base_with_a_pinned_version(self):
        assert values("ARG", stage=0) == ["BASE=docker.io/library/python:3.13-slim-trixie"]
        assert {stage[0].value.split(" ")[0] for stage in stages()[1:]} == {"${BASE}"}

    @for_each("source", *copied_from_the_checkout())
    def test_every_copied_file_exists_and_reaches_the_builder(self, source: str):
        path = CHECKOUT / source

        assert path.exists()
        inside = [path, *path.rglob("*")] if path.is_dir() else [path]
        files = [str(path.relative_to(CHECKOUT)) for path in inside if "__pycache__" not in path.parts]
        assert [file for file in files if not reaches_the_builder(file)] == []

    def test_the_wheel_in_the_image_is_complete_and_its_extras_exist(self):
        folders = {
            str(link.readlink()).removeprefix("../") for link in (CHECKOUT / "prefrag").iterdir() if link.is_symlink()
        }
        project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        assert folders | {project["readme"], *project["license-files"]} <= set(copied_from_the_checkout())
        (default,) = [value for value in values("ARG", stage=1) if value.startswith("EXTRAS")]
        names = default.partition("=")[2].strip('"').split()
        assert names
        assert set(names) <= set(project["optional-dependencies"])
        assert SERVICES["prefrag"]["build"]["args"]["EXTRAS"] == f"${{EXTRAS-{' '.join(names)}}}"

    @for_each(
        "path",
        *(".env", "service/.env.local", ".git/config", "documents/board.md"),
        *("tests/fakes.py", "service/__pycache__/a.pyc"),
    )
    def test_neither_secrets_nor_documents_reach_the_builder(self, path: str):
        assert not reaches_the_builder(path)

    def test_layers_keep_no_secret_and_no_settings_of_the_builder(self):
        settings = [
            instruction.value for stage in stages() for instruction in stage if instruction.name in ("ARG", "ENV")
        ]
        text = "".join((CHECKOUT / file).read_text(encoding="utf-8") for file in FILES)

        assert not re.search(r"KEY|TOKEN|SECRET|PASSWORD|PROXY", " ".join(settings))
        assert not re.search(r"index-url|find-links|trusted-host", text)

    @pytest.mark.skipif(shutil.which("sh") is None, reason="needs a shell")
    @pytest.mark.parametrize(("extras", "wanted"), [("", ""), ("files", "[files]"), ("files mcp", "[files,mcp]")])
    def test_pip_gets_the_extras_in_its_own_syntax(self, extras: str, wanted: str, tmp_path: Path):
        (tmp_path / "wheel").mkdir()
        (tmp_path / "wheel" / "a.whl").touch()
        (line,) = [value for value in values("RUN", stage=1) if "pip wheel" in value]
        argument = line[line.rindex('"$(ls') :]

        done = subprocess.run(
            ["sh", "-c", f"printf %s {argument}"],
            cwd=tmp_path,
            env={**os.environ, "EXTRAS": extras},
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.stdout == f"wheel/a.whl{wanted}"


def test_the_ports_agree():
    (port,) = values("EXPOSE")

    assert port == "1416", "the port of prefrag serve"
    assert "--port" not in json.loads(values("CMD")[0])
    assert all(f":{port}/" in " ".join(command) for command in HEALTH_CHECKS.values())
    assert SERVICES["prefrag"]["ports"] == [f"${{LISTEN:-127.0.0.1:{port}}}:{port}"]
    assert f"http://prefrag:{port}/open-webui/v1" in SERVICES["open-webui"]["environment"].values()


class TestCompose:
    @for_each("name", *SERVICES)
    def test_service_writes_where_it_must_without_privileges(self, name: str):
        """Its health check ends."""

        service = SERVICES[name]
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert "cap_add" not in service
        assert "privileged" not in service
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert [mount.partition(":")[0] for mount in service["tmpfs"]] == ["/tmp"]
        check = service["healthcheck"]
        assert check["test"][0] == "CMD"
        assert check["timeout"]
        assert check["start_period"]

    @for_each("name", *SERVICES)
    def test_other_services_need_a_profile_and_a_pinned_version(self, name: str):
        service = SERVICES[name]

        if name == "prefrag":
            assert "profiles" not in service
        else:
            assert service["profiles"] == [name]
            assert re.search(r":\D*\d+(\.\d+){0,2}$", service["image"]), service["image"]

    def test_a_service_waits_until_those_it_needs_can_answer(self):
        needs = {name: service.get("depends_on", {}) for name, service in SERVICES.items()}

        assert {need["condition"] for own in needs.values() for need in own.values()} == {"service_healthy"}
        assert list(needs["open-webui"]) == ["prefrag"]
        assert {name: need["required"] for name, need in needs["prefrag"].items()} == {
            "model": False,
            "vllm": False,
            "elasticsearch": False,
        }, "a profile that is off must not keep it from starting"

    def test_only_this_machine_reaches_the_services_by_default(self):
        ports = [port for service in SERVICES.values() for port in service.get("ports", [])]

        assert len(ports) == 2
        assert all(re.match(r"\$\{LISTEN\w*:-127\.0\.0\.1:\d+\}:\d+$", port) for port in ports)
        assert compose()["networks"]["inside"] == {"internal": True}
        assert SERVICES["elasticsearch"]["networks"] == ["inside"], "it asks for no password"

    def test_data_outlives_containers_and_documents_are_read_only(self):
        mounts = [mount for service in SERVICES.values() for mount in service.get("volumes", [])]
        (documents,) = [mount for mount in mounts if isinstance(mount, dict)]

        assert {mount.partition(":")[0] for mount in mounts if isinstance(mount, str)} == set(compose()["volumes"])
        assert (documents["target"], documents["read_only"]) == ("/documents", True)

    def test_variables_are_documented_and_none_opens_the_web(self):
        """The answer that lies with the documents decides about the web."""

        text = "".join((CHECKOUT / file).read_text(encoding="utf-8") for file in FILES)
        assert set(re.findall(r"PREFRAG_[A-Z_]+", text)) <= settings()
        assert "PREFRAG_WEB" not in text

    def test_the_model_of_compose_counts_as_local(self, monkeypatch: pytest.MonkeyPatch):
        assert not is_local("model")
        monkeypatch.setenv("PREFRAG_LOCAL_HOSTS", SERVICES["prefrag"]["environment"]["PREFRAG_LOCAL_HOSTS"])

        assert is_local("model")
        assert SERVICES["vllm"]["networks"]["default"]["aliases"] == ["model"]

    def test_runs_get_the_promised_time_to_end(self):
        service = SERVICES["prefrag"]

        drain = service["environment"]["PREFRAG_DRAIN_SECONDS"]
        assert seconds(service["stop_grace_period"]) >= drain + _LAST_SECONDS


class TestTheGuide:
    guide = (CHECKOUT / "docs" / "containers.md").read_text(encoding="utf-8")

    def test_the_commands_that_the_guide_runs_in_the_container_exist(self):
        commands = re.findall(
            r"docker (?:compose )?(?:--profile \S+ )?run .*?\bprefrag( [^-\s].*?)?(?:  #|\)\"|$)",
            "".join(fenced(self.guide)),
            re.MULTILINE,
        )
        problems = {command: problem(["prefrag", *command.split()]) for command in commands if command}

        assert len(problems) >= 4
        assert {command: why for command, why in problems.items() if why} == {}

    def test_the_guide_lists_exactly_the_settings_of_compose(self):
        listed = set(re.findall(r"`([A-Z_]+)`", "".join(re.findall(r"^\|([^|]*)\|", self.guide, re.MULTILINE))))
        text = (CHECKOUT / "compose.yaml").read_text(encoding="utf-8")

        assert listed - {"COMPOSE_PROFILES"} == set(re.findall(r"\$\{([A-Z_]+)", text)) - {"ES_JAVA_OPTS"}

    def test_the_profiles_in_the_guide_are_those_of_compose(self):
        named = re.findall(r"--profile (\S+)|COMPOSE_PROFILES=(\S+)", self.guide)

        assert {name for names in named for name in names if name} <= set(SERVICES)


@contextmanager
def answering(status: int) -> Iterator[str]:
    """A server that answers every request with a status."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("command", HEALTH_CHECKS.values(), ids=HEALTH_CHECKS)
class TestTheHealthCheck:
    @staticmethod
    def exit_code(command: list[str], address: str, **variables: str) -> int:
        program, *arguments = [part.replace("http://127.0.0.1:1416", address) for part in command]
        assert program == "python"
        environment = os.environ | variables
        return subprocess.run(
            [sys.executable, *arguments], env=environment, capture_output=True, timeout=60, check=False
        ).returncode

    def test_the_health_check_succeeds_until_the_service_stops(self, command: list[str]):
        with listening(PREFRAG_INDEX="demo") as served:
            assert self.exit_code(command, served.address) == 0

        assert self.exit_code(command, served.address) == 1

    def test_health_check_fails_if_not_ready_and_uses_no_proxy(self, command: list[str]):
        for status, code in ((503, 1), (200, 0)):
            with answering(status) as address:
                assert self.exit_code(command, address, http_proxy="http://127.0.0.1:9", no_proxy="") == code
