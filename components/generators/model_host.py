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
    for path, inner in walk_parts(part, descend=_hides_its_models):
        called = read_attribute(inner, "model_parts")
        if called is not None:
            placed += [(path, model) for model in find_models(called)]
            continue
        own_model = _locate(inner)
        if own_model is not None:
            placed.append((path, own_model))
            continue
        role = _role(inner)
        # A ranker may work without a model, but a generator or an embedder always calls a model somewhere.
        if role in ("llm", "embedder"):
            unplaced.append((path, Model(role, UNKNOWN)))

    paths = [path for path, _ in [*placed, *unplaced]]
    models = [model for _, model in placed]
    for outer, model in unplaced:
        # A component that has no address but contains models only passes calls on to them. It is no model itself.
        contains_models = any(_is_inside(path, outer) for path in paths)
        if not contains_models:
            models.append(model)
    return models


def find_host(chat_generator: object) -> str:
    """Find the host to which a chat generator sends its prompts. Of several hosts, those that are not local count."""
    hosts = [model.host for model in find_models(chat_generator)] or [UNKNOWN]
    remote = dict.fromkeys(host for host in hosts if not is_local(host))
    return " or ".join(remote) if remote else hosts[0]


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
    places = []
    for model in remote:
        host = "an unknown host" if model.host == UNKNOWN else model.host
        places.append(f"{model.role} at {host}")
    named = ", ".join(dict.fromkeys(places))
    raise RemoteModelRefused(
        f"{_SWITCH} is off, and this would send every passage to a model outside this machine ({named}). "
        f"If the host is yours, name it in PREFRAG_LOCAL_HOSTS; else use a local model, or set {_SWITCH}=on."
    )


@lru_cache(maxsize=256)
def _is_local(host: str, local_hosts: tuple[str, ...]) -> bool:
    name = _normalise(host)
    address = _read_address(name)
    if name == THIS_MACHINE:
        return True
    if address is not None and address.is_loopback:
        return True
    for entry in _read_local_hosts(local_hosts):
        if not isinstance(entry, str):
            matches = address is not None and address in entry
        elif entry.startswith("*."):
            matches = name.endswith(entry.removeprefix("*"))
        else:
            matches = name == entry
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
    """Find the model that a component itself is, with its host; None if it is none, or tells no host."""
    role = _role(part)
    if role is None:
        return None
    host = _find_own_host(part)
    return Model(role, host) if host else None


def _hides_its_models(part: object) -> bool:
    """Check whether a component does not say itself which models it calls, so that its parts have to be searched."""
    return read_attribute(part, "model_parts") is None and _locate(part) is None


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
        class_name = _names(part)[0]
        return next((role for word, role in _ROLE_OF_NAME.items() if word in class_name), None)
    run = read_attribute(part, "run")
    if not callable(run) or isinstance(part, type):
        return None
    inputs = inspect.signature(run).parameters
    outputs = getattr(read_attribute(part, "__haystack_output__"), "_sockets_dict", None)
    if outputs is not None:
        is_generator, is_text_embedder = "replies" in outputs, "embedding" in outputs
    else:
        is_generator, is_text_embedder = "messages" in inputs, "text" in inputs
    if is_generator:
        return "llm"
    if is_text_embedder:
        return "embedder"
    if "documents" in inputs:
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
        url = str(address) if address else ""
        if url:
            return read_host(url)
    if any(name.startswith("OpenAI") for name in names):
        return read_host(os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com")
    # A component with an API key calls a server, although its address is not known.
    has_key = any(map(_is_key, values.values()))
    return UNKNOWN if has_key else None


def _is_key(value: object) -> bool:
    """Check whether a setting is an API key: Haystack's `Secret`, or one that is written as YAML."""
    if isinstance(value, dict):
        return "env_vars" in value
    return isinstance(value, Secret)
