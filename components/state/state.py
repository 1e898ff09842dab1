"""The state of a run and its parts: settings, steps, searches, verdicts, events and costs.

In a loop, Haystack gives a component each mandatory input only once. So everything that a later iteration needs is in
one :class:`State`. A component never changes the state that it receives. It returns a new state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Literal, Protocol

from haystack import Document

from prefrag.components.state.attempt import Attempt
from prefrag.components.state.run_options import AnswerType
from prefrag.components.state.usage import ModelTraffic, Usage, add_known, sum_traffic
from prefrag.components.state.value import Value
from prefrag.components.text.controls import strip_all_controls
from prefrag.errors import PrefragError

Identity = tuple[str, str | None]
# The name of the source of documents that came with the question.
ATTACHED = "attached"
# The metadata field in which a shortened document keeps its whole text.
WHOLE_TEXT = "_whole_text"
# The metadata field of a document that is a summary, which a model has written to replace passages.
SUMMARY = "_summary"
# The metadata fields that only this application may set. They are removed from the documents that a source returns.
RESERVED_META = frozenset((WHOLE_TEXT, SUMMARY))

Certainty = Literal["stated", "probably", "not_found"]


def identity(document: Document) -> Identity:
    """Return what identifies a document. Its id alone is not enough: two sources may use one id for two documents.

    :param document: A document, whole or shortened.
    :returns: Its id and its whole text. Documents with the same id and the same text are the same document.
    """
    return document.id, document.meta.get(WHOLE_TEXT, document.content)


class Label(StrEnum):
    """The self-evaluation of an answer (PrefRAG, section 3.3)."""

    CORRECT = "CORRECT"
    PARTIALLY_CORRECT = "PARTIALLY CORRECT"
    INCORRECT = "INCORRECT"


class Action(StrEnum):
    """What a reply of the model asks the program to do next."""

    SEARCH = "search"
    ANSWER = "answer"
    UNKNOWN_ACTION = "unknown_action"
    UNREADABLE = "unreadable"
    NONE = "none"
    """The model wants no further search but gave no answer: a separate call generates the answer (MSPR, III.B)."""


@dataclass(frozen=True)
class Event(Value):
    """An entry of the trace, which records what happens in a run."""

    kind: str
    step: int  # the number of the step in which the event happened, counted from 1; 0 before the first step
    data: Mapping[str, object] = field(default_factory=dict)  # the details, JSON-serialisable

    def to_dict(self) -> dict[str, Any]:
        """Write the event as plain JSON values."""
        return {"kind": self.kind, "step": self.step, **self.data}


@dataclass(frozen=True)
class Verdict(Value):
    """The verdict of the judge on the documents of the preferred source (equation 3 of PrefRAG).

    :param status: True keeps the documents, False switches to another source.
    :param judged_by: ``model``, ``classifier``, ``words``, ``first_step``, ``nothing_found``, ``nothing_new`` (all was
        shown before), ``sufficient`` or ``insufficient`` (whether what was found so far suffices) or
        ``no_other_source``.
    :param analysis: The reason.
    :param score: The probability that one of the documents is needed, as boosted trees estimate it; of ``sufficient``
        and ``insufficient`` the probability that what was found suffices. None if no trees judged, or if the documents
        are unlike the training data.
    :param parsed: False if the model's verdict could not be read, so that the judge's setting ``on_doubt`` decided.
    """

    status: bool
    judged_by: str
    analysis: str = ""
    score: float | None = None
    parsed: bool = True


@dataclass(frozen=True)
class Search(Value):
    """A retrieval from one source, such as an index of the user's files or a web search.

    :param source: The source that was searched.
    :param query: The query.
    :param documents: The documents found, best first.
    :param provider: The name of the class that searched.
    :param seconds: How long the search took.
    :param error: Why the search failed; None if it did not fail.
    :param skipped: Whether the source was not searched at all, because it is not allowed.
    :param lookups: The number of queries that were sent to an index or the web, in all attempts.
    :param attempts: Every call that was made for the search, in order; none if it was played from a recording.
    """

    source: str
    query: str
    documents: tuple[Document, ...] = ()
    provider: str = ""
    seconds: float = 0.0
    error: str | None = None
    skipped: bool = False
    lookups: int = 1
    attempts: tuple[Attempt, ...] = ()

    @property
    def sent_out(self) -> bool:
        """Whether the query was sent to a service outside this machine."""
        return any(attempt.sent_out for attempt in self.attempts)


@dataclass(frozen=True)
class Evidence(Value):
    """A sentence that may help to answer the question."""

    document: Document
    sentence: str
    query: str  # the question or query for which it was chosen
    share: float = 0.0  # the probability of the answer that the extractive reader found in the sentence; 0 if none


@dataclass(frozen=True)
class Step(Value):
    """One step of a run: a reply of the model (or of the extractive reader), and the searches that it led to.

    :param action: What the reply asks the program to do.
    :param reply: The part of the reply that the transcript keeps.
    :param thought: The reasoning in words.
    :param tool: The name of the action as the model wrote it.
    :param query: The query of a search.
    :param by_code: Whether code, and not the model, chose the search and its query.
    :param named_source: The source that the chosen action searches; None if the router chooses the source.
    :param answer: The answer, if the action is to answer.
    :param label: The model's own evaluation of that answer; None if the model gave no evaluation.
    :param explanation: Why the model chose the label.
    :param suggestions: What would improve the answer.
    :param cut_at: The number of tokens at which an unreadable reply was cut off; None if the reply was not cut off.
    :param forced: Whether the model had to answer because no further step was allowed.
    :param probability: The probability that the answer of the extractive reader or of a small model is right.
    :param certainty: How sure the answer is, as code decides. ``stated``: a passage states it. ``probably``: a sentence
        probably contains it. ``not_found``: no answer is likely enough. None if an answer was not checked.
    :param tokens: The tokens of the reply with their probabilities, from 0 to 1, if the model was asked for them.
    :param mean_logprob: The mean log probability of the reply's tokens; None if the server sent none.
    :param evidence: The sentence that carries the answer; with the extractive reader's answer, also those of its other
        candidates, the likeliest first.
    :param unsupported: The sentences of a model's answer whose numbers and names stand in no passage.
    :param asked: The sources to search once more, because the answer was not labelled as correct. Empty means all.
    :param searches: The retrievals made for this step.
    :param verdict: The judge's verdict on the first retrieval.
    :param source: The source whose documents were kept, or several sources joined by ``+``.
    :param documents: The documents that were kept.
    :param refined: A summary that the model is shown instead of the documents, if the documents were too long.
    :param observed: Whether an observation follows the reply in the transcript.
    :param note: The text of an observation without documents, for example a request to write the reply differently.
    """

    action: Action
    reply: str = ""
    thought: str = ""
    tool: str = ""
    query: str = ""
    by_code: bool = False
    named_source: str | None = None
    answer: str = ""
    label: Label | None = None
    explanation: str = ""
    suggestions: str = ""
    cut_at: int | None = None
    forced: bool = False
    probability: float | None = None
    certainty: Certainty | None = None
    tokens: tuple[tuple[str, float], ...] = ()
    mean_logprob: float | None = None
    evidence: tuple[Evidence, ...] = ()
    unsupported: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    searches: tuple[Search, ...] = ()
    verdict: Verdict | None = None
    source: str | None = None
    documents: tuple[Document, ...] = ()
    refined: Document | None = None
    observed: bool = False
    note: str = ""

    @property
    def withheld(self) -> bool:
        """Whether the answer is not likely enough to be given to the user, except as a guess."""
        # Of what is only probable, the extractive reader shows the sentence. A model's answer is given and marked.
        return self.certainty == "not_found" or (self.certainty == "probably" and not self.reply)

    @property
    def shown(self) -> tuple[Document, ...]:
        """The documents as the model sees them: the documents themselves, or the summary that replaces them."""
        return self.documents if self.refined is None else (self.refined,)


@dataclass(frozen=True)
class RunSettings(Value):
    """The settings of one run: those of the pipeline, except where the request sets an option.

    :param sources: The sources that may be searched, in the order in which they are tried.
    :param preferred: The source that is searched first.
    :param external: The external sources, such as the web.
    :param typed_only: The external sources that receive only the question as typed, until a model writes the queries.
    :param top_k: The number of documents per retrieval.
    :param max_steps: The number of steps that the prompt allows. A run may take one more (appendix B.3 of PrefRAG).
    :param max_supplements: How often a run may search once more after the model labelled its answer as not correct.
    :param first_query: ``question``: in a loop with the prompts ``product``, the first search is for the question,
        before any call. ``model``: the model writes the first query too.
    :param filters: A Haystack metadata filter, which is applied by the sources that can filter.
    :param prompts: ``product`` asks for citations and for answers from the passages alone. ``plain`` asks for neither
        and is used in measurements. Any other value is a folder, whose prompts replace those of ``plain``.
    :param answer_type: The kind of answer that the question calls for: a few words, yes or no, or one of its options.
    :param instructions: How an operator wants the answers to be: their language, tone and form. Shown only to models
        that write an answer.
    :param stated_from: The least probability of an answer that is called stated, by what answers (``reader`` or
        ``model``), as it was chosen for the indexes that are searched. Without it, the usual limits alone decide.
    """

    sources: tuple[str, ...]
    preferred: str
    top_k: int = 5
    max_steps: int = 3
    max_supplements: int = 1
    filters: Mapping[str, Any] | None = None
    external: tuple[str, ...] = ()
    typed_only: tuple[str, ...] = ()
    prompts: str = "product"
    answer_type: AnswerType = "short"
    instructions: str = ""
    stated_from: tuple[tuple[str, float], ...] = ()
    first_query: Literal["question", "model"] = "model"


class Conversation(Protocol):
    """The conversation with the model that takes the steps. Other components can add questions to the conversation."""

    chat_generator: Any

    def ask_further(self, state: State, question: str) -> dict[str, Any] | None:
        """Return the conversation with a question added, as arguments of ``ModelCall.prepare``; None if impossible."""


@dataclass(frozen=True)
class State(Value):
    """The state of a run: a question and everything that was done to answer it.

    :param question: The question that the components work on.
    :param settings: The settings of this run.
    :param typed: The question as the user typed it, if it has been rewritten because it was a follow-up; else empty.
    :param history: Earlier turns of the conversation, oldest first, as (role, text).
    :param attached: Documents that the user gave with the question. No query is made from them.
    :param steps: The steps so far.
    :param supplements: How often the run has searched once more after a negative label.
    :param last_search: Whether no reply may follow the search that is being made, so that the answer is forced next.
    :param usage: The model calls and tokens so far.
    :param events: The trace.
    :param started: ``time.perf_counter()`` at the start, in seconds.
    :param reply_format: The format that suits the model of this run, for a Reasoner with ``reply_format: auto``.
    :param format_reason: Why this format: a setting, a trial of the model, or a first guess.
    :param attempts: The run's own list of the attempts of all its searches, as they begin. All states of a run share
        it, so that a run that breaks off can tell what it sent.
    :param conversation: The conversation with the model that took the last step; None if no model took it.
    """

    question: str
    settings: RunSettings
    typed: str = ""
    history: tuple[tuple[str, str], ...] = ()
    attached: tuple[Document, ...] = ()
    steps: tuple[Step, ...] = ()
    supplements: int = 0
    last_search: bool = False
    usage: Usage = field(default_factory=Usage)
    events: tuple[Event, ...] = ()
    started: float = 0.0
    reply_format: str = field(default="", compare=False)
    format_reason: str = field(default="", compare=False)
    attempts: list[Attempt] = field(default_factory=list, repr=False, compare=False)
    conversation: Conversation | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        # The conversation has a connection to a model, which cannot be copied to another process.
        return {**vars(self), "conversation": None}

    @property
    def step(self) -> Step:
        """The last step. Before the first reply, there is none, and this raises ValueError."""
        if not self.steps:
            raise ValueError("The state has no step yet: a Reasoner must come before this component.")
        return self.steps[-1]

    @property
    def number(self) -> int:
        """The number of the current step, counted from 1. After an observation, this is already the next step."""
        return max(1, len(self.steps) + bool(self.steps and self.steps[-1].observed))

    @property
    def query(self) -> str:
        """The query of the next search: the step's query or, after an answer that was not accepted, the question."""
        return self.step.query if self.step.action is Action.SEARCH else self.question

    def takes_question(self, source: str) -> bool:
        """Check whether a ``typed_only`` source gets the question as typed, because no model wrote the query."""
        return source in self.settings.typed_only and (
            self._query_is_by_code or self.usage.llm_calls.keys() <= {"judge"}
        )

    @property
    def _query_is_by_code(self) -> bool:
        return bool(self.steps) and self.step.action is Action.SEARCH and self.step.by_code

    def is_done(self, source: str) -> bool:
        """Check whether a source that gets only the question as typed has been searched: it needs no second search."""
        return self.takes_question(source) and any(search.source == source for search in self.searches)

    def query_for(self, source: str) -> str:
        """Return the next query for a source: the step's query, the question, or the question as typed.

        If the typed question is a follow-up, the user's previous question is put before it.
        """
        if not self.takes_question(source):
            return self.question if self._is_first_by_code(source) else self.query
        before = next((text for role, text in reversed(self.history) if role == "user"), "") if self.typed else ""
        return f"{before} {self.typed or self.question}".strip()

    def _is_first_by_code(self, source: str) -> bool:
        """Check whether a query that code made would be the first that a source gets, with the prompts for users.

        Such a query has names from passages of another source, so it looks for more of what is there. The source that
        is asked for the first time has the passages of the question itself, too.
        """
        searched = {search.source for search in self.searches}
        is_new = bool(searched) and source not in searched
        return self._query_is_by_code and is_new and self.settings.prompts == "product"

    @property
    def replies(self) -> int:
        """The number of steps so far. Each reply of the model is a step, even if it could not be read."""
        return len(self.steps)

    @property
    def searches(self) -> tuple[Search, ...]:
        """Every retrieval so far, in order."""
        return tuple(search for step in self.steps for search in step.searches)

    @property
    def retrieved(self) -> tuple[Document, ...]:
        """The retrieved documents that the model has been shown, each once, in order."""
        return _once(document for step in self.steps for document in step.documents)

    @property
    def model_failed(self) -> bool:
        """Whether the language model has failed in this run, so that the extractive reader goes on."""
        return any(event.kind == "model_failed" for event in self.events)

    @property
    def observed(self) -> tuple[Document, ...]:
        """The documents that the model has been shown, each once: first the attached, then the retrieved documents."""
        return _once((*self.attached, *self.retrieved))

    def with_step(self, step: Step) -> State:
        """Add a step."""
        return replace(self, steps=(*self.steps, step))

    def with_last(self, **changes: Any) -> State:
        """Change the last step."""
        return replace(self, steps=(*self.steps[:-1], replace(self.step, **changes)))

    def with_event(self, kind: str, **data: object) -> State:
        """Add an event to the trace, with JSON-serialisable details. Control characters in its texts are left out."""
        return replace(self, events=(*self.events, Event(kind, len(self.steps), strip_all_controls(data))))

    def with_call(self, caller: str, meta: Mapping[str, Any]) -> State:
        """Count a call to a model. The server's token counts are in ``meta["usage"]`` of the reply."""
        usage = meta.get("usage") or {}
        calls = {**self.usage.llm_calls, caller: self.usage.llm_calls.get(caller, 0) + 1}
        counted = replace(
            self.usage,
            llm_calls=calls,
            prompt_tokens=self.usage.prompt_tokens + int(usage.get("prompt_tokens") or 0),
            completion_tokens=self.usage.completion_tokens + int(usage.get("completion_tokens") or 0),
            cached_tokens=add_known(self.usage.cached_tokens, usage.get("cached_tokens")),
        )
        return replace(self, usage=counted)

    def with_traffic(self, sent: ModelTraffic) -> State:
        """Count a request to a model, also one that failed."""
        return replace(self, usage=replace(self.usage, models=sum_traffic([*self.usage.models, sent])))

    def merge(self, other: State) -> State:
        """Merge the states of two parallel searches. Only the searches of the last step and the events may differ."""
        mine, theirs = self.step.searches, other.step.searches
        searches = mine + tuple(search for search in theirs if search not in mine)
        events = self.events + tuple(event for event in other.events if event not in self.events)
        return replace(self.with_last(searches=searches), events=events)


def _once(documents: Iterable[Document]) -> tuple[Document, ...]:
    seen: dict[Identity, Document] = {}
    for document in documents:
        seen.setdefault(identity(document), document)
    return tuple(seen.values())


class RunError(PrefragError, RuntimeError):
    """The error that ends a failed run. Its ``state`` is the state so far, which contains the trace."""

    def __init__(self, message: str, state: State):
        super().__init__(message)
        self.state = state


class AskBack(RunError):
    """The error that ends a run with a question to the user, which is the message of the error."""
