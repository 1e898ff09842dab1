"""The pairs of texts that were written without the rules."""

from benchmarks.unseen_pairs import PAIRS, TEXTS, WRITTEN_PAIRS, read_lines
from tests.for_each import for_each


@for_each(
    "file, number, writers",
    (PAIRS, 240, 2),
    (WRITTEN_PAIRS, 1_212, 9),
)
def test_the_answer_stands_in_both_texts_of_a_pair(file, number, writers):
    pairs = read_lines(file)

    assert len(pairs) == number
    assert {pair["writer"] for pair in pairs} == set(range(1, writers + 1))
    assert [pair["question"] for pair in pairs for text in TEXTS if pair["answer"] not in pair[text]] == []


def test_no_question_stands_in_both_files_of_pairs():
    seen, written = ([pair["question"].lower() for pair in read_lines(file)] for file in (PAIRS, WRITTEN_PAIRS))

    assert len(set(written)) == len(written)
    assert set(seen).isdisjoint(written)
