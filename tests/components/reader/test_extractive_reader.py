"""The shipped reader, on passages about a made-up place."""

from dataclasses import replace
from pathlib import Path

import pytest
from haystack import Document

from prefrag.components.reader import extractive_reader
from prefrag.components.reader.extractive_reader import ROW_RIGHT, ExtractiveReader
from prefrag.components.reader.reader_files import SHIPPED_READER
from prefrag.components.text.table_rows import Row, Table, write_tables
from prefrag.indexing.file_conversion import FileConverter
from tests.components.serialisation import rebuilt
from tests.for_each import for_each
from tests.indexing.office import make_docx

HALL = Document(
    content="Every sensor is compared with a reference here. The hall opened in 1966 next to the harbour of Pellhaven.",
    meta={"title": "Calibration Hall"},
)
YARD = Document(
    content="Gustav Ostermoor opened his yard in Saltreach with borrowed tools. Margarete Low now leads the yard.",
    meta={"title": "Ostermoor Shipyard"},
)


@pytest.fixture(scope="module")
def reader() -> ExtractiveReader:
    return ExtractiveReader()


def test_answer_stands_in_the_named_sentence_likeliest_first(reader):
    found = reader.read("When did the Calibration Hall open?", [YARD, HALL])
    assert found[0].text == "1966"
    assert found[0].document is HALL
    assert found[0].sentence == "The hall opened in 1966 next to the harbour of Pellhaven."
    probabilities = [one.probability for one in found]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) <= 1 + 1e-6
    assert len({one.text for one in found}) == len(found) == 5


def test_answer_ends_at_a_sentence_that_is_left_out(reader):
    document = Document(content="P-41 stands in Hull\nP-42 stands in Oban\nNear the crane")

    candidates = reader.read("Where does P-41 stand?", [document])

    assert candidates[0].text == "Hull"
    assert [candidate.text for candidate in candidates if candidate.text not in document.content] == []


def test_a_proposed_answer_is_judged_by_the_spelling_of_the_text(reader):
    document = Document(content="The car K-XY 317 is driven by Ann Low. The car K-XY 318 is driven by Bo Lind.")

    typed, written = (
        reader.judge(f"Who drives the car {code}?", [document], "Ann Low") for code in ("KXY317", "K-XY 317")
    )

    assert typed == written
    assert not typed.is_doubtful


def test_what_became_of_the_asked_thing_is_read_all_the_same(reader):
    text = "Room 12 is closed for repairs until May. The choir, which rehearsed there, now meets in room 15."

    best = reader.read("Where does the choir of room 12 meet now?", [Document(content=text)])[0]

    assert best.text == "room 15"
    assert best.probability == reader.probable


def test_answer_stands_in_the_sentence_with_the_asked_code(reader):
    names = ("Ada Brink", "Bo Lind", "Ivo Strand", "Mia Holt", "Kai Noll", "Tess Kolb", "Una Crake")
    pumps = [f"The pump P-{number} was checked by {name}." for number, name in enumerate(names, start=41)]
    document = Document(content="\n".join(pumps))

    for number, name in enumerate(names, start=41):
        best = reader.read(f"Who checked the pump P-{number}?", [document])[0]
        assert (best.text, best.sentence) == (name, f"The pump P-{number} was checked by {name}.")
        assert best.probability >= reader.threshold
    assert reader.read("Who checked the pump P43?", [document])[0].text == "Ivo Strand"
    assert reader.read("Who checked the pump P-48?", [document])[0].probability <= reader.probable


def test_title_as_answer_stands_in_the_sentence_on_the_question(reader):
    section = {"title": "Manual", "heading": "Manual > Calibration Hall"}
    for document in (HALL, replace(HALL, content=f"Calibration Hall\n\n{HALL.content}", meta=section)):
        found = reader.read("Which hall opened in 1966?", [document])

        titled = next(one for one in found if one.text == "Calibration Hall")
        assert titled.sentence == "The hall opened in 1966 next to the harbour of Pellhaven."


def test_answer_in_several_places_is_shown_where_it_is_stated(reader):
    texts = {
        "Tobias Greaves": "Tobias Greaves joined in 1980 and spent five years on the Shearwater Meter, whose four-beam "
        "head he patented.",
        "Shearwater Meter": "It listens to the echo of four beams. Tobias Greaves designed it, and it was sold from 1985.",
    }
    documents = [Document(content=text, meta={"title": title}) for title, text in texts.items()]

    found = reader.read("Who designed the Shearwater Meter?", documents)

    assert (found[0].text, found[0].document) == ("Tobias Greaves", documents[1])
    assert found[0].sentence == "Tobias Greaves designed it, and it was sold from 1985."


@for_each(
    "question",
    "Which film came out first, Kestrel Lamp or The Merlin Hour?",
    "Which film has the director who died later, Kestrel Lamp or The Merlin Hour?",
)
def test_sentence_of_a_choice_by_dates_is_of_its_own_document(reader, question):
    titles = {
        "Kestrel Lamp": "Kestrel Lamp is a 1931 silent film directed by Ada Voss.",
        "The Merlin Hour": "The Merlin Hour is a drama film, directed by Otto Lind and released on 4 May 1938.",
        "Ada Voss": "Ada Voss (3 March 1890 \u2013 2 June 1971) was a director.",
        "Otto Lind": "Otto Lind (born 9 April 1884) was a director. He died in Brae on 1 May 1950.",
    }
    found = reader.read(question, [Document(content=text, meta={"title": title}) for title, text in titles.items()])

    assert found[0].text == "Kestrel Lamp"
    assert found[0].sentence == found[0].document.content == titles["Kestrel Lamp"]


def test_yes_no_question_is_answered_so_with_a_sentence(reader):
    found = reader.read("Was the Calibration Hall opened next to a harbour?", [YARD, HALL])

    assert sorted(one.text for one in found) == ["no", "yes"]
    assert sum(one.probability for one in found) == pytest.approx(1, abs=1e-6)
    assert found[0].sentence.startswith("The hall opened")


def test_a_question_how_to_do_something_gets_the_steps(reader):
    steps = "A release is signed by a second engineer:\n1. Build it.\n2. Run hsign with the key."
    manual = Document(content=f"It is a tool. {steps}\n\nIt is old.", meta={"title": "Releases"})

    for question in ("How do I sign a release?", "how to sign a release by a second engineer"):
        found = reader.read(question, [manual])
        assert {one.kind for one in found} == {"steps"}
        assert steps in [one.sentence for one in found]
    assert {one.kind for one in reader.read("Who signs a release?", [manual])} == {"span"}


@for_each(
    "question, documents",
    pytest.param("Who leads the yard?", [], id="no documents"),
    pytest.param("Who leads the yard?", [Document(content=None), Document(content=" ")], id="no text"),
    pytest.param("Wer leitet heute die Werft?", [YARD], id="another language"),
    pytest.param("How many more people work there than here?", [YARD], id="a difference"),
)
def test_what_cannot_be_answered_is_not_guessed_at(reader, question, documents):
    assert reader.read(question, documents) == []


def test_many_documents_are_read_in_turns_too_many_by_best_pairs(reader):
    ferries = [Document(content=f"Ferry {n} is painted white.", meta={"title": f"Ferry {n}"}) for n in range(9)]
    markets = [Document(content=f"The market of Aldmoor opened in {year}.") for year in range(1900, 1910)]

    in_turns = reader.read("When did the Calibration Hall open?", [*ferries, HALL])
    of_the_best = reader.read("Who opened the Ostermoor Shipyard?", [*markets, HALL, YARD])

    assert in_turns[0].document is HALL
    assert of_the_best[0].document is YARD


def test_documents_are_read_once_by_readers_of_the_same_settings(reader, monkeypatch):
    reads = []

    def choose(question, documents, number):
        reads.append(question)
        return documents

    monkeypatch.setattr(extractive_reader, "choose_documents", choose)
    question, hall = "When was the Calibration Hall first open?", replace(HALL, meta={**HALL.meta})

    first = reader.read(question, [YARD, hall])
    first_again = [*first]
    first.clear()

    assert ExtractiveReader().read(question, [YARD, hall]) == first_again
    assert reads == [question]
    # The cache must notice other text, whether in another object or in the same one.
    assert reader.read(question, [YARD, replace(hall, content="The hall opened in 1971.")])[0].text == "1971"
    assert ExtractiveReader(str(SHIPPED_READER)).read(question, [YARD, hall]) == first_again
    hall.meta["date"] = "2024-05-14"
    assert reader.read(question, [YARD, hall])[0].text == "1966"
    assert len(reads) == 4


def test_reader_is_rebuilt_from_settings_and_refuses_empty_model():
    again = rebuilt(ExtractiveReader("own", threshold=0.25))

    assert (again.model, again.threshold) == ("own", 0.25)
    with pytest.raises(ValueError, match="model is"):
        ExtractiveReader("")


def test_comparison_of_no_countries_is_no_surer_than_in_training():
    """It is as sure as such comparisons were right in training."""

    documents = [Document(content=f"The {name} was designed by Ann Low.") for name in ("Dunlin", "Merlin")]
    reader = ExtractiveReader()

    [best, *_] = reader.read("Were the Dunlin and the Merlin designed by the same person?", documents)

    assert best.probability < reader.threshold


def test_what_is_said_of_another_year_is_not_given(reader):
    documents = [Document(content="In 2025 Marlpit Lane saw 6,140 animals, 4 per cent more than in 2024.")]

    best, other = (
        reader.read(f"How many animals did Marlpit Lane see in {year}?", documents)[0] for year in (2025, 2024)
    )

    assert (best.text, other.text) == ("6,140", "6,140")
    assert best.probability > reader.probable > other.probability


def test_the_rule_for_dates_also_judges_the_answer_of_another(reader):
    older = Document(content="Petrel was built in 1931 by Holm.", meta={"title": "Petrel"})
    newer = Document(content="Merganser was built in 1968 by Low.", meta={"title": "Merganser"})
    question, passages = "Which was built first, Petrel or Merganser?", [older, newer]
    own = reader.read(question, passages)[0]

    right, wrong, neither = (reader.judge(question, passages, answer) for answer in ("Petrel", "Merganser", "1931"))

    assert (own.text, right.probability, wrong.probability) == ("Petrel", own.probability, 0.0)
    assert 0.0 < neither.probability < own.probability


def test_an_answer_is_judged_where_it_is_stated_best(reader):
    press = "The new press presses 900 kilograms of apples an hour; the old press managed 350."
    documents = [Document(content=press), Document(content="Capacity: 900 kilograms.", meta={"title": "Press"})]

    best, other = (
        reader.read(f"How many kilograms does the {one} press press?", documents)[0] for one in ("new", "old")
    )

    assert best.text.startswith("900")
    assert not other.text.startswith("900") or other.probability < reader.probable


def test_what_affirms_what_the_question_denies_is_not_given(reader):
    best, other = (reader.read(f"Who {leads} the yard?", [YARD])[0] for leads in ("now leads", "never leads"))

    assert (best.text, other.text) == ("Margarete Low", "Margarete Low")
    assert best.probability > reader.probable > other.probability


@for_each(
    "question, answer, stated, unstated",
    (
        "Who rang the chapel bell?",
        "Hugo Pell",
        "Hugo Pell rang the chapel bell.",
        "Hugo Pell never rang the chapel bell.",
    ),
    ("Who sold the ferry?", "Ida Crane", "Ida Crane sold the ferry.", "Ida Crane denied that she had sold the ferry."),
    (
        "Who founded the rowing school?",
        "Nils Orme",
        "Nils Orme founded the rowing school.",
        "The father of Nils Orme founded the rowing school.",
    ),
)
def test_a_sentence_that_only_has_the_answer_is_not_sure(reader, question, answer, stated, unstated):
    sure, unsure = (reader.read(question, [Document(content=text)])[0] for text in (stated, unstated))

    assert sure.text == unsure.text == answer
    assert sure.probability >= reader.threshold
    assert reader.probable >= unsure.probability > 0


def test_the_answer_of_a_model_is_doubtful_for_the_same_forms(reader):
    question, answer = "Who sold the ferry?", "Ida Crane"
    told = Document(content="It was summer. Ida Crane sold the ferry.")
    denied = Document(content="It was summer. Ida Crane denied that she had sold the ferry.")

    assert reader.judge(question, [denied], answer).is_doubtful
    assert not reader.judge(question, [told], answer).is_doubtful
    assert not reader.judge(question, [denied], denied.content.partition(". ")[2]).is_doubtful
    assert not reader.judge("Wer hat die Fähre verkauft?", [denied], answer).is_doubtful


def test_the_answer_of_a_model_in_other_words_is_doubtful_too(reader):
    denied = Document(content="It was summer. Ida Crane denied that she had sold the ferry.")

    assert reader.judge("Who sold the ferry?", [denied], "The ferry was sold by Ida Crane.").is_doubtful


def test_the_answer_in_other_words_is_judged_by_its_span(reader):
    rule = Document(content="Fuel is paid by the office. The driver pays the parking fines.", meta={"title": "Vans"})

    judged = reader.judge("Who pays parking fines?", [rule], "The driver of the van pays parking fines.")

    assert judged.probability > 0


def test_of_a_longer_answer_the_first_sentence_is_judged(reader):
    party = Document(content="The party is on 18 December at the Arms. Bring a coat. Partners are welcome.")
    question, answer = "When is the party?", "18 December. Partners are welcome."

    assert reader.judge(question, [party], answer) == reader.judge(question, [party], "18 December")


def test_a_sentence_with_all_names_is_not_judged_instead(reader):
    text = "The board has two members: Ada Bell and Cleo Park. The treasurer is Cleo Park. The secretary is Ada Bell."
    board = Document(content=text)
    first = "The treasurer is Cleo Park."
    whole = f"{first} The secretary is Ada Bell. The board has two members."

    for answer in (whole, f"Here is what I read. {first}"):
        assert reader.judge("Who is the treasurer?", [board], answer) == reader.judge(
            "Who is the treasurer?", [board], first
        )


@for_each("before, is_judged", (4, True), (5, False))
def test_an_answer_is_looked_for_in_its_first_sentences(reader, before: int, is_judged: bool):
    """A model may write thousands of sentences, and each takes milliseconds."""
    ferry = Document(content="The ferry was sold to Ida Crane.")
    answer = "Qvv zzk. " * before + "It was sold to Ida Crane."

    assert (reader.judge("Who bought the ferry?", [ferry], answer).probability > 0) is is_judged


def test_the_passage_of_an_answer_is_always_read(reader):
    passages = [
        Document(content=f"Hall {number} opened in May 19{number}0.", meta={"title": f"Hall {number}"})
        for number in range(1, 7)
    ]
    ferry = Document(content="The ferry was sold to Ida Crane.", meta={"title": "Notes"})

    judged = reader.judge("In which year did halls 1 and 2 open?", [*passages, ferry], "Ida Crane")

    assert judged.probability > 0


def test_the_sentence_before_supports_an_answer(reader):
    bus = Document(content="A trial of the walking bus began in May. It is led by Mr Alan Birk.")

    judged = reader.judge("Who leads the walking bus?", [bus], "Mr Alan Birk")

    assert judged.cover > judged.head


@for_each(
    "question, answer, is_of_another",
    ("How many visitors came in 2024?", "6,140", True),
    ("How many visitors came in 2025?", "6,140", False),
    ("What does the hull from Quill Boats cost?", "4,120 pounds", True),
    ("What does the hull from Brook Marine cost?", "4,120 pounds", False),
)
def test_answer_of_another_time_or_name_counts_as_outdated(reader, question, answer, is_of_another):
    passage = Document(
        content="In 2025 6,140 visitors came, more than in 2024. The hull from Brook Marine costs 4,120 pounds, the "
        "hull from Quill Boats 3,890 pounds."
    )

    assert reader.judge(question, [passage], answer).is_outdated is is_of_another


RATES = Table(1, "", ("Work", "Rate"), [Row("", ("Joinery in the workshop", "54")), Row("", ("Fitting on site", "61"))])
RATES_TEXT = "Work: Joinery in the workshop; Rate: 54\nWork: Fitting on site; Rate: 61"
RATE_LIST = Document(content=RATES_TEXT, meta={"title": "Rates", **write_tables([(RATES, 0), (RATES, 1)])})


def test_a_row_that_holds_every_word_is_read_before_the_trees(reader):
    [found] = reader.read("What is the rate for fitting on site?", [HALL, RATE_LIST])

    assert (found.text, found.sentence) == ("61", "Work: Fitting on site; Rate: 61")
    assert found.probability >= reader.threshold


def test_a_row_that_lacks_a_word_is_not_even_probable(reader):
    for candidate in reader.read("What is the rate for painting in the workshop?", [RATE_LIST]):
        assert candidate.probability < reader.probable
    # Without its rows in the metadata it is a text like others.
    plain = replace(RATE_LIST, meta={"title": "Rates"})
    assert reader.read("What is the rate for painting in the workshop?", [plain])[0].probability > 0


@for_each("answer, is_row", ("61", True), ("61.", True), ("54", False))
def test_answer_of_a_model_is_judged_by_the_row_that_states_it(reader, answer: str, is_row: bool) -> None:
    judged = reader.judge("What is the rate for fitting on site?", [HALL, RATE_LIST], answer)

    assert (judged.probability == ROW_RIGHT) is is_row
    assert judged.is_doubtful is not is_row


def test_the_row_above_an_answer_does_not_support_it(reader) -> None:
    judged = reader.judge("What is the rate for joinery in the workshop?", [RATE_LIST], "61")

    assert judged.is_doubtful
    assert judged.cover < 0.5


def test_an_answer_from_a_row_that_lacks_a_word_is_doubtful(reader) -> None:
    assert reader.judge("What is the rate for painting in the workshop?", [RATE_LIST], "54").is_doubtful


def test_a_row_of_a_draft_makes_an_answer_doubtful(reader) -> None:
    draft = replace(RATE_LIST, meta={**RATE_LIST.meta, "standing": "draft"})

    assert reader.judge("What is the rate for fitting on site?", [draft], "61").is_doubtful


def test_a_row_answers_a_question_that_is_not_in_english(reader):
    assert reader.read("Rate: Fitting on site", [RATE_LIST])[0].text == "61"


ROOMS = Table(1, "", ("Room", "Seats"), [Row("", ("Hall", "140")), Row("", ("Attic", "20"))])
SEATS = Document(
    content="Room: Hall; Seats: 140\nRoom: Attic; Seats: 20",
    meta={"title": "Rooms", **write_tables([(ROOMS, 0), (ROOMS, 1)])},
)


def test_a_row_is_stated_by_its_share_of_right_answers() -> None:
    [found] = ExtractiveReader(threshold=0.99).read("How many seats are in the hall?", [SEATS])

    assert (found.text, found.probability) == ("140", ROW_RIGHT)


def test_a_row_of_a_draft_is_at_most_probable() -> None:
    draft = replace(SEATS, meta={**SEATS.meta, "standing": "draft"})
    reader = ExtractiveReader()

    [found] = reader.read("How many seats are in the hall?", [draft])

    assert (found.text, found.probability) == ("140", reader.probable)


@for_each("question", "Is the price from Graz to Bern 12?", "Was the price from Bern to Graz 12?")
def test_yes_or_no_from_a_row_is_not_stated(question: str) -> None:
    fares = Table(1, "", ("From", "To", "Price"), [Row("", ("Bern", "Graz", "12")), Row("", ("Linz", "Ulm", "9"))])
    rows = "\n".join(map(fares.write, fares.rows))
    document = Document(content=rows, meta={"title": "file", **write_tables([(fares, 0), (fares, 1)])})
    reader = ExtractiveReader()

    assert [found.probability for found in reader.read(question, [document])] == [0.5, 0.5]
    plain = replace(document, meta={"title": "file"})
    assert reader.read(question, [plain])[0].probability >= reader.threshold


def test_form_in_a_word_file_answers_by_its_labels(reader):
    rows = (("Customer", "Castle Green", "Date", "3 May 2026"), ("Engineer", "Tomasz", "Order", "4711"))

    def write(document) -> None:
        table = document.add_table(rows=2, cols=4)
        for row, texts in zip(table.rows, rows, strict=True):
            for cell, text in zip(row.cells, texts, strict=True):
                cell.text = text

    [form] = FileConverter().passages(Path("Job sheet.docx"), make_docx(write))

    assert form.content == "Customer: Castle Green; Date: 3 May 2026; Engineer: Tomasz; Order: 4711"
    assert reader.read("Who is the engineer?", [form])[0].text == "Tomasz"
    assert reader.read("Who is the engineer of order 4711?", [form])[0].probability >= reader.threshold
