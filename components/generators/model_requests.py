"""Send requests to model servers.

Connections stay open, so that the next request is faster. The time of a request and the size of its reply are limited.
Temporary failures are retried.

There are two HTTP clients: httpx for the blocking form of a call, and aiohttp for the asynchronous form. Both use the
proxy and the certificates that the environment names.
"""

from __future__ import annotations

import asyncio
import base64
import json
import random
import ssl
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

import tenacity

from prefrag.components.both_ways import call_in_thread, call_matching
from prefrag.errors import BadInput

if TYPE_CHECKING:
    from aiohttp import ClientSession
    from httpx import Client

# The maximum number of bytes of a reply. A faulty server may ignore `max_tokens` and send without end.
MAX_BODY_BYTES = 8_000_000
# The seconds for which an idle connection stays open. vLLM's server, Uvicorn, closes idle connections after five
# seconds, so this client closes its connections earlier.
_IDLE_SECONDS = 4.0
# If a server asks for a longer pause than this number of seconds, there is no further attempt.
_LONGEST_PAUSE = 60.0
# The maximum number of seconds that callers are told to wait, whatever the server says. With a wrong date in its reply,
# a server could otherwise make callers wait for years.
_LONGEST_WAIT = 3_600.0
# The maximum number of bytes of a header. Some gateways send headers that are longer than aiohttp's default limit.
_LONGEST_HEADER = 65_536
# The HTTP statuses of requests that may succeed when they are repeated: 408 (timeout), 409 (conflict) and 429 (too many
# requests). OpenAI's own client repeats a request after a 409, too.
_BUSY = (408, 409, 429)


class NoReply(ConnectionError):
    """The error when a server cannot be reached or breaks off its reply."""

    # The number of attempts that were made.
    attempts = 1


class RefusedByServer(Exception):
    """The error for a reply with another status than 2xx, or with an error in its JSON.

    The message of the error is the text of the reply.
    """

    # The number of attempts that were made.
    attempts = 1

    def __init__(self, status: int, headers: Mapping[str, str], text: str):
        """Make the error from the parts of a reply.

        :param status: The HTTP status. If the JSON of the reply has an error, the status that this error names.
        :param headers: The headers of the reply. Their names are stored in lower case.
        :param text: The text of the reply.
        """
        super().__init__(text)
        self.status = status
        self.headers = {name.lower(): value for name, value in headers.items()}

    @property
    def retry_after(self) -> float | None:
        """The seconds that the server asks to wait before the next call, at most an hour. None if it did not say."""
        seconds = _read_seconds(self.headers.get("retry-after"))
        return None if seconds is None else min(seconds, _LONGEST_WAIT)


class ReplyTooLong(Exception):
    """The error for a reply that is longer than :data:`MAX_BODY_BYTES`."""


@dataclass(frozen=True)
class Request:
    """A request to a model server.

    :param url: The address.
    :param headers: The headers.
    :param body: The JSON text of the request.
    :param timeout: The seconds that the request may take, including retries and the pauses between them.
    :param max_retries: The maximum number of further attempts after a temporary failure.
    :param watch: A function that is called whenever more of the reply arrives. It gets the part of the body that has
        arrived. None if nobody watches.
    """

    url: str
    headers: Mapping[str, str]
    body: bytes
    timeout: float
    max_retries: int
    watch: Callable[[bytearray], None] | None = None


def find_address(base_url: str, path: str) -> tuple[str, dict[str, str]]:
    """Build the URL and the headers of a request. A user name and a password move from the URL into a header.

    For example, ``find_address("http://localhost:8000/v1", "models")`` returns
    ``("http://localhost:8000/v1/models", {})``.

    :param base_url: The root of the server's interface.
    :param path: The path below the root.
    :returns: The URL without user name and password, and the header with both. There is no header without a user name.
    """
    parts = urlsplit(base_url)
    _, _, host_and_port = parts.netloc.rpartition("@")
    root_path = parts.path.rstrip("/")
    url = parts._replace(netloc=host_and_port, path=f"{root_path}/{path}", fragment="").geturl()
    if not parts.username:
        return url, {}

    user = unquote(parts.username)
    password = unquote(parts.password or "")
    encoded = base64.b64encode(f"{user}:{password}".encode()).decode()
    return url, {"Authorization": f"Basic {encoded}"}


def connect(url: str) -> None:
    """Prepare the HTTP clients, so that the first request is not slower than others. Nothing is sent.

    :param url: The address of later requests.
    :raises BadInput: When the environment names a proxy of another kind than http and https.
    """
    # A session of aiohttp cannot be opened here, because it belongs to an event loop. But the import, which takes the
    # most time, is done here.
    import aiohttp  # noqa: F401

    proxy, certificates = _route(url)
    _client(proxy, certificates)


async def send_async(request: Request) -> bytes:
    """Send a request, and repeat it after temporary failures.

    :param request: The request.
    :returns: The body of the reply.
    :raises NoReply: When the server cannot be reached or breaks off its reply.
    :raises RefusedByServer: When the server refuses the request.
    :raises ReplyTooLong: When the reply is longer than the limit.
    :raises TimeoutError: When the time is up.
    """
    deadline = time.monotonic() + request.timeout
    most_attempts = tenacity.stop_after_attempt(request.max_retries + 1)
    # There is no further attempt if it would begin after the deadline.
    time_is_up = tenacity.stop_before_delay(request.timeout)
    retry: dict[str, Any] = {
        "stop": tenacity.stop_any(most_attempts, time_is_up),
        "retry": tenacity.retry_if_exception(_is_temporary),
        "wait": _pause_after,
        "after": _note_attempts,
        "reraise": True,
    }
    post = partial(tenacity.Retrying(**retry), _post)
    post_async = partial(tenacity.AsyncRetrying(**retry), _post_async)
    return await call_matching(post, post_async, request, deadline)


def _is_temporary(error: BaseException) -> bool:
    """Check whether another attempt may succeed after an error."""
    return _find_pause(error, 1) is not None


def _pause_after(state: tenacity.RetryCallState) -> float | None:
    """Return the seconds to wait after an attempt. This function is only called after a temporary failure."""
    assert state.outcome is not None
    error = state.outcome.exception()
    assert error is not None
    return _find_pause(error, state.attempt_number)


def _note_attempts(state: tenacity.RetryCallState) -> None:
    """Write the number of attempts into the error of the last attempt."""
    state.outcome.exception().attempts = state.attempt_number  # type: ignore[union-attr]


def _find_pause(error: BaseException, attempts: int) -> float | None:
    """Return the seconds to wait before the next attempt.

    :param error: The error of the last attempt.
    :param attempts: The number of attempts so far.
    :returns: The seconds, or None if another attempt is pointless.
    """
    if not isinstance(error, NoReply | RefusedByServer):
        return None

    if isinstance(error, RefusedByServer):
        may_succeed = error.status in _BUSY or error.status >= 500
        # A server may say in this header whether another attempt may succeed. It knows this best.
        advice = error.headers.get("x-should-retry")
        if advice in ("true", "false"):
            may_succeed = advice == "true"
        if not may_succeed:
            return None

        milliseconds = _read_seconds(error.headers.get("retry-after-ms"))
        wished_pause = error.retry_after if milliseconds is None else milliseconds / 1_000
        if wished_pause and wished_pause > _LONGEST_PAUSE:
            return None
        if wished_pause:
            return wished_pause

    # The pause is about half a second after the first attempt. It doubles with each attempt, up to eight seconds. A
    # random factor keeps clients that failed at the same time from trying again at the same time.
    pause = min(0.5 * 2.0 ** (attempts - 1), 8.0)
    return pause * random.uniform(0.75, 1)


def _read_seconds(header: str | None) -> float | None:
    """Read how long to wait from a header.

    For example, ``_read_seconds("2.5")`` returns ``2.5``. For a date, the function returns the seconds until this date,
    or 0 if the date is past.

    :param header: A number, or a date in the form of HTTP. None if the reply has no such header.
    :returns: The seconds, or None if the header is neither.
    """
    text = (header or "").strip()
    try:
        # A text of 20 characters or more is not read as a number, because nobody means so many seconds.
        if len(text) < 20 and text.replace(".", "", 1).isdecimal():
            return float(text)
        pause = parsedate_to_datetime(text) - datetime.now(UTC)
        return max(0.0, pause.total_seconds())
    except (ValueError, TypeError, OverflowError):
        return None


def _post(request: Request, deadline: float) -> bytes:
    """Make one attempt in the blocking form. ``deadline`` is a time of ``time.monotonic``."""
    seconds = max(0.001, deadline - time.monotonic())
    receive = partial(_receive, request, seconds, deadline)
    # The timeout of httpx restarts whenever data arrives, so a reply that comes byte by byte could last for ever. The
    # request is therefore made in another thread. After the timeout, nobody waits for this thread any more.
    return call_in_thread(receive).result(timeout=seconds)


def _receive(request: Request, seconds: float, deadline: float) -> bytes:
    """Send a request with httpx, and return the body of the reply.

    :param seconds: The seconds that may pass without data.
    :param deadline: The time of ``time.monotonic`` at which the reply must be complete.
    """
    import httpx

    client = _client(*_route(request.url))
    try:
        with client.stream(
            "POST", request.url, content=request.body, headers=dict(request.headers), timeout=seconds
        ) as reply:
            body = bytearray()
            for part in reply.iter_bytes():
                body += part
                if time.monotonic() > deadline:
                    raise TimeoutError
                _look_at(body, request)
            return _accept(reply.status_code, reply.headers, body)
    except httpx.TimeoutException as error:
        raise TimeoutError from error
    except httpx.HTTPError as error:
        raise NoReply(str(error) or type(error).__name__) from error


async def _post_async(request: Request, deadline: float) -> bytes:
    """Make one attempt in the asynchronous form. ``deadline`` is a time of ``time.monotonic``."""
    import aiohttp

    session = await _session()
    proxy, certificates = _route(request.url)
    try:
        async with (
            asyncio.timeout(deadline - time.monotonic()),
            session.post(
                request.url,
                data=request.body,
                headers=request.headers,
                # Redirects are not followed, because a prompt must go only to the configured server.
                allow_redirects=False,
                proxy=proxy,
                # The certificates are only read for https. With True, aiohttp makes its usual checks.
                ssl=certificates or True,
            ) as reply,
        ):
            body = bytearray()
            async for part in reply.content.iter_any():
                body += part
                _look_at(body, request)
            return _accept(reply.status, reply.headers, body)
    except aiohttp.ClientResponseError as error:
        # Only the message is used. The whole text of the error contains the URL, whose query may contain a secret.
        raise NoReply(error.message or type(error).__name__) from error
    except aiohttp.ClientError as error:
        raise NoReply(str(error) or type(error).__name__) from error


def _look_at(body: bytearray, request: Request) -> None:
    """Check the length of the part of a reply that has arrived, and pass this part to the function that watches.

    :raises ReplyTooLong: When the part is longer than the limit.
    """
    if len(body) > MAX_BODY_BYTES:
        raise ReplyTooLong
    if request.watch is not None:
        request.watch(body)


def _accept(status: int, headers: Mapping[str, str], body: bytearray) -> bytes:
    """Return the body of a reply, unless the reply is a refusal.

    :raises RefusedByServer: When the status is not 2xx, or when the body has an error.
    """
    refusal = _find_error(body) if 200 <= status < 300 else status
    if refusal is not None:
        raise RefusedByServer(refusal, headers, body.decode("utf-8", "replace"))
    return bytes(body)


def _find_error(body: bytearray) -> int | None:
    """Find an error in the body of a reply with a status of success.

    For example, ``_find_error(bytearray(b'{"error": {"code": 503}}'))`` returns ``503``.

    :param body: The body of the reply.
    :returns: The HTTP status that the ``code`` of the error names, or 200 if the error names none. None if there is no
        error.
    """
    if b'"error"' not in body:
        return None
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(reply, dict) or reply.get("choices"):
        return None

    error = reply.get("error")
    if not error:
        return None
    code = str(error.get("code")) if isinstance(error, dict) else ""
    has_three_digits = code.isdecimal() and len(code) == 3
    if has_three_digits and int(code) >= 400:
        return int(code)
    return 200


@lru_cache(maxsize=64)
def _route(url: str) -> tuple[str | None, ssl.SSLContext | None]:
    """Find the proxy and the certificates for a URL.

    The results are cached, because reading certificates takes longer than a request.

    :returns: The address of the proxy, or None, and the certificates, or None if nothing is reached by https.
    :raises BadInput: When the environment names a proxy of another kind than http and https.
    """
    parts = urlsplit(url)
    # `NO_PROXY` may list a host together with its port, or an IPv6 address without its brackets. Both forms are tried.
    needs_no_proxy = proxy_bypass(parts.netloc) or proxy_bypass(parts.hostname or "")
    proxies = {} if needs_no_proxy else getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if proxy and "://" not in proxy:
        proxy = f"http://{proxy}"
    # The scheme of the proxy's address, or an empty text if there is no proxy.
    kind = urlsplit(proxy or "").scheme
    if kind not in ("", "http", "https"):
        raise BadInput(f"The environment names a proxy of the kind {kind} for model servers: only http and https work.")
    certificates = _certificates() if "https" in (parts.scheme, kind) else None
    return proxy, certificates


@lru_cache(maxsize=1)
def _certificates() -> ssl.SSLContext:
    """Read the certificates of this machine. They are cached."""
    import httpx

    return httpx.create_ssl_context()


@lru_cache(maxsize=16)
def _client(proxy: str | None, certificates: ssl.SSLContext | None) -> Client:
    """Return the httpx client for a proxy and certificates. Clients are cached, and their connections stay open."""
    import httpx

    limits = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=_IDLE_SECONDS)
    # Without certificates, neither the server nor the proxy is reached by https, so there is nothing to verify.
    return httpx.Client(proxy=proxy, verify=certificates or False, trust_env=False, limits=limits)


# For each event loop: its session, and the generator that closes the session. The generator is stored here because
# Python ends a generator that nothing refers to.
_sessions: dict[asyncio.AbstractEventLoop, tuple[ClientSession, AsyncGenerator[ClientSession, None]]] = {}


async def _session() -> ClientSession:
    """Return the aiohttp session of the running event loop.

    Each loop needs its own session, because connections cannot outlive their loop.
    """
    loop = asyncio.get_running_loop()
    if loop not in _sessions:
        closed_loops = [other for other in list(_sessions) if other.is_closed()]
        for closed in closed_loops:
            # The connections of this loop were closed with it, unless it was closed without ending its generators.
            _sessions.pop(closed, None)
        generator = _open(loop)
        _sessions[loop] = (await anext(generator), generator)
    session, _ = _sessions[loop]
    return session


async def _open(loop: asyncio.AbstractEventLoop) -> AsyncGenerator[ClientSession, None]:
    """Open a session, and close it when the event loop is shut down.

    This is a generator, because an event loop ends its generators when it is shut down. The part after ``yield``, which
    closes the connections, then runs in the loop.
    """
    import aiohttp

    session = aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_IDLE_SECONDS),
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
        timeout=aiohttp.ClientTimeout(total=None),
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    try:
        yield session
    finally:
        _sessions.pop(loop, None)
        await session.close()
