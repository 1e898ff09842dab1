"""Decide by code how sure an answer of a language model is.

The model's own evaluation does not count. Code searches the passages for a sentence that supports the answer, and the
extractive reader judges the answer. From both, a probability is estimated. An answer of a small model is given only if
it is likely. An answer of another model is given, and the probability decides what it is called.
"""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from haystack import Document

from prefrag.components.reader.answer_carrier import find_carrier, is_verdict
from prefrag.components.reader.doubts.other_option import compares_options
from prefrag.components.reader.question_form import has_description
from prefrag.components.reader.reader import Judgement
from prefrag.components.state.state import Certainty, Evidence, identity
from prefrag.components.text.sentences import shown_sentences

# The following limits are probabilities, from 0 to 1, that a small model's answer is right.
# With at least this probability, the answer is given to the user. Below, it is "not_found".
GIVEN = 0.65
# With at least this probability, the answer may be called "stated". Below, it is only "probably".
STATED = 0.85
# With at least this probability, the run ends with the answer. Below, the run searches once more, if it may.
ACCEPTED = 0.86
# The maximum for an answer against whose sentence a doubt stands. It is below the limit for an answer that is given.
_MOST_DOUBTED = 0.6
# The limit for other models. It is the same estimate, as if a small model had written the answer at once. From this
# probability on, an answer may be called "stated". Below, it is only "probably", and it is given all the same.
STATED_OF_OTHERS = 0.6
# An answer is called "stated" only if its sentence covers at least this share of the question's head, from 0 to 1.
_LEAST_HEAD = 0.5
# The weights of the numbers that `list_signs` lists, and a constant. Logistic regression has found them. There are
# three groups of weights, because a server may send no log probabilities, and because not every answer is asked about
# once more. `python -m benchmarks.answer_weights` fits and writes the file. The weights that are shipped were fitted on
# answers of Qwen2.5-Coder 1.5B (4 bits): docs/numbers.md.
WEIGHTS_FILE = Path(__file__).with_name("answer_weights.json")
_WEIGHTS: dict[str, dict[str, float]] = json.loads(WEIGHTS_FILE.read_text(encoding="utf-8"))
# The model is asked to confirm its answer if the estimate without that is between these limits. Below, an answer is
# nearly always wrong. Above, it is given in any case, and the call would only cost time.
ASKED_FROM, ASKED_BELOW = 0.2, GIVEN
# The maximum for an answer that the model had to confirm. It is below the limit for "stated": the passages alone did
# not even make it likely enough to be given.
_MOST_CONFIRMED = 0.84
# The maximum number of sentences of an answer that are looked up in the passages, which takes some 2 ms for each. Those
# behind count as unsupported.
_MOST_SENTENCES = 200
# A lower mean log probability counts as this value.
_LEAST_LOGPROB = -2.0


@dataclass(frozen=True)
class AnswerSigns:
    """How a small model wrote its answer.

    :param is_forced: True if the model wrote NOT FOUND at first, and was then made to answer.
    :param mean_logprob: The mean log probability of the answer's tokens. None if the server sends none.
    :param confirmed: The probability from 0 to 1 with which the model said that the supporting sentence states the
        answer. None if it was not asked.
    """

    is_forced: bool = False
    mean_logprob: float | None = None
    confirmed: float | None = None


@dataclass(frozen=True)
class AnswerCheck:
    """How sure a proposed answer is.

    :param certainty: ``stated``: a sentence of the passages states the answer. ``probably``: a sentence probably states
        it. ``not_found``: no sentence supports the answer, or it is too unlikely. It is then shown only as the model's
        own words.
    :param probability: The probability that a small model's answer is right, from 0 to 1. None for other models.
    :param evidence: The sentences that support the answer: one for each sentence of the answer, without repetitions.
        Empty if there is none.
    :param unsupported: The sentences of a longer answer whose numbers and names stand in no passage, or that were too
        many to be looked up.
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
    :param signs: How a small model wrote the answer. Such an answer is given only if it is likely. None for other
        models.
    :param is_yes_no: True if the answer is a yes or no, in any language.
    :returns: How sure the answer is.
    """
    # For each sentence of the answer, the sentence of the passages in which its words stand.
    sentences = shown_sentences(answer) or [answer]
    looked_up = sentences[:_MOST_SENTENCES]
    carriers = [find_carrier(question, sentence, documents, is_yes_no) for sentence in looked_up]
    carriers += [None] * (len(sentences) - len(looked_up))
    carried = [carrier for carrier in carriers if carrier is not None]
    if not carried:
        return AnswerCheck("not_found", probability=None if signs is None else 0.0)

    unsupported = []
    for sentence, carrier in zip(sentences, carriers, strict=True):
        if carrier is None:
            unsupported.append(sentence)
    # A sentence of a passage that supports several sentences of the answer is evidence only once.
    different_carriers = {(identity(carrier.document), carrier.sentence): carrier for carrier in carried}
    evidence = tuple(Evidence(carrier.document, carrier.sentence, question) for carrier in different_carriers.values())

    # A sentence that lacks most of the head of the question may stand beside the one that states the answer. So "The
    # cook is Ada. The mate is Bo." does not state "Bo" for "Who is the cook?".
    may_be_stated = judged.head >= _LEAST_HEAD and not unsupported and not judged.is_doubtful
    if compares_options(question, answer, carried[0].sentence) and not judged.is_by_date:
        # One sentence has the height of one of two things, and does not state that it is the taller.
        may_be_stated = False

    if signs is None:
        # The model is not small, so its answer is given. The estimate decides only what it is called.
        is_whole = all(carrier.is_whole for carrier in carried) and not is_yes_no
        is_likely = estimate(answer, judged, AnswerSigns()) >= STATED_OF_OTHERS
        is_stated = may_be_stated and is_whole and is_likely
        certainty: Certainty = "stated" if is_stated else "probably"
        return AnswerCheck(certainty, evidence=evidence, unsupported=tuple(unsupported))

    probability = 0.0 if is_yes_no else estimate(answer, judged, signs)
    certainty = "not_found"
    if probability >= GIVEN:
        is_stated = may_be_stated and probability >= STATED and carried[0].is_whole
        certainty = "stated" if is_stated else "probably"
    return AnswerCheck(certainty, probability, evidence, tuple(unsupported))


def is_undecided(probability: float | None) -> bool:
    """Check whether a small model's answer is neither likely enough to be given nor hopeless.

    :param probability: The estimate without a confirmation, from 0 to 1. None if the answer was not judged.
    :returns: Whether a confirmation may decide about it.
    """
    return ASKED_FROM <= (probability or 0.0) < ASKED_BELOW


def needs_confirmation(question: str, check: AnswerCheck, judged: Judgement, signs: AnswerSigns) -> bool:
    """Check whether a small model should be asked whether the supporting sentence states its answer.

    :param question: The question.
    :param check: How sure the answer is without that.
    :param judged: How well the passages support the answer.
    :param signs: How the model wrote the answer.
    :returns: False if the reply would change nothing, or if the server sends no log probabilities.
    """
    if judged.is_doubtful or check.unsupported or len(check.evidence) != 1:
        # A doubt decides in any case. And the model is shown one sentence, which cannot state an answer of several.
        return False
    if not judged.head and has_description(question):
        # The sentence has no word of what is asked, so it may be about what the question only describes. The model
        # takes the thing that is described for the answer.
        return False
    return signs.mean_logprob is not None and is_undecided(check.probability)


def estimate(answer: str, judged: Judgement, signs: AnswerSigns) -> float:
    """Estimate the probability that a small model's answer is right.

    :param answer: The answer.
    :param judged: How well the passages support the answer, as the extractive reader judges it.
    :param signs: How the model wrote the answer.
    :returns: The probability, from 0 to 1. It is 0 if a newer passage gives another answer, at most 0.6 if the sentence
        may not state the answer, and at most 0.84 if the model had to confirm it.
    """
    if judged.is_outdated:
        return 0.0
    if is_verdict(answer) and not judged.probability:
        # No sentence states a yes or a no, and a small model says yes to nearly everything.
        return 0.0

    values = list_signs(judged, signs) | {"constant": 1.0}
    weights = _WEIGHTS["confirmed"]
    if signs.mean_logprob is None:
        weights = _WEIGHTS["without_tokens"]
    elif signs.confirmed is None:
        weights = _WEIGHTS["with_tokens"]
    total = sum(weight * values[name] for name, weight in weights.items())
    probability = 1 / (1 + math.exp(-total))
    if judged.is_doubtful:
        return min(probability, _MOST_DOUBTED)
    if signs.confirmed is not None:
        return min(probability, _MOST_CONFIRMED)
    return probability


def list_signs(judged: Judgement, signs: AnswerSigns) -> dict[str, float]:
    """List the numbers from which the probability of a small model's answer is computed.

    :param judged: How well the passages support the answer, as the extractive reader judges it.
    :param signs: How the model wrote the answer.
    :returns: The numbers by their names:

        - ``cover``: the share of the question that the supporting sentence covers with the sentences around it, from 0
          to 1;
        - ``head``: the share of the question's head that the supporting sentence covers;
        - ``reader``: the square root of the probability that the reader gives to the answer. It is 0 if the sentence
          may not state the answer though it has its words;
        - ``forced``: 1 if the answer was forced, else 0;
        - ``logprob``: the mean log probability of the answer's tokens, at least -2. It is missing if the server sends
          none;
        - ``confirmed``: the probability with which the model confirmed the answer. It is missing if the model was not
          asked.
    """
    trusted = 0.0 if judged.is_doubtful else judged.probability
    values = {
        "cover": judged.cover,
        "head": judged.head,
        "reader": math.sqrt(trusted),
        "forced": float(signs.is_forced),
    }
    if signs.mean_logprob is not None:
        values["logprob"] = max(signs.mean_logprob, _LEAST_LOGPROB)
    if signs.confirmed is not None:
        values["confirmed"] = signs.confirmed
    return values
