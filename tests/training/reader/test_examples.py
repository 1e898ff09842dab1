"""The examples that the reader's encoder learns from."""

from __future__ import annotations

import random

import pytest

from prefrag.evaluation.question import Hop, Question
from prefrag.training.reader.examples import (
    find_answers,
    mixed_ids,
    multi_hop_example,
    pooled_examples,
    reading_examples,
    sub_questions,
    window,
)
from tests.for_each import for_each

CORPUS = {
    "b": ("Tide Tales", "Tide Tales was written by Ann Low in 1931."),
    "w": ("Ann Low", "Ann Low was a poet. She was born in Tolmouth."),
    "x": ("Tolmouth", "Tolmouth is a port."),
    "y": ("Oskerry", "Oskerry is a town."),
}


def question(**settings) -> Question:
    return Question(
        "q",
        "Where was the writer of Tide Tales born?",
        **{"answers": ("Tolmouth",), "supporting_ids": ("b", "w"), "candidate_ids": tuple("bwxy")} | settings,
    )


def test_an_answer_is_found_as_whole_words_only():
    assert find_answers("Norway, or Nor way? nor", "nor") == [11, 20]


def test_a_long_text_is_cut_to_a_part_that_holds_the_answer():
    text = "word " * 400 + "the answer " + "word " * 400

    for seed in range(20):
        part = window(text, "the answer", 300, random.Random(seed))
        assert "the answer" in part
        assert len(part) <= 300


def test_the_gold_passages_are_always_among_the_mixed_ones():
    for seed in range(20):
        ids = mixed_ids(question(), ["x", "b", "y"], 5, random.Random(seed))
        assert {"b", "w"} <= set(ids) <= {"b", "w", "x", "y"}


@for_each(
    "ids, answers, kind",
    ("bw", ("Tolmouth",), "span"),
    ("bx", ("Tolmouth",), "none"),
    ("bw", ("no",), "no"),
    ("xy", ("no",), "none"),
)
def test_an_answer_counts_where_a_gold_passage_holds_it(ids, answers, kind):
    assert multi_hop_example(question(answers=answers), CORPUS, list(ids)).kind == kind


def test_sub_questions_name_the_answers_of_the_earlier_ones():
    hops = Hop("Who wrote Tide Tales?", "Ann Low", "b"), Hop("Where was #1 born?", "Tolmouth", "w")

    asked = {example.question for example in sub_questions([question(decomposition=hops)], CORPUS, random.Random(1))}

    assert asked <= {"Who wrote Tide Tales?", "Where was Ann Low born?"}


def test_triples_are_asked_as_questions():
    triples = (("Ann Low", "place of birth", "Tolmouth"), ("Ann Low", "shoe size", "39"))

    made = [
        example
        for seed in range(10)
        for example in sub_questions([question(evidence_triples=triples)], CORPUS, random.Random(seed))
    ]

    assert {example.question for example in made} == {"Where was Ann Low born?", "What is the birthplace of Ann Low?"}
    assert all(("Tolmouth" in example.answers) == (example.key == "q") for example in made)


def test_reading_examples_say_where_the_answer_is():
    pytest.importorskip("sklearn", reason="near passages need scikit-learn (the extra `train`)")
    records = [
        {
            "id": str(n),
            "question": f"When was mill {n} built?",
            "title": "Mill",
            "text": f"Mill {n} was built in {1800 + n}.",
            "answers": [str(1800 + n)],
        }
        for n in range(60)
    ]
    texts = [(record["title"], record["text"]) for record in records]

    for made in (reading_examples(records, random.Random(1)), pooled_examples(records, texts, random.Random(1))):
        kinds = set()
        for example in made:
            kinds.add(example.kind)
            gold = [place for place, (_, text) in enumerate(example.passages) if example.answers[0] in text]
            assert tuple(gold) == example.gold
        assert kinds == {"span", "none"}
