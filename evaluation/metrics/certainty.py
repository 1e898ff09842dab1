"""Score how well a pipeline knows what it knows: its answers, its refusals and the queries that it sent to the web.

A pipeline may refuse to answer on purpose, and show sentences of documents (the evidence) instead. This module scores
such a run by its evidence. It also scores the sentences that are shown with an answer.
"""

from collections.abc import Sequence

from prefrag.components.state.result import FoundDocument, Quotation, Result
from prefrag.evaluation.metrics.answers import acc_word, answer_scores, fair, normalise, overlap
from prefrag.evaluation.question import Question

# An answer counts as right if its F1 (0 to 1) is at least this high. It then need not contain a gold answer.
NEAR = 0.8
# A shown sentence counts as a gold sentence if their F1 (0 to 1) is at least this high.
SAME = 0.6


def is_withheld(result: Result) -> bool:
    """Check whether the pipeline gave no answer on purpose.

    There are two such cases. The pipeline says that it did not find an answer. Or the reader thinks that its answer is
    probably right, but is not sure enough to give it. The reader is the only part that withholds a probable answer.

    :param result: The result of the pipeline for one question.
    :returns: True if the answer was withheld on purpose.
    """
    if result.get("not_found"):
        return True
    return result.get("certainty") == "probably" and not result.get("answered")


def is_right(question: Question, answer: str) -> bool:
    """Check whether an answer counts as right.

    :param question: The question with its gold answers.
    :param answer: The answer of the pipeline.
    :returns: True if the answer contains a gold answer as whole words, or if its F1 is at least ``NEAR``.
    """
    scores = answer_scores(question, answer)
    return bool(scores["acc_word"]) or scores["f1"] >= NEAR


def certainty_scores(question: Question, result: Result, answer: str) -> dict[str, float]:
    """Score the answer to a question. If there is no answer, score the guess and the evidence.

    The scores that a question gets depend on the question and on the result:

    - A question that has no right answer gets ``said_unknown``. This score is 1 if the pipeline said that it found no
      answer.
    - Every other question gets ``answered``, which is 1 if an answer was given. It also gets ``guess_em``, which is the
      EM of the guess. Without a guess, ``guess_em`` is the EM of the answer.
    - Every answer that was given gets ``right_of_given``, which is 1 if the answer is right. It also gets
      ``fair_of_given``, which is 1 if a person would accept the answer. Both are 0 if the question has no right answer.
    - If a question has a right answer but none was given, it gets ``evidence_held``. This score is 1 if the evidence
      contains a gold answer. Yes/no questions do not get this score, because no sentence contains their answer.
    - If such a question has gold passages, it also gets ``evidence_gold``. This score is 1 if some of the evidence is
      from a gold passage.

    :param question: The question with its gold answers and gold passages.
    :param result: The result of the pipeline.
    :param answer: The answer that was given, or an empty text if none was given.
    :returns: The scores, each from 0 to 1.
    """
    if question.answerable is False:
        said_unknown = float(bool(result.get("not_found")))
        if not answer:
            return {"said_unknown": said_unknown}
        return {"said_unknown": said_unknown, "right_of_given": 0.0, "fair_of_given": 0.0}

    guess_em = 0.0
    guess_or_answer = str(result.get("guess") or answer)
    if guess_or_answer:
        guess_em = answer_scores(question, guess_or_answer)["em"]
    if answer:
        right = float(is_right(question, answer))
        acceptable = right
        if not question.is_yes_no:
            acceptable = max(right, fair(answer, question.answers))
        return {"answered": 1.0, "right_of_given": right, "fair_of_given": acceptable, "guess_em": guess_em}

    evidence = result.get("evidence") or ()
    is_evident = any(acc_word(str(quotation.get("sentence") or ""), question.answers) for quotation in evidence)
    scores = {"answered": 0.0, "guess_em": guess_em}
    if not question.is_yes_no:
        scores["evidence_held"] = float(is_evident)
    if question.supporting_ids:
        is_gold = any(quotation.get("id") in question.supporting_ids for quotation in evidence)
        scores["evidence_gold"] = float(is_gold)
    return scores


def sentence_scores(question: Question, result: Result) -> dict[str, float]:
    """Score the sentences that a run shows with its answer.

    The sentences are ranked: first those of the evidence, then those of the cited passages. A shown sentence matches a
    gold sentence if the F1 of the two is at least ``SAME``. F1 is used because a sentence that spans several lines is
    sometimes shown only in part.

    :param question: The question with its gold sentences.
    :param result: The result of the pipeline.
    :returns: ``sentence_1`` is 1 if the first sentence matches a gold sentence. ``sentence_3`` is 1 if one of the first
        three matches. A question without gold sentences gets no scores.
    """
    if not question.sentences:
        return {}
    cited = {citation.get("mark") for citation in result.get("citations") or ()}
    documents = [document for document in result.get("documents") or () if document["mark"] in cited]
    shown_passages = [*(result.get("evidence") or ()), *documents]
    matches = [_matches(_sentence_of(passage), question.sentences) for passage in shown_passages]
    return {"sentence_1": float(any(matches[:1])), "sentence_3": float(any(matches[:3]))}


def _matches(sentence: str, golds: Sequence[str]) -> bool:
    """Check whether a sentence is similar enough to at least one gold sentence."""
    for gold in golds:
        f1, _, _ = overlap(sentence, gold)
        if f1 >= SAME:
            return True
    return False


def _sentence_of(passage: Quotation | FoundDocument) -> str:
    """Return the sentence of a piece of evidence or of a document. The text is empty if there is no sentence."""
    sentence = passage.get("sentence") or ""
    if isinstance(sentence, str):
        return sentence
    # Evidence has the sentence as a text. A document has the positions in its content at which the sentence starts and
    # ends.
    return str(passage.get("content") or "")[sentence["start"] : sentence["end"]]


def query_scores(question: Question, result: Result) -> dict[str, float]:
    """Score the queries that were sent to the web.

    A question gets these scores only if the dataset says whether the preferred source contains the answer:

    - If the preferred source contains the answer, ``needless_queries`` is 1 if any query was sent.
    - If the preferred source lacks the answer and queries were sent, ``asked_as_typed`` is 1 if every query is the
      question itself. The texts are compared after :func:`normalise`.
    - If queries were sent, ``words_typed`` is the share of their words that the user had typed. The user may have typed
      them in the question or in an earlier turn.

    :param question: The question with the earlier turns of its conversation.
    :param result: The result of the pipeline, also of a run that failed.
    :returns: The scores, each from 0 to 1. Empty if ``question.answerable`` is None.
    """
    if question.answerable is None:
        return {}
    queries = [str(query["query"]) for query in result.get("queries_sent_out") or ()]
    sent_words: list[str] = []
    for query in queries:
        sent_words += normalise(query).split()
    typed_words = set(normalise(question.question).split())
    for _, content in question.history:
        typed_words.update(normalise(content).split())

    scores: dict[str, float] = {}
    if question.answerable:
        scores["needless_queries"] = float(bool(queries))
    elif sent_words:
        are_as_typed = all(normalise(query) == normalise(question.question) for query in queries)
        scores["asked_as_typed"] = float(are_as_typed)
    if sent_words:
        scores["words_typed"] = sum(word in typed_words for word in sent_words) / len(sent_words)
    return scores
