"""The component of Self-RAG, which answers from each passage alone and keeps the best answer.

For each passage, the model writes an answer and three critiques in one reply:

- whether the passage is relevant;
- how far the passage supports the answer;
- how useful the answer is.

Code turns the critiques into a score. The answer with the highest score is kept.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Literal, get_args

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

# Whether to search for every question, or to let the model decide.
Retrieval = Literal["always", "adaptive"]
# How far a passage supports an answer.
Support = Literal["fully", "partially", "none"]

# The note in the trace of a run without a model.
NOT_CRITICISED = "The passages were not criticised one by one: that needs a language model."
# The default weights of the three critiques (section 3.3 of Self-RAG, and its published code, run_short_form.py).
WEIGHTS = {"relevance": 1.0, "support": 1.0, "usefulness": 0.5}
# What each degree of support adds to the score, before it is multiplied by its weight.
_SUPPORT: dict[Support, float] = {"fully": 1.0, "partially": 0.5, "none": 0.0}
# What each grade of usefulness adds to the score, for the grades 1 to 5. Grade 3 adds nothing.
_USEFULNESS = (-1.0, -0.5, 0.0, 0.5, 1.0)
# The label and the explanation that an answer gets for each degree of support.
_LABELS: dict[Support, tuple[Label, str]] = {
    "fully": (Label.CORRECT, "The passage supports the answer fully."),
    "partially": (Label.PARTIALLY_CORRECT, "The passage supports the answer in part."),
    "none": (Label.INCORRECT, "The passage does not support the answer."),
}
# The JSON schema of a reply with an answer and its critiques.
_CRITIQUE = object_schema(
    relevance={"enum": ["relevant", "irrelevant"]},
    answer={"type": "string", "maxLength": 400},
    support={"enum": list(get_args(Support))},
    usefulness={"enum": [1, 2, 3, 4, 5]},
)
# The JSON schema of a reply that decides whether to search.
_DECISION = object_schema(explanation={"type": "string", "maxLength": 240}, retrieve={"enum": ["yes", "no"]})
# A critique in lower case that denies relevance: "irrelevant", "not relevant", "unrelevant".
_IRRELEVANT = re.compile(r"\b(?:irrelevant|(?:not|un)[\s_-]*relevant)\b")
# The word "relevant", but not within "irrelevant".
_RELEVANT = re.compile(r"\brelevant\b")
# A word in lower case that denies support: "no support", "unsupported", "contradicts", but not "nothing".
_NO_SUPPORT = re.compile(r"\b(?:no|none|not|unsupported|contradict\w*)\b")
# A whole number from 1 to 5: "4", "4.0", "4/5", but not "4.5".
_GRADE = re.compile(r"(?<![\d.,-])[1-5](?![\d,]|\.[1-9])")


@dataclass(frozen=True)
class Critique:
    """An answer from one passage, and the model's critique of it.

    :param answer: The answer; empty if the passage contains none.
    :param relevant: Whether the passage is relevant to the question (IsRel in the paper).
    :param support: How far the passage supports the answer (IsSup).
    :param usefulness: How useful the answer is, from 1 to 5 (IsUse). None if the grade cannot be read.
    :param parsed: Whether all three critiques could be read. An unreadable critique adds nothing to the score.
    """

    answer: str = ""
    relevant: bool = False
    support: Support = "none"
    usefulness: int | None = None
    parsed: bool = False

    def score(self, weights: Mapping[str, float]) -> float:
        """Add up the three grades of this critique, each times its weight (section 3.3 of Self-RAG, and its code).

        Relevance counts as 0 or 1, support as 0, 0.5 or 1, and usefulness as a number from -1 to 1. For example, a
        relevant passage with partial support and usefulness 5 gets 1 + 0.5 + 0.5 = 2.0 with the default weights.

        :param weights: The weights of ``relevance``, ``support`` and ``usefulness``.
        :returns: The score.
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

    A pipeline runs this component before the search and again after the search. Each call has exactly one output:

    - ``search``, before the search;
    - ``answered`` with the best answer, after the search;
    - ``unanswered`` if no search is needed, no passage was found, or there is no model.
    """

    def __init__(
        self,
        chat_generator: ChatGenerator,
        retrieval: Retrieval = "always",
        weights: dict[str, float] | None = None,
        concurrency: int = 5,
        prompt: str = "passage_critic",
        generation_kwargs: dict[str, object] | None = None,
    ):
        """Set up the component.

        :param chat_generator: The model that answers and criticises.
        :param retrieval: With ``always``, the run always searches. With ``adaptive``, the model first decides whether
            to search. If its decision cannot be read in two attempts, the run searches only if all its sources are
            local.
        :param weights: The weights of the critiques ``relevance``, ``support`` and ``usefulness``. A weight that is
            missing is 1.0 for ``relevance`` and ``support``, and 0.5 for ``usefulness``.
        :param concurrency: How many passages are criticised at the same time in an asynchronous run. A model in this
            process gets one passage at a time.
        :param prompt: The prompt file for answering from a passage and criticising the answer.
        :param generation_kwargs: OpenAI-style parameters. None means temperature 0.1 and top_p 0.9.
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

        # Before the search, the state has no step yet.
        if not state.steps:
            call = self._prepare_decision(state)
            decision, _, state = await self._call.send_until_read_async(call, read_decision)
            return self._decide(decision, state)

        critiques, state = await self._criticise(state)
        return {"answered": self._answer(state, critiques)}

    run = as_blocking(run_async)

    async def _criticise(self, state: State) -> tuple[list[Critique | None], State]:
        """Have the model answer from each passage and criticise the answer. Return the critiques and the new state."""
        # A model in this process takes one call at a time. Further calls would wait, and could miss their deadlines.
        limit = asyncio.Semaphore(1 if self._call.is_embedded else self.concurrency)
        failures: list[RunError] = []

        async def criticise_one(document: Document) -> tuple[Critique | None, State]:
            """Ask the model about one passage; the critique is None if the reply could not be read."""
            async with limit:
                # The calls run at the same time, so each counts its own usage and events. `_join` adds them up.
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

        results = await gather(*map(criticise_one, state.observed))
        critiques = [critique for critique, _ in results]
        forked_states = [forked for _, forked in results]
        state = _join(state, *forked_states)
        if failures:
            raise RunError(str(failures[0]), state) from failures[0]
        return critiques, state

    def _without_call(self, state: State) -> dict[str, State] | None:
        """Choose the output if no call of the model is needed to choose it, else return None."""
        if not state.steps:
            must_search = self.retrieval == "always" or self._call.is_absent
            return {"search": state} if must_search else None
        if self._call.is_absent:
            return {"unanswered": state.with_event("without_model", text=NOT_CRITICISED)}
        if not state.observed:
            return {"unanswered": state}
        return None

    def _prepare_decision(self, state: State) -> PreparedCall:
        """Prepare the call that decides whether to search."""

        def values(_: Observations) -> dict[str, object]:
            """Return the variables of the prompt, which contains no passages."""
            return {"question": state.question}

        schema = response_format("retrieval", _DECISION)
        return self._call.prepare(state, "retrieval_decision", [], values, response_format=schema)

    def _decide(self, decision: tuple[bool, str] | None, state: State) -> dict[str, State]:
        """Choose the output by the model's decision, and record the decision in the trace."""
        if decision is None:
            # There is no decision, so no query may be sent to another machine.
            needed = set(state.settings.sources).isdisjoint(state.settings.external)
            explanation = ""
        else:
            needed, explanation = decision
        state = state.with_event("retrieval", status=needed, explanation=explanation, parsed=decision is not None)
        output = "search" if needed else "unanswered"
        return {output: state}

    def _prepare(self, state: State, document: Document) -> PreparedCall:
        """Prepare the call that answers from one passage and criticises the answer."""
        settings = state.settings

        def values(observations: Observations) -> dict[str, object]:
            """Return the variables of the prompt, with the passage as far as it fits."""
            return {
                "question": state.question,
                "passage": passages(observations[0], prompts=settings.prompts),
                "answer_format": ANSWER_FORMATS[settings.answer_type],
                "product": settings.prompts == "product",
            }

        def messages(prompt: str, _: Observations) -> list[ChatMessage]:
            """Make the messages of the call: the prompt with the run's own instructions."""
            return [ChatMessage.from_user(put_instructions(prompt, settings.instructions))]

        schema = response_format("critique", _CRITIQUE)
        return self._call.prepare(
            state,
            self.prompt,
            observations=[[document]],
            render=values,
            messages=messages,
            response_format=schema,
        )

    def _answer(self, state: State, critiques: Sequence[Critique | None]) -> State:
        """Add the answer with the highest score to the state, and cite its passage."""
        # As in the published code, the scores of equal answers are added up if the question has fixed options (a closed
        # question, such as yes or no). Otherwise, each answer keeps its own score.
        closed = state.settings.answer_type != "short"
        # `totals` has the score of each different answer, and `best` the passage and the critique that it comes from.
        # The keys are the answers of a closed question, or else the places of the passages.
        totals: dict[str | int, float] = {}
        best: dict[str | int, tuple[float, Document, Critique]] = {}
        for place, (document, parsed_critique) in enumerate(zip(state.observed, critiques, strict=True)):
            critique = parsed_critique or Critique()
            score = critique.score(self._weights)
            state = _record(state, document, critique, score)
            if not critique.answer:
                continue

            key = _fold(critique.answer) if closed else place
            totals[key] = totals.get(key, 0.0) + score
            best_score = best[key][0] if key in best else -math.inf
            if score > best_score:
                best[key] = score, document, critique

        if not totals:
            # No reply contains an answer. If a reply could be read, the passages contain none. Otherwise, the model did
            # not reply as it was told.
            was_read = any(critique is not None for critique in critiques)
            return state.with_step(Step(Action.ANSWER, certainty="not_found" if was_read else None))

        best_key = max(totals, key=totals.__getitem__)
        _, document, critique = best[best_key]
        return self._give(state, document, critique)

    def _give(self, state: State, document: Document, critique: Critique) -> State:
        """Add the answer of a critique to the state as a step, and cite its passage."""
        words, _ = read_citations(critique.answer, known_marks(state))
        is_checked = state.settings.prompts == "product" and state.settings.answer_type == "short"
        if is_checked and find_carrier(state.question, words, state.observed) is None:
            # No passage contains the answer. So it is only the model's own words: an invention, or a refusal in prose.
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


def _record(state: State, document: Document, critique: Critique, score: float) -> State:
    """Record the critique of the answer from a passage in the trace."""
    return state.with_event(
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


def _join(*states: State) -> State:
    """Merge the usage and the events of parallel calls into one state. All else comes from the first state."""
    usages = [state.usage for state in states]
    llm_calls = Counter[str]()
    for usage in usages:
        llm_calls += Counter(usage.llm_calls)
    total = Usage(
        llm_calls=llm_calls,
        prompt_tokens=sum(usage.prompt_tokens for usage in usages),
        completion_tokens=sum(usage.completion_tokens for usage in usages),
        cached_tokens=add_known(*(usage.cached_tokens for usage in usages)),
        models=sum_traffic(chain.from_iterable(usage.models for usage in usages)),
    )
    events = tuple(chain.from_iterable(state.events for state in states))
    return replace(states[0], usage=total, events=events)


def read_decision(text: str) -> tuple[bool, str] | None:
    """Read the decision whether to search from a reply.

    For example, ``{"explanation": "It asks for a fact.", "retrieve": "yes"}`` gives ``(True, "It asks for a fact.")``.

    :param text: The text of the reply.
    :returns: Whether to search, and why. None if the reply does not say whether.
    """
    needed, values = read_verdict(text, "retrieve")
    if needed is None:
        return None
    return needed, str(values.get("explanation") or "")


def read_critique(text: str) -> Critique | None:
    """Read an answer and its three critiques from a reply.

    :param text: The text of the reply, a JSON object such as
        ``{"relevance": "relevant", "answer": "Anna Berg", "support": "fully", "usefulness": 5}``.
    :returns: The critique. None if the reply has no field ``answer``.
    """
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
    """Read whether a passage is relevant: "Relevant" or "yes", "not relevant" or "no". None for other texts."""
    text = str(value)[:200].casefold()
    if _IRRELEVANT.search(text):
        return False
    return True if _RELEVANT.search(text) else read_boolean(value)


def _read_support(value: object) -> Support | None:
    """Read how far a passage supports the answer.

    For example, "fully supported" becomes "fully", and "contradicts the answer" becomes "none". For a text that names
    no degree, or several, as in "fully or partially", the result is None.
    """
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
    """Read a grade from 1 to 5: 4 for "4/5", None for "4.5"."""
    grade = None if isinstance(value, bool) else _GRADE.search(str(value)[:200])
    return int(grade[0]) if grade else None


def _fold(answer: str) -> str:
    """Write an answer in lower case, without citation marks and punctuation, so that equal answers are the same.

    For example, "The Aurora [1]." becomes "the aurora".
    """
    text, _ = read_citations(answer)
    words = re.findall(r"\w+", text.casefold())
    return " ".join(words) or answer
