"""Find the model servers that run on this machine, at the ports that they use by default."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# A server of this machine answers at once; one that is busy with a model may take a little.
_SECONDS = 1.0
_MAX_BYTES = 1_000_000
_MAX_MODELS = 50
_NAME_CHARACTERS = 200


@dataclass(frozen=True)
class LocalServer:
    """A model server on this machine."""

    program: str
    base_url: str
    models: tuple[str, ...]


PORTS = {11434: "Ollama", 8080: "llama.cpp", 8000: "vLLM", 1234: "LM Studio"}
# What they name as the owner of their models.
_OWNERS = {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "organization_owner": "LM Studio"}
# A service like this one lists its pipelines as models.
_NO_MODELS = ("hayhooks",)


def find_local_servers(ports: Mapping[int, str] | None = None) -> list[LocalServer]:
    """Find them: each port is asked for its models, all at once, and only on the loopback interface."""
    import asyncio

    ports = PORTS if ports is None else ports

    async def ask_all() -> list[LocalServer | None]:
        return await asyncio.gather(*(_ask(port, program) for port, program in ports.items()))

    return [server for server in asyncio.run(ask_all()) if server is not None]


def list_models(content: Any) -> list[Mapping[str, Any]]:
    """Read a list of models as servers write it."""
    listed = content.get("data") if isinstance(content, Mapping) else None
    if not isinstance(listed, list):
        return []
    return [one for one in listed if isinstance(one, Mapping) and isinstance(one.get("id"), str)][:_MAX_MODELS]


async def _ask(port: int, program: str) -> LocalServer | None:
    # Imported here, because most commands need no client. Plain HTTP has no certificates that would have to be read.
    import asyncio

    import httpx

    body = b""
    try:
        # Without the environment, whose proxy is none for this machine.
        async with (
            asyncio.timeout(_SECONDS),
            httpx.AsyncClient(trust_env=False, verify=False) as client,
            client.stream("GET", f"http://127.0.0.1:{port}/v1/models") as response,
        ):
            async for part in response.aiter_bytes():
                body += part
                if response.status_code != 200 or len(body) > _MAX_BYTES:
                    return None
        content = json.loads(body)
    except (httpx.HTTPError, TimeoutError, ValueError, RecursionError):
        return None
    models = [one for one in list_models(content) if one.get("owned_by") not in _NO_MODELS]
    names = tuple(one["id"] for one in models if _can_chat(one["id"]))
    if not names:
        return None
    owner = models[0].get("owned_by")
    return LocalServer(_OWNERS.get(str(owner), program), f"http://127.0.0.1:{port}/v1", names)


def _can_chat(name: str) -> bool:
    return "embed" not in name.lower() and name.isprintable() and 0 < len(name) <= _NAME_CHARACTERS
