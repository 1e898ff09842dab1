"""Make the examples that train the extractive reader. An example is a question, passages, and the answers in them."""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from prefrag.components.reader.reader_input import passage_text
from prefrag.evaluation.question import Question

Passage = tuple[str, str]

# Templates of questions, for the relations in 2WikiMultiHopQA's triples.
_RELATIONS: dict[str, tuple[str, ...]] = {
    "director": ("Who is the director of {}?", "Who directed {}?"),
    "country of citizenship": ("Which country is {} from?", "What nationality is {}?"),
    "date of birth": ("When was {} born?", "What is the date of birth of {}?"),
    "country": ("In which country is {}?", "Where is {} located?"),
    "date of death": ("When did {} die?", "What is the date of death of {}?"),
    "place of birth": ("Where was {} born?", "What is the birthplace of {}?"),
    "father": ("Who is {}'s father?", "Who is the father of {}?"),
    "mother": ("Who is {}'s mother?", "Who is the mother of {}?"),
    "publication date": ("When was {} released?", "When did {} come out?"),
    "country of origin": ("Which country is {} from?", "In which country was {} made?"),
    "place of death": ("Where did {} die?", "What is the place of death of {}?"),
    "performer": ("Who performed {}?", "Who sang {}?"),
    "composer": ("Who composed the music of {}?", "Who is the composer of {}?"),
    "spouse": ("Who was the spouse of {}?", "Who was {} married to?"),
    "cause of death": ("How did {} die?", "What was the cause of death of {}?"),
    "award received": ("Which award did {} receive?", "What did {} win?"),
    "educated at": ("Where did {} study?", "Where was {} educated?"),
    "child": ("Who is a child of {}?", "Who is {}'s child?"),
    "sibling": ("Who is a sibling of {}?", "Who is {}'s brother or sister?"),
    "founded by": ("Who founded {}?", "By whom was {} founded?"),
}
_LONGEST_TEXT = 480  # the maximum number of characters of a passage
_LONGEST_DISTRACTOR = 280  # the maximum number of characters of an added distractor


@dataclass(frozen=True)
class Example:
    """A question with passages and answers."""

    key: str  # the id of the original question; examples with the same key are learnt by the same encoder
    question: str
    passages: tuple[Passage, ...]  # title and text of each passage
    answers: tuple[str, ...]  # the answers that count as right
    gold: tuple[int, ...]  # the indices of the passages that give a right answer
    kind: str  # `span`, `yes`, `no`, or `none` if the passages give no answer
    origin: str  # the dataset, with a suffix if the question was changed
    # The name of the question's pattern, or empty. Cross-validation keeps questions with the same pattern together.
    family: str = ""


def read_lines(file: Path) -> list[dict[str, Any]]:
    """Read a JSON Lines file."""
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def reading_examples(records: Sequence[Mapping[str, Any]], draw: random.Random) -> Iterator[Example]:
    """Make examples with the answer's passage. In 22%, another passage is added; in 8%, others replace it."""
    texts = list(dict.fromkeys((str(record["title"]), str(record["text"])) for record in records))
    near = near_texts([str(record["question"]) for record in records], texts)
    under_title: defaultdict[str, list[Passage]] = defaultdict(list)
    for title, text in texts:
        under_title[title].append((title, text))
    order = list(range(len(records)))
    draw.shuffle(order)
    for number in order:
        record = records[number]
        answers = tuple(dict.fromkeys(map(str, record["answers"])))
        title, text = str(record["title"]), window(str(record["text"]), answers[0], _LONGEST_TEXT, draw)
        same_title = draw.sample(under_title[title], min(2, len(under_title[title])))
        others = [texts[place] for place in near[number]] + same_title
        others = _without_answers(others, answers)
        drawn = draw.random()
        key, question = str(record["id"]), str(record["question"])
        if others and drawn < 0.08:
            distractors = draw.sample(others, min(len(others), draw.choice((1, 1, 2))))
            cut = tuple((passage[0], passage[1][:_LONGEST_TEXT]) for passage in distractors)
            yield Example(key, question, cut, answers, (), "none", "reading")
            continue
        passages: list[Passage] = [(title, text)]
        if others and drawn < 0.3:
            other = draw.choice(others)
            start = _word_start(other[1], draw.randint(0, max(0, len(other[1]) - _LONGEST_DISTRACTOR)))
            passages.append((other[0], other[1][start : start + _LONGEST_DISTRACTOR]))
            draw.shuffle(passages)
        gold = passages.index((title, text))
        yield Example(key, question, tuple(passages), answers, (gold,), "span", "reading")


def pooled_examples(
    records: Sequence[Mapping[str, Any]], texts: Sequence[Passage], draw: random.Random, most: int = 5
) -> Iterator[Example]:
    """Make examples of questions on single passages, and add similar passages. One in eight lacks the right passage."""
    near = near_texts([str(record["question"]) for record in records], texts, 2 * most)
    for record, places in zip(records, near, strict=True):
        answers = tuple(dict.fromkeys(map(str, record["answers"])))
        title, text = str(record["title"]), window(str(record["text"]), answers[0], 2 * _LONGEST_TEXT, draw)
        others = _without_answers([texts[place] for place in places], answers)[: most - 1]
        passages = [(passage[0], passage[1][: 2 * _LONGEST_TEXT]) for passage in others]
        is_there = not passages or draw.random() > 0.125
        if is_there:
            passages.insert(min(len(passages), int(draw.expovariate(0.7))), (title, text))
        gold = (passages.index((title, text)),) if is_there else ()
        kind = "span" if is_there else "none"
        yield Example(str(record["id"]), str(record["question"]), tuple(passages), answers, gold, kind, "reading")


def _without_answers(passages: Iterable[Passage], answers: Iterable[str]) -> list[Passage]:
    """Return the passages whose text contains none of the answers, in either case."""
    folded = [answer.lower() for answer in answers]
    others = []
    for title, text in passages:
        lower = text.lower()
        if not any(answer in lower for answer in folded):
            others.append((title, text))
    return others


def sub_questions(
    questions: Iterable[Question], corpus: Mapping[str, Passage], draw: random.Random
) -> Iterator[Example]:
    """Make single-hop examples from MuSiQue's sub-questions and 2WikiMultiHopQA's triples."""
    for question in questions:
        for asked, answer, passage in _hops(question, corpus, draw):
            distractors = [key for key in question.candidate_ids if key != passage]
            ids = draw.sample(distractors, min(len(distractors), draw.randint(1, 3)))
            if find_answers(corpus[passage][1], answer) and draw.random() < 0.85:
                ids = [passage, *ids[:2]]
            draw.shuffle(ids)
            gold = tuple(place for place, key in enumerate(ids) if key == passage)
            if not ids:
                continue
            has_answer = any(answer.lower() in corpus[key][1].lower() for key in ids)
            if has_answer and not gold:
                # Another passage states the answer, so the example would be wrong.
                continue
            passages = tuple(corpus[key] for key in ids)
            yield Example(question.id, asked, passages, (answer,), gold, "span" if gold else "none", "hops")


def _hops(question: Question, corpus: Mapping[str, Passage], draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """Yield the steps of a question: the sub-question, its answer, and the passage that has the answer."""
    answers: list[str] = []
    for hop in question.decomposition:
        asked = hop.question
        for number, answer in enumerate(answers):
            asked = asked.replace(f"#{number + 1}", answer)
        answers.append(hop.answer)
        yield asked.replace(" >> ", " "), hop.answer, hop.supporting_id
    for subject, relation, value in question.evidence_triples:
        titled = [key for key in question.candidate_ids if corpus[key][0].lower().startswith(subject.lower())]
        if relation in _RELATIONS and titled:
            yield draw.choice(_RELATIONS[relation]).format(subject), value, titled[0]


def multi_hop_example(question: Question, corpus: Mapping[str, Passage], ids: Sequence[str]) -> Example:
    """Make an example of a multi-hop question, with the passages that have the ids ``ids``."""
    gold = tuple(place for place, key in enumerate(ids) if key in question.supporting_ids)
    if question.is_yes_no:
        kind = question.answers[0].strip().lower() if gold else "none"
    else:
        texts = [passage_text(*corpus[ids[place]]) for place in gold]
        has_answer = any(find_answers(text, answer) for text in texts for answer in question.answers)
        kind = "span" if has_answer else "none"
    passages = tuple(corpus[key] for key in ids)
    family = family_name(question)
    return Example(question.id, question.question, passages, question.answers, gold, kind, question.dataset, family)


def family_name(question: Question) -> str:
    """Name the pattern of a question after its dataset and the relations in its triples; empty without triples."""
    relations = [relation for _, relation, _ in question.evidence_triples]
    return " > ".join((question.dataset, *relations)) if relations else ""


def mixed_ids(question: Question, retrieved: Sequence[str], most: int, draw: random.Random) -> list[str]:
    """Return the ids of gold passages and of some retrieved passages, at most ``most`` in all, in random order."""
    gold = list(question.supporting_ids)[:most]
    others = [key for key in retrieved if key not in question.supporting_ids]
    ids = gold + others[: draw.randint(0, max(0, most - len(gold)))]
    draw.shuffle(ids)
    return ids


def find_answers(text: str, answer: str, most: int = 6) -> list[int]:
    """Return the positions where an answer starts in a text. Only whole words count, and case is ignored."""
    pattern = rf"(?<!\w){re.escape(answer.strip().lower())}(?!\w)"
    matches = islice(re.finditer(pattern, text.lower()), most)
    return [match.start() for match in matches]


def window(text: str, answer: str, size: int, draw: random.Random) -> str:
    """Return ``size`` characters from a random place of a text. If the text contains the answer, so does the result."""
    if len(text) <= size:
        return text
    place = text.find(answer)
    # The window may begin so late that the answer just fits with 40 characters after it, or 40 characters before it.
    earliest = max(0, place + len(answer) + 40 - size)
    latest = max(0, place - 40)
    start = _word_start(text, draw.randint(min(earliest, latest), latest)) if latest else 0
    start = min(start, max(place, 0))
    return text[start : start + size]


def _word_start(text: str, place: int) -> int:
    return text.find(" ", place) + 1 if place else 0


def near_texts(questions: Sequence[str], texts: Sequence[Passage], most: int = 4) -> list[list[int]]:
    """For each question, return the indices of the most similar texts (by TF-IDF of shared words), best first."""
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words="english", sublinear_tf=True, dtype=np.float32)
    vectors = vectorizer.fit_transform([f"{title} {text}" for title, text in texts])
    asked = vectorizer.transform(questions)
    near: list[list[int]] = []
    for start in range(0, len(questions), 2000):
        scores = (asked[start : start + 2000] @ vectors.T).tocsr()
        for row in range(scores.shape[0]):
            row_begin, row_end = scores.indptr[row], scores.indptr[row + 1]
            values = scores.data[row_begin:row_end]
            places = scores.indices[row_begin:row_end]
            best_first = np.argsort(-values, kind="stable")[:most]
            near.append([int(place) for place in places[best_first]])
    return near
