"""Hide routes of Hayhooks that are not meant to be served, and recognise requests that come from this machine."""

import ipaddress
import re
from contextlib import suppress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from prefrag.settings import settings

# The paths that are served. If a later version of Hayhooks adds routes, they get 404 until they are added here.
_SERVED_PATHS = re.compile(
    r"/(|page/[\w-]+\.\w+|pipelines|ready|live|status|status/[\w.-]+|[\w.-]+/run|(v1/)?models|(v1/)?chat/completions"
    r"|collections|collections/[\w.-]+(/documents(/[\w-]+(/original|/pages/\d+)?)?|/passages/.+|/questions|/proof|/web)?"
    r"|access|feedback|mcp|metrics|openapi\.json)"
)
# Headers of proxies and tunnels: X-Forwarded-For, Forwarded, Via, X-Real-IP, True-Client-IP, CF-Connecting-IP, CF-Ray.
_FORWARDING = re.compile(r".*forwarded.*|via|(.*-)?(real|client|connecting)-ip|(cf|x-original|x-envoy)-.*")
DEPLOY_PATHS = re.compile(r"/(deploy_files|deploy-yaml|undeploy/[\w.-]+)")


def is_open(path: str, open_deploy: bool = False) -> bool:
    """Check whether a path is served. With ``open_deploy``, the routes that deploy pipelines are served too."""
    if _SERVED_PATHS.fullmatch(path):
        return True
    return open_deploy and DEPLOY_PATHS.fullmatch(path) is not None


class OpenRoutes:
    """Answer 404 for every route that is not meant to be served."""

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
    """Get the path of a request, without the prefix under which a proxy serves the application."""
    return str(scope["path"]).removeprefix(scope.get("root_path", ""))


def is_loopback(host: str) -> bool:
    """Check whether a host name or address can only be reached from this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def comes_from_this_machine(scope: Scope) -> bool:
    """Check whether a request came directly from this machine, and was sent to one of this machine's names.

    The name is checked because an attacker can make a website's name resolve to this machine (DNS rebinding). Requests
    from a proxy do not count. A proxy is recognised by its headers, or by HTTP/1.0, which nginx 1.22 uses by default.
    """
    # Without an address, a client is unknown, and so it is not from this machine.
    client = scope["client"][0] if scope.get("client") else ""
    address = scope["server"][0] if scope.get("server") else "localhost"
    headers = Headers(scope=scope)
    if not client or scope.get("http_version") == "1.0" or any(_FORWARDING.fullmatch(name) for name in headers):
        return False
    for end in (client, address):
        # In tests, client and server are in one process and have names instead of addresses. Names are accepted.
        with suppress(ValueError):
            if not ipaddress.ip_address(end).is_loopback:
                return False
    try:
        name = urlsplit(f"//{headers.get('host', '')}").hostname or ""
    except ValueError:
        return False
    return name == address or is_loopback(name)


def comes_from_own_page(scope: Scope) -> bool:
    """Check whether a browser's headers say that this server's own page sent the request."""
    headers = Headers(scope=scope)
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    if origin is None and site is None:
        return False
    return origin in (None, f"http://{headers.get('host')}") and site in (None, "same-origin")


def comes_from_foreign_page(scope: Scope) -> bool:
    """Check whether a browser's headers say that a page of another site sent the request, which no setting allows."""
    headers = Headers(scope=scope)
    if {headers.get("origin"), "*"}.intersection(settings.cors_origins):
        return False
    is_of_a_page = "origin" in headers or headers.get("sec-fetch-site", "none") != "none"
    return is_of_a_page and not comes_from_own_page(scope)


async def refuse(
    scope: Scope, receive: Receive, send: Send, status: int, message: str, headers: dict[str, str] | None = None
) -> None:
    """Answer a request with an error status and a message, without passing it on."""
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008, "reason": message})
        return
    await JSONResponse({"detail": message}, status, headers)(scope, receive, send)
