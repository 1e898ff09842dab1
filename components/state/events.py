"""The types of the details of the events in the trace of a run. All values are plain JSON."""

from collections.abc import Mapping
from typing import TypedDict


class SentQuery(TypedDict, total=False):
    """An attempt to search, see :class:`prefrag.components.state.attempt.Attempt`."""

    source: str
    query: str
    provider: str
    error: str | None
    seconds: float


class TitleScore(TypedDict, total=False):
    """The title of a document, and its score. A strip also says whether it was kept."""

    title: str
    score: float | None
    kept: bool


class EventData(TypedDict, total=False):
    """The details of an event of the trace. Each kind of event has some of these fields, as far as they are known.

    Users' own components may write fields that are not listed here.
    """

    action: str
    again: bool
    analysis: str
    answer: str
    attempts: list[SentQuery]
    caller: str
    certainty: str | None
    characters: int
    chosen: str
    context_window: int
    # How many pages name each name of the question.
    counts: dict[str, int]
    document: str
    documents: list[str]
    documents_cut: int
    documents_shortened: int
    error: str | None
    explanation: str
    forced: bool
    id: str
    judged: Mapping[str, object]
    judged_by: str
    kept: int
    label: str | None
    left_out: list[str]
    limit: int | None
    lowest: float | None
    masked: list[str]
    message: str
    method: str
    named: str | None
    number: int
    of_step: int
    offer: str
    pairs: list[dict[str, object]]
    parsed: bool
    places: list[str]
    probability: float | None
    provider: str
    query: str
    question: str | None
    read: int
    reason: str
    relevant: bool
    replies: int
    retrieves: bool
    same_as: str
    scores: list[TitleScore]
    seconds: float
    sent_out: bool
    setting: str
    source: str | None
    sources: list[str]
    status: bool | None
    strips: list[TitleScore]
    suggestions: str
    supplement: bool
    support: str | None
    text: str
    threshold: float
    titles: list[str]
    token: str
    tokens_after: int
    tokens_before: int
    tool: str
    total: int
    usefulness: int | None
    used: bool
    written: int


class TraceEvent(EventData, total=False):
    """An event of the trace, as the result lists it: its kind, its step and its details."""

    kind: str
    step: int
