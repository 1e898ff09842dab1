"""The gates in front of the application, one by one."""

from __future__ import annotations

import pytest

from prefrag.server.keys import _stays_on_this_machine, is_loopback
from prefrag.server.security import is_open


class TestOpenPaths:
    @pytest.mark.parametrize(
        "path",
        [
            "/prefrag/run",
            "/v1/chat/completions",
            "/ready",
            "/docs",
            "/status/prefrag",
            "/",
            "/page/main.js",
            "/pipelines",
        ],
    )
    def test_what_is_served(self, path: str):
        assert is_open(path)

    @pytest.mark.parametrize(
        "path",
        [
            "",
            "/deploy-yaml",
            "/page/",
            "/page/../x.js",
            "/page/main",
            "/run",
            "/a/b/run",
            "/ready/x",
            "/v1/files",
            "/ready\n",
        ],
    )
    def test_what_is_not(self, path: str):
        assert not is_open(path)

    def test_drawing_stays_closed_because_it_sends_the_graph_to_a_server_outside(self):
        assert not is_open("/draw/prefrag", open_deploy=True)
        assert is_open("/undeploy/prefrag", open_deploy=True)


@pytest.mark.parametrize("host", ["[", "[::1", "a b", ""])
def test_a_name_that_is_none_is_not_of_this_machine(host: str):
    scope = {"type": "http", "server": ("127.0.0.1", 1416), "headers": [(b"host", host.encode())]}

    assert not _stays_on_this_machine(scope)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.168.1.5", False),
        ("example.org", False),
        ("localhost.example.org", False),
    ],
)
def test_what_only_this_machine_reaches(host: str, loopback: bool):
    assert is_loopback(host) is loopback
