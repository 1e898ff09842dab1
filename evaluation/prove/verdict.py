"""Whether an answer that was given as stated is right in the world in which it was given."""

from __future__ import annotations

import re
from typing import Any, Literal

from prefrag.components.text.sentences import shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS
from prefrag.evaluation.prove.forms import DOUBTFUL
from prefrag.evaluation.prove.questions import Question
from prefrag.evaluation.prove.sentences import says_value
from prefrag.evaluation.prove.wording import NUMBER_WORDS, root
from prefrag.evaluation.prove.worlds import AS_IS, CHANGED, DENIED

Verdict = Literal["right", "wrong", "withheld", "unseen", "part"]
_WORD = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+")
_NO_VALUE = {"the", "a", "an", "of", "in", "on", "at", "by", "about", "around", "was", "is", "are"}
# Words beside a number that do not change its meaning. Any other word may, as in "before 1931" or "five million".
_BESIDE_NUMBER = {"the", "a", "an", "of", "in", "on", "at", "about", "around", "was", "is", "are", "were", "it", "has"}
_BESIDE_NUMBER |= {"had", "have", "year", "date", "number"}
_FORMS_OF_ADDRESS = {"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "dame"}
# Words that take an answer back or leave it open: those of a doubtful sentence, "Paris or Rome", "isn't".
_TAKES_BACK = re.compile(rf"{DOUBTFUL.pattern}|\bor\b|n['\u2019]t\b", re.IGNORECASE)


def judge_answer(question: Question, world: str, changed: str, result: dict[str, Any]) -> Verdict:
    """Judge one answer.

    ``withheld``: it was not given as stated. ``unseen``: it has the value that was taken out, and its evidence a
    sentence with this value that was left, so that the case is dropped. ``part``: it has too little of the value to
    tell.

    :param question: The question.
    :param world: The world in which it was asked.
    :param changed: The changed value.
    :param result: The result of the run.
    """
    if result.get("certainty") != "stated" or not result.get("answered"):
        return "withheld"
    answer = result["answer"]
    if question.form == "step":
        is_there = world == AS_IS and _has_step(question, result)
        return "right" if is_there else "wrong"
    expected = {AS_IS: question.value, CHANGED: changed}.get(world, "")
    if expected:
        fit = _fits(answer, expected, question)
        if fit != "wrong":
            return fit
    if world != AS_IS and _fits(answer, question.value, question) != "wrong" and _is_left(question, world, result):
        return "unseen"
    return "wrong"


def _has_step(question: Question, result: dict[str, Any]) -> bool:
    told = " ".join([result["answer"], *(evidence["sentence"] for evidence in result.get("evidence", ()))])
    return question.value in told


def _is_left(question: Question, world: str, result: dict[str, Any]) -> bool:
    """Check whether the evidence has a sentence with the value besides the one that was taken out or edited."""
    told = []
    for evidence in result.get("evidence", ()):
        told += shown_sentences(evidence["sentence"]) or [evidence["sentence"]]
    own = told
    if world in (CHANGED, DENIED):
        own = [sentence for sentence in told if not _is_edited(question, sentence)]
    return any(_says(question, sentence) for sentence in own)


def _says(question: Question, text: str) -> bool:
    # Of a cell such as "20 mm", `says_value` compares only the last word.
    is_whole = question.form != "cell" or set(_tokens(question.value)) <= set(_tokens(text))
    return is_whole and says_value(question.form, question.value, text)


def _is_edited(question: Question, text: str) -> bool:
    words = set(_WORD.findall(question.sentence.text.lower()))
    return len(words & set(_WORD.findall(text.lower()))) >= 0.8 * len(words)


def _tokens(text: str) -> list[str]:
    plain = (word.lower().replace(",", "") for word in _WORD.findall(text))
    return [NUMBER_WORDS.get(word, word) for word in plain if word not in _NO_VALUE]


def _fits(answer: str, value: str, question: Question) -> Literal["right", "wrong", "part"]:
    """Compare an answer with a value: the same, a part of it that tells it, or a phrase with it and no other value."""
    told = _tokens(answer)
    wanted = _tokens(value)
    if not told:
        return "wrong"
    if set(wanted) <= set(told):
        return "wrong" if _says_more(answer, value, question) else "right"
    if set(told) < set(wanted):
        return "right" if _tells(told, wanted) else "part"
    return "wrong"


def _tells(part: list[str], wanted: list[str]) -> bool:
    """Check whether a part of a value tells it: a number of it or, if it has none, its first or last word."""
    if any(word[0].isdigit() for word in wanted):
        return any(word[0].isdigit() for word in part)
    return part[-1] in (wanted[0], wanted[-1])


def _says_more(answer: str, value: str, question: Question) -> bool:
    """Check whether an answer with a value takes it back, changes it, or has another value beside it."""
    taken_back = {match[0].lower() for match in _TAKES_BACK.finditer(answer)}
    if taken_back - {match[0].lower() for match in _TAKES_BACK.finditer(f"{value} {question.text}")}:
        return True
    sentence = question.sentence
    end = question.at + len(question.value)
    asked = f"{question.text} {sentence.text[: question.at]} {sentence.text[end:]} {sentence.context}"
    own = {root(word) for text in (asked, value) for word in _WORD.findall(text.lower().replace(",", ""))}
    words = _WORD.findall(answer)
    plain = [root(word.lower().replace(",", "")) for word in words]
    for place, word in enumerate(plain):
        if word in own:
            continue
        is_first_and_plain = words[place].lower() in PLAIN_WORDS | _FORMS_OF_ADDRESS
        is_name = words[place][0].isupper() and not is_first_and_plain
        beside = plain[max(0, place - 1) : place + 2]
        is_beside_number = any(near[:1].isdigit() for near in beside) and words[place].lower() not in _BESIDE_NUMBER
        is_another_name = is_name and re.search(r"[A-Z]", value)
        if word[:1].isdigit() or is_beside_number or is_another_name:
            return True
    return False
