"""Make the questions that are asked about a folder. Each has its answer in one sentence, and in no other.

The form of a sentence gives a question (see ``forms.py``). Then two checks compare the question with all other
sentences. No other sentence may answer it in another way (a rival). Sentences that state the same (copies) must be
known, because they are taken out together.
"""

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

# A question must have at least this many different words, with the words of its title. Words are compared by their
# roots.
_FEWEST_ROOTS = 3
# A question must have at least this many different words without the words of its title.
_FEWEST_OWN = 2
# The maximum number of questions of a document that are checked, until one passes.
_MOST_TRIED = 15
# A sentence with at least this share (0 to 1) of a question's words may answer the question, too.
_NEAR = 0.65
# A sentence with the answer states the same if it and its headings have at least this share of a question's words.
_SAME = 0.5
# A sentence with the answer may state the same if it has at least this share of a question's words by itself.
_PERHAPS = 0.34


@dataclass(frozen=True)
class Question:
    """A question whose answer is a value of one sentence.

    :param form: ``date``, ``number``, ``name``, ``place``, ``cell`` or ``step``.
    :param text: The question.
    :param sentence: The sentence. For a cell, this is the row of the table.
    :param value: The answer.
    :param at: The position in the sentence at which the answer begins.
    :param shared: The share (0 to 1) of the question's words that the sentence has too.
    :param core: The question without the words that only name its document or its table.
    :param plain: The question in the words of the sentence. Empty if a model wrote the question.
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
    """Make questions, at most one for each document. Folders, kinds of files and years take turns.

    A document gets no question if it states the same as another document that has one. It would be no independent
    trial. Doubtful questions are dropped here, before anything is asked. So no answer decides what is counted.

    :param sentences: The sentences of the folder.
    :param number: The maximum number of questions.
    :param seed: The seed of the choice.
    :returns: The questions in the order in which they are asked, and the number of dropped questions for each reason.
    """
    dropped: Counter[str] = Counter()
    draw = random.Random(seed)
    files: defaultdict[str, list[Sentence]] = defaultdict(list)
    for sentence in sentences.all:
        files[sentence.file].append(sentence)
    questions: list[Question] = []
    form_counts: Counter[str] = Counter()
    used_sentences: set[int] = set()
    copied_files: set[str] = set()

    for file in _spread(files, draw):
        if len(questions) == number:
            break
        if file in copied_files:
            dropped["its document is a copy of one that is asked"] += 1
            continue

        proposals = [question for sentence in files[file] for question in propose(sentence)]
        draw.shuffle(proposals)
        # Forms of which there are few questions so far come first.
        proposals.sort(key=lambda question: form_counts[question.form])
        # The reason for each sentence whose questions were refused.
        refused: dict[int, str] = {}
        for proposal in proposals[:_MOST_TRIED]:
            question, reason = _check(proposal, sentences, used_sentences)
            if question is None:
                refused[proposal.sentence.number] = reason
                continue
            used_sentences |= {sentence.number for sentence in (question.sentence, *question.copies)}
            copied_files.update(copy.file for copy in question.copies)
            form_counts[question.form] += 1
            refused.pop(proposal.sentence.number, None)
            questions.append(question)
            break
        dropped.update(refused.values())
    return questions, dropped


def _check(proposal: Question, sentences: Sentences, used_sentences: set[int]) -> tuple[Question | None, str]:
    """Return a question with its copies if only its own sentence answers it. Otherwise return None and the reason."""
    question = name_its_sentence(proposal, sentences)
    if question is None:
        return None, "another sentence may answer it, or it names too little"
    copies = find_copies(question, sentences)
    if copies is None:
        return None, "another sentence may state the same"
    if used_sentences & {sentence.number for sentence in (question.sentence, *copies)}:
        return None, "its sentence states the answer to another question"
    return replace(question, copies=tuple(copies)), ""


def _spread(files: dict[str, list[Sentence]], draw: random.Random) -> Iterator[str]:
    """Yield the names of the documents so that folders, kinds and years take turns."""
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
    """Make the questions that a sentence answers by its form alone, in words that a person might type.

    :param sentence: The sentence.
    :returns: An iterator over the questions, which are not checked yet.
    """
    for formed in find_formed(sentence):
        # An hour is left out, because there is no rule for another value. A place such as "the office" is left out,
        # because other sentences may mean another office.
        is_common_place = formed.kind == "place" and not formed.value[0].isupper()
        if formed.kind == "time" or is_common_place:
            continue
        thing = re.sub(r"^(?:The|An?)\b", lambda match: match[0].lower(), formed.thing)
        phrase = formed.template.replace("{thing}", thing).removesuffix("?")
        core = _reword(f"{phrase[0].lower()}{phrase[1:]}")
        text = f"{core} {formed.place}".rstrip()
        yield Question(
            formed.kind, text, sentence, formed.value, formed.at, shared(text, sentence.text), core, formed.text
        )


def _reword(text: str) -> str:
    """Replace words of a text by others with the same meaning.

    For example, ``_reword("who built the ship")`` returns ``"who constructed the vessel"``.
    """
    return re.sub(r"[a-z]+", lambda match: OTHER_WORDS.get(match[0], match[0]), text)


def name_its_sentence(question: Question, sentences: Sentences) -> Question | None:
    """Make sure that only one sentence answers a question.

    If the question names nothing, the words of the title of its document are added.

    :param question: The question.
    :param sentences: The sentences of the folder.
    :returns: The question, perhaps with words of the title. None if it names too little, or if another sentence may
        answer it.
    """
    title = str(question.sentence.passage.meta.get("title") or "")
    core_roots = roots(question.core)
    # A question such as "What is the default?" names too little. A cell, however, is named by its table or document.
    if len(core_roots) < _FEWEST_OWN and question.form != "cell":
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
        if has_rival(question, core_roots, names, sentences):
            return None
        return replace(question, text=text, shared=shared(text, question.sentence.text))
    return None


def _title_words(title: str, question: Question) -> str:
    """Return at most four words of the title that the question does not have."""
    question_roots = roots(question.text)
    telling_words = [word for word in re.findall(r"[^\W_]+", title) if is_telling(word.lower())]
    return " ".join([word for word in telling_words if root(word.lower()) not in question_roots][:4])


def has_rival(question: Question, asked: frozenset[str], names: frozenset[str], sentences: Sentences) -> bool:
    """Check whether another sentence that has most words of a question may answer it in another way.

    :param question: The question.
    :param asked: The roots of the question's words that count.
    :param names: Those of these roots that name something. The other sentence or its headings must have all of them.
    :param sentences: The sentences of the folder.
    :returns: True if there is such a sentence.
    """
    similar = sentences.sharing(asked, ceil(_NEAR * len(asked)))
    return any(_is_rival(question, names, *other) for other in similar)


def _is_rival(question: Question, names: frozenset[str], other: Sentence, covered: frozenset[str]) -> bool:
    """Check whether another sentence may answer a question in another way.

    ``covered`` are the roots of the question that the sentence and its headings have.
    """
    if other.number == question.sentence.number or says_value(question.form, question.value, other.text):
        return False
    if not names <= covered:
        return False
    return question.form == "step" or has_kind(question.form, other.text)


def find_copies(question: Question, sentences: Sentences) -> list[Sentence] | None:
    """Find the other sentences that state the same.

    :param question: The question.
    :param sentences: The sentences of the folder.
    :returns: These sentences. None if another sentence may state the same and its words do not tell.
    """
    question_roots = roots(question.text)
    own_sentence = question.sentence
    copies = []
    for other in sentences.saying(question.form, question.value):
        if other.number == own_sentence.number:
            continue
        common = question_roots & roots(other.text)
        covered = common | (question_roots & sentences.context_of(other))
        may_say_same = len(common) >= _PERHAPS * len(question_roots)
        if may_say_same and len(covered) >= _SAME * len(question_roots):
            copies.append(other)
        elif may_say_same or other.file == own_sentence.file:
            return None
    # The sentences beside its own may speak of the same thing without naming the thing.
    neighbours = sentences.all[max(0, own_sentence.number - 3) : own_sentence.number + 4]
    beside = [other for other in neighbours if other.file == own_sentence.file and other not in (own_sentence, *copies)]
    if any(says_value(question.form, question.value, other.text) for other in beside):
        return None
    return copies
