"""The questions that are asked about a folder: each has its answer in one sentence, and in no other."""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil

from prefrag.components.reader.question_form import asks_beyond_spans
from prefrag.evaluation.prove.forms import find_formed
from prefrag.evaluation.prove.sentences import Sentence, Sentences, has_kind, says_value
from prefrag.evaluation.prove.wording import OTHER_WORDS, is_telling, names_in, root, roots, shared

_FEWEST_ROOTS = 3  # of a question with the words of its title
_FEWEST_OWN = 2  # of a question without the words of its title
_MOST_TRIED = 15  # proposals of a document
# Shares of a question's words that a sentence has: from the first on it may answer the question too, from the second on
# it states the same, from the third on it may state the same.
_NEAR = 0.65
_SAME = 0.5
_PERHAPS = 0.34


@dataclass(frozen=True)
class Question:
    """A question whose answer is a value of one sentence.

    :param form: ``date``, ``number``, ``name``, ``place``, ``cell`` or ``step``.
    :param text: The question.
    :param sentence: The sentence; of a cell its row.
    :param value: The answer.
    :param at: Where the value begins in the sentence.
    :param shared: The share of the question's words that the sentence has too.
    :param core: The question without the words that only name its document or its table.
    :param plain: The question in the words of the sentence; empty if a model wrote it.
    :param copies: The other sentences that state the same.
    """

    form: str
    text: str
    sentence: Sentence
    value: str
    at: int
    shared: float
    core: str
    plain: str = ""
    copies: tuple[Sentence, ...] = ()


def make_questions(sentences: Sentences, number: int, seed: int) -> tuple[list[Question], Counter[str]]:
    """Make questions, at most one for each document, the documents spread over folders, kinds and dates.

    Documents that state the same as one that is asked are asked nothing: they would be no trials of their own.
    Whatever is doubtful is dropped here, before anything is asked, so that no answer decides what is counted.

    :param sentences: The sentences of the folder.
    :param number: The maximum number of questions.
    :param seed: The seed of the choice.
    :returns: The questions in the order in which they are to be asked, and how many were dropped for each reason.
    """
    dropped: Counter[str] = Counter()
    draw = random.Random(seed)
    files: defaultdict[str, list[Sentence]] = defaultdict(list)
    for sentence in sentences.all:
        files[sentence.file].append(sentence)
    made: list[Question] = []
    wanted: Counter[str] = Counter()
    used: set[int] = set()
    done: set[str] = set()
    for file in _spread(files, draw):
        if len(made) == number:
            break
        if file in done:
            dropped["its document is a copy of one that is asked"] += 1
            continue
        proposals = [question for sentence in files[file] for question in propose(sentence)]
        draw.shuffle(proposals)
        # Forms of which there are few questions so far come first.
        proposals.sort(key=lambda question: wanted[question.form])
        refused: dict[int, str] = {}
        for proposal in proposals[:_MOST_TRIED]:
            question, reason = _check(proposal, sentences, used)
            if question is None:
                refused[proposal.sentence.number] = reason
                continue
            used |= {sentence.number for sentence in (question.sentence, *question.copies)}
            done.update(copy.file for copy in question.copies)
            wanted[question.form] += 1
            refused.pop(proposal.sentence.number, None)
            made.append(question)
            break
        dropped.update(refused.values())
    return made, dropped


def _check(proposal: Question, sentences: Sentences, used: set[int]) -> tuple[Question | None, str]:
    """Return a question with its copies if only its own sentence answers it, else None and why not."""
    question = name_its_sentence(proposal, sentences)
    if question is None:
        return None, "another sentence may answer it, or it names too little"
    copies = find_copies(question, sentences)
    if copies is None:
        return None, "another sentence may state the same"
    if used & {sentence.number for sentence in (question.sentence, *copies)}:
        return None, "its sentence states the answer to another question"
    return replace(question, copies=tuple(copies)), ""


def _spread(files: dict[str, list[Sentence]], draw: random.Random) -> Iterator[str]:
    """Order documents so that folders, kinds and years take turns."""
    groups: defaultdict[tuple[str, str, str], list[str]] = defaultdict(list)
    for file in sorted(files):
        meta = files[file][0].passage.meta
        folder = str(meta.get("folder") or "")
        kind = str(meta.get("kind") or "")
        year = str(meta.get("date") or "")[:4]
        groups[folder, kind, year].append(file)
    for members in groups.values():
        draw.shuffle(members)
    rows = list(groups.values())
    while rows:
        yield from (row.pop() for row in rows)
        rows = [row for row in rows if row]


def propose(sentence: Sentence) -> Iterator[Question]:
    """Make the questions that a sentence answers by its form alone, in words that a person might type."""
    for formed in find_formed(sentence):
        # There is no rule for another value of an hour. A place such as "the office" may be named by other sentences.
        is_common_place = formed.kind == "place" and not formed.value[0].isupper()
        if formed.kind == "time" or is_common_place:
            continue
        thing = re.sub(r"^(?:The|An?)\b", lambda match: match[0].lower(), formed.thing)
        asked = formed.template.replace("{thing}", thing).removesuffix("?")
        core = _reword(f"{asked[0].lower()}{asked[1:]}")
        text = f"{core} {formed.place}".rstrip()
        yield Question(
            formed.kind, text, sentence, formed.value, formed.at, shared(text, sentence.text), core, formed.text
        )


def _reword(text: str) -> str:
    """Write a text with other words that say the same."""
    return re.sub(r"[a-z]+", lambda match: OTHER_WORDS.get(match[0], match[0]), text)


def name_its_sentence(question: Question, sentences: Sentences) -> Question | None:
    """Make sure that only one sentence answers a question; add the title if the question names nothing."""
    title = str(question.sentence.passage.meta.get("title") or "")
    core = roots(question.core)
    # A question such as "What is the default?" names too little. A field, however, is named by its document.
    if len(core) < _FEWEST_OWN and question.form != "cell":
        return None
    for text in (question.text, f"{question.text} {_title_words(title, question)}"):
        asked = roots(text)
        names = names_in(text) & asked
        names_nothing = text == question.text and not names
        if len(asked) < _FEWEST_ROOTS or asks_beyond_spans(text) or names_nothing:
            continue
        own = asked & (roots(question.sentence.text) | sentences.context_of(question.sentence))
        if own != asked or says_value(question.form, question.value, f"{text} {question.sentence.context}"):
            continue
        if has_rival(question, core, names, sentences):
            return None
        return replace(question, text=text, shared=shared(text, question.sentence.text))
    return None


def _title_words(title: str, question: Question) -> str:
    own = roots(question.text)
    telling = [word for word in re.findall(r"[^\W_]+", title) if is_telling(word.lower())]
    return " ".join([word for word in telling if root(word.lower()) not in own][:4])


def has_rival(question: Question, asked: frozenset[str], names: frozenset[str], sentences: Sentences) -> bool:
    """Check whether another sentence with most of the words may answer a question otherwise.

    :param question: The question.
    :param asked: The roots of its words that count.
    :param names: Those of them that name something, which the other sentence or its headings must have.
    :param sentences: The sentences of the folder.
    """
    near = sentences.sharing(asked, ceil(_NEAR * len(asked)))
    return any(_is_rival(question, names, *other) for other in near)


def _is_rival(question: Question, names: frozenset[str], other: Sentence, covered: frozenset[str]) -> bool:
    """Check whether another sentence with most of the question's words may answer it otherwise."""
    if other.number == question.sentence.number or says_value(question.form, question.value, other.text):
        return False
    if not names <= covered:
        return False
    return question.form == "step" or has_kind(question.form, other.text)


def find_copies(question: Question, sentences: Sentences) -> list[Sentence] | None:
    """Find the other sentences that state the same; None if one may state it that cannot be told by its words."""
    asked = roots(question.text)
    own = question.sentence
    copies = []
    for other in sentences.saying(question.form, question.value):
        if other.number == own.number:
            continue
        common = asked & roots(other.text)
        covered = common | (asked & sentences.context_of(other))
        may_say_same = len(common) >= _PERHAPS * len(asked)
        if may_say_same and len(covered) >= _SAME * len(asked):
            copies.append(other)
        elif may_say_same or other.file == own.file:
            return None
    # The sentences beside it may speak of the same thing without naming it.
    near = sentences.all[max(0, own.number - 3) : own.number + 4]
    beside = [other for other in near if other.file == own.file and other not in (own, *copies)]
    if any(says_value(question.form, question.value, other.text) for other in beside):
        return None
    return copies
