"""The pairs of texts that state an answer and that only have its words: their split, and those made by rule."""

import json
from collections import Counter
from pathlib import Path

from benchmarks.pairs_by_rule import make_pairs
from benchmarks.stated_pairs import read_pairs

TEXTS = (
    ("Who designed the mill of 1810?", "Ann Low", "The mill of 1810 in Brae was designed by Ann Low."),
    ("Where is the yard of Ostermoor Brothers?", "Saltreach", "There the yard of Ostermoor Brothers is in Saltreach."),
    ("When was the quay paved?", "1921", "After long years of mud the old quay was paved in 1921."),
    ("Who led the poor guild?", "Bea Orr", "Bea Orr, who had been ill, said that the guild was poor."),
)


def test_a_form_of_the_written_pairs_is_in_one_part():
    pairs = read_pairs()

    assert len(pairs) >= 200
    assert len({(pair.question, pair.unstated) for pair in pairs}) == len(pairs)
    parts = {(pair.form, pair.part) for pair in pairs}
    assert len({form for form, _ in parts}) == len(parts)
    assert Counter(pair.part for pair in pairs)["test"] >= len(pairs) / 3


def test_both_texts_of_a_written_pair_have_the_answer():
    for pair in read_pairs():
        assert pair.stated != pair.unstated
        assert pair.answer.lower() in pair.stated.lower()
        assert pair.answer.lower() in pair.unstated.lower()


def test_pairs_are_made_by_rule_and_the_same_each_time(tmp_path: Path):
    records = [
        {"question": question, "title": title, "text": f"It is told here. {text}", "answers": [answer]}
        for title in ("Brae", "Saltreach", "Ostermoor", "Quay") * 3
        for question, answer, text in TEXTS
    ]
    reading = tmp_path / "reading.jsonl"
    reading.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")

    pairs = make_pairs(reading, 2)
    made = {(pair.form, pair.question): pair for pair in pairs}

    assert pairs == make_pairs(reading, 2)
    assert max(Counter(pair.form for pair in pairs).values()) == 2
    assert {pair.form: pair.part for pair in pairs}["condition"] == "test"
    parts = {(pair.title, pair.part) for pair in pairs}
    assert len({title for title, _ in parts}) == len(parts)
    assert all(pair.answer in pair.unstated for pair in pairs)
    changed = {pair.form: (pair.unstated, pair.other_question) for pair in made.values()}
    assert any(" was not " in text or " is not " in text for form, (text, _) in changed.items() if form == "negation")
    assert changed["year"][0] == "The mill of 1804 in Brae was designed by Ann Low."


def test_a_verb_in_another_clause_than_the_answer_is_left(tmp_path: Path):
    question, answer, text = TEXTS[-1]
    reading = tmp_path / "reading.jsonl"
    record = {"question": question, "title": "", "text": text, "answers": [answer]}
    reading.write_text(json.dumps(record) + "\n", encoding="utf-8")

    assert not {pair.form for pair in make_pairs(reading, 1)} & {"negation", "plan"}
