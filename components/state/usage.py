"""The model calls and tokens of a run, by host and role."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from prefrag.components.state.value import Value


@dataclass(frozen=True)
class ModelTraffic(Value):
    """The calls to the models on one host, and their tokens."""

    host: str  # the host, without user, port and path
    remote: bool  # whether the host is neither this machine nor listed as local by the administrator
    role: str  # ``llm``, ``judge``, ``embedder`` or ``ranker``
    calls: int = 1  # the number of calls, including failed calls
    prompt_tokens: int = 0  # tokens read, as the server counted them
    completion_tokens: int = 0  # tokens written, as the server counted them


def sum_traffic(traffic: Iterable[ModelTraffic]) -> tuple[ModelTraffic, ...]:
    """Add up the calls and tokens of each host and role."""
    sums: dict[tuple[str, bool, str], ModelTraffic] = {}
    for host_traffic in traffic:
        key = (host_traffic.host, host_traffic.remote, host_traffic.role)
        before = sums.get(key, ModelTraffic(*key, calls=0))
        sums[key] = ModelTraffic(
            *key,
            before.calls + host_traffic.calls,
            before.prompt_tokens + host_traffic.prompt_tokens,
            before.completion_tokens + host_traffic.completion_tokens,
        )
    return tuple(sums.values())


@dataclass(frozen=True)
class Usage(Value):
    """The model calls and tokens of a run so far.

    :param llm_calls: The number of calls to a model, for each caller (``reasoner``, ``judge``, ...).
    :param prompt_tokens: Tokens read, as the server counted them.
    :param completion_tokens: Tokens written, as the server counted them.
    :param cached_tokens: How many of the tokens read came from a server's cache; None if no server reports this.
    :param models: The calls and tokens by host and role.
    """

    llm_calls: Mapping[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None
    models: tuple[ModelTraffic, ...] = ()


def add_known(*counts: int | None) -> int | None:
    """Add up the known counts; None if no count is known."""
    stated = [count for count in counts if count is not None]
    return sum(stated) if stated else None
