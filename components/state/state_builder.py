"""The component that builds the state of a run from a question and the options of its request."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, get_args

from haystack import component

from prefrag.components.both_ways import in_thread
from prefrag.components.state.attached import attach
from prefrag.components.state.request_limits import (
    MAX_INSTRUCTIONS_CHARACTERS,
    check_filters,
    check_instructions,
    check_question,
    keep_newest_turns,
)
from prefrag.components.state.state import AnswerType, Prompts, RunSettings, State
from prefrag.components.state.web_switch import explain_closed, web_setting


@component
class StateBuilder:
    """Build the state of a run, with the pipeline's settings narrowed by the options of the request.

    ```python
    from prefrag.components.state.state_builder import StateBuilder

    start = StateBuilder(sources=["local", "web"], preferred="local", external_sources=["web"])
    print(start.run(question="Who designed the Aurora log?", sources=["local"])["state"].settings)
    ```
    """

    def __init__(
        self,
        sources: Sequence[str],
        preferred: str | None,
        external_sources: Sequence[str] = (),
        top_k: int = 5,
        max_steps: int = 3,
        max_supplements: int = 1,
        max_top_k: int = 20,
        prompts: Prompts = "product",
        answer_type: AnswerType = "short",
    ):
        """Set up the component.

        :param sources: The names of the sources, in the order in which a switch tries them.
        :param preferred: The source that is searched first; None, with no sources, for a method that retrieves nothing.
        :param external_sources: The sources that are searched only where the web is allowed, by `PREFRAG_WEB` or by the
            answer that is kept with the index.
        :param top_k: The number of documents a retrieval (3, 5 and 7 in the paper).
        :param max_steps: The number of steps that the prompt allows; the limit is one more (appendix B.3).
        :param max_supplements: Supplementary retrievals after a negative label.
        :param max_top_k: The highest `top_k` that a request may set.
        :param prompts: ``product`` requests citations and has the model rely on the passages alone; ``paper`` shows the
            model what the papers' prompts show, to measure a method. Both quote passages in the same way.
        :param answer_type: The kind of answer to the questions: ``short``, ``yes_no``, ``multiple_choice`` (table 19).
        :raises ValueError: When the settings contradict each other.
        """
        if (not sources and preferred is not None) or len(set(sources)) < len(sources):
            raise ValueError("`sources` needs at least one source, each under its own name.")
        if sources and preferred is None:
            raise ValueError(f"`preferred` is not set: name one of the sources {list(sources)}.")
        if preferred is not None and preferred not in sources:
            raise ValueError(f"The preferred source '{preferred}' is not among the sources {list(sources)}.")
        if unknown := set(external_sources) - set(sources):
            raise ValueError(f"external_sources names {sorted(unknown)}, the sources are {list(sources)}.")
        for name, value, least in (
            ("top_k", top_k, 1),
            ("max_steps", max_steps, 0),
            ("max_supplements", max_supplements, 0),
        ):
            if not _is_from(value, least, math.inf):
                raise ValueError(f"{name} is {value!r}: set it to a whole number of at least {least}.")
        _choose("prompts", prompts, get_args(Prompts))
        _choose("answer_type", answer_type, get_args(AnswerType))
        self.sources = list(sources)
        self.preferred = preferred
        self.external_sources = list(external_sources)
        self.top_k = top_k
        self.max_steps = max_steps
        self.max_supplements = max_supplements
        self.max_top_k = max(max_top_k, top_k)
        self.prompts: Prompts = prompts
        self.answer_type: AnswerType = answer_type
        # Set by `pipelines.load`: finds the external sources for which no index of the pipeline allows the web.
        self.find_closed: Callable[[], set[str]] | None = None

    @component.output_types(state=State)
    def run(
        self,
        question: str,
        history: list[dict[str, str]] | None = None,
        sources: list[str] | None = None,
        preferred: str | None = None,
        top_k: int | None = None,
        max_steps: int | None = None,
        filters: dict[str, Any] | None = None,
        documents: list[dict[str, str]] | None = None,
        answer_type: AnswerType | None = None,
        instructions: str | None = None,
    ) -> dict[str, State]:
        """Build the state of a run, with the settings of the pipeline narrowed by the request.

        :param question: The question, at most 4,000 characters and 4,500 bytes.
        :param history: Earlier turns of the conversation, oldest first, as ``{"role", "content"}``; the newest stay.
        :param sources: The sources that this run may search; by default all.
        :param preferred: The source that this run searches first.
        :param top_k: The number of documents a retrieval in this run.
        :param max_steps: The number of steps of this run, at most that of the pipeline.
        :param filters: Haystack metadata filter on the documents of the sources that can filter.
        :param documents: Texts that belong to the question, such as attached files, as ``{"title", "content"}``. The
            model is shown them; no query is made of them.
        :param answer_type: The kind of answer that this question has.
        :param instructions: What an operator asks of the answers: their language, tone and form, of which 4,000
            characters are kept. Only the models that write an answer are shown them.
        :returns: ``state``, the start of the run.
        :raises ValueError: When the question is empty, too long or no text, or an option cannot be granted.
        """
        question = check_question(question)
        turns = tuple((turn["role"], turn["content"]) for turn in keep_newest_turns(history))
        check_filters(filters)
        closed, reason = self.closed_sources()
        settings = self._narrow(sources, preferred, top_k, max_steps, filters, closed, reason)
        if answer_type is not None:
            settings = replace(settings, answer_type=_choose("answer_type", answer_type, get_args(AnswerType)))
        instructions = check_instructions(instructions)
        settings = replace(settings, instructions=instructions[:MAX_INSTRUCTIONS_CHARACTERS])
        state = State(question, settings, history=turns, started=time.perf_counter())
        if len(instructions) > MAX_INSTRUCTIONS_CHARACTERS:
            kept = MAX_INSTRUCTIONS_CHARACTERS
            state = state.with_event("instructions_cut", characters=len(instructions), kept=kept)
        if shut := [name for name in (self.sources if sources is None else sources) if name in closed]:
            state = state.with_event("closed", sources=shut, reason=reason)
        return {"state": replace(state, attached=attach(documents or ()))}

    # In a thread where the web is allowed by the indexes, because that may be kept on a server.
    run_async = in_thread(run, when=lambda self, *_, **__: self.find_closed is not None and web_setting() is None)

    def closed_sources(self) -> tuple[set[str], str]:
        """Find the external sources that no run may search.

        :returns: Their names, and why they are closed.
        """
        setting = web_setting()
        if setting is None:
            closed = set(self.external_sources) if self.find_closed is None else self.find_closed()
        else:
            closed = set(self.external_sources) if setting == "off" else set()
        return closed, explain_closed()

    def _narrow(
        self,
        sources: Sequence[str] | None,
        preferred: str | None,
        top_k: int | None,
        max_steps: int | None,
        filters: Mapping[str, Any] | None,
        closed: set[str],
        reason: str,
    ) -> RunSettings:
        wanted = self.sources if sources is None else list(sources)
        choice = f"choose from {', '.join(self.sources)}" if self.sources else "this pipeline retrieves nothing"
        if unknown := [name for name in wanted if name not in self.sources]:
            raise ValueError(f"There is no source {unknown[0]!r}: {choice}.")
        allowed = tuple(name for name in self.sources if name in wanted and name not in closed)
        if self.sources and not allowed:
            reason = reason if closed.intersection(wanted) else "the request allows none"
            still_open = [name for name in self.sources if name not in closed]
            advice = (
                f"Allow one of: {', '.join(still_open)}."
                if still_open
                else "This pipeline has no other source: use another one."
            )
            raise ValueError(f"No source is left to search: {reason}. {advice}")
        if preferred is not None and preferred not in self.sources:
            raise ValueError(f"There is no source '{preferred}': {choice}.")
        first = preferred or self.preferred or ""
        if allowed and first not in allowed:
            if preferred is not None:
                why = f": {reason}" if first in closed else ""
                raise ValueError(f"'{first}' cannot be preferred: this run may search {', '.join(allowed)} only{why}.")
            first = allowed[0]
        if top_k is not None and not _is_from(top_k, 1, self.max_top_k):
            raise ValueError(f"top_k is {top_k}: ask for 1 to {self.max_top_k} documents.")
        if max_steps is not None and not _is_from(max_steps, 0, self.max_steps):
            raise ValueError(f"max_steps is {max_steps}: ask for 0 to {self.max_steps} steps.")
        return RunSettings(
            sources=allowed,
            preferred=first,
            top_k=self.top_k if top_k is None else top_k,
            max_steps=self.max_steps if max_steps is None else max_steps,
            max_supplements=self.max_supplements,
            filters=filters,
            external=tuple(self.external_sources),
            prompts=self.prompts,
            answer_type=self.answer_type,
        )


def _choose(name: str, value: Any, choices: Sequence[str]) -> Any:
    if value not in choices:
        raise ValueError(f"{name} is {value!r}: set it to {' or '.join(choices)}.")
    return value


def _is_from(value: Any, least: int, most: float) -> bool:
    """Check whether a value is a whole number in a range; Python takes True for 1."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
