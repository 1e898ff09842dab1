"""Find the model servers that run on this machine on their default ports."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

# The time limit of a request, in seconds. A local server answers at once, or a little later if it is busy with a model.
_SECONDS = 1.0
# How many models of a server are listed at most.
_MAX_MODELS = 50
# A model whose name has more characters is left out.
_NAME_CHARACTERS = 200


@dataclass(frozen=True)
class LocalServer:
    """A model server on this machine."""

    program: str
    base_url: str
    models: tuple[str, ...]


PORTS = {11434: "Ollama", 8080: "llama.cpp", 8000: "vLLM", 1234: "LM Studio", 1337: "Jan"}
# The value of `owned_by` in each program's list of models, by which the program is recognised.
_OWNERS = {"library": "Ollama", "llamacpp": "llama.cpp", "vllm": "vLLM", "organization_owner": "LM Studio"}
# Entries with this `owned_by` are no models but pipelines, which Hayhooks (and so `prefrag serve`) lists as models.
_OWNERS_OF_PIPELINES = ("hayhooks",)


def find_local_servers(ports: Mapping[int, str] | None = None) -> list[LocalServer]:
    """Ask the server on each port of the loopback interface for its models, all servers at the same time."""
    ports = PORTS if ports is None else ports
    with ThreadPoolExecutor() as threads:
        servers = list(threads.map(_ask, ports.keys(), ports.values()))
    return [server for server in servers if server is not None]


def list_models(content: object) -> list[Mapping[str, Any]]:
    """Return the entries of a server's list of models, without those that have no ``id``."""
    listed = content.get("data") if isinstance(content, Mapping) else None
    if not isinstance(listed, list):
        return []
    models = [entry for entry in listed if isinstance(entry, Mapping)]
    models_with_id = [model for model in models if isinstance(model.get("id"), str)]
    return models_with_id[:_MAX_MODELS]


def _ask(port: int, program: str) -> LocalServer | None:
    """Ask the server on a port for its models. ``program`` usually has this port. None without a model to chat with."""
    # Imported here, because most commands need no HTTP client.
    import httpx

    from prefrag.components.generators.context_window import get_json

    try:
        content = get_json(f"http://127.0.0.1:{port}/v1/models", seconds=_SECONDS, uses_proxy=False)
    except (httpx.HTTPError, TimeoutError, ValueError, RecursionError):
        return None
    models = [model for model in list_models(content) if model.get("owned_by") not in _OWNERS_OF_PIPELINES]
    names = tuple(model["id"] for model in models if _can_chat(model["id"]))
    if not names:
        return None
    owner = models[0].get("owned_by")
    return LocalServer(_OWNERS.get(str(owner), program), f"http://127.0.0.1:{port}/v1", names)


def _can_chat(name: str) -> bool:
    """Check by the name of a model that it does not only embed, and that the name can be shown."""
    return "embed" not in name.lower() and name.isprintable() and 0 < len(name) <= _NAME_CHARACTERS
