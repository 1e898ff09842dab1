"""Judge whether a stated answer is right in the world in which it was given.

A world is a copy of the folder in which the sentence of the question is changed, see ``worlds.py``. So the right answer
is known: the value of the sentence in this world, or no answer.
"""

from __future__ import annotations

import re
from typing import Literal

from prefrag.components.state.result import Result
from prefrag.components.text.sentences import shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS
from prefrag.evaluation.prove.forms import DOUBTFUL
from prefrag.evaluation.prove.questions import Question
from prefrag.evaluation.prove.sentences import says_value
from prefrag.evaluation.prove.wording import NUMBER_WORDS, root
from prefrag.evaluation.prove.worlds import AS_IS, CHANGED, DENIED

# The verdicts, see :func:`judge_answer`.
Verdict = Literal["right", "wrong", "withheld", "unseen", "part"]
# Matches a number or a word: "1,250.5" or "bridge".
_WORD = re.compile(r"\d[\d,]*(?:\.\d+)?|[^\W\d_]+")
# Words that are no part of a value. They are left out before an answer is compared with a value.
_NO_VALUE = {"the", "a", "an", "of", "in", "on", "at", "by", "about", "around", "was", "is", "are"}
# Words beside a number that do not change its meaning, such as "about" in "about 1931". Any other word may change it,
# as in "before 1931" or "five million".
_BESIDE_NUMBER = {"the", "a", "an", "of", "in", "on", "at", "about", "around", "was", "is", "are", "were", "it", "has"}
_BESIDE_NUMBER |= {"had", "have", "year", "date", "number"}
# Words before a name that are no part of another name.
_FORMS_OF_ADDRESS = {"mr", "mrs", "ms", "miss", "dr", "prof", "professor", "sir", "dame"}
# Matches words that take an answer back or leave it open: those of a doubtful sentence, the "or" in "Paris or Rome",
# and the "n't" in "isn't".
_TAKES_BACK = re.compile(rf"{DOUBTFUL.pattern}|\bor\b|n['\u2019]t\b", re.IGNORECASE)


def judge_answer(question: Question, world: str, changed: str, result: Result) -> Verdict:
    """Judge one answer.

    There are five verdicts:

    - ``withheld``: the answer was not given as stated.
    - ``right``: the answer is the value of this world.
    - ``wrong``: the answer is anything else.
    - ``unseen``: the answer is the value that was taken out, and another sentence in the evidence still has this value.
      The case is then dropped.
    - ``part``: the answer has too little of the value to tell whether it is right.

    :param question: The question.
    :param world: The world in which the question was asked.
    :param changed: The value in the world ``CHANGED``.
    :param result: The result of the run.
    :returns: The verdict.
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
    # In all other worlds, the answer may be the value that was taken out.
    is_old_value = world != AS_IS and _fits(answer, question.value, question) != "wrong"
    if is_old_value and _is_left(question, world, result):
        return "unseen"
    return "wrong"


def _has_step(question: Question, result: Result) -> bool:
    """Check whether the answer or its evidence has the step of the question."""
    sentences = [evidence["sentence"] for evidence in result.get("evidence", ())]
    told_text = " ".join([result["answer"], *sentences])
    return question.value in told_text


def _is_left(question: Question, world: str, result: Result) -> bool:
    """Check whether the evidence has a sentence with the value, besides the sentence that was taken out or changed."""
    sentences = []
    for evidence in result.get("evidence", ()):
        sentences += shown_sentences(evidence["sentence"]) or [evidence["sentence"]]
    other_sentences = sentences
    if world in (CHANGED, DENIED):
        other_sentences = [sentence for sentence in sentences if not _is_edited(question, sentence)]
    return any(_says(question, sentence) for sentence in other_sentences)


def _says(question: Question, text: str) -> bool:
    """Check whether a text has the value of a question."""
    # For a cell such as "20 mm", `says_value` compares only the last word. So all words of a cell are compared here.
    is_whole = question.form != "cell" or set(_tokens(question.value)) <= set(_tokens(text))
    return is_whole and says_value(question.form, question.value, text)


def _is_edited(question: Question, text: str) -> bool:
    """Check whether a text is the changed sentence of a question: it has at least 80% of the words of the sentence."""
    sentence_words = set(_WORD.findall(question.sentence.text.lower()))
    common_words = sentence_words & set(_WORD.findall(text.lower()))
    return len(common_words) >= 0.8 * len(sentence_words)


def _tokens(text: str) -> list[str]:
    """Split a text into lower-case words and digits, without words that are no part of a value.

    For example, ``_tokens("about seven of the 1,250 ships")`` returns ``["7", "1250", "ships"]``.
    """
    lower_words = (word.lower().replace(",", "") for word in _WORD.findall(text))
    return [NUMBER_WORDS.get(word, word) for word in lower_words if word not in _NO_VALUE]


def _fits(answer: str, value: str, question: Question) -> Literal["right", "wrong", "part"]:
    """Compare an answer with a value.

    The answer is right in two cases. It has the value and no other value. Or it has a part of the value that is enough
    to tell the value. A smaller part of the value gets the verdict ``part``.
    """
    answer_tokens = _tokens(answer)
    value_tokens = _tokens(value)
    if not answer_tokens:
        return "wrong"
    if set(value_tokens) <= set(answer_tokens):
        return "wrong" if _says_more(answer, value, question) else "right"
    if set(answer_tokens) < set(value_tokens):
        return "right" if _tells(answer_tokens, value_tokens) else "part"
    return "wrong"


def _tells(part: list[str], value_tokens: list[str]) -> bool:
    """Check whether a part of a value is enough to tell the value.

    If the value has a number, the part needs a number. Otherwise it must end with the first or the last word of the
    value.
    """
    if any(word[0].isdigit() for word in value_tokens):
        return any(word[0].isdigit() for word in part)
    return part[-1] in (value_tokens[0], value_tokens[-1])


def _says_more(answer: str, value: str, question: Question) -> bool:
    """Check whether an answer that has the value takes it back, changes it, or has another value beside it."""
    # The value or the question may itself have a word such as "or".
    taking_back = {match[0].lower() for match in _TAKES_BACK.finditer(answer)}
    expected = {match[0].lower() for match in _TAKES_BACK.finditer(f"{value} {question.text}")}
    if not taking_back <= expected:
        return True

    # The words of the question, of the rest of its sentence and of the value may stand in an answer. Any other word is
    # examined.
    sentence = question.sentence
    end = question.at + len(question.value)
    context = f"{question.text} {sentence.text[: question.at]} {sentence.text[end:]} {sentence.context}"
    expected_roots = set(_roots(_WORD.findall(f"{context.lower()} {value.lower()}".replace(",", ""))))

    words = _WORD.findall(answer)
    answer_roots = _roots(words)
    for at, word in enumerate(words):
        if answer_roots[at] in expected_roots:
            continue
        # A root may be empty, such as that of the "s" in "mayor's".
        if answer_roots[at][:1].isdigit():
            return True
        beside = answer_roots[max(0, at - 1) : at + 2]
        is_beside_number = any(near[:1].isdigit() for near in beside)
        if is_beside_number and word.lower() not in _BESIDE_NUMBER:
            return True
        is_name = word[0].isupper() and word.lower() not in PLAIN_WORDS | _FORMS_OF_ADDRESS
        if is_name and re.search(r"[A-Z]", value):
            return True
    return False


def _roots(words: list[str]) -> list[str]:
    """Return the root of each word. A number such as "1,250" is written without its comma."""
    return [root(word.lower().replace(",", "")) for word in words]
