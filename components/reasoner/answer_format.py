"""What a final answer looks like, in the words of the prompts."""

from dataclasses import dataclass

from prefrag.components.state.run_options import AnswerType

ANSWER_FORMATS: dict[AnswerType, str] = {
    "short": "the most concise answer to the original question, nothing but the answer itself",
    "yes_no": "only yes or no, whichever is more likely",
    "multiple_choice": "only the option that answers the original question, as the question writes it",
}
OR_NOT_FOUND = ", or NOT FOUND if the passages do not state it"
# No real mark contains the letters ma, un or na. So a model that copies these example marks cites no passage.
CITED = ", followed by the marks of the passages that it rests on, copied exactly, such as [1ma] or [2un][W1na]"


@dataclass(frozen=True)
class AnswerFormat:
    """What a final answer looks like.

    :param words: How the prompt describes the answer; by default the run's ``answer_type`` decides (PrefRAG, table 19).
    :param cite: Ask the model to cite the passages that support its answer, if the run's setting ``prompts`` is
        ``product``. With the reply formats ``cot`` and ``steps``, the model is never asked to cite.
    """

    words: str | None = None
    cite: bool = True
