"""A client of an ASGI application, without a network."""

import asyncio
from typing import Any

POST = {"type": "http", "method": "POST", "path": "/prefrag/run", "headers": []}


class Client:
    """The client's side of a request, in place of a network."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.sent: list[dict[str, Any]] = []
        self._body = [{"type": "http.request", "body": b"a", "more_body": True}, {"type": "http.request", "body": b"b"}]

    async def receive(self) -> dict[str, Any]:
        if self._body:
            return self._body.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)
