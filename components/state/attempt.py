"""A call to a provider or a ranker, as a part of a search."""

from dataclasses import dataclass
from typing import Any

from prefrag.components.state.usage import ModelTraffic
from prefrag.components.state.value import Value


@dataclass
class Attempt(Value):
    """A call to a provider or a ranker during a search. Its last three fields are set when it ends.

    :param source: The source that is searched.
    :param query: The query.
    :param provider: The name of what is called.
    :param sent_out: Whether the query is sent to a service outside this machine.
    :param models: The models that the call calls: embedders get the query, and rankers also the documents.
    :param lookups: The number of queries that are sent to an index or the web.
    :param error: Why the attempt failed; None if it did not fail.
    :param seconds: How long it took.
    """

    source: str
    query: str
    provider: str
    sent_out: bool = False
    models: tuple[ModelTraffic, ...] = ()
    lookups: int = 1
    error: str | None = "the run ended before a reply came"
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Write what a user needs to know of it as plain JSON values."""
        return {name: getattr(self, name) for name in ("source", "query", "provider", "error", "seconds")}
