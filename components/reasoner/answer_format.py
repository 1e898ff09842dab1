"""The words with which prompts describe what a final answer looks like."""

from dataclasses import dataclass

from prefrag.components.state.run_options import AnswerType

# For each kind of answer, the words with which the prompt describes it.
ANSWER_FORMATS: dict[AnswerType, str] = {
    "short": "the most concise answer to the original question, nothing but the answer itself",
    "yes_no": "only yes or no, whichever is more likely",
    "multiple_choice": "only the option that answers the original question, as the question writes it",
}
# This is added to the words if the model may say that the passages do not state the answer.
OR_NOT_FOUND = ", or NOT FOUND if the passages do not state it"
# This is added to the words if the model is to cite. No real mark ends in "ma", "un" or "na". So a model that copies
# these example marks cites no passage.
CITED = ", followed by the marks of the passages that it rests on, copied exactly, such as [1ma] or [2un][W1na]"


@dataclass(frozen=True)
class AnswerFormat:
    """What a final answer looks like.

    :param words: How the prompt describes the answer. None means that the run's ``answer_type`` decides (PrefRAG, table
        19).
    :param cite: If True, the model is asked to cite the passages that support its answer. This applies only if the
        run's setting ``prompts`` is ``product``. With the reply formats ``cot`` and ``steps``, the model is never asked
        to cite.
    """

    words: str | None = None
    cite: bool = True
