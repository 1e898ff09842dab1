"""A sentence with a proposed answer: what stands before it, and which clauses are the answer's own."""

import time

from prefrag.components.reader.doubts.statement import Statement, statement_at


def statement(text: str, answer: str) -> Statement:
    begin = text.index(answer)
    sentence = statement_at("", "", text, begin, begin + len(answer))
    assert sentence is not None
    return sentence


def test_not_until_stands_before_the_answer_in_its_part():
    assert statement("It was not finished until 1769.", "1769").is_not_until
    assert not statement("It was not finished, but used until 1769.", "1769").is_not_until
    assert not statement("Until then it was not finished: 1769.", "1769").is_not_until


def test_a_long_line_is_read_in_linear_time():
    def seconds(repetitions: int) -> float:
        before = "not " * repetitions
        long = Statement("", f"{before}1769", before, "", "", (), "", "", "")
        begin = time.process_time()
        assert not long.is_not_until
        return time.process_time() - begin

    # Ten times the length took a hundred times the time and more.
    assert seconds(100_000) < 40 * max(seconds(10_000), 0.002)


def test_clauses_of_the_answer_are_its_own_and_the_next_with_who():
    text = "The cook is Eva, who followed Ann, who was the cook until June."
    assert statement(text, "Eva").own_clauses == ["The cook is Eva,", " who followed Ann,"]
