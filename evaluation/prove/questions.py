"""Make the questions that are asked about a folder. Each has its answer in one sentence, and in no other.

The form of a sentence gives a question (see ``forms.py``). The question is then compared with all other sentences. A
sentence that may answer it in another way is a rival, and a question with a rival is not asked. A sentence that states
the same as the question's own sentence is a copy. The copies must be known: where the sentence is taken out of the
folder, its copies are taken out too.
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

# The minimum number of different words of a whole question. The words of a title or a table count. Words are compared
# by their roots, see ``wording.py``.
_FEWEST_ROOTS = 3
# The minimum number of different words of a question without those that only name its document or its table.
_FEWEST_OWN = 2
# The maximum number of questions of a document that are checked, until one passes.
_MOST_TRIED = 15
# Any sentence with at least this share (0 to 1) of a question's words may be a rival.
_NEAR = 0.65
# A sentence that has the answer may be a copy if it has at least this share of the question's words by itself.
_PERHAPS = 0.34
# Such a sentence is a copy if it and its headings together have at least this share of the question's words.
_SAME = 0.5


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
    :param plain: The question by form, in the words of the sentence. Empty if a language model wrote the question (see
        ``written_question.py``).
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

    A document gets no question if it states the same as another document that has one. The answers about two such
    documents would not be independent. All questions that are not clear enough are dropped here, before anything is
    asked. So the answers have no influence on which questions are counted.

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

        proposals: list[Question] = []
        for sentence in files[file]:
            proposals += propose(sentence)
        draw.shuffle(proposals)
        # Forms of which there are few questions so far come first.
        proposals.sort(key=lambda question: form_counts[question.form])

        question, reasons = _choose(proposals[:_MOST_TRIED], sentences, used_sentences)
        dropped.update(reasons)
        if question is not None:
            questions.append(question)
            used_sentences |= {sentence.number for sentence in (question.sentence, *question.copies)}
            copied_files.update(copy.file for copy in question.copies)
            form_counts[question.form] += 1
    return questions, dropped


def _choose(
    proposals: list[Question], sentences: Sentences, used_sentences: set[int]
) -> tuple[Question | None, list[str]]:
    """Return the first question that passes the checks, and a reason for each sentence that gave only refused ones."""
    # Several questions may come from one sentence, so the reasons are stored by the number of the sentence.
    reasons: dict[int, str] = {}
    for proposal in proposals:
        question, reason = _check(proposal, sentences, used_sentences)
        if question is not None:
            # Its sentence has given a question in the end, so it does not count as dropped.
            reasons.pop(proposal.sentence.number, None)
            return question, list(reasons.values())
        reasons[proposal.sentence.number] = reason
    return None, list(reasons.values())


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

    for files_of_group in groups.values():
        draw.shuffle(files_of_group)
    remaining_groups = list(groups.values())
    while remaining_groups:
        # One document of each group.
        for files_of_group in remaining_groups:
            yield files_of_group.pop()
        remaining_groups = [files_of_group for files_of_group in remaining_groups if files_of_group]


def propose(sentence: Sentence) -> Iterator[Question]:
    """Make the questions that a sentence answers by its form alone, in words that a person might type.

    :param sentence: The sentence.
    :returns: An iterator over the questions, which are not checked yet.
    """
    for formed in find_formed(sentence):
        # An hour is left out, because ``worlds.py`` cannot change it into another hour. A place such as "the office" is
        # left out, because other sentences may mean another office.
        is_common_place = formed.kind == "place" and not formed.value[0].isupper()
        if formed.kind == "time" or is_common_place:
            continue

        # The thing now stands within a question: "The bridge" becomes "the bridge".
        thing = re.sub(r"^(?:The|An?)\b", lambda match: match[0].lower(), formed.thing)
        question = formed.template.replace("{thing}", thing).removesuffix("?")
        core = _reword(f"{question[0].lower()}{question[1:]}")
        text = f"{core} {formed.place}".rstrip()
        yield Question(
            form=formed.kind,
            text=text,
            sentence=sentence,
            value=formed.value,
            at=formed.at,
            shared=shared(text, sentence.text),
            core=core,
            plain=formed.text,
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

    text = question.text
    # A question that names nothing, such as no person, can only be asked with the words of the title.
    if not names_in(text) or not _is_clear(text, question, sentences):
        text = f"{question.text} {_title_words(title, question)}"
        if not _is_clear(text, question, sentences):
            return None
    if has_rival(question, core_roots, names_in(text), sentences):
        return None
    return replace(question, text=text, shared=shared(text, question.sentence.text))


def _is_clear(text: str, question: Question, sentences: Sentences) -> bool:
    """Check whether a text asks for one value, in enough words of the question's sentence, and does not say the value.

    The title and the headings above the sentence count as its words, and must not say the value either.
    """
    text_roots = roots(text)
    if len(text_roots) < _FEWEST_ROOTS or asks_beyond_spans(text):
        return False
    sentence_roots = roots(question.sentence.text) | sentences.context_of(question.sentence)
    if not text_roots <= sentence_roots:
        return False
    return not says_value(question.form, question.value, f"{text} {question.sentence.context}")


def _title_words(title: str, question: Question) -> str:
    """Return at most four words of the title that the question does not have."""
    question_roots = roots(question.text)
    telling_words = [word for word in re.findall(r"[^\W_]+", title) if is_telling(word.lower())]
    new_words = [word for word in telling_words if root(word.lower()) not in question_roots]
    return " ".join(new_words[:4])


def has_rival(question: Question, asked: frozenset[str], names: frozenset[str], sentences: Sentences) -> bool:
    """Check whether another sentence that has most words of a question may answer it in another way.

    :param question: The question.
    :param asked: The roots of the question's words that count.
    :param names: Those of these roots that name something. The other sentence or its headings must have all of them.
    :param sentences: The sentences of the folder.
    :returns: True if there is such a sentence.
    """
    similar = sentences.sharing(asked, ceil(_NEAR * len(asked)))
    return any(_is_rival(question, names, other, covered) for other, covered in similar)


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
    :returns: These sentences. None if it is uncertain whether another sentence states the same.
    """
    question_roots = roots(question.text)
    own_sentence = question.sentence
    copies = []
    for other in sentences.saying(question.form, question.value):
        if other.number == own_sentence.number:
            continue
        # The roots of the question that the other sentence has by itself, and those that it has with its headings.
        in_sentence = question_roots & roots(other.text)
        with_headings = in_sentence | (question_roots & sentences.context_of(other))
        may_be_copy = len(in_sentence) >= _PERHAPS * len(question_roots)
        if may_be_copy and len(with_headings) >= _SAME * len(question_roots):
            copies.append(other)
        elif may_be_copy or other.file == own_sentence.file:
            # The other sentence has the answer, but too few words of the question to be sure.
            return None

    # The three sentences before and behind its own may speak of the same thing without naming the thing.
    neighbours = sentences.all[max(0, own_sentence.number - 3) : own_sentence.number + 4]
    for other in neighbours:
        is_examined = other == own_sentence or other in copies
        if is_examined or other.file != own_sentence.file:
            continue
        if says_value(question.form, question.value, other.text):
            return None
    return copies
