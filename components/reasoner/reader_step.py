"""The next step of a run without a language model: what a reader finds, or a search for what is open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from prefrag.components.reader.reader import Candidate
from prefrag.components.reasoner.next_query import next_query
from prefrag.components.state.citations import cite_plainly, known_marks, prompt_marks
from prefrag.components.state.state import Action, Evidence, Label, State, Step, identity

FROM_MEMORY = "This method answers from the memory of a language model, and there is none."
NOT_READ = (
    "Without a language model only questions in English are answered, and only where a passage states the answer."
)


def take_reader_step(
    state: State, candidates: Sequence[Candidate], threshold: float, tool: str = "", must_answer: bool = False
) -> State:
    """Give the answer where it is likely enough, else search for what is open, else stop without one.

    :param state: The state so far.
    :param candidates: What the reader found in the documents observed so far, the likeliest first.
    :param threshold: The probability from which an answer is given, from 0 to 1.
    :param tool: The name of the search, for the trace.
    :param must_answer: No further search: the end of a run whose steps are used up, or of a method with one step.
    :returns: The state with one more step.
    """
    best = candidates[0] if candidates else None
    is_sure = best is not None and best.probability >= threshold
    if not must_answer and not is_sure and (query := next_query(state)):
        return state.with_step(Step(Action.SEARCH, tool=tool, query=query))
    if not must_answer and not is_sure:
        return state.with_step(Step(Action.NONE))
    if must_answer and not state.observed and not state.searches:
        state = state.with_event("without_model", text=FROM_MEMORY)
    elif must_answer and best is None and state.observed:
        state = state.with_event("without_model", text=NOT_READ)
    step = Step(Action.ANSWER, withheld=not is_sure, probability=best.probability if best else 0.0)
    if best is not None:
        evidence = tuple(Evidence(one.document, one.sentence, state.question) for one in candidates)
        answer, label = best.text + _mark(best, state), Label.CORRECT if is_sure else None
        step = replace(step, answer=answer, label=label, evidence=evidence)
    state = state.with_step(step)
    return state.with_event(
        "read",
        text=cite_plainly(step.answer, known_marks(state)),
        probability=round(step.probability or 0.0, 3),
        threshold=threshold,
        given=is_sure,
    )


def _mark(candidate: Candidate, state: State) -> str:
    mark = prompt_marks(state).get(identity(candidate.document))
    return f" [{mark}]" if mark else ""
