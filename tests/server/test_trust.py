"""Who is trusted: every route for each kind of caller, and the token with which the page needs no key."""

import os
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
from starlette.testclient import TestClient

from prefrag.server.access.keys import add_key
from prefrag.server.access.page_token import PageToken, offer_tokens

Serve = Callable[..., TestClient]
NAMES = "/access /pipelines /status /status/prefrag /models /v1/models /open-webui/v1/models /openapi.json /collections"
CHATS = "/chat/completions /v1/chat/completions /open-webui/v1/chat/completions"
# Whom each route is for (probes, a browser without a key, keys, keys that write, nobody), and the status that they get.
ROUTES = {
    (method, path): (who, status)
    for method, who, status, paths in [
        ("GET", "probe", 200, "/live /ready"),
        ("GET", "page", 200, "/ /page/main.js"),
        ("GET", "read", 200, f"{NAMES} /metrics"),
        ("GET", "read", 404, "/collections/no/documents /collections/no/documents/no /collections/no/passages/no"),
        ("GET", "read", 404, "/collections/no/documents/no/original /collections/no/documents/no/pages/1"),
        ("GET", "read", 404, "/collections/no/questions /collections/no/proof"),
        ("PUT", "read", 422, "/collections/no/web"),
        # A pipeline could have that name.
        ("POST", "read", 405, "/page/run"),
        ("POST", "read", 422, f"/prefrag/run /feedback {CHATS}"),
        ("POST", "write", 404, "/collections/no/documents"),
        ("DELETE", "write", 404, "/collections/no /collections/no/documents/no"),
        ("POST", "nobody", 403, "/access"),
        ("POST", "nobody", 404, "/deploy_files"),
        ("GET", "nobody", 404, "/docs /redoc"),
    ]
    for path in paths.split()
}
OWN = {"Origin": "http://testserver"}


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Callable[[], str]]:
    """A terminal; returns the token that it showed last."""
    shows = SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("prefrag.server.access.page_token.sys", shows)
    with offer_tokens("127.0.0.1", 1416):
        yield lambda: re.findall(r"http://127\.0\.0\.1:1416/#token=(\S+)\n", capsys.readouterr().out)[-1]


def exchange(client: TestClient, token: str, **headers: str) -> str:
    """Exchange a token for a cookie."""
    response = client.post("/access", headers={**OWN, **bearer(token), **headers})
    client.cookies.clear()
    return response.headers["set-cookie"] if response.status_code == 204 else ""


def outcome(who: str, status: int, may: str, with_keys: bool, path: str) -> int:
    if who in ("probe", "nobody") or (who == "page" and with_keys):
        return status
    if not may:
        return 401 if with_keys else 403
    # A page of another site may ask, but sees no documents and gives no feedback.
    is_closed = may == "ask" and path.startswith(("/collections", "/feedback"))
    return 403 if is_closed or (who, may) == ("write", "read") else status


@pytest.mark.slow
def test_every_route_answers_each_caller_as_far_as_it_is_trusted(serve: Serve, terminal: Callable[[], str]):
    client = serve()
    cookie = {"Cookie": exchange(client, terminal()).partition(";")[0]}
    page = {**cookie, **OWN}
    # What each caller may do without keys, and with keys.
    callers = {
        "nothing": ({}, "read", ""),
        "a wrong key": (bearer("wrong"), "read", ""),
        "the page, with an old key": ({**page, **bearer("wrong")}, "write", "write"),
        "its cookie alone": (cookie, "read", ""),
        "its cookie from another port": ({**cookie, "Origin": "http://testserver:8080"}, "ask", ""),
        "its cookie from another site": ({**page, "Sec-Fetch-Site": "cross-site"}, "ask", ""),
        "a false cookie": ({**OWN, "Cookie": "prefrag-80=" + "0" * 64}, "read", ""),
        "the page through a proxy": ({**page, "X-Forwarded-For": "203.0.113.9"}, "", ""),
        "the page under a foreign name": ({**page, "Host": "a.example", "Origin": "http://a.example"}, "", ""),
    }

    def wrong(with_keys: bool) -> list[tuple[str, tuple[str, str], int, int]]:
        return [
            (name, route, status, wanted)
            for name, (headers, *may) in callers.items()
            for route, (who, allowed) in ROUTES.items()
            if (wanted := outcome(who, allowed, may[with_keys], with_keys, route[1]))
            != (status := client.request(*route, headers=headers).status_code)
        ]

    assert wrong(with_keys=False) == []
    # A key that is made later does not lock out callers with the cookie.
    reads, writes = bearer(add_key("ada")), bearer(add_key("ben", writes=True))
    callers["a key that reads, on the page"] = ({**page, **reads}, "", "read")
    callers["a key that writes, through a proxy"] = ({**writes, "Via": "1.1 proxy"}, "", "write")
    assert wrong(with_keys=True) == []
    described = client.get("/openapi.json", headers=reads).json()["paths"]
    filled = {
        path: re.sub(
            "{pipeline_name}", "prefrag", re.sub("{page}", "1", re.sub("{(name|document|passage)}", "no", path))
        )
        for path in described
    }
    assert {(method.upper(), filled[path]) for path, each in described.items() for method in each} <= ROUTES.keys()


def test_a_key_can_be_required_before_there_is_one(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, terminal: Callable[[], str]
):
    monkeypatch.setenv("PREFRAG_REQUIRE_KEY", "on")
    client = serve()

    found = {route: client.request(*route).status_code for route in ROUTES}
    assert found == {route: outcome(who, status, "", True, route[1]) for route, (who, status) in ROUTES.items()}
    page = {"Cookie": exchange(client, terminal()), **OWN}
    assert client.get("/access", headers=page).json()["writes"] is True


class TestToken:
    def test_is_exchanged_once_by_the_page_alone_for_a_cookie(self, serve: Serve, terminal: Callable[[], str]):
        """Others cannot use it."""

        client, first = serve(), terminal()
        for headers in ({"Origin": "http://a.example"}, {"Sec-Fetch-Site": "same-site"}, {"Via": "1.1 proxy"}):
            assert exchange(client, first, **headers) == ""

        value, *attributes = exchange(client, first).split("; ")

        assert sorted(attributes) == ["HttpOnly", "Path=/", "SameSite=strict"]
        assert first not in value
        second = terminal()
        assert "the terminal shows now" in client.post("/access", headers={**OWN, **bearer(first)}).json()["detail"]
        assert exchange(client, second).startswith(value)

    def test_is_shared_by_all_workers_until_its_folder_is_cleared(self, terminal: Callable[[], str]):
        offered = os.environ["_SERVE_PAGE_TOKEN"]
        first = PageToken()
        assert "_SERVE_PAGE_TOKEN" not in os.environ
        os.environ["_SERVE_PAGE_TOKEN"] = offered
        second, scope = PageToken(), {"type": "http", "headers": []}

        assert [first.show(), second.show()] == [True, False]
        token = terminal()
        cookie, nothing = second.exchange(token, scope), first.exchange(token, scope)
        assert nothing is None
        given = {"type": "http", "headers": [(b"cookie", cookie.headers["set-cookie"].encode())]}
        assert [each.is_held(given) for each in (first, second, PageToken())] == [True, True, False]
        for file in first._folder.iterdir():
            file.unlink()
        assert first.exchange(terminal(), scope) is None

    @pytest.mark.parametrize(
        ("host", "address"),
        [("0.0.0.0", "127.0.0.1:1"), ("::", "[::1]:1"), ("localhost", "localhost:1"), ("192.168.1.5", None)],
    )
    def test_is_shown_with_an_address_of_this_machine(
        self, terminal: Callable[[], str], capsys: pytest.CaptureFixture[str], host: str, address: str | None
    ):
        with offer_tokens(host, 1):
            assert PageToken().show() is bool(address)

        assert f"http://{address}/#token=" in capsys.readouterr().out or not address

    def test_is_not_written_to_a_file_or_a_pipe(self, capsys: pytest.CaptureFixture[str]):
        with offer_tokens("127.0.0.1", 1):
            assert not PageToken().show()

        assert capsys.readouterr().out == ""
