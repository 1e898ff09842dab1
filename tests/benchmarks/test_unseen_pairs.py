"""The pairs of texts that were written without the rules."""

from collections import Counter

from benchmarks.unseen_pairs import PAIRS, TEXTS, read_lines


def test_the_answer_stands_in_both_texts_of_a_pair():
    pairs = read_lines(PAIRS)

    assert Counter(pair["writer"] for pair in pairs) == {1: 120, 2: 120}
    assert [pair["question"] for pair in pairs for text in TEXTS if pair["answer"] not in pair[text]] == []
