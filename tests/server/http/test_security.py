"""The security checks in front of the application, one by one."""

from typing import Any

import pytest

from prefrag.server.http.security import comes_from_this_machine, is_loopback, is_open
from tests.for_each import for_each


class TestOpenPaths:
    @for_each(
        "path",
        *("/prefrag/run", "/v1/chat/completions", "/ready", "/openapi.json", "/status/prefrag", "/"),
        *("/page/main.js", "/pipelines"),
    )
    def test_served_paths_are_open(self, path: str):
        assert is_open(path)

    @for_each(
        "path",
        *("", "/deploy-yaml", "/docs", "/redoc", "/page/", "/page/../x.js", "/page/main", "/run", "/a/b/run"),
        *("/ready/x", "/v1/files", "/ready\n"),
    )
    def test_other_paths_are_closed(self, path: str):
        assert not is_open(path)

    def test_drawing_stays_closed_as_it_sends_the_graph_outside(self):
        assert not is_open("/draw/prefrag", open_deploy=True)
        assert is_open("/undeploy/prefrag", open_deploy=True)


LOCAL = [{}, {"client": ("127.8.8.8", 1)}, {"server": ("testserver", 80)}, {"headers": [(b"host", b"[::1]:1416")]}]
ELSEWHERE = [
    *({"client": client} for client in (None, ("", 1), ("192.168.1.5", 1), ("2001:db8::1", 1))),
    *({"server": (address, 1416)} for address in ("192.168.1.5", "::")),
    *({"headers": [(b"host", host)]} for host in (b"[", b"[::1", b"a b", b"", b"rebound.example", b"192.168.1.5:1416")),
    *(
        {"headers": [(b"host", b"localhost"), (name, b"")]}
        for name in (
            *(b"x-forwarded-for", b"x-forwarded-proto", b"forwarded", b"via", b"x-real-ip", b"x-client-ip"),
            *(b"cf-connecting-ip", b"cf-ray", b"true-client-ip", b"x-original-host"),
        )
    ),
    # Simple proxies use this version.
    {"http_version": "1.0"},
]


@for_each("change, local", *((one, True) for one in LOCAL), *((one, False) for one in ELSEWHERE))
def test_request_is_local_only_if_no_proxy_has_forwarded_it(change: dict[str, Any], local: bool):
    scope = {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 1416), "headers": [(b"host", b"localhost:1416")]}

    assert comes_from_this_machine({"type": "http", "http_version": "1.1", **scope, **change}) is local


FOREIGN = {"Origin": "https://elsewhere.example"}


class TestAPageOfAnotherSite:
    @for_each(
        "headers, status",
        (FOREIGN, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://testserver:1"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site"}, 403),
        ({"Sec-Fetch-Site": "none"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({"Origin": "http://testserver"}, 200),
        ({}, 200),
    )
    def test_reads_no_documents_and_gives_no_feedback(self, served: Any, headers: dict[str, str], status: int):
        client = served()
        feedback = {"rating": "up", "result": {"question": "Who?"}}

        assert client.get("/collections", headers=headers).status_code == status
        assert client.post("/feedback", json=feedback, headers=headers).status_code == status
        for path in ("/collections/default/documents/a/pages/1", "/collections/default/questions"):
            assert (client.get(path, headers=headers).status_code == 403) is (status == 403)

    def test_does_if_the_administrator_names_it(self, served: Any, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_CORS_ORIGINS", FOREIGN["Origin"])

        assert served().get("/collections", headers=FOREIGN).status_code == 200

    def test_does_if_it_has_a_key(self, serve: Any, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_API_KEYS", "secret")

        headers = {**FOREIGN, "Authorization": "Bearer secret"}
        assert serve().get("/collections", headers=headers).status_code == 200


@for_each(
    "host, loopback",
    ("127.0.0.1", True),
    ("127.8.8.8", True),
    ("::1", True),
    ("localhost", True),
    ("0.0.0.0", False),
    ("::", False),
    ("192.168.1.5", False),
    ("example.org", False),
    ("localhost.example.org", False),
)
def test_what_only_this_machine_reaches(host: str, loopback: bool):
    assert is_loopback(host) is loopback
