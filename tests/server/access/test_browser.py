"""Opening the page in a browser."""

import socket
from typing import Any
from unittest import mock

import pytest

from prefrag.server.access import browser
from tests.for_each import for_each


@pytest.fixture
def listening() -> Any:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/"


@for_each("screen, opens, shown, said", (1, 1, 0, 0), (1, 0, 0, 1), (0, 1, 0, 1), (0, 1, 1, 0))
def test_token_goes_to_the_browser_or_the_address_is_printed(
    listening: str, capsys: pytest.CaptureFixture[str], screen: int, opens: int, shown: int, said: int
):
    """The address is printed without a browser, and if no terminal shows the token."""

    with (
        mock.patch.object(browser, "_has_screen", return_value=screen),
        mock.patch.object(browser.sys.stdout, "isatty", return_value=bool(shown)),
        mock.patch.object(browser.webbrowser, "open", return_value=opens) as opened,
    ):
        browser._open(listening, "#token=x")

    assert opened.mock_calls == [mock.call(f"{listening}#token=x")] * screen
    printed = capsys.readouterr().out
    assert printed == (f"There is no browser to open. The page is at {listening}\n" if said else "")
