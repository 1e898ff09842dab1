"""Choose among the answers that a model has proposed in a run.

Code checks each answer of a model and writes the result into the step. A weak answer may be replaced by a further
search. It is then kept as a proposal in the step of that search, and may still be given at the end.
"""

from dataclasses import replace

from prefrag.components.generators.model_call import may_go_on
from prefrag.components.reasoner.answer_check import GIVEN, AnswerCheck
from prefrag.components.reasoner.product_rules import says_not_found
from prefrag.components.reasoner.reader_step import mark_of
from prefrag.components.state.citations import cite_plainly, known_marks, read_citations
from prefrag.components.state.state import Action, RunError, State, Step
from prefrag.components.text.sentences import shown_sentences


def write_check(state: State, check: AnswerCheck | None, cites: bool) -> State:
    """Write the result of a check into the last step. If the answer cites nothing, code adds a citation.

    :param state: The state, whose last step has the answer.
    :param check: The result. None if the model has given no answer, for example NOT FOUND.
    :param cites: True if answers have citations.
    :returns: The state with the result, and an event in the trace.
    """
    if check is None:
        # A refusal in the model's own words is kept. The words NOT FOUND are not.
        words = "" if says_not_found(state.step.answer) else state.step.answer
        state = state.with_last(answer=words, label=None, certainty="not_found", probability=None)
        return state.with_event("checked", text="", certainty="not_found")

    marks = known_marks(state)
    answer = state.step.answer
    _, cited = read_citations(answer, marks)
    if check.evidence and cites and not cited:
        # The citation is put behind the first sentence that a passage supports.
        supported = (sentence for sentence in shown_sentences(answer) if sentence not in check.unsupported)
        first = next(supported, answer)
        mark = mark_of(check.evidence[0].document, state)
        answer = answer.replace(first, f"{first}{mark}", 1)

    shown = {"certainty": check.certainty, "probability": check.probability}
    state = state.with_last(answer=answer, evidence=check.evidence, unsupported=check.unsupported, **shown)
    return state.with_event("checked", text=cite_plainly(answer, marks), **shown)


def choose_likeliest(state: State) -> State:
    """Replace the last step's answer by the likeliest proposal of an earlier step, if that is likelier.

    :param state: The state, whose last step has an answer.
    :returns: The state. It is unchanged if the last answer has no probability: with more passages, the model no longer
        found an answer, and so has taken its earlier proposals back.
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
    """After the model has failed, give its likeliest proposal if the extractive reader's answer is not sure.

    :param state: The state, whose last step was taken by the extractive reader.
    :returns: The state. It is unchanged if the reader's answer is stated, or if no proposal is likely enough.
    """
    if state.step.action is not Action.ANSWER or state.step.certainty == "stated":
        return state

    likely = [step for step in state.steps[:-1] if step.answer and _probability(step) >= GIVEN]
    if not likely:
        return state

    best = max(likely, key=_probability)
    answer = replace(best, action=Action.ANSWER, searches=(), documents=())
    return replace(state, steps=(*state.steps[:-1], answer))


def _probability(step: Step) -> float:
    """Return the probability of a step's answer; 0 if it is unknown."""
    return step.probability or 0.0


def keep_after(after: State, error: RunError, state: State) -> State:
    """Keep a step, although a further call to the model failed after it.

    :param after: The state with the step.
    :param error: The error of the further call.
    :param state: The state before the step.
    :returns: The state with the step, and an event in the trace that the model failed.
    :raises RunError: The same error, if the run must end.
    """
    if not may_go_on(error, state):
        raise error
    return replace(error.state, steps=after.steps).with_event("model_failed", message=str(error))
