"""Make training examples for the extractive reader from questions on documents that resemble the documents of users.

There are examples for the reader's two encoders, and examples for its decision trees. Some questions have no answer in
their passages. The answer's document may have been left out, or the question may have been changed (:func:`twins`).
"""

import json
import random
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from haystack import Document

from prefrag.components.reader.document_choice import choose_documents
from prefrag.components.reader.question_form import asks_yes_no
from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_candidates import SpanCandidate, span_candidates
from prefrag.components.reader.span_features import WordWeight, answer_key
from prefrag.evaluation.question import Question
from prefrag.evaluation.runs.run_folder import PREDICTIONS
from prefrag.training.reader.examples import (
    Example,
    Passage,
    Record,
    family_name,
    find_answers,
    near_texts,
    read_records,
    window,
)

# An example has at most this number of passages.
_MOST = 5
# The origin of examples from a run on the user's own files.
_RUN = "run"
# A passage is cut to this number of characters.
_LONGEST_TEXT = 900
# For the encoders, a question is left out if its shortest answer has more characters than this.
_LONGEST_ANSWER = 80
# For each of the two encoders: the maximum number of questions with an answer, and of questions without an answer.
_FOR_ENCODER = (1400, 1500)
# The same two numbers for the trees.
_FOR_TREES = (300, 450)
# The maximum number of changed questions (see `twins`) for the trees.
_TWINS_FOR_TREES = 90
# For the encoders: the share of questions, from 0 to 1, whose own document is left out of the search.
_GONE_FOR_ENCODER = 0.12
# The same share for the trees.
_GONE_FOR_TREES = 0.25
# A name or a number that `twins` replaces: "Anna Bell", "1,250" or "7". The first word of a question does not match,
# because a blank must stand before the name.
_NAME_OR_NUMBER = re.compile(r"(?<=\s)(?:[A-Z][\w'-]+(?: [A-Z][\w'-]+)*|\d[\d,.]*\d|\d)(?=\W|$)")
# A verb after which `twins` writes "not": "Which bridge was [not] built in 1890?"
_AUXILIARY = re.compile(r"\b(?:did|was|is|are|were|does|do|has|have|can|could|will)\b", re.I)


@dataclass(frozen=True)
class DocumentSet:
    """A set of questions, and the documents that are searched for them."""

    name: str  # the name of the file of the questions, without its suffix
    records: list[Record]
    corpus: list[tuple[str, Passage]]  # the passages to search, each with the name of its document
    is_searched: bool  # whether the corpus has other passages besides those of the questions


def read_documents(questions: Path, corpus: Path | None = None) -> DocumentSet:
    """Read a set of questions on documents.

    :param questions: A file of JSON Lines with ``question``, ``title``, ``text``, ``answers`` and ``document``.
    :param corpus: A file of JSON Lines with ``document``, ``title`` and ``text``: the passages to search. None means
        that only the passages of the questions are searched, and that each title counts as a document.
    :returns: The questions and the passages.
    """
    records = read_records(questions)
    if corpus is None:
        titled: list[Record] = []
        for record in records:
            name = record["title"] or str(record["document"]).partition("-")[0]
            titled.append({**record, "document": name})
        records = titled

    passages = read_records(corpus) if corpus is not None else records
    entries: dict[tuple[str, Passage], None] = {}
    for passage in passages:
        entries[str(passage["document"]), (str(passage["title"]), str(passage["text"]))] = None
    return DocumentSet(questions.stem, records, list(entries), corpus is not None)


def learnt_examples(
    documents: DocumentSet, is_learnt: Callable[[str], bool], weight: WordWeight, draw: random.Random
) -> Iterator[Example]:
    """Make the examples for one encoder: its half of the questions, changed questions, and answers to check.

    :param documents: The questions and their documents.
    :param is_learnt: A function that says, for the key of an example, whether this encoder learns from it.
    :param weight: A function that returns the weight of a word.
    :param draw: The random number generator.
    :returns: The examples.
    """
    records = [record for record in documents.records if is_learnt(_key(documents, record["document"]))]
    corpus = [entry for entry in documents.corpus if is_learnt(_key(documents, entry[0]))]
    own_documents = replace(documents, records=records, corpus=corpus)
    sampled = _sample(records, _LONGEST_ANSWER, _FOR_ENCODER, draw)
    examples = list(_document_examples(own_documents, sampled, draw, _GONE_FOR_ENCODER, 1))
    to_change = [example for example in examples if draw.random() < 0.4]
    changed = list(twins(to_change, draw))

    for example in examples:
        # The time of a training depends on the number of tokens. So if there is no corpus to search, most questions get
        # only one or two passages.
        if documents.is_searched or draw.random() < 0.25:
            yield example
        elif example.gold:
            yield replace(example, passages=(example.passages[example.gold[0]],), gold=(0,))
        else:
            yield replace(example, passages=example.passages[: draw.choice((1, 2))])
    yield from (replace(example, passages=example.passages[:3]) for example in changed)

    checked = [example for example in examples if draw.random() < 0.6]
    checked += [example for example in changed if draw.random() < 0.5]
    yield from marked_examples(checked, weight, draw)


def asked_examples(documents: DocumentSet, draw: random.Random) -> list[Example]:
    """Make the examples for the trees: questions with the passages that a search finds, and changed questions.

    :param documents: The questions and their documents.
    :param draw: The random number generator.
    :returns: The examples.
    """
    sampled = _sample(documents.records, 60, _FOR_TREES, draw)
    examples = list(_document_examples(documents, sampled, draw, _GONE_FOR_TREES, 4))
    changed = list(twins(examples, draw))
    return [*examples, *draw.sample(changed, min(len(changed), _TWINS_FOR_TREES))]


def run_examples(
    folder: Path, asked: Mapping[str, Question] | None = None, learnt: Collection[str] = ()
) -> Iterator[Example]:
    """Make examples from a run of ``prefrag evaluate``, with the passages that the reader had after each search.

    :param folder: The folder of the run.
    :param asked: The training questions, by their ids. Their examples get the name of their dataset. All other
        questions count as questions on the user's own files. Those whose ids differ only in the last number are kept
        together in cross-validation.
    :param learnt: The ids of questions that are left out, because the encoder has learnt from them.
    :returns: The examples.
    :raises ValueError: If the run was made without the texts of the passages.
    """
    with (folder / PREDICTIONS).open(encoding="utf-8") as lines:
        predictions = [json.loads(line) for line in lines]
    for prediction in predictions:
        result = prediction["result"] or {}
        retrieved = [document for document in result.get("documents") or () if not document.get("given")]
        if any("content" not in document for document in retrieved):
            raise ValueError(f"{folder} has passages without their text: repeat the run without contents=false.")
        if not retrieved or asks_yes_no(prediction["question"]) or prediction["id"] in learnt:
            continue

        answers = tuple(prediction["answers"]) if prediction.get("answerable") is not False else ()
        family = f"run-{prediction['id'].rpartition('-')[0] or prediction['id']}"
        key = family
        origin = _RUN if answers else f"{_RUN}-none"
        question = asked.get(prediction["id"]) if asked is not None else None
        if question is not None:
            key, family, origin = question.id, family_name(question), question.dataset

        for step in sorted({document.get("step") or 0 for document in retrieved}):
            documents = []
            for document in retrieved:
                if (document.get("step") or 0) <= step:
                    meta = {"title": document["title"] or ""}
                    documents.append(Document(content=document["content"], meta=meta))
            chosen = choose_documents(prediction["question"], documents, _MOST)
            passages = tuple((document.meta["title"], document.content or "") for document in chosen)
            gold = _find_gold(passages, answers)
            kind = "span" if gold else "none"
            yield Example(key, prediction["question"], passages, answers or ("",), gold, kind, origin, family)


def _find_gold(passages: Sequence[Passage], answers: Sequence[str]) -> tuple[int, ...]:
    """Return the indices of the passages whose text has one of the answers."""
    gold = []
    for place, (_, text) in enumerate(passages):
        if any(find_answers(text, answer) for answer in answers):
            gold.append(place)
    return tuple(gold)


def _key(documents: DocumentSet, document: str) -> str:
    """Return a key for all questions on a document, so that they go into the same half of the training."""
    return f"{documents.name}-{document}"


def _sample(records: Sequence[Record], longest: int, most: tuple[int, int], draw: random.Random) -> list[Record]:
    """Draw questions with an answer of at most ``longest`` characters, and questions without an answer.

    ``most`` has the maximum number of each.
    """
    with_answer = [record for record in records if record["answers"] and min(map(len, record["answers"])) <= longest]
    without = [record for record in records if not record["answers"]]
    sample = []
    for part, number in zip((with_answer, without), most, strict=True):
        sample += draw.sample(part, min(number, len(part)))
    return sample


def _document_examples(
    documents: DocumentSet, records: Sequence[Record], draw: random.Random, gone: float, fewest: int
) -> Iterator[Example]:
    """Make examples with ``fewest`` to 5 passages: the question's own passage, and similar passages.

    In the share ``gone`` of the examples, from 0 to 1, the whole document of the question is left out.
    """
    corpus = documents.corpus
    questions = [str(record["question"]) for record in records]
    # For each question, the places of similar passages in the corpus.
    places_of_questions = near_texts(questions, [passage for _, passage in corpus], 40)
    for record, places in zip(records, places_of_questions, strict=True):
        answers = tuple(dict.fromkeys(map(str, record["answers"])))
        is_gone = draw.random() < gone
        title, text = str(record["title"]), str(record["text"])
        lower_answers = [answer.lower() for answer in answers]
        other_passages = []
        for place in places:
            document, (other_title, other_text) = corpus[place]
            is_left_out = is_gone and document == record["document"]
            states_answer = any(answer in other_text.lower() for answer in lower_answers)
            if other_text != text and not is_left_out and not states_answer:
                other_passages.append((other_title, other_text[:_LONGEST_TEXT]))

        number = draw.randint(fewest, _MOST)
        # The question's own passage is one of these passages, unless it is left out.
        number_of_others = number if is_gone else number - 1
        passages = other_passages[:number_of_others]
        if not is_gone:
            shown = window(text, answers[0] if answers else "", _LONGEST_TEXT, draw)
            # The passage is mostly the first or the second, as in a search.
            passages.insert(min(len(passages), int(draw.expovariate(0.8))), (title, shown))
        if not passages:
            continue

        gold = _find_gold(passages, answers)
        kind = "span" if gold else "none"
        origin = documents.name
        if is_gone:
            origin += "-gone"
        elif not answers:
            origin += "-none"
        key = _key(documents, record["document"])
        yield Example(key, str(record["question"]), tuple(passages), answers or ("",), gold, kind, origin, key)


def twins(examples: Iterable[Example], draw: random.Random) -> Iterator[Example]:
    """Change questions so that their passages have no answer: replace a name or a number, or negate the question.

    For example, "Which bridge was built in 1890?" becomes "Which bridge was built in 1755?" or "Which bridge was not
    built in 1890?". The new name or number comes from one of the questions, and stands in none of the passages.

    :param examples: The examples. Those without an answer are ignored.
    :param draw: The random number generator.
    :returns: The changed examples. An example that cannot be changed is left out.
    """
    answered = [example for example in examples if example.kind == "span"]
    terms = [match.group() for example in answered for match in _NAME_OR_NUMBER.finditer(example.question)]
    for example in answered:
        texts = " ".join(passage_text(*passage) for passage in example.passages)
        matches = [match for match in _NAME_OR_NUMBER.finditer(example.question) if match.group() in texts]
        negated = _AUXILIARY.search(example.question)
        if matches and draw.random() < 0.8:
            match = draw.choice(matches)
            is_number = match.group()[0].isdigit()
            drawn_terms = draw.sample(terms, min(40, len(terms)))
            new_terms = [term for term in drawn_terms if term[0].isdigit() == is_number and term not in texts]
            if not new_terms:
                continue
            changed = f"{example.question[: match.start()]}{new_terms[0]}{example.question[match.end() :]}"
        elif negated is not None:
            changed = f"{example.question[: negated.end()]} not{example.question[negated.end() :]}"
        else:
            continue
        yield replace(example, question=changed, answers=("",), gold=(), kind="none", origin=f"{example.origin}-twin")


def marked_examples(examples: Iterable[Example], weight: WordWeight, draw: random.Random) -> Iterator[Example]:
    """Make examples from which the encoder learns to check an answer. In each, one possible answer is marked.

    The marked answer is a right one, or a similar wrong one: it stands near the right answer, or is of the same kind,
    such as a date.

    :param examples: The examples to take questions and passages from.
    :param weight: A function that returns the weight of a word.
    :param draw: The random number generator.
    :returns: The examples, at most three for each given example.
    """
    for example in examples:
        spans = [span for place, passage in enumerate(example.passages) for span in span_candidates(place, *passage)]
        right_keys = {answer_key(answer) for answer in example.answers} - {""}
        wrong_spans = [span for span in spans if not _overlaps(answer_key(span.text), right_keys)]
        # The spans to mark, and whether each is right.
        chosen: list[tuple[SpanCandidate, bool]] = []
        kind_of_answer = None
        if example.kind == "span":
            place = draw.choice(example.gold)
            text = passage_text(*example.passages[place])
            answer = next((answer.strip() for answer in example.answers if find_answers(text, answer)), None)
            if answer is None:
                continue
            begin = draw.choice(find_answers(text, answer))
            end = begin + len(answer)
            chosen.append((SpanCandidate(place, text[begin:end], "read", begin, end), True))
            kind_of_answer = next((span.kind for span in spans if answer_key(span.text) in right_keys), None)
            near_spans = [span for span in wrong_spans if span.passage == place and abs(span.begin - begin) < 150]
            if near_spans:
                chosen.append((draw.choice(near_spans), False))

        alike_spans = [span for span in wrong_spans if span.kind == kind_of_answer] or wrong_spans
        if alike_spans:
            chosen.append((draw.choice(alike_spans), False))

        look = SecondLook(example.question, example.passages, weight)
        for span, is_right in chosen:
            passages = tuple(look.marked(span))
            gold = (0,) if is_right else ()
            kind_of_example = "span" if is_right else "none"
            origin = f"{example.origin}-marked"
            answers = (span.text,)
            yield Example(
                example.key, example.question, passages, answers, gold, kind_of_example, origin, example.family
            )


def _overlaps(key: str, right: Iterable[str]) -> bool:
    """Check whether an answer is a part of a right answer, or contains one. Only whole words count."""
    return any(f" {key} " in f" {right_key} " or f" {right_key} " in f" {key} " for right_key in right)
