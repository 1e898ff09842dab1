"""The pairs that a transformer learns from."""

import random
from typing import Any

from haystack import Document

from prefrag.evaluation.question import Question
from prefrag.training.pair_classifier.examples import PairExample, count_kinds, draw_pairs
from tests.for_each import for_each

CORPUS = [Document(id=key, content=key) for key in "abcdefghijklmnopqrstuvwxyz"]
BY_ID = {document.id: document for document in CORPUS}


def drawn(gold: str, near: str, most: int = 100, negatives: Any = "hard", seed: int = 1) -> list[PairExample]:
    questions = [Question(id=f"q{n}", question=f"Which {n}?", answers=[], supporting_ids=list(gold)) for n in range(3)]
    candidates = [(question, [BY_ID[key] for key in gold], [BY_ID[key] for key in near]) for question in questions]
    return draw_pairs("letters", candidates, CORPUS, most, negatives, random.Random(seed))


def texts(examples: list[PairExample]) -> set[str]:
    return {text.strip() for example in examples for text in (example.first, example.second)}


def test_two_needed_documents_are_positive_in_either_order():
    positive = {
        (example.question, example.first.strip(), example.second.strip())
        for example in drawn("ab", "xyz")
        if example.needed == 2
    }

    assert positive == {(f"Which {n}?", *order) for n in range(3) for order in ("ab", "ba")}


@for_each(
    "gold, near, most, kinds",
    # One negative to one positive and half of each kind, at most as many as set; without other documents none.
    ("abcd", "uvwxyz", 100, {"both": 36, "one": 18, "none": 18}),
    ("abcd", "uvwxyz", 20, {"both": 10, "one": 5, "none": 5}),
    ("ab", "", 100, {"both": 6, "one": 0, "none": 0}),
)
def test_the_kinds_are_balanced(gold: str, near: str, most: int, kinds: dict[str, int]):
    assert count_kinds(drawn(gold, near, most=most)) == kinds


def test_hard_negatives_were_retrieved_and_mixed_ones_not_all():
    assert texts(drawn("abc", "xyz")) <= set("abcxyz")
    mixed = drawn("abc", "xyz", negatives="mixed")
    assert len(texts(mixed) - set("abcxyz")) > 3
    assert mixed == drawn("abc", "xyz", negatives="mixed") != drawn("abc", "xyz", negatives="mixed", seed=2)
    for examples in (mixed, drawn("abcd", "xyz")):
        assert len(set(examples)) == len(examples), "no pair is drawn twice"
