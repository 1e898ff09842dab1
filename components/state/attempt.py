"""A call that is made during a search: to a provider, which finds documents, or to a ranker, which sorts them."""

from dataclasses import dataclass

from prefrag.components.state.events import SentQuery
from prefrag.components.state.usage import ModelTraffic
from prefrag.components.state.value import Value


@dataclass
class Attempt(Value):
    """A call to a provider or a ranker during a search. Its last three fields are set when the call ends.

    :param source: The source that is searched.
    :param query: The query.
    :param provider: The name of the provider or ranker.
    :param sent_out: True if the query is sent to a service outside this machine.
    :param models: The models that are used in the call. Embedders get the query. Rankers also get the documents.
    :param lookups: The number of queries that are sent to an index or the web.
    :param error: Why the attempt failed. None if it did not fail. Until the call ends, it says that no reply came.
    :param seconds: The duration of the call, in seconds.
    """

    source: str
    query: str
    provider: str
    sent_out: bool = False
    models: tuple[ModelTraffic, ...] = ()
    lookups: int = 1
    error: str | None = "the run ended before a reply came"
    seconds: float = 0.0

    def to_dict(self) -> SentQuery:
        """Write what a user needs to know about the attempt, as plain JSON values.

        :returns: The source, the query, the provider, the error and the seconds.
        """
        return {
            "source": self.source,
            "query": self.query,
            "provider": self.provider,
            "error": self.error,
            "seconds": self.seconds,
        }
