"""Decide by code how sure an answer is that a language model has proposed."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from haystack import Document

from prefrag.components.reader.answer_carrier import find_carrier, is_verdict
from prefrag.components.reader.reader import Judgement
from prefrag.components.state.state import Certainty, Evidence, identity
from prefrag.components.text.sentences import shown_sentences

# From these probabilities on, a small model's answer is given, called stated, and accepted before the last search.
GIVEN, STATED, ACCEPTED = 0.6, 0.85, 0.86
# The share of the question that the sentence of an able model's answer must cover to state it, with those linked to it,
# or the probability that the reader must give to the answer.
_LEAST_COVER, _LEAST_JUDGED = 0.5, 0.3
# The weights of the signs that `list_signs` lists, and a constant, by logistic regression, with and without the last
# sign. `python -m benchmarks.answer_weights` fits and writes them. Those that are shipped were fitted on answers of
# Qwen2.5-Coder 1.5B (4 bits): docs/numbers.md.
WEIGHTS_FILE = Path(__file__).with_name("answer_weights.json")
_WEIGHTS: dict[str, list[float]] = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
_LEAST_LOGPROB = -2.0


@dataclass(frozen=True)
class AnswerSigns:
    """How a small model wrote its answer.

    :param is_forced: Whether it wrote NOT FOUND at first, and was then made to answer.
    :param mean_logprob: The mean log probability of the answer's tokens; None where the server sends none.
    """

    is_forced: bool = False
    mean_logprob: float | None = None


@dataclass(frozen=True)
class AnswerCheck:
    """How sure a proposed answer is.

    :param certainty: ``stated``: a sentence states it. ``probably``: a sentence probably does. ``not_found``: it is not
        in the passages, so it is shown only as the model's own words.
    :param probability: The probability that a small model's answer is right, from 0 to 1; None for other models.
    :param evidence: The sentence that carries the answer, if there is one.
    :param unsupported: The sentences of a longer answer whose numbers and names stand in no passage.
    """

    certainty: Certainty
    probability: float | None = None
    evidence: tuple[Evidence, ...] = ()
    unsupported: tuple[str, ...] = ()


def check_answer(
    question: str,
    answer: str,
    documents: Sequence[Document],
    judged: Judgement,
    signs: AnswerSigns | None = None,
    is_yes_no: bool = False,
) -> AnswerCheck:
    """Check an answer against the passages that were shown. A label that the model has written does not count.

    :param question: The question.
    :param answer: The answer, without citations.
    :param documents: The passages that were shown, or that the answer cites.
    :param judged: How well the passages support the answer, as the extractive reader judges it.
    :param signs: The signs of a small model, whose answers are given only if they are likely; None for other models.
    :param is_yes_no: Whether the answer is a yes or no, in any language.
    :returns: The check.
    """
    sentences = shown_sentences(answer) or [answer]
    carriers = [find_carrier(question, sentence, documents, is_yes_no) for sentence in sentences]
    carried = [carrier for carrier in carriers if carrier is not None]
    if not carried:
        return AnswerCheck("not_found", None if signs is None else 0.0)
    unsupported = [sentence for sentence, carrier in zip(sentences, carriers, strict=True) if carrier is None]
    best = carried[0]
    sources = {(identity(carrier.document), carrier.sentence): carrier for carrier in carried}
    evidence = tuple(Evidence(carrier.document, carrier.sentence, question) for carrier in sources.values())
    if signs is None:
        is_whole = not unsupported and all(carrier.is_whole for carrier in carried) and not is_yes_no
        is_agreed = judged.probability >= _LEAST_JUDGED or judged.cover + judged.linked >= _LEAST_COVER
        is_contradicted = judged.is_outdated or judged.is_doubtful
        is_stated = is_whole and is_agreed and not is_contradicted
        return AnswerCheck("stated" if is_stated else "probably", None, evidence, tuple(unsupported))
    probability = 0.0 if is_yes_no else estimate(answer, judged, signs)
    certainty: Certainty = "not_found"
    if probability >= GIVEN:
        is_stated = probability >= STATED and best.is_whole and not judged.is_doubtful
        certainty = "stated" if is_stated else "probably"
    return AnswerCheck(certainty, probability, evidence, tuple(unsupported))


def estimate(answer: str, judged: Judgement, signs: AnswerSigns) -> float:
    """Estimate the probability that a small model's answer is right.

    :param answer: The answer.
    :param judged: How well the passages support it.
    :param signs: How the model wrote it.
    :returns: The probability, from 0 to 1.
    """
    if judged.is_outdated:
        return 0.0
    if is_verdict(answer) and not judged.probability:
        # No sentence states a yes or a no, and a small model says yes to nearly everything.
        return 0.0
    row = list_signs(judged, signs)
    weights = _WEIGHTS["without_tokens" if signs.mean_logprob is None else "with_tokens"]
    total = sum(weight * value for weight, value in zip(weights, [*row, 1.0], strict=True))
    return 1 / (1 + math.exp(-total))


def list_signs(judged: Judgement, signs: AnswerSigns) -> list[float]:
    """List the numbers that speak for a small model's answer, in the order of their weights.

    :param judged: How well the passages support the answer.
    :param signs: How the model wrote it.
    :returns: The sentence's cover, what linked sentences add, the square root of the reader's probability, whether the
        answer was forced and, if it is known, the mean log probability of its tokens, at least -2.
    """
    row = [judged.cover, judged.linked, math.sqrt(judged.probability), float(signs.is_forced)]
    return row if signs.mean_logprob is None else [*row, max(signs.mean_logprob, _LEAST_LOGPROB)]
