"""Score a run's answer, or the evidence shown instead of an answer, and the queries that were sent to the web."""

from collections.abc import Mapping, Sequence
from typing import Any

from prefrag.evaluation.metrics.answers import acc_word, answer_scores, fair, normalise, overlap
from prefrag.evaluation.question import Question

# An answer with at least this F1 counts as right, even if it does not contain a gold answer.
NEAR = 0.8
# A shown sentence with at least this F1 counts as a gold sentence.
SAME = 0.6


def is_withheld(result: Mapping[str, object]) -> bool:
    """Check whether the answer was withheld on purpose. Only the reader withholds an answer that is probably right."""
    if result.get("not_found"):
        return True
    return result.get("certainty") == "probably" and not result.get("answered")


def is_right(question: Question, answer: str) -> bool:
    """Check whether an answer contains a gold answer as whole words, or has an F1 of at least 0.8."""
    scores = answer_scores(question, answer)
    return bool(scores["acc_word"]) or scores["f1"] >= NEAR


def certainty_scores(question: Question, result: Mapping[str, Any], answer: str) -> dict[str, float]:
    """Score the answer to a question or, if no answer was given, the guess and the evidence.

    :returns: Scores from 0 to 1. Every given answer gets ``right_of_given`` (1 if it is right) and ``fair_of_given``
        (1 if a person would accept it). Both are 0 if the question has no answer. Such a question also gets
        ``said_unknown``, which is 1 if the pipeline said that it found none. Every other question gets ``answered`` and
        ``guess_em``: the EM of the guess if there is one, otherwise of the answer. If no answer was given, it also gets
        ``evidence_held`` (1 if the evidence contains a gold answer; not for yes/no questions, whose answer stands in
        no sentence) and, if it has gold passages, ``evidence_gold`` (1 if some evidence is from a gold passage).
    """
    if question.answerable is False:
        wrong = {"right_of_given": 0.0, "fair_of_given": 0.0} if answer else {}
        return {"said_unknown": float(bool(result.get("not_found"))), **wrong}
    words = str(result.get("guess") or answer)
    guess = {"guess_em": answer_scores(question, words)["em"] if words else 0.0}
    if answer:
        right = float(is_right(question, answer))
        taken = right if question.is_yes_no else max(right, fair(answer, question.answers))
        return {"answered": 1.0, "right_of_given": right, "fair_of_given": taken, **guess}
    evidence = result.get("evidence") or ()
    is_evident = any(acc_word(str(quotation.get("sentence") or ""), question.answers) for quotation in evidence)
    scores = {"answered": 0.0, **guess}
    if not question.is_yes_no:
        scores["evidence_held"] = float(is_evident)
    if question.supporting_ids:
        is_gold = any(quotation.get("id") in question.supporting_ids for quotation in evidence)
        scores["evidence_gold"] = float(is_gold)
    return scores


def sentence_scores(question: Question, result: Mapping[str, Any]) -> dict[str, float]:
    """Score the sentences that a run shows: its evidence first, then the sentences of the cited passages.

    :returns: ``sentence_1`` is 1 if the first sentence matches a gold sentence, and ``sentence_3`` is 1 if one of the
        first three does. An F1 of 0.6 is enough for a match, because a sentence that spans several lines is
        sometimes shown only in part. A question without gold sentences gets no scores.
    """
    if not question.sentences:
        return {}
    cited = {citation.get("mark") for citation in result.get("citations") or ()}
    documents = [document for document in result.get("documents") or () if document["mark"] in cited]
    shown = [*(result.get("evidence") or ()), *documents]
    matches = [_matches(_sentence_of(passage), question.sentences) for passage in shown]
    return {"sentence_1": float(any(matches[:1])), "sentence_3": float(any(matches[:3]))}


def _matches(sentence: str, golds: Sequence[str]) -> bool:
    return any(overlap(sentence, gold)[0] >= SAME for gold in golds)


def _sentence_of(shown: Mapping[str, Any]) -> str:
    sentence = shown.get("sentence") or ""
    if isinstance(sentence, str):
        return sentence
    # A document gives the sentence as the positions at which it starts and ends in the content.
    return str(shown.get("content") or "")[sentence["start"] : sentence["end"]]


def query_scores(question: Question, result: Mapping[str, Any]) -> dict[str, float]:
    """Score the queries sent to the web, if it is known whether the preferred source contains the answer.

    :returns: Scores from 0 to 1. If the preferred source has the answer, ``needless_queries`` is 1 if any query was
        sent. If the source lacks the answer and queries were sent, ``asked_as_typed`` is 1 if every query is the
        question itself. If there are queries, ``words_typed`` is the share of query words that the user had typed.
    """
    if question.answerable is None:
        return {}
    queries = [str(query["query"]) for query in result.get("queries_sent_out") or ()]
    needless = {"needless_queries": float(bool(queries))} if question.answerable else {}
    left = [word for query in queries for word in normalise(query).split()]
    if not left:
        return needless
    typed_texts = [question.question, *(content for _, content in question.history)]
    typed = {word for text in typed_texts for word in normalise(text).split()}
    words_typed = sum(word in typed for word in left) / len(left)
    if question.answerable:
        return {**needless, "words_typed": words_typed}
    same = all(normalise(query) == normalise(question.question) for query in queries)
    return {"asked_as_typed": float(same), "words_typed": words_typed}
