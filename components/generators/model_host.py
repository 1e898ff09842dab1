"""Find out where a model runs: on this machine, on a host that the administrator counts as local, or elsewhere.

A model that runs elsewhere receives every passage that a prompt contains.
"""

import inspect
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Literal
from urllib.parse import urlsplit

from haystack.utils import Secret

from prefrag.components.parts import read_attribute, walk_parts
from prefrag.errors import PrefragError
from prefrag.settings import settings

Role = Literal["llm", "embedder", "ranker"]

THIS_MACHINE = "localhost"
UNKNOWN = "unknown"
_SWITCH = "PREFRAG_REMOTE_MODEL"

_HOST_NAME = re.compile(r"(?:\*\.)?[\w-]+(?:\.[\w-]+)*")
# The attributes in which Haystack's chat generators, embedders and rankers store the address of their server.
_ADDRESSES = ("api_base_url", "azure_endpoint", "api_url", "base_url", "url")
# Components of Haystack and its integrations that run in this process.
_IN_PROCESS = re.compile(r"Transformers|HuggingFaceLocal|LlamaCpp|Fastembed|Optimum")
_ROLE_OF_NAME: dict[str, Role] = {"Generator": "llm", "Embedder": "embedder", "Ranker": "ranker"}


class RemoteModelRefused(PrefragError, ValueError):
    """The error for a model that is not on this machine while ``PREFRAG_REMOTE_MODEL`` is off."""

    exit_code = 2


@dataclass(frozen=True)
class Model:
    """A model that a component calls."""

    role: Role
    host: str  # the host on which it runs, without user, port and path; ``unknown`` if it cannot be found out


def read_host(url: str) -> str:
    """Read the host of an address."""
    try:
        return urlsplit(url if "://" in url else f"//{url}").hostname or UNKNOWN
    except ValueError:
        return UNKNOWN


def is_local(host: str) -> bool:
    """Check whether a host is this machine or in ``PREFRAG_LOCAL_HOSTS``. Names are compared as text, without DNS."""
    return _is_local(host, settings.local_hosts)


def find_models(part: object) -> list[Model]:
    """Find the models that a component and its nested parts call.

    The attribute ``model_host`` of a component names the host of its model. Components without it are searched for the
    address of a server. If a chat generator or an embedder has no address either, its host is ``unknown``. If a
    component has an attribute ``model_parts``, only this list of its parts is searched.
    """
    placed: list[tuple[str, Model]] = []
    unplaced: list[tuple[str, Model]] = []
    for path, inner in walk_parts(part, descend=lambda inner_part: not _shows_its_models(inner_part)):
        called = read_attribute(inner, "model_parts")
        if called is not None:
            placed += [(path, model) for model in find_models(called)]
        elif model := _locate(inner):
            placed.append((path, model))
        # A ranker may work without a model, but a generator or an embedder always calls a model somewhere.
        elif (role := _role(inner)) in ("llm", "embedder"):
            unplaced.append((path, Model(role, UNKNOWN)))
    # A component that has no address but contains models only passes calls on to them. It is no model itself.
    places = [path for path, _ in [*placed, *unplaced]]
    placed += [(path, model) for path, model in unplaced if not any(_is_inside(place, path) for place in places)]
    return [model for _, model in placed]


def find_host(chat_generator: object) -> str:
    """Find the host to which a chat generator sends its prompts."""
    hosts = [model.host for model in find_models(chat_generator)] or [UNKNOWN]
    remote = dict.fromkeys(host for host in hosts if not is_local(host))
    return " or ".join(remote) or hosts[0]


def refuse_remote_models(part: object) -> None:
    """Refuse a component that calls a model on another machine, if the administrator has switched remote models off.

    A value of ``PREFRAG_REMOTE_MODEL`` that is not understood counts as off.
    """
    _read_local_hosts(settings.local_hosts)
    if settings.remote_model:
        return
    remote = [model for model in find_models(part) if not is_local(model.host)]
    if not remote:
        return
    places = dict.fromkeys(
        f"{model.role} at {'an unknown host' if model.host == UNKNOWN else model.host}" for model in remote
    )
    raise RemoteModelRefused(
        f"{_SWITCH} is off, and this would send every passage to a model outside this machine ({', '.join(places)}). "
        f"If the host is yours, name it in PREFRAG_LOCAL_HOSTS; else use a local model, or set {_SWITCH}=on."
    )


@lru_cache(maxsize=256)
def _is_local(host: str, local_hosts: tuple[str, ...]) -> bool:
    name = _normalise(host)
    address = _read_address(name)
    if name == THIS_MACHINE or (address is not None and address.is_loopback):
        return True
    for entry in _read_local_hosts(local_hosts):
        if not isinstance(entry, str):
            matches = address is not None and address in entry
        else:
            matches = name.endswith(entry[1:]) if entry.startswith("*.") else name == entry
        if matches:
            return True
    return False


@lru_cache(maxsize=16)
def _read_local_hosts(entries: tuple[str, ...]) -> list[str | IPv4Network | IPv6Network]:
    read = [_read_network(entry) or entry for entry in map(_normalise, entries)]
    for entry in read:
        if isinstance(entry, str) and not _HOST_NAME.fullmatch(entry):
            raise ValueError(
                f"PREFRAG_LOCAL_HOSTS holds '{entry}', which is no host: give names, *.domains, addresses or networks "
                "such as 10.0.0.0/8, separated by commas."
            )
    return read


def _normalise(host: str) -> str:
    return host.strip().removeprefix("[").removesuffix("]").removesuffix(".").lower()


def _read_address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _read_network(entry: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def _locate(part: object) -> Model | None:
    role = _role(part)
    host = _find_own_host(part) if role else None
    return Model(role, host) if role and host else None


def _shows_its_models(part: object) -> bool:
    return read_attribute(part, "model_parts") is not None or _locate(part) is not None


def _is_inside(path: str, outer: str) -> bool:
    return path.startswith(f"{outer}.") if outer else bool(path)


def _is_serialised(part: object) -> bool:
    return isinstance(part, dict) and isinstance(part.get("type"), str) and "." in part["type"]


def _attributes(part: Any) -> Mapping[str, Any]:
    if _is_serialised(part):
        return part.get("init_parameters") or {}
    return getattr(part, "__dict__", {})


def _names(part: Any) -> list[str]:
    if _is_serialised(part):
        return [part["type"].rpartition(".")[2]]
    return [ancestor.__name__ for ancestor in type(part).__mro__]


def _role(part: object) -> Role | None:
    """Find the kind of model that a component is, from its inputs and outputs; None if it is no model."""
    if _is_serialised(part):
        # Go by the name of the component's class, because importing the class may load PyTorch.
        return next((role for word, role in _ROLE_OF_NAME.items() if word in _names(part)[0]), None)
    run = read_attribute(part, "run")
    if not callable(run) or isinstance(part, type):
        return None
    sockets = getattr(read_attribute(part, "__haystack_output__"), "_sockets_dict", None)
    takes = inspect.signature(run).parameters
    if "replies" in sockets if sockets is not None else "messages" in takes:
        return "llm"
    if "embedding" in sockets if sockets is not None else "text" in takes:
        return "embedder"
    if "documents" in takes:
        return "embedder" if any("Embedder" in name for name in _names(part)) else "ranker"
    return None


def _find_own_host(part: object) -> str | None:
    """Find the host of a model, without searching the components in it; None if nothing points to a host."""
    values, names = _attributes(part), _names(part)
    declared = values.get("model_host") or read_attribute(part, "model_host")
    if isinstance(declared, str):
        return declared
    if any(_IN_PROCESS.search(name) for name in names):
        return THIS_MACHINE
    client = values.get("client") or values.get("_client")
    addresses = [getattr(client, "base_url", None), getattr(getattr(client, "meta", None), "endpoint_url", None)]
    addresses += [values.get(name) for name in _ADDRESSES]
    if isinstance(values.get("api_params"), Mapping):
        addresses.append(values["api_params"].get("url"))
    for address in addresses:
        # A client stores its address as an object, not as a string.
        if address and (text := str(address)):
            return read_host(text)
    if any(name.startswith("OpenAI") for name in names):
        return read_host(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com")
    # A component with an API key calls a server, although its address is not known.
    has_key = any(
        isinstance(value, Secret) or (isinstance(value, dict) and "env_vars" in value) for value in values.values()
    )
    return UNKNOWN if has_key else None
