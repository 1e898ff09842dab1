"""Hide routes that are not meant to be served, and recognise where a request comes from.

Hayhooks has routes that we do not serve, such as those that deploy pipelines. The functions of this module tell whether
a request comes from this machine, from the server's own page, or from a page of another site.
"""

import ipaddress
import re
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from prefrag.settings import settings

# The paths that are served. If a later version of Hayhooks adds routes, they get 404 until they are added here.
#
# - The page: "/" and "/page/main.js".
# - Probes and the description of the API: "/ready", "/live", "/status", "/status/prefrag", "/metrics", "/openapi.json".
# - Pipelines: "/pipelines", "/prefrag/run", "/v1/models", "/models", "/v1/chat/completions", "/chat/completions" and
#   "/mcp".
# - Documents: "/collections", "/collections/tax", "/collections/tax/documents", "/collections/tax/documents/3f2a",
#   "/collections/tax/documents/3f2a/original", "/collections/tax/documents/3f2a/pages/1",
#   "/collections/tax/passages/3f2a", "/collections/tax/questions", "/collections/tax/proof", "/collections/tax/web".
# - Keys and feedback: "/access" and "/feedback".
#
# "/deploy_files" does not match.
_SERVED_PATHS = re.compile(
    r"/(|page/[\w-]+\.\w+|pipelines|ready|live|status|status/[\w.-]+|[\w.-]+/run|(v1/)?models|(v1/)?chat/completions"
    r"|collections|collections/[\w.-]+(/documents(/[\w-]+(/original|/pages/\d+)?)?|/passages/.+|/questions|/proof|/web)?"
    r"|access|feedback|mcp|metrics|openapi\.json)"
)
# The name of a header that proxies and tunnels add, in small letters. "x-forwarded-for", "forwarded", "via",
# "x-real-ip", "true-client-ip", "cf-connecting-ip" and "cf-ray" match. "host" does not.
_FORWARDING = re.compile(r".*forwarded.*|via|(.*-)?(real|client|connecting)-ip|(cf|x-original|x-envoy)-.*")
# The paths that deploy or remove pipelines: "/deploy_files", "/deploy-yaml" and "/undeploy/prefrag".
DEPLOY_PATHS = re.compile(r"/(deploy_files|deploy-yaml|undeploy/[\w.-]+)")


def is_open(path: str, open_deploy: bool = False) -> bool:
    """Check whether a path is served.

    :param path: The path of a request.
    :param open_deploy: Whether the routes that deploy pipelines are served too.
    """
    if _SERVED_PATHS.fullmatch(path):
        return True
    return open_deploy and DEPLOY_PATHS.fullmatch(path) is not None


class OpenRoutes:
    """Answer 404 for every route that is not meant to be served.

    :param app: The next application.
    :param open_deploy: Whether the routes that deploy pipelines are served.
    """

    def __init__(self, app: ASGIApp, open_deploy: bool):
        self.app = app
        self.open_deploy = open_deploy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer 404."""
        if scope["type"] == "http" and not is_open(path_of(scope), self.open_deploy):
            await refuse(scope, receive, send, 404, "Not Found")
            return
        await self.app(scope, receive, send)


def path_of(scope: Scope) -> str:
    """Return the path of a request, without the prefix under which a proxy serves the application.

    :param scope: The request. Its `root_path` is the prefix.
    """
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


def is_loopback(host: str) -> bool:
    """Check whether a host name or address can only be reached from this machine.

    For example, this is so for ``"localhost"``, ``"127.0.0.1"`` and ``"::1"``, but not for ``"10.0.0.7"``.

    :param host: The name or address, without a port.
    """
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def comes_from_this_machine(scope: Scope) -> bool:
    """Check whether a request came directly from this machine, and was sent to one of this machine's names.

    The name is checked because of DNS rebinding: an attacker can make the name of a website lead to this machine.
    Requests from a proxy do not count, because their clients may be elsewhere. A proxy is recognised by its headers, or
    by HTTP/1.0, which nginx 1.22 uses by default.

    :param scope: The request.
    """
    # A client without an address is unknown. It does not count as a client on this machine.
    client = scope["client"][0] if scope.get("client") else ""
    server = scope["server"][0] if scope.get("server") else "localhost"
    headers = Headers(scope=scope)
    is_from_proxy = scope.get("http_version") == "1.0" or any(_FORWARDING.fullmatch(name) for name in headers)
    if not client or is_from_proxy:
        return False

    for address in (client, server):
        # In tests, client and server are in the same process and have names instead of addresses. Accept names.
        with suppress(ValueError):
            if not ipaddress.ip_address(address).is_loopback:
                return False

    try:
        name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return name == server or is_loopback(name)


def comes_from_own_page(scope: Scope) -> bool:
    """Check whether the headers of a browser say that this server's own page sent the request.

    :param scope: The request. Without such headers, the result is False.
    """
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
    if origin is None and site is None:
        return False
    # A browser may send only one of the two headers.
    own_origin = f"http://{headers.get('host')}"
    return origin in (None, own_origin) and site in (None, "same-origin")


def comes_from_foreign_page(scope: Scope) -> bool:
    """Check whether the headers of a browser say that a page of another site sent the request.

    A site in ``PREFRAG_CORS_ORIGINS`` does not count as another site.

    :param scope: The request. Without such headers, the result is False.
    """
    headers = Headers(scope=scope)
    if "*" in settings.cors_origins or headers.get("origin") in settings.cors_origins:
        return False
    is_of_a_page = "origin" in headers or headers.get("sec-fetch-site", "none") != "none"
    return is_of_a_page and not comes_from_own_page(scope)


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, message: str, headers: dict[str, str] | None = None
) -> None:
    """Answer a request with an error status and a message, without passing it on.

    :param scope: The request. A request for a WebSocket is closed with the message.
    :param receive: The function that receives its body.
    :param send: The function that sends the reply.
    :param status: The HTTP status.
    :param message: The reason, for the client.
    :param headers: Further headers of the reply. None means none.
    """
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": message})
        return
    await JSONResponse({"detail": message}, status, headers)(scope, receive, send)
