"""The component of Self-RAG: a model answers from each passage alone and criticises each answer; the best is kept."""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from haystack import Document, component
from haystack.dataclasses import ChatMessage

from prefrag.components.block import check_choice, check_whole_number
from prefrag.components.both_ways import as_blocking, gather
from prefrag.components.generators.json_reply import object_schema, read_object, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, PreparedCall
from prefrag.components.generators.token_budget import Observations
from prefrag.components.judge.model_judge import read_boolean, read_verdict
from prefrag.components.prompts.render_prompt import prompt_path, put_instructions
from prefrag.components.reader.answer_carrier import find_carrier
from prefrag.components.reasoner.answer_format import ANSWER_FORMATS
from prefrag.components.reasoner.reply_formats.fields import one_answer
from prefrag.components.state.citations import cite_plainly, known_marks, prompt_marks, read_citations
from prefrag.components.state.evidence import rank_sentences
from prefrag.components.state.passages import passages
from prefrag.components.state.state import (
    Action,
    Evidence,
    Label,
    RunError,
    State,
    Step,
    identity,
)
from prefrag.components.state.usage import Usage, add_known, sum_traffic

Retrieval = Literal["always", "adaptive"]
Support = Literal["fully", "partially", "none"]

NOT_CRITICISED = "The passages were not criticised one by one: that needs a language model."
# The default weights of the three critiques (section 3.3 of Self-RAG, and its published code, run_short_form.py).
WEIGHTS = {"relevance": 1.0, "support": 1.0, "usefulness": 0.5}
_SUPPORT: dict[Support, float] = {"fully": 1.0, "partially": 0.5, "none": 0.0}
_USEFULNESS = (-1.0, -0.5, 0.0, 0.5, 1.0)
_LABELS: dict[Support, tuple[Label, str]] = {
    "fully": (Label.CORRECT, "The passage supports the answer fully."),
    "partially": (Label.PARTIALLY_CORRECT, "The passage supports the answer in part."),
    "none": (Label.INCORRECT, "The passage does not support the answer."),
}
_CRITIQUE = object_schema(
    relevance={"enum": ["relevant", "irrelevant"]},
    answer={"type": "string", "maxLength": 400},
    support={"enum": list(get_args(Support))},
    usefulness={"enum": [1, 2, 3, 4, 5]},
)
_DECISION = object_schema(explanation={"type": "string", "maxLength": 240}, retrieve={"enum": ["yes", "no"]})
_IRRELEVANT = re.compile(r"\b(?:irrelevant|(?:not|un)[\s_-]*relevant)\b")
_RELEVANT = re.compile(r"\brelevant\b")
_NO_SUPPORT = re.compile(r"\b(?:no|none|not|unsupported|contradict\w*)\b")
# A whole number from 1 to 5: "4", "4.0", "4/5", but not "4.5".
_GRADE = re.compile(r"(?<![\d.,-])[1-5](?![\d,]|\.[1-9])")


@dataclass(frozen=True)
class Critique:
    """An answer from one passage, and the model's critique of it."""

    answer: str = ""  # empty if the passage contains no answer
    relevant: bool = False  # whether the passage is relevant (IsRel)
    support: Support = "none"  # how far the passage supports the answer (IsSup)
    usefulness: int | None = None  # how useful the answer is, from 1 to 5 (IsUse); None if it cannot be read
    parsed: bool = False  # whether all three critiques could be read; an unreadable critique adds nothing to the score

    def score(self, weights: Mapping[str, float]) -> float:
        """Add up the three grades of this critique, each times its weight (section 3.3 of Self-RAG, and its code).

        Relevance counts as 0 or 1, support as 0, 0.5 or 1, and usefulness as a number from -1 to 1.
        """
        usefulness = 0.0 if self.usefulness is None else _USEFULNESS[self.usefulness - 1]
        return (
            weights["relevance"] * self.relevant
            + weights["support"] * _SUPPORT[self.support]
            + weights["usefulness"] * usefulness
        )


@component
class PassageCritic:
    """Decide whether to retrieve, answer from each passage alone, criticise each answer, and keep the best (Self-RAG).

    A pipeline runs this component before the search and again after it. Each run returns one of three outputs:
    ``search``, ``answered`` or ``unanswered`` (no search is needed, no passage was found, or there is no model).
    """

    def __init__(
        self,
        chat_generator: ChatGenerator,
        retrieval: Retrieval = "always",
        weights: dict[str, float] | None = None,
        concurrency: int = 5,
        prompt: str = "passage_critic",
        generation_kwargs: dict[str, Any] | None = None,
    ):
        """Set up the component.

        :param chat_generator: The model that answers and criticises.
        :param retrieval: ``always``: always search. ``adaptive``: the model first decides whether to search. If its
            decision cannot be read in two attempts, the run searches only if all its sources are local.
        :param weights: The weight of each critique; by default 1.0 for ``relevance`` and ``support``, and 0.5 for
            ``usefulness``.
        :param concurrency: How many passages are criticised at the same time in an asynchronous run. A model in this
            process gets one passage at a time.
        :param prompt: The prompt file for answering from a passage and criticising the answer.
        :param generation_kwargs: OpenAI-style parameters; by default temperature 0.1, top_p 0.9.
        :raises ValueError: When a setting is invalid, or a prompt file does not exist.
        """
        check_choice(get_args(Retrieval), retrieval=retrieval)
        check_whole_number(1, concurrency=concurrency)
        self._weights = {**WEIGHTS, **(weights or {})}
        if self._weights.keys() != WEIGHTS.keys() or not all(map(math.isfinite, self._weights.values())):
            raise ValueError(f"weights is {weights}: give numbers for {', '.join(WEIGHTS)}.")
        prompt_path(prompt)
        self.chat_generator = chat_generator
        self.retrieval: Retrieval = retrieval
        self.weights = weights
        self.concurrency = concurrency
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self._call = ModelCall("critic", chat_generator, generation_kwargs)
        component.set_output_types(self, search=State, answered=State, unanswered=State)

    def warm_up(self) -> None:
        """Load or connect the model, if there is one."""
        if not self._call.is_absent:
            self._call.warm_up()

    async def run_async(self, state: State) -> dict[str, State]:
        """Decide whether to search, or criticise the passages that the search found.

        :param state: The state at the start of a run, or after its search.
        :returns: The state under one of the outputs.
        :raises RunError: When the model fails. The error contains the state.
        """
        routed = self._without_call(state)
        if routed is not None:
            return routed
        if not state.steps:
            call = self._prepare_decision(state)
            decision, _, state = await self._call.send_until_read_async(call, read_decision)
            return self._decide(decision, state)
        # A model in this process takes one call at a time. Further calls would wait, and could miss their deadlines.
        limit = asyncio.Semaphore(1 if self._call.is_embedded else self.concurrency)
        failures: list[RunError] = []

        async def criticise(document: Document) -> tuple[Critique | None, State]:
            async with limit:
                forked = replace(state, usage=Usage(), events=())
                if failures:
                    # The model has failed, so do not send the remaining calls.
                    return None, forked
                try:
                    call = self._prepare(forked, document)
                    critique, _, forked = await self._call.send_until_read_async(call, read_critique)
                except RunError as error:
                    failures.append(error)
                    return None, error.state
                return critique, forked

        results = await gather(*map(criticise, state.observed))
        state = _join(state, *(forked for _, forked in results))
        if failures:
            raise RunError(str(failures[0]), state) from failures[0]
        return {"answered": self._answer(state, [critique for critique, _ in results])}

    run = as_blocking(run_async)

    def _without_call(self, state: State) -> dict[str, State] | None:
        """Choose the output if that is possible without calling the model, else return None."""
        if not state.steps:
            must_search = self.retrieval == "always" or self._call.is_absent
            return {"search": state} if must_search else None
        if self._call.is_absent:
            return {"unanswered": state.with_event("without_model", text=NOT_CRITICISED)}
        return None if state.observed else {"unanswered": state}

    def _prepare_decision(self, state: State) -> PreparedCall:
        def values(_: Observations) -> dict[str, object]:
            return {"question": state.question}

        schema = response_format("retrieval", _DECISION)
        return self._call.prepare(state, "retrieval_decision", [], values, response_format=schema)

    def _decide(self, decision: tuple[bool, str] | None, state: State) -> dict[str, State]:
        if decision is None:
            # Nobody has decided, so nothing may leave this machine.
            needed, explanation = set(state.settings.sources).isdisjoint(state.settings.external), ""
        else:
            needed, explanation = decision
        state = state.with_event("retrieval", status=needed, explanation=explanation, parsed=decision is not None)
        return {"search" if needed else "unanswered": state}

    def _prepare(self, state: State, document: Document) -> PreparedCall:
        settings = state.settings

        def values(observations: Observations) -> dict[str, object]:
            return {
                "question": state.question,
                "passage": passages(observations[0], prompts=settings.prompts),
                "answer_format": ANSWER_FORMATS[settings.answer_type],
                "product": settings.prompts == "product",
            }

        def messages(prompt: str, _: Observations) -> list[ChatMessage]:
            return [ChatMessage.from_user(put_instructions(prompt, settings.instructions))]

        schema = response_format("critique", _CRITIQUE)
        return self._call.prepare(state, self.prompt, [[document]], values, messages=messages, response_format=schema)

    def _answer(self, state: State, critiques: Sequence[Critique | None]) -> State:
        """Add the answer with the highest score to the state, and cite its passage."""
        # As in the published code: if the question has fixed options, the scores of equal answers are added up.
        # Otherwise each answer keeps its own score.
        closed = state.settings.answer_type != "short"
        totals: dict[str | int, float] = {}
        best: dict[str | int, tuple[float, Document, Critique]] = {}
        for place, (document, reading) in enumerate(zip(state.observed, critiques, strict=True)):
            critique = reading or Critique()
            score = critique.score(self._weights)
            state = state.with_event(
                "critique",
                document=str(document.meta.get("title") or ""),
                id=document.id,
                answer=critique.answer,
                relevant=critique.relevant,
                support=critique.support,
                usefulness=critique.usefulness,
                score=round(score, 3),
                parsed=critique.parsed,
            )
            if not critique.answer:
                continue
            key = _fold(critique.answer) if closed else place
            totals[key] = totals.get(key, 0.0) + score
            if key not in best or score > best[key][0]:
                best[key] = score, document, critique
        if not totals:
            # No reply gave an answer. If a reply could be read, the passages contain none. If not, the model failed.
            was_read = any(critique is not None for critique in critiques)
            return state.with_step(Step(Action.ANSWER, certainty="not_found" if was_read else None))
        _, document, critique = best[max(totals, key=totals.__getitem__)]
        words, _ = read_citations(critique.answer, known_marks(state))
        is_checked = state.settings.prompts == "product" and not closed
        if is_checked and find_carrier(state.question, words, state.observed) is None:
            # No passage has it, so these are only the model's own words: an invention, or a refusal in prose.
            state = state.with_step(Step(Action.ANSWER, reply=words, answer=words, certainty="not_found"))
            return state.with_event("checked", text="", certainty="not_found")
        mark = prompt_marks(state).get(identity(document))
        answer = f"{critique.answer} [{mark}]" if mark else critique.answer
        label, explanation = _LABELS[critique.support]
        nearest = rank_sentences(critique.answer, [document], state.question)[:1]
        evidence = tuple(Evidence(document, quotation.sentence, state.question) for quotation in nearest)
        step = Step(Action.ANSWER, answer=answer, label=label, explanation=explanation, evidence=evidence)
        state = state.with_step(step)
        text = cite_plainly(step.answer, known_marks(state))
        return state.with_event("answer", text=text, label=label.value, forced=False)


def _join(*states: State) -> State:
    """Merge the usage and the events of parallel calls into one state."""
    usages = [state.usage for state in states]
    llm_calls = Counter[str]()
    for usage in usages:
        llm_calls += Counter(usage.llm_calls)
    total = Usage(
        llm_calls,
        sum(usage.prompt_tokens for usage in usages),
        sum(usage.completion_tokens for usage in usages),
        add_known(*(usage.cached_tokens for usage in usages)),
        sum_traffic(sent for usage in usages for sent in usage.models),
    )
    events = tuple(event for state in states for event in state.events)
    return replace(states[0], usage=total, events=events)


def read_decision(text: str) -> tuple[bool, str] | None:
    """Read whether to search, and why; None if the reply does not say."""
    needed, values = read_verdict(text, "retrieve")
    if needed is None:
        return None
    return needed, str(values.get("explanation") or "")


def read_critique(text: str) -> Critique | None:
    """Read an answer and its three critiques from a reply; None if the reply has no field ``answer``."""
    values = read_object(text, "answer")
    if values is None:
        return None
    answer = values["answer"]
    answer_text = str(answer) if isinstance(answer, str | int | float) else ""
    relevant = _read_relevance(values.get("relevance"))
    support = _read_support(values.get("support"))
    usefulness = _read_usefulness(values.get("usefulness"))
    return Critique(
        answer=one_answer(answer_text),
        relevant=bool(relevant),
        support=support or "none",
        usefulness=usefulness,
        parsed=None not in (relevant, support, usefulness),
    )


def _read_relevance(value: object) -> bool | None:
    text = str(value)[:200].casefold()
    if _IRRELEVANT.search(text):
        return False
    return True if _RELEVANT.search(text) else read_boolean(value)


def _read_support(value: object) -> Support | None:
    """Read how far a passage supports the answer; None if the text names no degree, or several."""
    if value is None:
        return None
    text = str(value)[:200].casefold()
    degrees: list[Support] = []
    if "full" in text:
        degrees.append("fully")
    if "partial" in text or "partly" in text:
        degrees.append("partially")
    if _NO_SUPPORT.search(text):
        degrees.append("none")
    return degrees[0] if len(degrees) == 1 else None


def _read_usefulness(value: object) -> int | None:
    grade = None if isinstance(value, bool) else _GRADE.search(str(value)[:200])
    return int(grade[0]) if grade else None


def _fold(answer: str) -> str:
    """Write an answer so that equal answers are the same: in small letters, without marks and punctuation."""
    text, _ = read_citations(answer)
    words = re.findall(r"\w+", text.casefold())
    return " ".join(words) or answer
