"""The types of the result of a run.

The result is one dictionary for the command line, HTTP and Python, so its values are plain JSON. docs/pipelines.md
explains its keys, and ``answer_composer.py`` makes it. No key is required, because the record of an older version or of
a run that broke off may lack some.
"""

from typing import Literal, TypedDict

from prefrag.components.state.events import SentQuery, TraceEvent
from prefrag.components.state.places import Place, Position
from prefrag.components.state.state import Certainty


class Span(TypedDict):
    """A part of a text: the positions of its first character and of the character behind it, counted from 0."""

    start: int
    end: int


class Citation(TypedDict, total=False):
    """A document that the answer cites."""

    mark: str
    id: str
    title: str
    # The name of the source. Users' own components may write something else than a text.
    source: object


class FoundDocument(Citation, Place, total=False):
    """A document that the model was shown."""

    content: str
    url: str
    score: float | None
    # The number of the step that found the document, counted from 1.
    step: object
    heading: str | None
    position: Position | None
    # "superseded", "draft" or "old" if the document is not current.
    standing: str
    file: str | int
    date: str | int
    modified: str | int
    attachment: str | int
    mail: str | int
    date_in: str | int
    # The part of the content that is most relevant to the answer or the query.
    sentence: Span | None


class Quotation(Citation, Place, total=False):
    """A sentence of the evidence: it supports the answer or, without an answer, is near to the question."""

    heading: str | None
    sentence: str
    # Where the answer stands in the sentence.
    answer: Span | None
    query: str


class StepVerdict(TypedDict, total=False):
    """The verdict of the judge, see :class:`prefrag.components.state.state.Verdict`."""

    status: bool
    judged_by: str
    analysis: str
    score: float | None
    parsed: bool


class StepEntry(TypedDict, total=False):
    """A step of the run, as the result lists it."""

    # The number of the step, counted from 1.
    step: int
    thought: str
    action: str
    query: str
    searched: list[str]
    source: str | None
    verdict: StepVerdict | None
    # The ids of the documents.
    documents: list[str]
    answer: str
    label: str | None
    forced: bool


class SourceCounts(TypedDict, total=False):
    """The retrievals of one source: all of them, and those whose documents were kept."""

    total: int
    used: int


class Counts(TypedDict, total=False):
    """The numbers of retrievals of a run (appendix A.6 of PrefRAG), and of the look-ups of all retrievals."""

    total_local: int
    total_web: int
    total: int
    used_local: int
    used: int
    lookups: int
    sources: dict[str, SourceCounts]


class UsageCounts(TypedDict, total=False):
    """The calls to models with their tokens, and the seconds of the run."""

    llm_calls: int
    # The calls by the name of the component that made them.
    calls: dict[str, int]
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int | None
    seconds: float


class HeldQuery(TypedDict, total=False):
    """A query that was not sent, and why."""

    source: str | None
    query: str
    reason: str


class SentToModels(TypedDict, total=False):
    """What the models on one host got, see :class:`prefrag.components.state.usage.ModelTraffic`."""

    host: str
    remote: bool
    role: str
    calls: int
    prompt_tokens: int
    completion_tokens: int


class Result(TypedDict, total=False):
    """The result of a run."""

    question: str
    asked: str
    answer: str
    answer_with_citations: str
    answered: bool
    probability: float | None
    citations: list[Citation]
    uncited: bool
    certainty: Certainty | None
    not_found: bool
    guess: str | None
    evidence: list[Quotation]
    answered_by: Literal["reader", "model"] | None
    reply_format: str | None
    format_reason: str | None
    unsupported: list[str]
    label: str | None
    explanation: str
    suggestions: str
    forced: bool
    documents: list[FoundDocument]
    steps: list[StepEntry]
    counts: Counts
    usage: UsageCounts
    errors: list[str]
    asked_back: str | None
    question_class: dict[str, object] | None
    without_model: list[str]
    queries_sent_out: list[SentQuery]
    queries_held_back: list[HeldQuery]
    sent_to_models: list[SentToModels]
    sent_to_tracing: Literal["spans", "content"] | None
    trace: list[TraceEvent]
