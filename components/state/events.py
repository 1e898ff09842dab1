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
    # Whether a reply or a sentence is, or will be, written for a second time.
    again: bool
    analysis: str
    answer: str
    attempts: list[SentQuery]
    caller: str
    certainty: str | None
    characters: int
    # The class of the question: how much retrieval it needs.
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
    # The record of a step for the training of the judge.
    judged: Mapping[str, object]
    judged_by: str
    # The number of characters that are left of instructions that were too long.
    kept: int
    label: str | None
    left_out: list[str]
    # The maximum number of tokens of a reply that was cut off.
    limit: int | None
    # The lowest probability of a token in a sentence. `token` is this token.
    lowest: float | None
    # The tokens of the sentence that the query leaves out, because they are improbable.
    masked: list[str]
    message: str
    method: str
    # The source that the model has named.
    named: str | None
    # The number of further calls of tools in a reply, which are not made.
    number: int
    # The number of the step whose passages a summary replaces.
    of_step: int
    # The web query that a person may allow.
    offer: str
    pairs: list[dict[str, object]]
    parsed: bool
    # What tells documents with the same title apart, such as their files.
    places: list[str]
    # The probability of each class of the question.
    probabilities: dict[str, float]
    probability: float | None
    provider: str
    query: str
    question: str | None
    # The tokens of the prompt that the model has read so far, of `total`.
    read: int
    reason: str
    relevant: bool
    replies: int
    retrieves: bool
    # The kind of the event that lists the same documents.
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
    # Whether a summary is shown in place of its passages.
    used: bool
    # The tokens that the model has written so far.
    written: int


class TraceEvent(EventData, total=False):
    """An event of the trace, as the result lists it: its kind, its step and its details."""

    kind: str
    step: int
