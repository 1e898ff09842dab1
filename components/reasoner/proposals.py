"""The answers that a model has proposed in a run: what a check found of them, and which of them is given."""

from dataclasses import replace

from prefrag.components.generators.model_call import may_go_on
from prefrag.components.reasoner.answer_check import GIVEN, AnswerCheck
from prefrag.components.reasoner.product_rules import says_not_found
from prefrag.components.reasoner.reader_step import mark_of
from prefrag.components.state.citations import cite_plainly, known_marks, read_citations
from prefrag.components.state.state import Action, RunError, State, Step
from prefrag.components.text.sentences import shown_sentences


def write_check(state: State, check: AnswerCheck | None, cites: bool) -> State:
    """Write a check into the last step. Code adds the mark that a model forgot."""
    if check is None:
        # A refusal in the model's own words is kept as these.
        words = "" if says_not_found(state.step.answer) else state.step.answer
        state = state.with_last(answer=words, label=None, certainty="not_found", probability=None)
        return state.with_event("checked", text="", certainty="not_found")
    marks, answer = known_marks(state), state.step.answer
    _, cited = read_citations(answer, marks)
    if check.evidence and cites and not cited:
        # Behind the first sentence that a passage supports.
        supported = (sentence for sentence in shown_sentences(answer) if sentence not in check.unsupported)
        first = next(supported, answer)
        mark = mark_of(check.evidence[0].document, state)
        answer = answer.replace(first, f"{first}{mark}", 1)
    shown = {"certainty": check.certainty, "probability": check.probability}
    state = state.with_last(answer=answer, evidence=check.evidence, unsupported=check.unsupported, **shown)
    return state.with_event("checked", text=cite_plainly(answer, marks), **shown)


def choose_likeliest(state: State) -> State:
    """Answer with the likeliest of the proposals, if an earlier step had a likelier one.

    A model that no longer finds the answer in more passages takes its earlier proposals back.
    """
    earlier = [step for step in state.steps[:-1] if step.answer and step.probability is not None]
    if state.step.probability is None:
        return state
    best = max(earlier, key=_probability, default=None)
    if best is None or _probability(best) <= state.step.probability:
        return state
    return state.with_last(
        answer=best.answer, certainty=best.certainty, probability=best.probability, evidence=best.evidence
    )


def choose_given(state: State) -> State:
    """After the model has failed, give its likely proposal where the reader's answer is not sure."""
    if state.step.action is not Action.ANSWER or state.step.certainty == "stated":
        return state
    likely = [step for step in state.steps[:-1] if step.answer and _probability(step) >= GIVEN]
    if not likely:
        return state
    best = max(likely, key=_probability)
    answer = replace(best, action=Action.ANSWER, searches=(), documents=())
    return replace(state, steps=(*state.steps[:-1], answer))


def _probability(step: Step) -> float:
    return step.probability or 0.0


def keep_after(after: State, error: RunError, state: State) -> State:
    """Keep what a step has, although a further call of it failed. The error is raised again if the run must end."""
    if not may_go_on(error, state):
        raise error
    return replace(error.state, steps=after.steps).with_event("model_failed", message=str(error))
