"""Questions by form: what is asked, what is left out, and that nothing else in the folder answers it."""

from dataclasses import replace

import pytest

from prefrag.evaluation.prove.questions import make_questions, propose
from prefrag.evaluation.prove.sentences import Sentences, says_value
from prefrag.evaluation.prove.wording import shared
from tests.evaluation.prove.folder import passages
from tests.for_each import for_each


def ask(text: str, title: str = "") -> list[tuple[str, str, str]]:
    [sentence] = Sentences(passages(**{title or "Notes": text})).all
    return [(question.form, question.text, question.value) for question in propose(sentence)]


@for_each(
    "text, form, question, value",
    (
        "The Merrow Bridge was built in 1931 next to the harbour.",
        "date",
        "what year Merrow Bridge constructed next harbour",
        "1931",
    ),
    (
        "Series production starts on 1 June 2026 in Ellerby.",
        "date",
        "when Series production begins Ellerby",
        "1 June 2026",
    ),
    (
        "The Merrow Bridge was built in 1931 next to the harbour.",
        "date",
        "when was the Merrow Bridge constructed",
        "1931",
    ),
    ("The regatta takes place on 11 May 2026.", "date", "when regatta takes place", "11 May 2026"),
    ("The notice period is three months.", "number", "what is the notice period", "three"),
    ("A further key costs 27 euros.", "number", "what does a further key cost", "27"),
    ("In 1983 a tanker touched Biscuit Rock.", "date", "what year tanker touched Biscuit Rock", "1983"),
    (
        "The Ropewalk Fire destroyed 17 looms of the mill.",
        "number",
        "how many looms Ropewalk Fire destroyed mill",
        "17",
    ),
    ("The log of the crew runs to nine hundred pages.", "number", "how many pages log crew runs", "nine hundred"),
    ("The Pellhaven Hall was opened by Henrike Vold.", "name", "who opened the Pellhaven Hall", "Henrike Vold"),
    ("Ines Calloway founded the Tolmouth Works.", "name", "who established the Tolmouth Works", "Ines Calloway"),
    (
        "The keeper of the lighthouse was Tobias Greaves.",
        "name",
        "who was the guardian of the lighthouse",
        "Tobias Greaves",
    ),
    ("The Glider School is located in Morrowness.", "place", "where is the Glider School situated", "Morrowness"),
    ("To repair the pump engine, open the lower valve.", "step", "how to fix the pump engine", "open the lower valve"),
)
def test_a_sentence_of_a_form_is_asked_in_other_words(text: str, form: str, question: str, value: str):
    assert (form, question, value) in ask(text)


@for_each(
    "text",
    "The hall was not built in 1931 by the town.",
    "According to a rumour the hall was built in 1931.",
    "The hall would be built in 1931 by the town.",
    "It was built in 1931 next to the harbour.",
    "The hall may be built in 1931 by the town.",
    "Deliveries to the Street are on Mondays.",
    "Dagny Farrell chairs both the trust and the board.",
    "The hall was built by 1931 or in 1940 by the town.",
    "The first 3 fields are the date of the record.",
    "The program OpenVPN 2 supports several clients well.",
    "At most 20 visitors are allowed in the tower.",
    "The Merrow Bridge was built by Lindgate Works.",
    "Version 3 was released in the same month as the other.",
)
def test_a_sentence_that_may_not_state_one_thing_is_left_out(text: str):
    assert ask(text) == []


def test_a_cell_is_asked_by_its_row_and_its_column():
    from prefrag.components.text.table_rows import Row, Table, write_tables

    table = Table(1, "", ("Department", "Extension"), [Row("", ("Firmware", "231")), Row("", ("Mechanics", "245"))])
    table.size = 2
    text = "\n".join(map(table.write, table.rows))
    [passage] = passages(Handbook=text)
    passage.meta.update(write_tables([(table, 0), (table, 1)]))
    asked = [question.text for sentence in Sentences([passage]).all for question in propose(sentence)]

    assert asked == ["what is the extension of Firmware", "what is the extension of Mechanics"]


def test_a_superseded_document_is_asked_nothing():
    [passage] = passages(Notes="The Merrow Bridge was built in 1931 next to the harbour.")
    passage.meta["standing"] = "superseded"

    assert not [question for sentence in Sentences([passage]).all for question in propose(sentence)]


def test_documents_are_asked_about_once_and_the_same_by_a_seed():
    sentences = Sentences(passages())
    questions, dropped = make_questions(sentences, 10, seed=3)
    again, _ = make_questions(sentences, 10, seed=3)

    assert len({question.sentence.file for question in questions}) == len(questions) == 6
    assert [question.text for question in again] == [question.text for question in questions]
    assert not dropped


def test_a_question_with_a_second_answer_is_dropped_and_counted():
    texts = {"First": "The Merrow Bridge was built in 1931 next to the harbour."}
    texts["Second"] = "Next to the harbour the Merrow Bridge was constructed from 1950."
    questions, dropped = make_questions(Sentences(passages(**texts)), 10, seed=3)

    assert questions == []
    assert dropped["another sentence may answer it, or it names too little"] == 1


def test_one_word_and_a_title_name_too_little():
    texts = {"Shorewall OpenVZ setup": "The default is 100 which is too small for a firewall."}
    questions, dropped = make_questions(Sentences(passages(**texts)), 10, seed=3)

    assert questions == []
    assert dropped.total() == 1


def test_sentences_that_state_the_same_are_found_in_other_words():
    texts = {"First": "The Merrow Bridge was built in 1931 next to the harbour."}
    texts["Second"] = "1931: they constructed the Merrow Bridge next to the harbour, at last."
    [question], _ = make_questions(Sentences(passages(**texts)), 10, seed=3)

    assert [copy.passage.id for copy in question.copies] == ["Second"]


def test_copies_of_a_document_are_one_document():
    text = "The Merrow Bridge was built in 1931 next to the harbour. The Glider School is located in Morrowness."
    texts = {"First": text, "Second": text, "Third": "The Ropewalk Fire destroyed 17 looms of the Lindgate Mill."}
    questions, dropped = make_questions(Sentences(passages(**texts)), 10, seed=3)

    assert len(questions) == 2
    assert len({question.sentence.file for question in questions} & {"/folder/First.txt", "/folder/Second.txt"}) == 1
    assert dropped["its document is a copy of one that is asked"] == 1


def test_a_neighbour_with_the_value_alone_drops_the_case():
    texts = {"First": "The Merrow Bridge was built in 1931 next to the harbour. In 1931 a band came."}
    questions, dropped = make_questions(Sentences(passages(**texts)), 10, seed=3)

    assert questions == []
    assert dropped["another sentence may state the same"] == 1


@for_each(
    "kind, value, text, is_said",
    ("date", "3 May 1966", "since May 1966", True),
    ("date", "3 May 1966", "on 4 May 1966", False),
    ("date", "1966", "1966-05-03", True),
    ("number", "2,300 samples", "2300 of them", True),
    ("number", "ten", "10 copies", True),
    ("number", "10", "110 copies", False),
    ("name", "Henrike Vold", "Ms Vold came", True),
    ("name", "Henrike Vold", "Henrike came", False),
)
def test_a_value_is_recognised_however_it_is_written(kind: str, value: str, text: str, is_said: bool):
    assert says_value(kind, value, text) is is_said


def test_share_of_common_words_ignores_endings_and_small_words():
    assert shared("when was the hall opened", "They open the halls.") == pytest.approx(1.0)
    assert shared("who established the firm", "She founded the firm.") == pytest.approx(0.5)


def test_a_question_is_immutable_so_that_no_world_changes_it():
    [question] = propose(Sentences(passages(Notes="The Glider School is located in Morrowness.")).all[0])

    assert replace(question, text="other").text != question.text
