"""Pairs of texts: one states the answer to a question, the other has its words but does not state it."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import yaml

from prefrag.components.text.sentences import shown_sentences

_WRITTEN = Path(__file__).resolve().parent.parent / "evaluation" / "own_files" / "stated_pairs.yaml"
_LENGTHS = (40, 220)  # characters of a sentence that is changed
_NUMBER = re.compile(r"\b\d{1,4}\b")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)+")
_FINITE = re.compile(r"\b(?:is|are|was|were|has|had)\b")
_BETWEEN = re.compile(r"[,;:()]|\b(?:that|which|who|and|while)\b")
_PAST_PASSIVE = re.compile(r"\b(?:was|were) (?=\w{2,}ed\b)")
_OTHER_NAMES = ("Ottilie Brandreth", "Cassius Wendover", "Marigold Thackeray")


@dataclass(frozen=True)
class StatedPair:
    """A question with two texts.

    :param form: What is different in the second text, such as ``negation`` or ``rumour``.
    :param part: ``train`` or ``test``; all pairs of a form are in the same part.
    :param question: The question.
    :param answer: Its answer, which both texts contain.
    :param stated: The text that states the answer.
    :param unstated: The text that does not state it.
    :param other_question: The question about the second text, where it is not the text that was changed.
    :param title: The title of both texts; empty if they have none.
    """

    form: str
    part: Literal["train", "test"]
    question: str
    answer: str
    stated: str
    unstated: str
    other_question: str = ""
    title: str = ""


def read_pairs() -> list[StatedPair]:
    """Read the pairs that were written by hand."""
    groups = yaml.safe_load(_WRITTEN.read_text(encoding="utf-8"))
    return [StatedPair(group["form"], group["part"], *pair) for group in groups for pair in group["pairs"]]


def make_pairs(reading: Path, number: int, seed: int = 7) -> list[StatedPair]:
    """Make pairs by rule from questions over single passages.

    :param reading: JSON Lines with ``question``, ``title``, ``text`` and ``answers``.
    :param number: How many pairs of each form to make.
    :param seed: The seed of the order in which the questions are tried.
    :returns: The pairs, the forms in turns.
    """
    records = [json.loads(line) for line in reading.read_text(encoding="utf-8").splitlines()]
    draw = random.Random(seed)
    draw.shuffle(records)
    made: Counter[str] = Counter()
    pairs = []
    for record in records:
        for form in sorted(_RULES, key=made.__getitem__):
            part, rule = _RULES[form]
            changed = next(filter(None, (rule(record["question"], *stated) for stated in _statements(record))), None)
            if changed is None or made[form] >= number:
                continue
            answer, sentence = next(_statements(record))
            made[form] += 1
            pairs.append(StatedPair(form, part, record["question"], answer, sentence, *changed, record["title"]))
            break
    return pairs


def _statements(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Find the only sentence of a passage that has the answer."""
    for answer in record["answers"][:1]:
        sentences = [sentence for sentence in shown_sentences(record["text"]) if answer in sentence]
        if len(sentences) == 1 and _LENGTHS[0] <= len(sentences[0]) <= _LENGTHS[1] and sentences[0].endswith("."):
            yield answer, sentences[0]


def _lower(sentence: str) -> str:
    """Begin a sentence in lower case, unless a name may begin it."""
    first = sentence.split()[0]
    return sentence[0].lower() + sentence[1:] if first in ("The", "A", "An", "In", "It", "This", "These") else sentence


def _is_in_clause(verb: re.Match[str], answer: str, sentence: str) -> bool:
    """Check whether a verb and the answer are in one clause, so that what is done to the verb reaches the answer."""
    begin = sentence.index(answer)
    left, right = (verb.end(), begin) if verb.end() <= begin else (begin + len(answer), verb.start())
    return left <= right and _BETWEEN.search(sentence[left:right]) is None


def _negate(question: str, answer: str, sentence: str) -> tuple[str, str] | None:
    verbs = list(_FINITE.finditer(sentence))
    if len(verbs) != 1 or not _is_in_clause(verbs[0], answer, sentence):
        return None
    return f"{sentence[: verbs[0].end()]} not{sentence[verbs[0].end() :]}", ""


def _plan(question: str, answer: str, sentence: str) -> tuple[str, str] | None:
    verbs = list(_PAST_PASSIVE.finditer(sentence))
    if len(list(_FINITE.finditer(sentence))) != 1 or not verbs or not _is_in_clause(verbs[0], answer, sentence):
        return None
    return f"{sentence[: verbs[0].end()]}to be {sentence[verbs[0].end() :]}", ""


def _other_number(question: str, answer: str, sentence: str) -> tuple[str, str] | None:
    shared = [match for match in _NUMBER.finditer(question) if match[0] in _NUMBER.findall(sentence)]
    if len(shared) != 1 or shared[0][0] in answer:
        return None
    other = str(int(shared[0][0]) + 3)
    return sentence, f"{question[: shared[0].start()]}{other}{question[shared[0].end() :]}"


def _other_name(question: str, answer: str, sentence: str) -> tuple[str, str] | None:
    shared = [match for match in _NAME.finditer(question) if match[0] in sentence and match[0] not in answer]
    if len(shared) != 1:
        return None
    other = _OTHER_NAMES[len(sentence) % len(_OTHER_NAMES)]
    return sentence, f"{question[: shared[0].start()]}{other}{question[shared[0].end() :]}"


def _around(before: str = "", after: str = "") -> Callable[[str, str, str], tuple[str, str] | None]:
    def rule(question: str, answer: str, sentence: str) -> tuple[str, str] | None:
        return f"{before}{_lower(sentence) if before else sentence}{after}", ""

    return rule


# For each form its part and its rule, which returns the second text and its question, or None if it does not fit.
_RULES: dict[str, tuple[Literal["train", "test"], Callable[[str, str, str], tuple[str, str] | None]]] = {
    "negation": ("train", _negate),
    "plan": ("train", _plan),
    "number": ("train", _other_number),
    "name": ("train", _other_name),
    "rumour": ("train", _around("According to a rumour, ")),
    "denial": ("train", _around("The author denies that ")),
    "verdict after": ("train", _around(after=" This turned out to be false.")),
    "condition": ("test", _around("Unless the records are wrong, ")),
    "belief": ("test", _around("Nobody at the time believed that ")),
}
