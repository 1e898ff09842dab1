"""Pairs of texts made by rule: a sentence that states an answer, and the same one changed so that it does not."""

import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal
from zlib import crc32

from benchmarks.stated_pairs import StatedPair
from prefrag.components.reader.span_features import stems_of
from prefrag.components.text.sentences import shown_sentences
from prefrag.components.text.term_statistics import PLAIN_WORDS
from prefrag.components.text.title_mentions import FUNCTION_WORDS

_LENGTHS = (40, 220)  # characters of a sentence that is changed
# The share of the question's words that the sentence must have, and that the sentence with its title must have.
_SHARE = 0.5
_SHARE_WITH_TITLE = 0.75
# A sentence that leans on another one does not state anything alone: "He was born in Kelderby."
_LEANS = re.compile(
    r"(?:He|She|It|They|This|These|Those|His|Her|Its|Their|But|And|Also|However|Thus|Then|Another|Such)\b"
)
# A sentence with one of these words may not state what it says.
_HEDGED = re.compile(
    r"\b(?:not|no|never|none|nor|neither|except|would|could|might|may|should|will|until|former|formerly|if|unless"
    r"|almost|nearly|still|yet|claim\w*|allege\w*|rumou?r\w*|plan\w*|believe\w*)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\b\d{1,4}\b")
_YEAR = re.compile(r"\b1[0-9]{3}\b|\b20[0-2]\d\b")
# A name within a sentence: "Anna Bell" in "the bridge that Anna Bell built".
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]{2,}(?: [A-Z][a-z]+)+\b")
# The name of a person: "Anna B. Bell".
_PERSON = re.compile(r"[A-Z][^\W\d_]+(?: [A-Z][^\W\d_]*\.?)* [A-Z][^\W\d_]+")
_OTHER_NAMES = ("Ottilie Brandreth", "Cassius Wendover", "Marigold Thackeray")
_FINITE = re.compile(r"\b(?:is|are|was|were|has|had)\b")
_BETWEEN = re.compile(r"[,;:()]|\b(?:that|which|who|and|while)\b")
_PAST_PASSIVE = re.compile(r"\b(?:was|were) (?=\w{2,}ed\b)")
# "Who won the race of 1890?"
_WHO = re.compile(
    r"[Ww]ho (?P<verb>\w{2,}ed|won|wrote|led|built|made|took|held|gave|sold|drew|fought|taught|bought|shot|sang)"
    r"(?P<rest> (?:the|a|an|[A-Z])[^?,]{4,80})\??"
)
# "Who is the head of the school?", but not of "Who is the first head" or "Who is the named head".
_WHO_IS = re.compile(
    r"[Ww]ho is the (?P<rest>(?!first|last|only|former|present|current|original|one|actor|\w+ed\b)[a-z][^?,]{6,80})\??"
)
_ORDINALS = ("first", "second", "third", "fourth", "fifth")
_SIDES = "north/south east/west northern/southern eastern/western upper/lower inner/outer left/right"
_OTHER_SIDE = {}
for _pair in _SIDES.split():
    _left, _right = _pair.split("/")
    _OTHER_SIDE[_left] = _right
    _OTHER_SIDE[_right] = _left

# The text that states the answer, the other text, and the question about that one if it is another question.
_Change = tuple[str, str, str]
_Rule = Callable[[str, str, str], _Change | None]


def make_pairs(reading: Path, number: int, seed: int = 7) -> list[StatedPair]:
    """Make pairs by rule from questions over single passages.

    :param reading: JSON Lines with ``question``, ``title``, ``text`` and ``answers``.
    :param number: How many pairs of each form to make.
    :param seed: The seed of the order in which the questions are tried.
    :returns: The pairs, the forms in turns. No title is in both parts.
    """
    records = [json.loads(line) for line in reading.read_text(encoding="utf-8").splitlines()]
    draw = random.Random(seed)
    draw.shuffle(records)
    made: Counter[str] = Counter()
    pairs = []
    for record in records:
        part: Literal["train", "test"] = "test" if crc32(record["title"].encode()) % 3 == 0 else "train"
        for answer, sentence in _statements(record):
            for form in sorted(_RULES[part], key=made.__getitem__):
                rule = _RULES[part][form]
                changed = rule(record["question"], answer, sentence) if made[form] < number else None
                if changed is None:
                    continue
                made[form] += 1
                pairs.append(StatedPair(form, part, record["question"], answer, *changed, record["title"]))
                break
    return pairs


def _statements(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Find the only sentence of a passage that has the answer, if it states it without the others."""
    question, answer = record["question"], record["answers"][0] if record["answers"] else ""
    sentences = [sentence for sentence in shown_sentences(record["text"]) if answer and answer in sentence]
    if len(sentences) != 1 or _HEDGED.search(f"{question} {sentences[0]}") or _LEANS.match(sentences[0]):
        return
    [sentence] = sentences
    asked = stems_of(" ".join(word for word in re.findall(r"\w+", question.lower()) if word not in _PLAIN))
    told, named = stems_of(sentence), stems_of(record["title"])
    needed, needed_with_title = _SHARE * len(asked), _SHARE_WITH_TITLE * len(asked)
    is_about = len(asked & told) >= needed and len(asked & (told | named)) >= needed_with_title
    if not asked or not is_about:
        return
    has_length = _LENGTHS[0] <= len(sentence) <= _LENGTHS[1]
    if has_length and sentence.endswith(".") and sentence.count(answer) == 1:
        yield answer, sentence


_PLAIN = PLAIN_WORDS | FUNCTION_WORDS
_OPENERS = frozenset(
    (
        "during",
        "although",
        "while",
        "despite",
        "since",
        "both",
        "all",
        "some",
        "most",
        "many",
        "several",
        "two",
        "three",
    )
)


def _lower(sentence: str) -> str:
    """Begin a sentence in lower case, unless a name may begin it."""
    is_word = sentence.split()[0].lower() in _PLAIN | _OPENERS
    return sentence[0].lower() + sentence[1:] if is_word else sentence


def _is_in_clause(verb: re.Match[str], answer: str, sentence: str) -> bool:
    """Check whether a verb and the answer are in one clause, so that what is done to the verb reaches the answer."""
    begin = sentence.index(answer)
    left, right = (verb.end(), begin) if verb.end() <= begin else (begin + len(answer), verb.start())
    return left <= right and _BETWEEN.search(sentence[left:right]) is None


def _verb(pattern: re.Pattern[str], answer: str, sentence: str) -> re.Match[str] | None:
    """Find the only finite verb of a sentence, if it has the form and is in the answer's clause."""
    verbs = list(pattern.finditer(sentence))
    is_only = len(list(_FINITE.finditer(sentence))) == 1 == len(verbs)
    return verbs[0] if is_only and _is_in_clause(verbs[0], answer, sentence) else None


def _after_verb(pattern: str, verb: str) -> _Rule:
    """Write something in the place of a finite verb."""

    def rule(question: str, answer: str, sentence: str) -> _Change | None:
        match = _verb(re.compile(pattern), answer, sentence)
        if match is None:
            return None
        return sentence, f"{sentence[: match.start()]}{match.expand(verb)}{sentence[match.end() :]}", ""

    return rule


def _validity(question: str, answer: str, sentence: str) -> _Change | None:
    match = _verb(re.compile(r"\b(?:is|are)\b"), answer, sentence)
    if match is None or re.search(r"\b(?:is|are)\b", question) is None:
        return None
    past = {"is": "was", "are": "were"}[match[0]]
    return sentence, f"{sentence[: match.start()]}{past}{sentence[match.end() : -1]} until a few years ago.", ""


def _said(text: str) -> _Rule:
    """Make a sentence of a question for a person: ``{answer}`` and ``{rest}``, which begins with the verb."""

    def rule(question: str, answer: str, sentence: str) -> _Change | None:
        match = _WHO.fullmatch(question)
        is_name = _PERSON.fullmatch(answer) and answer.split()[0] not in ("The", "A", "An")
        needs_participle = "having" in text
        if match is None or not is_name:
            return None
        if needs_participle and not match["verb"].endswith("ed"):
            return None
        rest = f"{match['verb']}{match['rest']}"
        return f"{answer} {rest}.", text.format(answer=answer, rest=rest), ""

    return rule


def _office(text: str) -> _Rule:
    """Make a sentence of a question for the holder of an office: ``{answer}`` and ``{rest}``."""

    def rule(question: str, answer: str, sentence: str) -> _Change | None:
        match = _WHO_IS.fullmatch(question)
        is_name = _PERSON.fullmatch(answer) and answer.split()[0] not in ("The", "A", "An")
        if match is None or not is_name:
            return None
        return f"{answer} is the {match['rest']}.", text.format(answer=answer, rest=match["rest"]), ""

    return rule


def _changed_in(question: str, old: re.Match[str], new: str) -> str:
    return f"{question[: old.start()]}{new}{question[old.end() :]}"


def _other_number(question: str, answer: str, sentence: str) -> _Change | None:
    shared = [match for match in _NUMBER.finditer(question) if match[0] in _NUMBER.findall(sentence)]
    if len(shared) != 1 or shared[0][0] in answer or _YEAR.search(question):
        return None
    return sentence, sentence, _changed_in(question, shared[0], str(int(shared[0][0]) + 3))


def _other_year(question: str, answer: str, sentence: str) -> _Change | None:
    shared = [match for match in _YEAR.finditer(sentence) if match[0] in _YEAR.findall(question)]
    if len(shared) != 1 or len(_YEAR.findall(sentence)) != 1 or shared[0][0] in answer:
        return None
    return sentence, _changed_in(sentence, shared[0], str(int(shared[0][0]) - 6)), ""


def _other_name(question: str, answer: str, sentence: str) -> _Change | None:
    shared = [match for match in _NAME.finditer(question) if match[0] in sentence and match[0] not in answer]
    if len(shared) != 1:
        return None
    return sentence, sentence, _changed_in(question, shared[0], _OTHER_NAMES[len(sentence) % len(_OTHER_NAMES)])


def _other_of(others: dict[str, str]) -> _Rule:
    """Change a word of the question that has an opposite and stands in the sentence too."""

    def rule(question: str, answer: str, sentence: str) -> _Change | None:
        words = re.findall(r"\w+", sentence)
        shared = [match for match in re.finditer(r"\w+", question) if match[0] in others and match[0] in words]
        if len(shared) != 1:
            return None
        word = shared[0][0]
        occurs_again = word in question.split(word, 1)[1]
        if occurs_again or word in answer or others[word] in words:
            return None
        return sentence, sentence, _changed_in(question, shared[0], others[word])

    return rule


def _bound(question: str, answer: str, sentence: str) -> _Change | None:
    begin = sentence.index(answer)
    if question.startswith("When ") and sentence[:begin].endswith((" in ", " on ")) and answer[-1:].isdigit():
        return sentence, f"{sentence[: begin - 3]}before {sentence[begin:]}", ""
    is_exact = _ROUNDED.search(sentence[:begin]) is None
    if sentence[begin + len(answer) :].startswith("-"):
        return None
    is_amount = re.fullmatch(r"[\d,]+(?: \w+)?", answer) is not None and begin > 0
    if question.startswith("How many ") and is_amount and is_exact:
        return sentence, f"{sentence[:begin]}fewer than {sentence[begin:]}", ""
    return None


def _around(before: str = "", after: str = "") -> _Rule:
    def rule(question: str, answer: str, sentence: str) -> _Change | None:
        return sentence, f"{before}{_lower(sentence) if before else sentence}{after}", ""

    return rule


# A number after one of these words is not exact: "more than 30", "about 30".
_ROUNDED = re.compile(r"\b(?:than|about|over|around|some|approximately|least|most|only|another|to|the|roughly|of) $")
_FURTHER = "\n\nThe house is open on most days. Dogs wait outside.\n\n"
_NEXT_ORDINAL = dict(zip(_ORDINALS, _ORDINALS[1:] + _ORDINALS[:1], strict=True))

# For each part its forms with their rules.
_RULES: dict[Literal["train", "test"], dict[str, _Rule]] = {
    "train": {
        "negation": _after_verb(r"\b(is|are|was|were|has|had)\b", r"\1 not"),
        "plan": _after_verb(r"\b(was|were) (?=\w{2,}ed\b)", r"\1 meant to be "),
        "modal": _after_verb(r"\b(?:was|were)\b", "might have been"),
        "validity": _validity,
        "relation": _said("A cousin of {answer} {rest}."),
        "exception": _said("Everybody except {answer} {rest}."),
        "refusal": _said("{answer} denied having {rest}."),
        "former": _office("{answer} is the former {rest}."),
        "deputy": _office("{answer} is the assistant of the {rest}."),
        "number": _other_number,
        "year": _other_year,
        "name": _other_name,
        "thing": _other_of(_OTHER_SIDE),
        "rumour": _around("According to a rumour, "),
        "claim": _around("One visitor claimed that "),
        "denial": _around("The author denies that "),
        "asked": _around("It was asked whether "),
        "verdict after": _around(after=" This turned out to be false."),
        "verdict later": _around(after=_FURTHER + "This turned out to be false."),
    },
    "test": {
        "condition": _around("Unless the records are wrong, "),
        "belief": _around("Nobody at the time believed that "),
        "supposition": _around("Let us suppose that "),
        "invented": _around("In the first draft of the novel, "),
        "wish": _around("Many wished that "),
        "opposite": _around(after=" The opposite is the case."),
        "withdrawn later": _around(after=_FURTHER + "The sentence on this was withdrawn by its author."),
        "nearly": _said("{answer} almost {rest}."),
        "accusation": _said("{answer} was accused of having {rest}."),
        "substitution": _said("Instead of {answer}, a rival {rest}."),
        "candidate": _office("{answer} is a candidate for the post of {rest}."),
        "bound": _bound,
        "ordinal": _other_of(_NEXT_ORDINAL),
    },
}
