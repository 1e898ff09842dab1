"""Tokens that let the user at the server's terminal open the page without a key, as in Jupyter.

When `prefrag serve` starts, it makes a secret. Its worker processes print an address that ends in `#` and a token.
Browsers do not send the part after `#`, so it is in no log. The page exchanges each token once, for a cookie.
"""

import hashlib
import hmac
import json
import os
import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import Scope

from prefrag.server.access.browser import open_page
from prefrag.server.http.security import is_loopback

# The environment variable in which `serve` passes the secret to its workers. Users do not set it.
_VARIABLE = "_SERVE_PAGE_TOKEN"
_FIRST = "first"  # what the file that `show` renames is called before there is a token


@contextmanager
def offer_tokens(host: str, port: int, opens_page: bool = False) -> Iterator[None]:
    """Let the workers that start within this context print tokens. This needs a terminal and a server on localhost.

    With `opens_page`, no terminal is needed: the first token is passed to a browser instead.
    """
    os.environ.pop(_VARIABLE, None)
    name, address = _own_name(host), page_address(host, port)
    can_show = opens_page or sys.stdout.isatty()
    if not can_show or not is_loopback(name):
        yield
        return
    with tempfile.TemporaryDirectory(prefix="prefrag-token-", ignore_cleanup_errors=True) as folder:
        Path(folder, _FIRST).touch(mode=0o600)
        os.environ[_VARIABLE] = json.dumps([secrets.token_urlsafe(), folder, address, opens_page])
        try:
            yield
        finally:
            os.environ.pop(_VARIABLE, None)


def page_address(host: str, port: int) -> str:
    """Return the address at which a browser on this machine finds the page of a server that listens on ``host``."""
    name = _own_name(host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def _own_name(host: str) -> str:
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


class PageToken:
    """Checks tokens, which all workers of a server share, and the cookie that the page gets for a token."""

    def __init__(self) -> None:
        """Read the secret of `serve`, if there is one, and hide it from the processes that this process starts."""
        secret, folder, self._address, self._opens_page = json.loads(os.environ.pop(_VARIABLE, '["", "", "", false]'))
        self._folder = Path(folder) if folder else None
        self._cookie = hmac.new(secret.encode(), b"cookie", hashlib.sha256).hexdigest() if secret else ""

    def show(self, used: str = _FIRST) -> bool:
        """Use up a token, given as its hash: replace it by a new one and show that. Return False if it is not valid."""
        if self._folder is None:
            return False
        token = secrets.token_urlsafe()
        try:
            # The folder holds one empty file, whose name is the hash of the valid token. If two workers get the token,
            # only one of them can rename the file. If the folder has been deleted, no token is valid.
            os.rename(self._folder / used, self._folder / _hash(token))
        except OSError:
            return False
        if self._opens_page and used == _FIRST:
            open_page(self._address, f"#token={token}")
        # Print the token only at a terminal, because a file would store it. Printing fails if the terminal is closed.
        with suppress(OSError):
            if sys.stdout.isatty():
                print(f"Open this address on this machine. It works once: {self._address}#token={token}", flush=True)
        return True

    def exchange(self, token: str, scope: Scope) -> Response | None:
        """Exchange a token for the cookie; return None if the token is not valid."""
        if not self.show(_hash(token)):
            return None
        response = Response(status_code=204)
        response.set_cookie(_cookie_name(scope), self._cookie, httponly=True, samesite="strict")
        return response

    def is_held(self, scope: Scope) -> bool:
        """Check whether a request has the cookie."""
        cookie = HTTPConnection(scope).cookies.get(_cookie_name(scope), "")
        return bool(self._cookie) and hmac.compare_digest(cookie.encode(), self._cookie.encode())


def _cookie_name(scope: Scope) -> str:
    """Name the cookie after the server's port, because browsers do not separate the cookies of two ports."""
    return f"prefrag-{(scope.get('server') or ('', 0))[1]}"


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
