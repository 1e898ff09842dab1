"""The state of a run and its parts: settings, steps, searches, verdicts, events and costs.

A run answers one question. Its pipeline is a loop: each iteration adds a :class:`Step`, which is one reply of the model
with the searches that the reply led to. In a loop, Haystack gives a component each mandatory input only once. So
everything that a later iteration needs is in one :class:`State`. A component never changes the state that it receives.
It returns a new state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import chain
from typing import Any, Literal, Protocol

from haystack import Document

from prefrag.components.state.attempt import Attempt
from prefrag.components.state.events import EventData, TraceEvent
from prefrag.components.state.run_options import AnswerType
from prefrag.components.state.usage import ModelTraffic, Usage, add_known, sum_traffic
from prefrag.components.state.value import Value
from prefrag.components.text.controls import strip_all_controls
from prefrag.errors import PrefragError

# What identifies a document: its id and its whole text. See `identity`.
Identity = tuple[str, str | None]
# Documents that came with the question have this name as their source.
ATTACHED = "attached"
# The metadata field in which a shortened document keeps its whole text.
WHOLE_TEXT = "_whole_text"
# The metadata field that marks a document as a summary. A model has written the summary to replace passages.
SUMMARY = "_summary"
# The metadata fields that only this application may set. They are removed from the documents that a source returns.
RESERVED_META = frozenset((WHOLE_TEXT, SUMMARY))

# How sure an answer is. "stated": a passage states the answer. "probably": a sentence probably contains the answer.
# "not_found": no answer is likely enough.
Certainty = Literal["stated", "probably", "not_found"]


def identity(document: Document) -> Identity:
    """Return the key that identifies a document: its id together with its whole text.

    The id alone is not enough, because two sources may use the same id for two documents.

    :param document: A document, whole or shortened.
    :returns: The id and the whole text. Two documents with the same id and the same text are the same document.
    """
    return document.id, document.meta.get(WHOLE_TEXT, document.content)


class Label(StrEnum):
    """How the model evaluates its own answer (PrefRAG, section 3.3)."""

    CORRECT = "CORRECT"
    PARTIALLY_CORRECT = "PARTIALLY CORRECT"
    INCORRECT = "INCORRECT"


class Action(StrEnum):
    """What a reply of the model asks the program to do next."""

    SEARCH = "search"
    """The reply contains a query. The program searches for it."""
    ANSWER = "answer"
    """The reply contains an answer."""
    UNKNOWN_ACTION = "unknown_action"
    """The reply names an action that does not exist."""
    UNREADABLE = "unreadable"
    """The program could read neither a search nor an answer from the reply."""
    NONE = "none"
    """The model wants no further search but gave no answer: a separate call generates the answer (MSPR, III.B)."""


@dataclass(frozen=True)
class Event(Value):
    """An entry of the trace, which records what happens in a run.

    :param kind: The kind of the event, for example ``observation`` or ``answer``.
    :param step: The number of the step in which the event happened, counted from 1. It is 0 before the first step.
    :param data: The details. All values are JSON-serialisable.
    """

    kind: str
    step: int
    data: EventData = field(default_factory=EventData)

    def to_dict(self) -> TraceEvent:
        """Write the event as plain JSON values.

        For example, ``Event("answer", 2, {"text": "1969"})`` becomes
        ``{"kind": "answer", "step": 2, "text": "1969"}``.

        :returns: A dictionary with the kind, the step and the details.
        """
        return {"kind": self.kind, "step": self.step, **self.data}


@dataclass(frozen=True)
class Verdict(Value):
    """The verdict of the judge on the documents of the preferred source (equation 3 of PrefRAG).

    :param status: True keeps the documents, False switches to another source.
    :param judged_by: What decided. ``model``: a language model. ``classifier``: boosted decision trees. ``words``: the
        share of the question's words that the documents contain. ``first_step``: no earlier step has made a search.
        ``nothing_found``: the source found no documents. ``nothing_new``: all documents were shown before.
        ``sufficient`` and ``insufficient``: an estimate whether the documents found so far suffice.
        ``no_other_source``: there is no source to switch to.
    :param analysis: The reason, in words.
    :param score: A probability from 0 to 1 that boosted decision trees estimate. With ``sufficient`` and
        ``insufficient``, it is the probability that the documents found so far suffice. Otherwise it is the probability
        that one of the documents is needed. None if no trees judged, or if the documents are unlike the training data.
    :param parsed: False if the model's verdict could not be read. The judge's setting ``on_doubt`` then decided.
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
    :param provider: The name of the class that searched. Empty if the source could not be searched at all.
    :param seconds: The duration of the search, in seconds.
    :param error: Why the search failed. None if the search did not fail.
    :param skipped: True if the source was not searched at all, because the source is not allowed.
    :param lookups: The number of queries that were sent to an index or the web, in all attempts.
    :param attempts: Every call that was made for the search, in order. Empty if the search was played from a recording.
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
    """A sentence that may help to answer the question.

    :param document: The document that contains the sentence.
    :param sentence: The text of the sentence.
    :param query: The question or query for which the sentence was chosen.
    :param share: The probability, from 0 to 1, of the answer that the extractive reader found in the sentence. It is 0
        if the reader found no answer there.
    """

    document: Document
    sentence: str
    query: str
    share: float = 0.0


@dataclass(frozen=True)
class Step(Value):
    """One step of a run: a reply of the model (or of the extractive reader), and the searches that the reply led to.

    The extractive reader is a small program that looks for an answer in the passages. It works without a language
    model.

    :param action: What the reply asks the program to do.
    :param reply: The part of the reply that the transcript keeps. Empty if the extractive reader took the step.
    :param thought: The model's reasoning in words.
    :param tool: The name of the action as the model wrote it.
    :param query: The query of a search. Empty if the action is no search.
    :param by_code: True if code chose the search and its query. False if the model chose them.
    :param named_source: The source that the chosen action searches. None if the router chooses the source.
    :param answer: The answer, if the action is to answer. A search may also keep the weak answer that it replaces.
    :param label: The model's own evaluation of the answer. None if the model gave no evaluation.
    :param explanation: Why the model chose the label.
    :param suggestions: What would improve the answer, in the model's words.
    :param cut_at: The number of tokens at which an unreadable reply was cut off. It is 0 if the number is unknown, and
        None if the reply was not cut off.
    :param forced: True if the model had to answer because no further step was allowed.
    :param probability: The probability, from 0 to 1, that the answer is right. It is known for answers of the
        extractive reader and of a small model, and None otherwise.
    :param certainty: How sure the answer is, as code decides. ``stated``: a passage states the answer. ``probably``: a
        sentence probably contains the answer. ``not_found``: no answer is likely enough. None if the answer was not
        checked.
    :param tokens: The tokens of the reply with their probabilities, from 0 to 1, if the model was asked for them.
    :param mean_logprob: The mean log probability of the reply's tokens. None if the server sent no probabilities.
    :param evidence: The sentence that supports the answer. If the extractive reader answered, the sentences of its
        other candidate answers follow, the likeliest first.
    :param unsupported: The sentences of a model's answer whose numbers and names stand in no passage.
    :param asked: The sources to search once more, because the answer was not labelled as correct. Empty means all.
    :param searches: The retrievals made for this step.
    :param verdict: The judge's verdict on the first retrieval. None if nothing was judged.
    :param source: The source whose documents were kept, or several sources joined by ``+``.
    :param documents: The documents that were kept.
    :param refined: A summary that the model is shown instead of the documents, if the documents were too long.
    :param observed: True if an observation (passages or a note) follows the reply in the transcript.
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
        """Whether the answer is too unlikely to be given to the user. The user then sees it only as a guess."""
        if self.certainty == "not_found":
            return True
        # If an answer is only probable, it matters who wrote it. A model's answer is given, and marked as probable. Of
        # the extractive reader's answer, only the sentence is shown. A step of the extractive reader has no reply.
        is_of_reader = not self.reply
        return self.certainty == "probably" and is_of_reader

    @property
    def shown(self) -> tuple[Document, ...]:
        """The documents as the model sees them: the documents themselves, or the summary that replaces them."""
        if self.refined is None:
            return self.documents
        return (self.refined,)


@dataclass(frozen=True)
class RunSettings(Value):
    """The settings of one run: those of the pipeline, except where the request sets an option.

    :param sources: The names of the sources that may be searched, in the order in which they are tried.
    :param preferred: The source that is searched first.
    :param top_k: The number of documents per retrieval.
    :param max_steps: The number of steps that the prompt allows. A run may take one more (appendix B.3 of PrefRAG).
    :param max_supplements: How often a run may search once more after the model labelled its answer as not correct.
    :param filters: A Haystack metadata filter, which is applied by the sources that can filter. None means no filter.
    :param external: The external sources, such as the web.
    :param typed_only: The external sources to which only the question as typed is sent, until a model writes the
        queries.
    :param prompts: The set of prompts. ``product`` asks for citations, and for answers from the passages alone.
        ``plain`` asks for neither. It is for measurements. Any other value is a folder, whose prompts replace those of
        ``plain``.
    :param answer_type: The kind of answer that the question calls for: a few words, yes or no, or one of its options.
    :param instructions: How an operator wants the answers to be: their language, tone and form. They are shown only to
        models that write an answer.
    :param stated_from: Pairs of a name and the least probability of an answer that is called stated. The name says what
        answers: ``reader`` or ``model``. The probabilities were chosen for the indexes that are searched. If a name is
        missing, the usual limits alone decide.
    :param first_query: ``question``: the first search is for the question itself, before any call to a model. This
        applies only to a loop with the prompts ``product``. ``model``: the model writes the first query too.
    """

    sources: tuple[str, ...]
    preferred: str
    top_k: int = 5
    max_steps: int = 3
    max_supplements: int = 1
    filters: Mapping[str, object] | None = None
    external: tuple[str, ...] = ()
    typed_only: tuple[str, ...] = ()
    prompts: str = "product"
    answer_type: AnswerType = "short"
    instructions: str = ""
    stated_from: tuple[tuple[str, float], ...] = ()
    first_query: Literal["question", "model"] = "model"


class Conversation(Protocol):
    """The conversation with the model that takes the steps. Other components can add questions to the conversation."""

    # The chat generator that holds the conversation.
    chat_generator: Any

    def ask_further(self, state: State, question: str) -> dict[str, Any] | None:
        """Add a question to the end of the conversation.

        :param state: The state so far, from which the conversation is written.
        :param question: The question to add.
        :returns: The conversation as arguments of ``ModelCall.prepare``. None if no question can be added.
        """


@dataclass(frozen=True)
class State(Value):
    """The state of a run: a question and everything that was done to answer it.

    :param question: The question that the components work on.
    :param settings: The settings of this run.
    :param typed: The question as the user typed it, if it was a follow-up question and has been rewritten. Otherwise
        empty.
    :param history: Earlier turns of the conversation with the user, oldest first. Each turn is a role and a text.
    :param attached: Documents that the user gave with the question. No query is made from them.
    :param steps: The steps so far.
    :param supplements: How often the run has searched once more after a negative label.
    :param last_search: True if no reply may follow the search that is being made. The answer is then forced next.
    :param usage: The model calls and tokens so far.
    :param events: The trace.
    :param started: The value of ``time.perf_counter()`` at the start, in seconds. It is 0 if no time is measured.
    :param reply_format: The format that suits the model of this run, for a Reasoner with ``reply_format: auto``.
    :param format_reason: Why this format was chosen: a setting, a trial of the model, or a first guess.
    :param attempts: The attempts of all searches of the run, in the order in which they begin. All states of a run
        share this one list. So a run that breaks off still knows which queries it sent.
    :param conversation: The conversation with the model that took the last step. None if no model took it.
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

    def __getstate__(self) -> dict[str, object]:
        # The conversation has a connection to a model, which cannot be copied to another process.
        return {**vars(self), "conversation": None}

    @property
    def step(self) -> Step:
        """The last step.

        :raises ValueError: If there is no step yet, because no reply has come.
        """
        if not self.steps:
            raise ValueError("The state has no step yet: a Reasoner must come before this component.")
        return self.steps[-1]

    @property
    def number(self) -> int:
        """The number of the current step, counted from 1. After an observation, this is already the next step."""
        if not self.steps:
            return 1
        if self.step.observed:
            return len(self.steps) + 1
        return len(self.steps)

    @property
    def query(self) -> str:
        """The query of the next search: the step's query or, after an answer that was not accepted, the question."""
        if self.step.action is Action.SEARCH:
            return self.step.query
        return self.question

    def takes_question(self, source: str) -> bool:
        """Check whether the next query for a source has to be the question as the user typed it.

        This is so for a source of ``settings.typed_only``, as long as no model has written the query.

        :param source: The name of the source.
        :returns: True if the source gets the question as typed.
        """
        if source not in self.settings.typed_only:
            return False
        # The calls of the judge do not count, because it writes no query.
        only_judge_was_called = self.usage.llm_calls.keys() <= {"judge"}
        return self._query_is_by_code or only_judge_was_called

    @property
    def _query_is_by_code(self) -> bool:
        """Whether the last step is a search whose query was made by code."""
        if not self.steps:
            return False
        return self.step.action is Action.SEARCH and self.step.by_code

    def is_done(self, source: str) -> bool:
        """Check whether a source needs no second search, because its only query would be the same again.

        :param source: The name of the source.
        :returns: True if the source gets only the question as typed, and has been searched already.
        """
        return self.takes_question(source) and any(search.source == source for search in self.searches)

    def query_for(self, source: str) -> str:
        """Return the next query for a source: the step's query, the question, or the question as typed.

        If the typed question is a follow-up, the user's previous question is put before it. For example, "Who founded
        the museum?" and then "And when?" give the query "Who founded the museum? And when?".

        :param source: The name of the source.
        :returns: The query.
        """
        if not self.takes_question(source):
            return self.question if self._is_first_by_code(source) else self.query
        if not self.typed:
            return self.question.strip()

        previous_questions = [text for role, text in self.history if role == "user"]
        previous_question = previous_questions[-1] if previous_questions else ""
        return f"{previous_question} {self.typed}".strip()

    def _is_first_by_code(self, source: str) -> bool:
        """Check whether the first query for a source would be one that code made, with the prompts ``product``.

        Code makes a query from names in the passages of another source. Such a query looks for more about what that
        other source has said. A source that is searched for the first time should be asked the question itself, because
        it may have passages about the whole question.
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
        return tuple(chain.from_iterable(step.searches for step in self.steps))

    @property
    def retrieved(self) -> tuple[Document, ...]:
        """The retrieved documents that the model has been shown, each once, in order."""
        return _once(chain.from_iterable(step.documents for step in self.steps))

    @property
    def model_failed(self) -> bool:
        """Whether the language model has failed in this run, so that the extractive reader goes on."""
        return any(event.kind == "model_failed" for event in self.events)

    @property
    def observed(self) -> tuple[Document, ...]:
        """The documents that the model has been shown, each once: first the attached, then the retrieved documents."""
        return _once((*self.attached, *self.retrieved))

    def with_step(self, step: Step) -> State:
        """Add a step.

        :param step: The new last step.
        :returns: The new state.
        """
        return replace(self, steps=(*self.steps, step))

    def with_last(self, **changes: Any) -> State:
        """Change the last step.

        :param changes: The new values of the step's fields, by their names.
        :returns: The new state.
        :raises ValueError: If there is no step yet.
        """
        changed_step = replace(self.step, **changes)
        *earlier_steps, _ = self.steps
        return replace(self, steps=(*earlier_steps, changed_step))

    def with_event(self, kind: str, **data: object) -> State:
        """Add an event to the trace.

        :param kind: The kind of the event, for example ``observation``.
        :param data: The details, which have to be JSON-serialisable. Control characters in texts are removed.
        :returns: The new state.
        """
        event = Event(kind, len(self.steps), strip_all_controls(data))
        return replace(self, events=(*self.events, event))

    def with_call(self, caller: str, meta: Mapping[str, Any]) -> State:
        """Count a call to a model.

        :param caller: What made the call, for example ``reasoner`` or ``judge``.
        :param meta: The ``meta`` of the reply. Its key ``usage`` has the numbers of tokens, as the server counted them.
        :returns: The new state.
        """
        tokens_of_call = meta.get("usage") or {}
        prompt_tokens = int(tokens_of_call.get("prompt_tokens") or 0)
        completion_tokens = int(tokens_of_call.get("completion_tokens") or 0)
        calls_of_caller = self.usage.llm_calls.get(caller, 0) + 1
        usage = replace(
            self.usage,
            llm_calls={**self.usage.llm_calls, caller: calls_of_caller},
            prompt_tokens=self.usage.prompt_tokens + prompt_tokens,
            completion_tokens=self.usage.completion_tokens + completion_tokens,
            cached_tokens=add_known(self.usage.cached_tokens, tokens_of_call.get("cached_tokens")),
        )
        return replace(self, usage=usage)

    def with_traffic(self, sent: ModelTraffic) -> State:
        """Count a request to a model. A request that failed counts as well.

        :param sent: The request: the host, and the numbers of calls and tokens.
        :returns: The new state.
        """
        models = sum_traffic([*self.usage.models, sent])
        return replace(self, usage=replace(self.usage, models=models))

    def merge(self, other: State) -> State:
        """Merge the states of two parallel searches.

        :param other: The other state. Only the searches of its last step and its events may differ from this state.
        :returns: A state with the searches and the events of both.
        """
        own_searches = self.step.searches
        further_searches = [search for search in other.step.searches if search not in own_searches]
        further_events = [event for event in other.events if event not in self.events]
        merged = self.with_last(searches=(*own_searches, *further_searches))
        return replace(merged, events=(*self.events, *further_events))


def _once(documents: Iterable[Document]) -> tuple[Document, ...]:
    """Leave out repeated documents. Of equal documents, the first is kept."""
    seen: dict[Identity, Document] = {}
    for document in documents:
        seen.setdefault(identity(document), document)
    return tuple(seen.values())


class RunError(PrefragError, RuntimeError):
    """The error that ends a failed run.

    :param message: What went wrong.
    :param state: The state so far, which contains the trace. It becomes the attribute ``state``.
    """

    def __init__(self, message: str, state: State):
        super().__init__(message)
        self.state = state


class AskBack(RunError):
    """The error that ends a run with a question to the user, which is the message of the error."""
