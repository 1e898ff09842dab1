"""Find out on which host a model runs.

The host is this machine, a host that the administrator counts as local, or another machine. A model on another machine
receives every passage that a prompt contains. So the administrator can forbid such models, and
:func:`refuse_remote_models` then refuses components that call them.

Components of Haystack do not say in a uniform way where their model runs. :func:`find_models` therefore looks at their
attributes, also inside nested components.
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

# The kind of a model: it writes texts (`llm`), computes embeddings (`embedder`) or ranks documents (`ranker`).
Role = Literal["llm", "embedder", "ranker"]

# The host of a model that runs in this process.
THIS_MACHINE = "localhost"
# The host of a model if nothing says where the model runs. Such a model counts as being on another machine.
UNKNOWN = "unknown"
# The variable with which the administrator forbids models on other machines.
_SWITCH = "PREFRAG_REMOTE_MODEL"

# Matches an entry of `PREFRAG_LOCAL_HOSTS` that is a host name, such as "llm.example.org", or "*." with a domain, such
# as "*.example.org".
_HOST_NAME = re.compile(r"(?:\*\.)?[\w-]+(?:\.[\w-]+)*")
# The attributes in which Haystack's chat generators, embedders and rankers store the address of their server.
_ADDRESSES = ("api_base_url", "azure_endpoint", "api_url", "base_url", "url")
# Matches the names of components of Haystack and its integrations that run in this process, such as
# "SentenceTransformersTextEmbedder" and "LlamaCppChatGenerator".
_IN_PROCESS = re.compile(r"Transformers|HuggingFaceLocal|LlamaCpp|Fastembed|Optimum")
# The kind of a model by a word in the name of its component.
_ROLE_OF_NAME: dict[str, Role] = {"Generator": "llm", "Embedder": "embedder", "Ranker": "ranker"}


class RemoteModelRefused(PrefragError, ValueError):
    """The error for a model on another machine while ``PREFRAG_REMOTE_MODEL`` is off."""

    # The exit code of the command that ends with this error.
    exit_code = 2


@dataclass(frozen=True)
class Model:
    """A model that a component calls.

    :param role: The kind of the model.
    :param host: The host on which the model runs, without user name, port and path. ``unknown`` if nothing says where
        the model runs.
    """

    role: Role
    host: str


def read_host(url: str) -> str:
    """Read the host of an address.

    For example, ``read_host("http://localhost:8000/v1")`` returns ``"localhost"``.

    :param url: The address, with or without a scheme.
    :returns: The host in lower case. ``unknown`` if the address has no host.
    """
    try:
        # Without the two slashes, the host would be read as the scheme or as a part of the path.
        url_with_slashes = url if "://" in url else f"//{url}"
        return urlsplit(url_with_slashes).hostname or UNKNOWN
    except ValueError:
        return UNKNOWN


def is_local(host: str) -> bool:
    """Check whether a host is this machine or in ``PREFRAG_LOCAL_HOSTS``.

    Names are compared as texts. They are not looked up in the DNS.

    :param host: The name or IP address of the host.
    :returns: Whether the host counts as local.
    """
    return _is_local(host, settings.local_hosts)


def find_models(part: object) -> list[Model]:
    """Find the models that a component and its nested parts call.

    The host of a model is found in this way:

    1. If a component has the attribute ``model_parts``, only the parts in this list are searched.
    2. The attribute ``model_host`` of a component names the host of its model.
    3. Other components are searched for the address of a server.
    4. If a chat generator or an embedder has no address either, its host is ``unknown``.

    :param part: A component, a pipeline, or any other object.
    :returns: The models. The list is empty if no model is called.
    """
    # Both lists have the path of each component, such as "judge.chat_generator". The first list has the models with a
    # known host.
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
        # A component that has no address but contains models only passes calls on to these models. It is no model
        # itself.
        contains_models = any(_is_inside(path, outer) for path in paths)
        if not contains_models:
            models.append(model)
    return models


def find_host(chat_generator: object) -> str:
    """Find the host to which a chat generator sends its prompts.

    :param chat_generator: The chat generator.
    :returns: The host. If there are several hosts, those that are not local, joined by " or ". ``unknown`` if nothing
        says where the model runs.
    """
    hosts = [model.host for model in find_models(chat_generator)]
    if not hosts:
        hosts = [UNKNOWN]
    # The dictionary names each host once, in the order of the models.
    remote_hosts = dict.fromkeys(host for host in hosts if not is_local(host))
    if remote_hosts:
        return " or ".join(remote_hosts)
    return hosts[0]


def refuse_remote_models(part: object) -> None:
    """Refuse a component that calls a model on another machine, if the administrator has forbidden this.

    The variable ``PREFRAG_REMOTE_MODEL`` forbids it with the value ``off``. A value that is not understood counts as
    ``off``.

    :param part: A component, a pipeline, or any other object.
    :raises RemoteModelRefused: When the component calls such a model.
    :raises ValueError: When ``PREFRAG_LOCAL_HOSTS`` has an entry that is no host.
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
    """Check whether a host is this machine or one of the local hosts. The results are cached."""
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
    """Read the entries of ``PREFRAG_LOCAL_HOSTS``: IP addresses and networks become networks, names stay texts.

    :raises ValueError: When an entry is neither a network nor a name.
    """
    hosts: list[str | IPv4Network | IPv6Network] = []
    for entry in entries:
        name = _normalise(entry)
        network = _read_network(name)
        if network is None and not _HOST_NAME.fullmatch(name):
            raise ValueError(
                f"PREFRAG_LOCAL_HOSTS holds '{name}', which is no host: give names, *.domains, addresses or networks "
                "such as 10.0.0.0/8, separated by commas."
            )
        hosts.append(name if network is None else network)
    return hosts


def _normalise(host: str) -> str:
    """Write a host in one form. For example, ``_normalise(" Example.ORG. ")`` returns ``"example.org"``."""
    return host.strip().removeprefix("[").removesuffix("]").removesuffix(".").lower()


def _read_address(host: str) -> IPv4Address | IPv6Address | None:
    """Read an IP address, or None for a name. An IPv4 address that is written as IPv6 becomes an IPv4 address."""
    try:
        address = ip_address(host)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


def _read_network(entry: str) -> IPv4Network | IPv6Network | None:
    """Read an IP network such as ``10.0.0.0/8``, or an address, which is a network of one address. None for a name."""
    try:
        return ip_network(entry, strict=False)
    except ValueError:
        return None


def _locate(part: object) -> Model | None:
    """Return the model that a component itself is. None if it is no model, or if nothing tells its host."""
    role = _role(part)
    if role is None:
        return None
    host = _find_own_host(part)
    return Model(role, host) if host else None


def _hides_its_models(part: object) -> bool:
    """Check whether the parts of a component have to be searched, because the component does not name its models."""
    return read_attribute(part, "model_parts") is None and _locate(part) is None


def _is_inside(path: str, outer: str) -> bool:
    """Check whether a path is inside another one.

    For example, ``_is_inside("judge.model", "judge")`` returns ``True``. The empty path contains all others.
    """
    return path.startswith(f"{outer}.") if outer else bool(path)


def _is_serialised(part: object) -> bool:
    """Check whether an object is a component in serialised form, as in a pipeline's YAML."""
    return isinstance(part, dict) and isinstance(part.get("type"), str) and "." in part["type"]


def _attributes(part: Any) -> Mapping[str, Any]:
    """Return the attributes of a component by their names. A serialised component has its parameters instead."""
    if _is_serialised(part):
        return part.get("init_parameters") or {}
    return getattr(part, "__dict__", {})


def _names(part: Any) -> list[str]:
    """List the name of a component's class and the names of its base classes."""
    if _is_serialised(part):
        _, _, class_name = part["type"].rpartition(".")
        return [class_name]
    return [ancestor.__name__ for ancestor in type(part).__mro__]


def _role(part: object) -> Role | None:
    """Find the kind of a model from the inputs and outputs of its component. None if the component is no model."""
    if _is_serialised(part):
        # The name of the class is used, because importing the class may load PyTorch.
        (class_name,) = _names(part)
        return next((role for word, role in _ROLE_OF_NAME.items() if word in class_name), None)
    run = read_attribute(part, "run")
    if not callable(run) or isinstance(part, type):
        return None

    inputs = inspect.signature(run).parameters
    outputs = getattr(read_attribute(part, "__haystack_output__"), "_sockets_dict", None)
    if outputs is not None:
        is_generator = "replies" in outputs
        is_text_embedder = "embedding" in outputs
    else:
        is_generator = "messages" in inputs
        is_text_embedder = "text" in inputs

    if is_generator:
        return "llm"
    if is_text_embedder:
        return "embedder"
    if "documents" in inputs:
        is_embedder = any("Embedder" in name for name in _names(part))
        return "embedder" if is_embedder else "ranker"
    return None


def _find_own_host(part: object) -> str | None:
    """Find the host of a model from the attributes of its component. The components inside it are not searched.

    None if no attribute points to a host.
    """
    values = _attributes(part)
    names = _names(part)
    declared_host = values.get("model_host") or read_attribute(part, "model_host")
    if isinstance(declared_host, str):
        return declared_host
    if any(_IN_PROCESS.search(name) for name in names):
        return THIS_MACHINE

    # The clients of OpenAI store their address as `base_url`, and those of boto3 as `meta.endpoint_url`.
    client = values.get("client") or values.get("_client")
    client_meta = getattr(client, "meta", None)
    addresses = [getattr(client, "base_url", None), getattr(client_meta, "endpoint_url", None)]
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
    """Check whether a setting is an API key: a `Secret` of Haystack, also in the form in which YAML contains it."""
    if isinstance(value, dict):
        return "env_vars" in value
    return isinstance(value, Secret)
