"""The model calls and tokens of a run, by host and role."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from prefrag.components.state.value import Value


@dataclass(frozen=True)
class ModelTraffic(Value):
    """The calls to the models on one host that have one role, and their tokens.

    :param host: The host, without user, port and path.
    :param remote: True if the host is neither this machine nor listed as local by the administrator.
    :param role: What the model is used for: ``llm``, ``judge``, ``embedder`` or ``ranker``.
    :param calls: The number of calls, including failed calls.
    :param prompt_tokens: The number of tokens read, as the server counted them.
    :param completion_tokens: The number of tokens written, as the server counted them.
    """

    host: str
    remote: bool
    role: str
    calls: int = 1
    prompt_tokens: int = 0
    completion_tokens: int = 0


def sum_traffic(traffic: Iterable[ModelTraffic]) -> tuple[ModelTraffic, ...]:
    """Add up the calls and tokens of each host and role.

    :param traffic: The calls, in any number of entries.
    :returns: One entry for each host and role, in the order in which they first appear.
    """
    sums: dict[tuple[str, bool, str], ModelTraffic] = {}
    for host_traffic in traffic:
        key = (host_traffic.host, host_traffic.remote, host_traffic.role)
        before = sums.get(key, ModelTraffic(*key, calls=0))
        sums[key] = replace(
            before,
            calls=before.calls + host_traffic.calls,
            prompt_tokens=before.prompt_tokens + host_traffic.prompt_tokens,
            completion_tokens=before.completion_tokens + host_traffic.completion_tokens,
        )
    return tuple(sums.values())


@dataclass(frozen=True)
class Usage(Value):
    """The model calls and tokens of a run so far.

    :param llm_calls: The number of calls to a model, for each caller (``reasoner``, ``judge``, ...).
    :param prompt_tokens: The number of tokens read, as the server counted them.
    :param completion_tokens: The number of tokens written, as the server counted them.
    :param cached_tokens: How many of the tokens read came from a server's cache. None if no server reports this.
    :param models: The calls and tokens, for each host and role.
    """

    llm_calls: Mapping[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int | None = None
    models: tuple[ModelTraffic, ...] = ()


def add_known(*counts: int | None) -> int | None:
    """Add up the counts that are known. For example, ``add_known(1, None, 2)`` returns ``3``.

    :param counts: The counts. None stands for an unknown count.
    :returns: The sum. None if no count is known.
    """
    known_counts = [count for count in counts if count is not None]
    return sum(known_counts) if known_counts else None
