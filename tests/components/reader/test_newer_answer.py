"""If two documents answer a question differently, the newer one counts, and no answer is given as certain."""

from dataclasses import replace

import numpy as np
import pytest
from haystack import Document

from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reader.newer_answer import find_newer_answer, is_replaced
from prefrag.components.reader.second_look import SecondLook
from prefrag.components.reader.span_candidates import SpanCandidate
from prefrag.components.reader.span_features import Spans
from tests.for_each import for_each

OLDER = "The committee decides that a lost key costs 15 euros. The money goes to the repair fund."
NEWER = "A lost key costs 25 euros from April. This replaces the decision of 14 May 2025."


@pytest.fixture(scope="module")
def reader() -> ExtractiveReader:
    return ExtractiveReader()


def _decision(text: str, date: str | None = None, standing: str | None = None, source: str = "local") -> Document:
    meta = {"title": "Decision on keys", "date": date, "standing": standing, "source": source}
    return Document(content=text, meta=meta)


@for_each(
    "older, newer, says",
    (_decision(OLDER, "20250514"), _decision(NEWER, "2025-11-03"), "25 euros"),
    (_decision(NEWER, "2026-03-03"), _decision(OLDER, "2025-05-14"), "25 euros"),
    (_decision(OLDER, "2025-05-14", "old"), _decision(NEWER), "25 euros"),
    (_decision(OLDER, "2025-05-14"), _decision(NEWER, "2026-03-03", "draft"), "15 euros"),
    (_decision(OLDER, "2025"), _decision(NEWER, "2025-05"), "15 euros"),
    (_decision(OLDER), _decision(NEWER, "2026-03-03"), "15 euros"),
    (_decision(OLDER, "2026-03-03"), _decision(NEWER, "20260101"), "15 euros"),
    (_decision(OLDER, "2025-05-14"), _decision(NEWER, "2026-03-03", source="web"), "15 euros"),
    (_decision(OLDER, "2025-05-14"), _decision("The key hangs in the hall. It cost 4 euros.", "2026"), "15 euros"),
)
def test_answer_of_the_newer_current_document_comes_first(
    reader: ExtractiveReader, older: Document, newer: Document, says: str
):
    [best, *_] = reader.read("What does a lost key cost?", [older, newer])

    assert best.text == says
    assert best.text in best.document.content


@for_each(
    "question, says",
    ("What did a lost key cost before?", "15 euros"),
    ("What does a lost key cost in 2025?", "15 euros"),
    ("What does a lost key cost?", "25 euros"),
)
def test_question_for_earlier_times_is_answered_as_asked(reader: ExtractiveReader, question: str, says: str):
    documents = [_decision(OLDER, "2025-05-14"), _decision(NEWER, "2026-03-03")]

    best = reader.read(question, documents)[0]

    assert best.text == says
    assert best.probability < reader.threshold


def test_undated_documents_contradict_nothing_also_for_a_title(reader: ExtractiveReader):
    hall = _decision("It opened in 1966 next to the harbour.")
    harbour = _decision("The harbour hall has stood there since 1966, and opened next to Hector's yard.")

    hall.meta["title"], harbour.meta["title"] = "Calibration Hall", "Harbour"

    [best, *_] = reader.read("Which hall opened in 1966 next to the harbour?", [hall, harbour])

    assert best.text == "Calibration Hall"
    assert best.probability > reader.probable


def test_document_on_another_number_contradicts_nothing(
    reader: ExtractiveReader,
):
    """What two documents say alike is shown in the newer one."""

    documents = [
        _decision("The rent of garage 4 is 65 euros a month.", "2023-07-01"),
        _decision("The rent of garage 9 is 80 euros a month.", "2025-07-01"),
    ]
    assert reader.read("What is the rent of garage 4?", documents)[0].document is documents[0]
    alike = [_decision(OLDER, date) for date in ("2024-05-14", "2025-05-14")]
    assert reader.read("What does a lost key cost?", alike)[0].document is alike[1]


def test_contradicted_or_marked_answers_are_not_stated(reader: ExtractiveReader):
    question = "Who chairs the gardening committee?"
    texts = [f"{name} chairs the gardening committee for two years." for name in ("Marta Lindholm", "Piet Osterman")]
    alone, marked, both, turned = (
        reader.read(question, [_decision(text, *meta) for text, meta in zip(texts, of, strict=False)])[0]
        for of in ([("2024",)], [("2024", "superseded")], [("2026",), ("2024",)], [("2024",), ("2026",)])
    )

    assert alone.probability >= reader.threshold > reader.probable >= marked.probability
    assert (both.text, turned.text) == ("Marta Lindholm", "Piet Osterman")
    assert both.probability >= reader.threshold > reader.probable >= turned.probability


def test_until_when_asks_for_now_in_any_order_of_documents(reader: ExtractiveReader):
    documents = [
        _decision("The swimming bath is open until 8 pm.", "2022-10-01"),
        _decision("The swimming bath is open until 6 pm.", "2025-10-01"),
    ]
    question = "Until when is the swimming bath open?"

    assert {reader.read(question, order)[0].text for order in (documents, documents[::-1])} == {"6 pm"}


@for_each(
    "question, old_meta, other, replaced",
    ("What does a key cost?", {"standing": "superseded"}, {}, True),
    ("How old must somebody be for a key?", {"standing": "superseded"}, {}, True),
    ("Who is the first aider?", {"standing": "old"}, {}, True),
    ("Until when can a key be returned?", {"standing": "draft"}, {}, True),
    ("What does a key cost?", {}, {}, False),
    ("What does a key cost?", {"standing": "superseded"}, {"standing": "draft"}, False),
    ("What does a key cost?", {"standing": "superseded"}, {"source": "web"}, False),
    ("What was the price of a key?", {"standing": "superseded"}, {}, False),
    ("What does a key cost in 2024?", {"standing": "superseded"}, {}, False),
)
def test_an_old_edition_is_replaced_by_any_current_one(question, old_meta, other, replaced, monkeypatch):
    monkeypatch.setattr(SecondLook, "most_of", lambda look, passage: 0.9)
    old = Document(content=OLDER, meta={"source": "local", **old_meta})
    current = Document(content=f"{NEWER} Before, it cost 15 euros.", meta={"source": "local", **other})

    assert is_replaced(question, old, 0.9, [old, current], SecondLook(question, [], len)) is replaced


def test_an_old_edition_is_not_probable_beside_a_current_one(reader: ExtractiveReader):
    superseded = _decision(OLDER, standing="superseded")
    current = _decision(f"{NEWER} The price is raised from 15 to 25 euros.")
    question = "What does a lost key cost?"

    [alone, *_] = reader.read(question, [superseded])
    answers = reader.read(question, [superseded, current])

    assert alone.probability == reader.probable
    assert all(answer.probability < reader.probable for answer in answers if answer.document is superseded)


@for_each(
    "held, scores, kind, found",
    pytest.param((0.9, 0.9), (2, 1), "number", (True, 1), id="the newer answer counts"),
    pytest.param((0.9, 0.8), (2, 1), "number", (True, 0), id="not one whose sentence holds less of the question"),
    pytest.param((0.9, 0.9), (9, 1), "number", (True, 0), id="nor one far less likely"),
    pytest.param((0.9, 0.9), (2, 1), "title", (True, 0), id="nor a title"),
    pytest.param((0.9, 0.5), (2, 1), "number", (False, 0), id="who speaks of something else contradicts nothing"),
    pytest.param((0.4, 0.4), (2, 1), "number", (False, 0), id="nothing holds much of the question"),
)
def test_newer_document_counts_by_what_it_holds_of_the_question(held, scores, kind, found, monkeypatch):
    monkeypatch.setattr(SecondLook, "holds_of", lambda look, one: held[one.passage])
    monkeypatch.setattr(SecondLook, "most_of", lambda look, passage: held[passage])
    documents, texts = [_decision(OLDER, "2025"), _decision(NEWER, "2026")], ["15 euros", "25 euros"]
    spans = Spans([SpanCandidate(at, text, kind, 0, 8) for at, text in enumerate(texts)], texts, np.zeros((2, 0)))
    look = SecondLook("What does a key cost?", [], len)

    assert find_newer_answer("What does a key cost?", [*enumerate(scores)], spans, documents, look) == found


def test_two_undated_documents_of_one_form_that_disagree(reader: ExtractiveReader):
    texts = [f"The yearly fee for a mooring in the harbour is {fee} pounds." for fee in (35, 48)]
    first, second = (Document(content=text, meta={"title": "Harbour rules"}) for text in texts)
    dated = Document(content=texts[1], meta={"title": "Harbour rules", "date": "2026-01-01"})
    question = "What is the yearly fee for a mooring in the harbour?"

    alone, both = reader.read(question, [first])[0], reader.read(question, [first, second])[0]

    assert alone.probability >= reader.threshold
    assert both.probability <= reader.probable
    assert reader.judge(question, [first, second], both.text).is_doubtful
    assert not reader.judge(question, [first, replace(first, id="copy")], alone.text).is_doubtful
    assert not reader.judge(question, [dated], "48 pounds").is_doubtful


def test_a_dated_document_and_an_undated_one_that_disagree(reader: ExtractiveReader):
    """Nothing shows whether the undated one is the older. Of two that are dated, the newer counts."""

    undated, newer = (
        Document(content=f"The yearly fee for a mooring in the harbour is {fee} pounds.", meta={"title": title, **date})
        for fee, title, date in ((35, "Harbour rules", {}), (48, "Harbour news", {"date": "2026-01-01"}))
    )
    older = replace(undated, meta={**undated.meta, "date": "2024-01-01"})
    question = "What is the yearly fee for a mooring in the harbour?"

    for answer in ("35 pounds", "48 pounds"):
        assert reader.judge(question, [undated, newer], answer).is_doubtful
    assert not reader.judge(question, [older, newer], "48 pounds").is_doubtful
    assert reader.read(question, [undated, newer])[0].probability <= reader.probable


def test_another_hall_is_no_rival(reader: ExtractiveReader):
    halls = [
        Document(content=f"Hall {name} was built in {year} by the harbour.", meta={"title": f"Hall {name}"})
        for name, year in (("A", 1950), ("B", 1951), ("C", 1952))
    ]
    question = "When was Hall A built?"

    alone, beside = reader.read(question, halls[:1])[0], reader.read(question, halls)[0]

    assert (alone.text, beside.text) == ("1950", "1950")
    assert beside.probability > reader.probable


@for_each(
    "question, text, is_open",
    ("What is the code of the door?", "The code of the front door is 1234. The code of the back door is 5678.", True),
    ("What is the code of the back door?", "The code of the front door is 1. The code of the back door is 5.", False),
    ("Who built Quay 5?", "Quay 4 was built in 1974 by Ada Roke. Quay 5 was built in 1991 by Bo Lind.", False),
    ("Who is the porter?", "The day porter is Ada Roke. The night porter is Bo Lind.", True),
    ("What do adults pay?", "Adults pay 12 euros. Children pay 6 euros.", False),
    ("When was the mill built?", "The mill was built in 1890. The mill was rebuilt in 1920.", False),
)
def test_two_things_that_a_question_does_not_tell_apart(
    reader: ExtractiveReader, question: str, text: str, is_open: bool
):
    document = Document(content=text, meta={"title": "Handbook"})

    [best, *_] = reader.read(question, [document])

    assert reader.judge(question, [document], best.text).is_doubtful is is_open
