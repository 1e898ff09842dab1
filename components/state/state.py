"""What a run carries round the loop.

Haystack consumes a mandatory input of a looping component once, so whatever must survive an iteration travels in one
:class:`State`. States are values: a component never changes the one it was given, it returns another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, Self

from haystack import Document

from prefrag.components.errors import PrefragError

Identity = tuple[str, str | None]
# Under this name the metadata of a shortened document hold its whole text.
WHOLE_TEXT = "_whole_text"


def identity(document: Document) -> Identity:
    """Identify a document: two sources may each have a document ``1``, or have one in common.

    :param document: A document, or what was left of it by shortening.
    :returns: Its id and its whole text; two documents that share both are one.
    """
    return document.id, document.meta.get(WHOLE_TEXT, document.content)


class Label(StrEnum):
    """The self-evaluation of an answer (PrefRAG, section 3.3)."""

    CORRECT = "CORRECT"
    PARTIALLY_CORRECT = "PARTIALLY CORRECT"
    INCORRECT = "INCORRECT"


class Action(StrEnum):
    """What one reply of the reasoner calls for, whatever format it was written in."""

    SEARCH = "search"
    ANSWER = "answer"
    UNKNOWN_ACTION = "unknown_action"
    UNREADABLE = "unreadable"


class _Value:
    """Copies of a value are the value itself.

    Haystack deep-copies every input of every component; a state that grows with its documents would be copied some
    thirty times a run for nothing, since nobody changes it.
    """

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


@dataclass(frozen=True)
class Event(_Value):
    """One line of the trace.

    :param kind: What happened, for example ``thought``, ``search`` or ``verdict``.
    :param step: The number of the step that it belongs to, counted from 1; 0 before the first.
    :param data: Its details, JSON-serialisable.
    """

    kind: str
    step: int
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Write the event as plain JSON values.

        :returns: Its kind, its step and its details.
        """
        return {"kind": self.kind, "step": self.step, **self.data}


@dataclass(frozen=True)
class Verdict(_Value):
    """The verdict of the judge on the documents of the preferred source (equation 3 of PrefRAG).

    :param status: True keeps the documents, False switches to another source.
    :param judged_by: ``model``, ``classifier``, ``first_step``, ``nothing_found`` or ``no_other_source``.
    :param analysis: Why.
    :param score: The judge's number, where it has one: the trees' probability (0 to 1).
    :param parsed: False when the model's verdict could not be read and the setting decided.
    """

    status: bool
    judged_by: str
    analysis: str = ""
    score: float | None = None
    parsed: bool = True


@dataclass(frozen=True)
class Search(_Value):
    """One retrieval.

    :param source: The source that was searched.
    :param query: The query.
    :param documents: What it gave, best first.
    :param provider: The class that gave them.
    :param seconds: How long it took.
    :param sent_out: Whether the query went to an external service.
    :param error: Why it gave nothing, when it failed.
    :param skipped: Whether the source was not searched at all, because it may not be.
    """

    source: str
    query: str
    documents: tuple[Document, ...] = ()
    provider: str = ""
    seconds: float = 0.0
    sent_out: bool = False
    error: str | None = None
    skipped: bool = False


@dataclass(frozen=True)
class Step(_Value):
    """One reply of the reasoner and what came of it.

    :param action: What the reply calls for.
    :param reply: The part of the reply that goes back into the transcript.
    :param thought: The reasoning in words.
    :param tool: The name of the action as the model wrote it.
    :param query: The query of a search.
    :param named_source: The source that the action names, where actions name sources.
    :param answer: The answer, where the action is one.
    :param label: The model's own evaluation of that answer; None when it gave none.
    :param explanation: Why it chose the label.
    :param suggestions: What would improve the answer.
    :param forced: Whether the model was made to answer because the steps were used up.
    :param searches: The retrievals made for this step.
    :param verdict: The judge's verdict on the first of them.
    :param source: The source (or sources, joined by ``+``) whose documents were kept.
    :param documents: The documents kept.
    :param refined: A summary that the model is shown instead of them, where they were too long.
    :param observed: Whether an observation follows the reply in the transcript.
    :param note: What stands in the observation instead of documents (a correction, a failure).
    """

    action: Action
    reply: str = ""
    thought: str = ""
    tool: str = ""
    query: str = ""
    named_source: str | None = None
    answer: str = ""
    label: Label | None = None
    explanation: str = ""
    suggestions: str = ""
    forced: bool = False
    searches: tuple[Search, ...] = ()
    verdict: Verdict | None = None
    source: str | None = None
    documents: tuple[Document, ...] = ()
    refined: Document | None = None
    observed: bool = False
    note: str = ""

    @property
    def shown(self) -> tuple[Document, ...]:
        """The documents as the model is shown them."""
        return self.documents if self.refined is None else (self.refined,)


@dataclass(frozen=True)
class RunSettings(_Value):
    """The settings of one run: those of the pipeline, narrowed by the request.

    :param sources: The sources that may be searched, in order.
    :param preferred: The one that is searched first.
    :param external: Those of the sources that are external.
    :param top_k: Documents a retrieval.
    :param max_steps: Steps that the prompt speaks of; the hard limit is one more (appendix B.3 of PrefRAG).
    :param max_supplements: Rounds of supplementary retrieval after a negative label.
    :param filters: Haystack metadata filter on the documents of the sources that can filter.
    """

    sources: tuple[str, ...]
    preferred: str
    top_k: int = 5
    max_steps: int = 3
    max_supplements: int = 1
    filters: Mapping[str, Any] | None = None
    external: tuple[str, ...] = ()


@dataclass(frozen=True)
class Usage(_Value):
    """What a run has cost so far.

    :param llm_calls: Calls to a model, by who made them (``reasoner``, ``judge``, ...).
    :param prompt_tokens: Tokens read, as the server counted them.
    :param completion_tokens: Tokens written, as the server counted them.
    """

    llm_calls: Mapping[str, int] = field(default_factory=dict)
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True)
class State(_Value):
    """A question on its way to an answer.

    :param question: The question as it is worked on.
    :param settings: The settings of this run.
    :param typed: The question as the user typed it, where a follow-up was rewritten.
    :param history: Earlier turns of the conversation, oldest first, as (role, text).
    :param steps: The replies of the reasoner so far.
    :param supplements: Rounds of supplementary retrieval so far.
    :param usage: What it has cost so far.
    :param events: The trace.
    :param started: ``time.perf_counter()`` at the start, in seconds.
    """

    question: str
    settings: RunSettings
    typed: str = ""
    history: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()
    supplements: int = 0
    usage: Usage = field(default_factory=Usage)
    events: tuple[Event, ...] = ()
    started: float = 0.0

    @property
    def step(self) -> Step:
        """The last step.

        :raises ValueError: Before the first reply.
        """
        if not self.steps:
            raise ValueError("The state has no step yet: a Reasoner must come before this component.")
        return self.steps[-1]

    @property
    def query(self) -> str:
        """The query of the next search: that of the step, or the question for a supplement."""
        return self.step.query if self.step.action is Action.SEARCH else self.question

    @property
    def replies(self) -> int:
        """How often the reasoner has replied, unreadable replies included."""
        return len(self.steps)

    @property
    def searches(self) -> tuple[Search, ...]:
        """Every retrieval so far, in order."""
        return tuple(search for step in self.steps for search in step.searches)

    @property
    def observed(self) -> tuple[Document, ...]:
        """Every document that the model has been shown, each once, in order."""
        seen: dict[Identity, Document] = {}
        for step in self.steps:
            for document in step.documents:
                seen.setdefault(identity(document), document)
        return tuple(seen.values())

    def with_step(self, step: Step) -> State:
        """Add a step.

        :param step: The step.
        :returns: The state with it at the end.
        """
        return replace(self, steps=(*self.steps, step))

    def with_last(self, **changes: Any) -> State:
        """Change the last step.

        :param changes: Its fields by name.
        :returns: The state with the changed step.
        """
        return replace(self, steps=(*self.steps[:-1], replace(self.step, **changes)))

    def with_event(self, kind: str, **data: Any) -> State:
        """Add a line to the trace.

        :param kind: What happened.
        :param data: Its details, JSON-serialisable.
        :returns: The state with the line at the end of its trace.
        """
        return replace(self, events=(*self.events, Event(kind, len(self.steps), data)))

    def with_call(self, caller: str, meta: Mapping[str, Any]) -> State:
        """Count one call to a model.

        :param caller: Who called.
        :param meta: The ``meta`` of the reply; its ``usage`` holds the server's token counts.
        :returns: The state with the call counted.
        """
        usage = meta.get("usage") or {}
        calls = {**self.usage.llm_calls, caller: self.usage.llm_calls.get(caller, 0) + 1}
        counted = Usage(
            calls,
            self.usage.prompt_tokens + int(usage.get("prompt_tokens") or 0),
            self.usage.completion_tokens + int(usage.get("completion_tokens") or 0),
        )
        return replace(self, usage=counted)

    def merge(self, other: State) -> State:
        """Join two states that went different ways from the same step, as the sources of a supplement do.

        :param other: The state that came the other way.
        :returns: This state with the searches and the trace that only the other one has.
        """
        mine, theirs = self.step.searches, other.step.searches
        searches = mine + tuple(search for search in theirs if search not in mine)
        events = self.events + tuple(event for event in other.events if event not in self.events)
        return replace(self.with_last(searches=searches), events=events)


class RunError(PrefragError, RuntimeError):
    """A run could not go on; it holds the state that it had reached, so that nothing of the trace is lost.

    :param message: What happened and what to do.
    :param state: The state when it happened.
    """

    def __init__(self, message: str, state: State):
        super().__init__(message)
        self.state = state
