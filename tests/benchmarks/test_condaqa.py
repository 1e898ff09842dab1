"""Yes or no over passages: from which probability on an answer would be given, and how often it is right."""

from benchmarks.condaqa import choose_threshold, with_interval


def row(probability: float, *, is_right: bool, passage: int = 0) -> dict:
    return {
        "probability": probability,
        "answer": "yes",
        "label": "yes" if is_right else "not stated",
        "passage": passage,
    }


def test_the_threshold_is_the_lowest_that_is_right_in_95_of_100():
    sure = [row(0.9 - place / 1000, is_right=place != 7) for place in range(40)]
    unsure = [row(0.6, is_right=False) for _ in range(5)]

    assert choose_threshold([*unsure, *sure]) == sure[-1]["probability"]


def test_fewer_than_twenty_answers_choose_no_threshold():
    assert choose_threshold([row(0.9, is_right=True)] * 19) is None
    assert choose_threshold([row(0.9, is_right=False)] * 200) is None


def test_the_interval_is_over_passages():
    rows = [row(0.9, is_right=passage < 5, passage=passage) for passage in range(10) for _ in range(3)]

    assert with_interval(rows).startswith("0.500 (0.2")
    assert with_interval([]) == "-"
