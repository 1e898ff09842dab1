"""The worlds of a question: what is taken out, changed and denied, and that the rest stays."""

from prefrag.components.text.table_rows import TABLES, Row, Table, read_tables, write_tables
from prefrag.evaluation.prove.questions import Question, make_questions, propose
from prefrag.evaluation.prove.sentences import Sentences
from prefrag.evaluation.prove.worlds import change_value, deny, edit_passages
from tests.evaluation.prove.folder import passages
from tests.for_each import for_each


def one_question(text: str) -> tuple[Question, Sentences]:
    sentences = Sentences(passages(Notes=text))
    return next(question for sentence in sentences.all for question in propose(sentence)), sentences


@for_each(
    "text, changed",
    ("The Merrow Bridge was built in 1931 next to the harbour.", "1928"),
    ("Series production starts on 1 June 2026 in Ellerby.", "5 June 2023"),
    ("The Ropewalk Fire destroyed 17 looms of the mill.", "20"),
    ("The Pellhaven Hall was opened by Henrike Vold.", "Ottilie Brandreth"),
    ("The Glider School is located in Morrowness.", "Brandvik"),
)
def test_a_value_changes_to_another_of_its_form(text: str, changed: str):
    assert change_value(*one_question(text)) == changed


def test_a_changed_value_is_none_that_stands_nearby():
    question, sentences = one_question("The Merrow Bridge was built in 1931 next to the harbour. A band came in 1928.")

    assert change_value(question, sentences) == "1927"


@for_each(
    "text, denied",
    ("The Glider School is located in Morrowness.", "The Glider School is not located in Morrowness."),
    ("Ines Calloway founded the Works.", "It is not true that Ines Calloway founded the Works."),
)
def test_a_denied_sentence_no_longer_states_its_answer(text: str, denied: str):
    question, _ = one_question(f"Some notes follow here. {text}")

    assert deny(question) == denied


def test_passive_sentence_of_every_second_question_turns_plan():
    question, _ = one_question("The Merrow Bridge was opened in 1931 next to the harbour.")

    assert deny(question) == "The Merrow Bridge was to be opened in 1931 next to the harbour."


def test_the_sentence_and_its_copies_are_taken_out():
    texts = {"First": "A band played. The Merrow Bridge was built in 1931 next to the harbour. It rained."}
    texts["Second"] = "1931: they constructed the Merrow Bridge next to the harbour, at last."
    texts["Third"] = "The mill was sold to a brewer."
    sentences = Sentences(passages(**texts))
    [question], _ = make_questions(sentences, 10, seed=3)
    written, outdated = edit_passages([question], [""], sentences)

    assert {passage.id: passage.content for passage in written} == {"First": "A band played. It rained."}
    assert outdated == ["Second"]


def test_changed_value_replaces_that_of_all_copies_word_for_word():
    text = "The Merrow Bridge was built in 1931 next to the harbour."
    sentences = Sentences(passages(First=text, Second=text))
    [question], _ = make_questions(sentences, 10, seed=3)
    written, _ = edit_passages([question], [text.replace("1931", "1928")], sentences)

    assert {passage.content for passage in written} == {text.replace("1931", "1928")}
    assert len(written) == 2


@for_each(
    "new, rows",
    ("", [("Mechanics", "245")]),
    ("Department: Firmware; Extension: 300", [("Firmware", "300"), ("Mechanics", "245")]),
)
def test_the_rows_in_the_metadata_change_with_the_text(new: str, rows: list[tuple[str, str]]):
    table = Table(1, "", ("Department", "Extension"), [Row("", ("Firmware", "231")), Row("", ("Mechanics", "245"))])
    table.size = 2
    [passage] = passages(Handbook="\n".join(map(table.write, table.rows)))
    passage.meta.update(write_tables([(table, 0), (table, 1)]))
    sentences = Sentences([passage])
    question = next(propose(sentences.all[0]))
    [written], _ = edit_passages([question], [new], sentences)

    assert [row.cells for row in read_tables(written.meta)[0].rows] == rows
    assert read_tables(written.meta)[0].is_whole
    assert "231" not in f"{written.content}{written.meta[TABLES]}"
