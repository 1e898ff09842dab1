"""Draw the pairs of documents that a transformer learns from (DR-RAG, equation 2, appendix A.1).

A pair is positive if both of its documents are needed for the question. Half of the pairs are positive.
"""

import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Literal

from haystack import Document

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.text.term_statistics import passage_text
from prefrag.evaluation.question import Question
from prefrag.training.pair_classifier.pool import two_stage_candidates

# The number of pairs per dataset. The paper has about this many.
MOST = 2300
# Documents are retrieved as in the pipeline `dr_rag_cfs`, which selects this number of documents.
_K = 6
# To measure, one held-back pair is drawn for this number of pairs to learn from.
_LEARNT_PER_HELD_BACK = 5
# For each dataset, at least this number of held-back pairs is drawn.
_LEAST_HELD_BACK = 200

# Where the documents that are not needed come from. "hard": from the retrieved documents. "mixed": half of them from
# the retrieved documents, and half from the whole corpus.
Negatives = Literal["mixed", "hard"]


@dataclass(frozen=True)
class PairExample:
    """A question and two documents, in the order in which the classifier reads them."""

    dataset: str  # the name of the question's dataset
    question: str  # the text of the question
    first: str  # the text of the first document, with its title
    second: str  # the text of the second document
    needed: int  # how many of the two documents are needed; if both are, the pair is positive


@dataclass(frozen=True)
class DatasetPairs:
    """The pairs of one dataset."""

    learnt: list[PairExample]  # the pairs to learn from, half of them positive
    held_back: list[PairExample]  # pairs of held-back questions, drawn in the same way
    served: list[PairExample]  # all pairs that the classifier would score in a pipeline for the held-back questions


def dataset_pairs(
    dataset: str,
    questions: Sequence[Question],
    store: TantivyDocumentStore,
    is_held_back: Callable[[str], bool],
    most: int,
    negatives: Negatives,
    seed: int,
) -> DatasetPairs:
    """Draw the pairs of a dataset.

    :param dataset: The name of the dataset.
    :param questions: The questions.
    :param store: The index of the passages.
    :param is_held_back: A function that says, for the text of a question, whether the question is held back.
    :param most: The maximum number of pairs to learn from.
    :param negatives: Where the documents that are not needed come from.
    :param seed: The seed of the draw.
    :returns: The pairs to learn from, and the held-back pairs.
    """
    draw = random.Random(f"{seed}-{dataset}")
    corpus = list(store.iterate_documents())
    parts: dict[bool, list[PairExample]] = {}
    served: list[PairExample] = []
    for to_measure in (False, True):
        candidates: list[tuple[Question, list[Document], list[Document]]] = []
        for question in questions:
            if is_held_back(question.question) != to_measure:
                continue
            gold = set(question.supporting_ids)
            documents, lists = two_stage_candidates(question.question, store, _K)
            retrieved = {document.id: document for document in documents}
            for seconds in lists:
                retrieved.update((document.id, document) for document in seconds)
            if to_measure:
                for first, seconds in zip(documents, lists, strict=True):
                    served += [
                        _example(dataset, question, first, second) for second in seconds if second.id != first.id
                    ]
            near = [document for key, document in retrieved.items() if key not in gold]
            candidates.append((question, store.documents_by_id(sorted(gold)), near))

        wanted = most
        if to_measure:
            wanted = max(most // _LEARNT_PER_HELD_BACK, min(most, _LEAST_HELD_BACK))
        parts[to_measure] = draw_pairs(dataset, candidates, corpus, wanted, negatives, draw)
    return DatasetPairs(parts[False], parts[True], served)


def draw_pairs(
    dataset: str,
    candidates: Iterable[tuple[Question, Sequence[Document], Sequence[Document]]],
    corpus: Sequence[Document],
    most: int,
    negatives: Negatives,
    draw: random.Random,
) -> list[PairExample]:
    """Draw as many positive as negative pairs. Of the negative pairs, half have one needed document, half have none.

    A positive pair is used in both orders, because either document may be found first.

    :param dataset: The name of the dataset.
    :param candidates: The questions. Each has its needed documents, and the retrieved documents that are not needed.
    :param corpus: All documents.
    :param most: The maximum number of pairs.
    :param negatives: Where the documents that are not needed come from.
    :param draw: The random number generator.
    :returns: The pairs, in random order.
    """
    choices = [(question, list(needed), list(near)) for question, needed, near in candidates]
    all_positive = []
    for question, needed, _ in choices:
        for first, second in permutations(needed, 2):
            all_positive.append(_example(dataset, question, first, second))
    positive = draw.sample(all_positive, min(len(all_positive), most // 2))

    useful = [(question, needed, near) for question, needed, near in choices if needed and near]
    negative: set[PairExample] = set()
    # Each round draws one pair. A pair that was drawn before does not count.
    for number in range(10 * len(positive)):
        if len(negative) >= len(positive) or not useful:
            break
        question, needed, near = draw.choice(useful)
        first = _draw_other(needed, near, corpus, negatives, draw)
        second = _draw_other(needed, near, corpus, negatives, draw)
        # Every second pair has one needed document.
        if number % 2:
            first = draw.choice(needed)
        if first.id != second.id:
            pair = [first, second]
            draw.shuffle(pair)
            negative.add(_example(dataset, question, *pair))

    drawn = [*positive, *sorted(negative, key=lambda example: (example.question, example.first, example.second))]
    draw.shuffle(drawn)
    return drawn


def _draw_other(
    needed: Sequence[Document],
    near: Sequence[Document],
    corpus: Sequence[Document],
    negatives: Negatives,
    draw: random.Random,
) -> Document:
    """Draw a document that is not needed."""
    if negatives == "hard" or draw.random() < 0.5:
        return draw.choice(near)
    needed_ids = {document.id for document in needed}
    while True:
        document = draw.choice(corpus)
        if document.id not in needed_ids:
            return document


def count_kinds(examples: Iterable[PairExample]) -> dict[str, int]:
    """Count pairs by how many of their documents are needed.

    :param examples: The pairs.
    :returns: The number of pairs with ``both`` documents needed, with ``one``, and with ``none``.
    """
    counted = Counter(example.needed for example in examples)
    return {"both": counted[2], "one": counted[1], "none": counted[0]}


def _example(dataset: str, question: Question, first: Document, second: Document) -> PairExample:
    """Make an example of two documents."""
    needed = sum(document.id in question.supporting_ids for document in (first, second))
    return PairExample(dataset, question.question, passage_text(first), passage_text(second), needed)
