"""Tokens that let the user at the server's terminal open the page without a key, as in Jupyter.

1. When `prefrag serve` starts, it makes a secret and passes it to its worker processes.
2. A worker prints an address that ends in ``#token=`` and a token. Browsers do not send the part after ``#`` to the
   server, so the token is in no log.
3. The page exchanges the token for a cookie. Each token works only once. Then the worker prints an address with a new
   token.
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
# What stands for that variable if it is not set: no secret, no folder, no address, and no page to open.
_NOTHING_OFFERED = '["", "", "", false]'
# The name of the file in the shared folder before there is a token. `show` renames this file.
_FIRST = "first"


@contextmanager
def offer_tokens(host: str, port: int, opens_page: bool = False) -> Iterator[None]:
    """Let the worker processes that start within this context print tokens.

    This does nothing if the server listens on another host than localhost. It also does nothing if standard output is
    no terminal and no page is to be opened.

    :param host: The address on which the server listens.
    :param port: The port on which it listens.
    :param opens_page: Whether to pass the first token to a browser. Then no terminal is needed.
    """
    os.environ.pop(_VARIABLE, None)
    can_show = opens_page or sys.stdout.isatty()
    if not can_show or not is_loopback(_own_name(host)):
        yield
        return
    address = page_address(host, port)
    with tempfile.TemporaryDirectory(prefix="prefrag-token-", ignore_cleanup_errors=True) as folder:
        Path(folder, _FIRST).touch(mode=0o600)
        os.environ[_VARIABLE] = json.dumps([secrets.token_urlsafe(), folder, address, opens_page])
        try:
            yield
        finally:
            os.environ.pop(_VARIABLE, None)


def page_address(host: str, port: int) -> str:
    """Return the address at which a browser on this machine finds the page.

    For example, ``page_address("0.0.0.0", 1416)`` returns ``"http://127.0.0.1:1416/"``.

    :param host: The address on which the server listens.
    :param port: The port on which it listens.
    """
    name = _own_name(host)
    return f"http://[{name}]:{port}/" if ":" in name else f"http://{name}:{port}/"


def _own_name(host: str) -> str:
    """Return the address of this machine for a server that listens on all addresses, else ``host`` itself."""
    return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)


class PageToken:
    """Checks the tokens, which all workers of a server share, and the cookie that the page gets for a token."""

    def __init__(self) -> None:
        """Read the secret that `serve` has made. Without one, no token and no cookie is valid.

        The environment variable is deleted, so that the processes that this process starts cannot read the secret.
        """
        secret, folder, self._address, self._opens_page = json.loads(os.environ.pop(_VARIABLE, _NOTHING_OFFERED))
        self._folder = Path(folder) if folder else None
        self._cookie = hmac.new(secret.encode(), b"cookie", hashlib.sha256).hexdigest() if secret else ""

    def show(self, used: str = _FIRST) -> bool:
        """Use up a token, replace it by a new token, and show the new token.

        :param used: The hash of the token. By default, there was no token yet.
        :returns: True if the token was valid. False if not; then no new token is made.
        """
        if self._folder is None:
            return False
        token = secrets.token_urlsafe()
        try:
            # The folder has a single empty file, whose name is the hash of the valid token. If two workers receive the
            # token, only one of them can rename the file. If the folder has been deleted, no token is valid.
            os.rename(self._folder / used, self._folder / _hash(token))
        except OSError:
            return False
        if self._opens_page and used == _FIRST:
            open_page(self._address, f"#token={token}")
        # Print the token only at a terminal. If the output went to a file, the file would store the token. Printing
        # fails if the terminal has been closed.
        with suppress(OSError):
            if sys.stdout.isatty():
                print(f"Open this address on this machine. It works once: {self._address}#token={token}", flush=True)
        return True

    def exchange(self, token: str, scope: Scope) -> Response | None:
        """Exchange a token for the cookie.

        :param token: The token that the page has sent.
        :param scope: The request of the page.
        :returns: The reply that sets the cookie. None if the token is not valid.
        """
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
    """Return the name of the cookie, such as ``prefrag-1416``.

    The name contains the server's port, because browsers do not separate the cookies of two ports.
    """
    _, port = scope.get("server") or ("", 0)
    return f"prefrag-{port}"


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
