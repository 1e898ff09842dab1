"""Suggested questions are made from documents, and kept if the reader answers them."""

from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from haystack import Document

from prefrag import pipelines
from prefrag.collections import indexing
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.reader.extractive_reader import Candidate, ExtractiveReader
from prefrag.components.text.table_rows import Row, Table, write_tables
from prefrag.server.library import suggested_questions
from prefrag.server.library.suggested_questions import MOST, SuggestedQuestions, find_questions, make_questions
from tests.for_each import for_each
from tests.indexes import index_of


@for_each(
    "sentence, title, question",
    ("The hall opened in 1966 next to the harbour.", "Calibration Hall", "When did the Calibration Hall open?"),
    ("The keeper of the crane is Ada Quill.", "Crane", "Who is the keeper of the crane?"),
    ("The notice period is three months.", "3. Notice period", "What is the notice period?"),
    ("Ada Quill keeps the crane. It is old.", "Crane", "Who keeps the crane?"),
    ("The spare keys are kept in the office.", "Keys", "Where are the spare keys kept?"),
    ("A further key costs 27 euros.", "2026-03-30 keys", "What does a further key cost?"),
    # These do not say what they are about, or are no statements.
    ("The result is 27.", "Notes", ""),
    ("It was built in 1966.", "Hall", ""),
    ("See the hall, which opened in 1966.", "Calibration Hall", ""),
    # Texts that a stranger would like to put on the page.
    ("The http://evil.example/<b>offer</b> is 27 euros.", "offer", ""),
    ("Ada Quill is the keeper of evil.example.", "Keeper of evil", ""),
    (f"The {'very ' * 40}long offer is 27 euros.", "offer", ""),
)
def test_sentence_that_says_what_it_is_about_becomes_a_question(sentence: str, title: str, question: str):
    assert list(make_questions(Document(content=sentence, meta={"title": title}))) == [question] * bool(question)


def test_an_amount_is_asked_for_by_its_row_and_column():
    table = Table(1, "Fees", ("Code", "Service", "Fee", "<b>x</b>"))
    table.rows = [
        Row("", ("V1", "Cat vaccination", "58.00", "7")),
        Row("", ("V2", "<i>evil</i>", "5", "")),
        Row("", ("V3", "Consultation", "free", "1")),
    ]
    table.size = len(table.rows)
    content = "\n".join(map(table.write, table.rows))
    passage = Document(content=content, meta=write_tables([(table, number) for number in range(3)]))

    assert list(make_questions(passage)) == ["What is the fee of Cat vaccination?"]


def test_spreadsheet_of_a_person_gets_questions_for_its_rows(tmp_path: Path):
    (tmp_path / "files").mkdir()
    rows = "item,price,stock\nOak board,18.40,12\nAsh board,21.10,4\nLime slat,3.20,90\n"
    (tmp_path / "files" / "timber.csv").write_text(rows, encoding="utf-8")
    indexing.index([tmp_path / "files"], LocalCollection("timber"))
    reader = ExtractiveReader()
    reader.warm_up()

    found = find_questions(TantivyDocumentStore(index="timber"), reader)

    assert [question["name"] for question in found] == ["timber.csv"]
    assert found[0]["question"] in {f"What is the price of {name}?" for name in ("Oak board", "Ash board", "Lime slat")}


def test_questions_of_other_or_outdated_documents_are_left_out(tmp_path: Path):
    standings = {"Hall B": None, "Hall C": None, "Hall D": "draft"}
    hall, _, draft = passages = [
        Document(id=title, content=f"{title} was built in 1950.", meta={"title": title, "standing": standing})
        for title, standing in standings.items()
    ]
    store = index_of(passages, tmp_path / "index")

    class Reading(ExtractiveReader):
        def read(self, question: str, documents: Sequence[Document]) -> list[Candidate]:
            return [Candidate("1950", "span", draft if "Hall D" in question else hall, None, 1.0)]

    assert find_questions(store, Reading()) == [{"question": "When was Hall B built?", "name": "Hall B"}]


def test_collection_waits_for_its_turn_once_however_often_asked(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(LocalCollection, "version", 1)
    monkeypatch.setattr(suggested_questions, "_PAUSE", 0.0)
    with patch.object(suggested_questions, "Thread") as thread:
        suggested = SuggestedQuestions(lambda: {"prefrag": pipelines.load("prefrag")})
        assert [suggested.find(LocalCollection("mine"))["pending"] for _ in range(3)] == [True] * 3
    assert thread.call_count == 1


def test_suggestion_is_what_the_reader_answers_from_the_document(tmp_path: Path):
    texts = {
        f"Hall {name}": f"Hall {name} was built in 19{number} by the harbour."
        for number, name in enumerate("ABCDEF", 50)
    }
    texts["Plans"] = "The plan of the mole is 3."
    index_of(
        [Document(id=title, content=text, meta={"title": title}) for title, text in texts.items()], tmp_path / "index"
    )
    store, reader = TantivyDocumentStore(path=str(tmp_path / "index")), ExtractiveReader()

    found = find_questions(store, reader)

    assert 0 < len(found) <= MOST
    assert {one["question"] for one in found} <= {f"When was Hall {name} built?" for name in "ABCDEF"}
    assert all(one["name"] in one["question"] for one in found)
    assert find_questions(store, reader) == found
    assert find_questions(store, ExtractiveReader(threshold=1.0)) == []
