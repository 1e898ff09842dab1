"""Make the examples that train the extractive reader.

An example is a question with a few passages and the right answers. In some examples the passages contain no answer, so
that the reader learns to give none. A passage without the answer, which is added to make the task harder, is called a
distractor.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypedDict

from prefrag.components.reader.reader_input import passage_text
from prefrag.evaluation.question import Question

# A title and a text.
Passage = tuple[str, str]

# For each relation in the triples of 2WikiMultiHopQA, templates of questions. The subject of the triple is put in.
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
# A passage is cut to this number of characters.
_LONGEST_TEXT = 480
# A distractor beside the answer's passage is cut to this number of characters.
_LONGEST_DISTRACTOR = 280


@dataclass(frozen=True)
class Example:
    """A question with passages and answers."""

    # The id of the original question. All examples with the same key are learnt by the same one of the two encoders.
    key: str
    question: str
    passages: tuple[Passage, ...]  # title and text of each passage
    answers: tuple[str, ...]  # the answers that count as right
    gold: tuple[int, ...]  # the indices of the passages that give a right answer
    kind: str  # `span`, `yes`, `no`, or `none` if the passages give no answer
    origin: str  # the dataset, with a suffix if the question was changed
    # The name of the question's pattern, or empty. Cross-validation keeps questions with the same pattern together.
    family: str = ""


class Record(TypedDict, total=False):
    """A question on a passage, as a line of a training file has it. A passage to search has no question."""

    id: str
    question: str
    # The answers that the passage gives, if any.
    answers: list[str]
    title: str
    text: str
    # The name of the document of the passage.
    document: str


def read_records(file: Path) -> list[Record]:
    """Read a JSON Lines file of questions on passages, or of passages.

    :param file: The file.
    :returns: The record of each line.
    """
    with file.open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def reading_examples(records: Sequence[Record], draw: random.Random) -> Iterator[Example]:
    """Make examples of questions on single passages, with the passage that has the answer.

    In 22% of the examples, a distractor is added. In 8%, one or two distractors replace the passage, so that there is
    no answer. Distractors are similar to the question, or have the same title as the passage.

    :param records: The questions, each with ``id``, ``question``, ``answers``, ``title`` and ``text``.
    :param draw: The random number generator.
    :returns: The examples, in random order.
    """
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
    records: Sequence[Record], texts: Sequence[Passage], draw: random.Random, most: int = 5
) -> Iterator[Example]:
    """Make examples of questions on single passages, with similar passages beside the right one.

    One example in eight lacks the right passage. The right passage is mostly one of the first, as in a search.

    :param records: The questions, each with ``id``, ``question``, ``answers``, ``title`` and ``text``.
    :param texts: The passages from which similar ones are taken.
    :param draw: The random number generator.
    :param most: The maximum number of passages of an example.
    :returns: The examples.
    """
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
    """Return the passages whose text contains none of the answers. Upper and lower case are treated as equal."""
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
    """Make examples that need only one passage, from MuSiQue's sub-questions and 2WikiMultiHopQA's triples.

    For example, the triple ("Emma", "director", "Ada Quill") may become the question "Who directed Emma?".

    :param questions: The questions that need several passages.
    :param corpus: The passages, by their ids.
    :param draw: The random number generator.
    :returns: The examples, each with one to three passages.
    """
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
    """Yield the steps of a question: the sub-question, its answer, and the id of the passage that has the answer.

    A sub-question may contain ``#1`` for the answer of the first step. This sign is replaced by the answer.
    """
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
    """Make an example of a multi-hop question, which needs several passages.

    :param question: The question.
    :param corpus: The passages, by their ids.
    :param ids: The ids of the passages of the example, in order.
    :returns: The example. Its kind is ``none`` if the passages do not contain the answer.
    """
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
    """Name the pattern of a question after its dataset and the relations in its triples.

    :param question: The question.
    :returns: A name such as "2wiki > director > place of birth". Empty if the question has no triples.
    """
    relations = [relation for _, relation, _ in question.evidence_triples]
    if not relations:
        return ""
    return " > ".join([question.dataset, *relations])


def mixed_ids(question: Question, retrieved: Sequence[str], most: int, draw: random.Random) -> list[str]:
    """Draw the passages of an example: the gold passages, and some of the other retrieved passages.

    :param question: The question.
    :param retrieved: The ids of the passages that a search has found, best first.
    :param most: The maximum number of passages.
    :param draw: The random number generator.
    :returns: The ids, in random order.
    """
    gold = list(question.supporting_ids)[:most]
    others = [key for key in retrieved if key not in question.supporting_ids]
    ids = gold + others[: draw.randint(0, max(0, most - len(gold)))]
    draw.shuffle(ids)
    return ids


def find_answers(text: str, answer: str, most: int = 6) -> list[int]:
    """Find the positions at which an answer starts in a text. Only whole words count, and case is ignored.

    For example, ``find_answers("Paris is in France. paris!", "Paris")`` returns ``[0, 20]``.

    :param text: The text.
    :param answer: The answer.
    :param most: The maximum number of positions.
    :returns: The positions, in characters.
    """
    pattern = rf"(?<!\w){re.escape(answer.strip().lower())}(?!\w)"
    matches = islice(re.finditer(pattern, text.lower()), most)
    return [match.start() for match in matches]


def window(text: str, answer: str, size: int, draw: random.Random) -> str:
    """Cut a part out of a text, at a random place around the answer.

    If the text does not contain the answer with the same upper and lower case, the part is the beginning of the text.

    :param text: The text.
    :param answer: The answer.
    :param size: The maximum number of characters of the part.
    :param draw: The random number generator.
    :returns: The part. A text that is not longer than ``size`` is returned whole.
    """
    if len(text) <= size:
        return text

    place = text.find(answer)
    # The part keeps 40 characters before and after the answer, if they fit. These are its first and last possible
    # beginnings.
    earliest = max(0, place + len(answer) + 40 - size)
    latest = max(0, place - 40)
    start = _word_start(text, draw.randint(min(earliest, latest), latest)) if latest else 0
    start = min(start, max(place, 0))
    return text[start : start + size]


def _word_start(text: str, place: int) -> int:
    """Return the position at which the next word begins: ``_word_start("one two three", 5)`` returns ``8``."""
    if place == 0:
        return 0
    return text.find(" ", place) + 1


def near_texts(questions: Sequence[str], texts: Sequence[Passage], most: int = 4) -> list[list[int]]:
    """Find the most similar texts for each question, by TF-IDF, which weighs shared words higher if they are rare.

    :param questions: The questions.
    :param texts: The titles and texts.
    :param most: The maximum number of texts for a question.
    :returns: For each question, the indices of the texts, the most similar first. Texts that share no word are left
        out.
    """
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
