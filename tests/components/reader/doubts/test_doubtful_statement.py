"""A text that has the words of an answer may not state it: its form says so."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stated_pairs import StatedPair, read_pairs
from prefrag.components.reader.doubts.doubtful_statement import find_doubt
from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


def place_of(pair: StatedPair, text: str) -> str:
    """Return the answer as it is written in the text."""
    begin = text.lower().index(pair.answer.lower())
    return text[begin : begin + len(pair.answer)]


@for_each(
    "form, question, answer, text, twin",
    ("negation", "Who mends the nets?", "Ned Farr", "Ned Farr does not mend the nets.", "Ned Farr mends the nets."),
    (
        "negation",
        "Who lives in the loft?",
        "Ada Moss",
        "The loft was shown to Ada Moss, who never came back.",
        "The loft was let to Ada Moss, who came at once.",
    ),
    (
        "negation",
        "Who has paid for the trip?",
        "Ida Roe",
        "Boat trip, not paid:\n- Max Toll\n- Ida Roe",
        "Boat trip, all of it paid:\n- Max Toll\n- Ida Roe",
    ),
    (
        "negation",
        "How many cylinders has the compound engine?",
        "five",
        "It is an engine with five cylinders (no compound).",
        "It is a compound engine with five cylinders (no pump).",
    ),
    (
        "negation",
        "Who runs drama club?",
        "Ann Low",
        "Drama club, which Ann Low ran last year, does not run this term.",
        "Drama club, which Ann Low runs, does not run on Mondays.",
    ),
    (
        "negation",
        "Who is the mayor?",
        "Ann Low",
        "Not the mayor Ann Low but Ida Roe came.",
        "The mayor Ann Low never came.",
    ),
    (
        "negation",
        "Who wrote the song?",
        "Ann Low",
        "The song was not written by Ann Low.",
        'The song "You Will Not Go" was written by Ann Low.',
    ),
    (
        "exception",
        "Who has voted?",
        "Max Crow",
        "All members except Max Crow have voted.",
        "All members and Max Crow have voted.",
    ),
    (
        "over",
        "Who is the cook of the hostel?",
        "Pia Lane",
        "Pia Lane was the cook of the hostel until June.",
        "Pia Lane is the cook of the hostel.",
    ),
    (
        "over",
        "What is the code of the shed?",
        "4417",
        "The code of the shed was 4417.",
        "The code of the shed is 4417.",
    ),
    (
        "over",
        "Who is the author of the book?",
        "Eva Stein",
        "The alleged author of the book was Eva Stein.",
        "The author of the book was Eva Stein.",
    ),
    (
        "over",
        "When is the inn open?",
        "from 9 until 17",
        "The inn was open from 9 until 17.",
        "The inn is open from 9 until 17.",
    ),
    (
        "over",
        "At what heat is the bread baked?",
        "220 degrees",
        "The bread is baked at 220 degrees until June.",
        "Bake the bread at 220 degrees until golden.",
    ),
    (
        "over",
        "What is the total?",
        "340 euros",
        "The total price was 340 euros.",
        "The total was 340 euros.",
    ),
    (
        "over",
        "Who is the author of the book?",
        "Eva Stein",
        "The owner of the book was Eva Stein.",
        "The author of the book was Eva Stein.",
    ),
    (
        "over",
        "Who is the cook?",
        "Eva Stein",
        "The cook is Eva Stein, who is the cook until June.",
        "The cook is Eva Stein, who followed Ann, who was the cook until June.",
    ),
    (
        "condition",
        "How much is the toll?",
        "3 pounds",
        "If a trailer is pulled, the toll is 3 pounds.",
        "The toll is 3 pounds.",
    ),
    (
        "condition",
        "Who keeps the records?",
        "Pia Lane",
        "Unless the records are wrong, Pia Lane keeps them.",
        "The records are right: Pia Lane keeps them.",
    ),
    (
        "condition",
        "What is the emergency number?",
        "112",
        "In case of fire, the emergency number is 112.",
        "In case of fire, call the emergency number 112.",
    ),
    (
        "condition",
        "How long is the warranty?",
        "two years",
        "The warranty is two years unless the seal is broken.",
        "The warranty is two years unless otherwise agreed.",
    ),
    ("limit", "When was the quay built?", "1820", "The quay was built before 1820.", "The quay was built in 1820."),
    (
        "limit",
        "How many seats are there?",
        "300",
        "There are more than 300 seats.",
        "There are 300 seats.",
    ),
    (
        "nearly",
        "Who won the regatta?",
        "Bo Lind",
        "Bo Lind nearly won the regatta.",
        "Bo Lind clearly won the regatta.",
    ),
    (
        "relative",
        "Who is the new vet?",
        "Ivo Marsh",
        "The sister of Ivo Marsh is the new vet.",
        "The clever Ivo Marsh is the new vet.",
    ),
    (
        "relative",
        "Who is the station master?",
        "Joy Rowe",
        "Joy Rowe is the deputy of the station master.",
        "Joy Rowe is the station master.",
    ),
    (
        "asked",
        "Who has the spare key?",
        "Paul Orr",
        "Has Paul Orr the spare key? Tell me.",
        "Paul Orr has the spare key. Who else?",
    ),
    (
        "asked",
        "How much was the tent?",
        "180 pounds",
        "Someone asks if the tent was 180 pounds.",
        "The tent that someone asked for was 180 pounds.",
    ),
    (
        "asked",
        "Who chairs the choir?",
        "Pia Lane",
        "Two votes went to Pia Lane; who chairs the choir is settled in June.",
        "All votes went to Pia Lane; she chairs the choir, and who sings is settled in June.",
    ),
    (
        "open",
        "When is the fair?",
        "14 March",
        "The fair is on 14 March (tbc), in the hall.",
        "The fair is on 14 March (a Friday), in the hall.",
    ),
    (
        "open",
        "When is the fair?",
        "14 March",
        "The fair is on 14 March [tbc].",
        "The fair is on 14 March [Friday].",
    ),
    (
        "open",
        "When is the fair?",
        "14 March",
        "The fair is on 14 March - to be confirmed.",
        "The fair is on 14 March - in the hall.",
    ),
    (
        "open",
        "When is the fair?",
        "14 March",
        "The fair is on 14 March (no decision).",
        "The fair is on 14 March (no gifts, please).",
    ),
    (
        "open",
        "Who is the singer?",
        "Eva Poe",
        "The singer is Eva Poe (may be changed).",
        "The singer is Eva Poe (born May 21, 1992).",
    ),
)
def test_a_form_raises_a_doubt_and_its_twin_none(form, question, answer, text, twin):
    assert doubt(question, text, answer) == form
    assert doubt(question, twin, answer) == ""


@for_each(
    "question, other, answer, text",
    ("By when must I pay?", "When did I pay?", "30 June", "Payment must be made before 30 June."),
    ("How late can I call?", "When can I call?", "22:00", "You can call until 22:00."),
    # Only an exact measure has a limit.
    ("About how many seats are there?", "How many seats are there?", "300", "There are more than 300 seats."),
    ("Whose face is it?", "When did he draw the face?", "Jefferson", "The bill was drawn after Jefferson."),
)
def test_a_limit_that_is_asked_for_is_an_answer(question, other, answer, text):
    assert doubt(question, text, answer) == ""
    assert doubt(other, text, answer) == "limit"


def test_what_the_question_itself_denies_or_plans_is_no_doubt():
    assert doubt("Who did not sign the lease?", "Hal Denn did not sign the lease.", "Hal Denn") == ""
    assert doubt("When was the inn finished?", "The inn was not finished until 1769.", "1769") == ""
    assert doubt("When will the inn open?", "The inn will open on 2 May.", "2 May") == ""
    assert doubt("What if the pump fails?", "If the pump fails, call the warden.", "call the warden") == ""


def test_an_answer_that_excepts_somebody_is_doubtful():
    answer, text = "Everybody except Max Crow", "Everybody except Max Crow has voted."
    assert doubt("Who has voted?", text, answer) == "exception"


def test_what_is_denied_in_another_clause_is_no_doubt():
    question, answer = "Since when has the works in Brae made rope?", "1959"
    told = "The works in Brae has made rope since 1959 and is the only one that has no second."
    denied = "It was built in 1959 and has not made rope at the works."

    assert doubt(question, told, answer) == ""
    assert doubt(question, denied, answer) == "negation"


def test_most_written_pairs_of_the_train_part_are_told_apart():
    pairs = [pair for pair in read_pairs() if pair.part == "train"]
    raised = sum(bool(doubt(pair.question, pair.unstated, place_of(pair, pair.unstated))) for pair in pairs)
    wrongly = sum(bool(doubt(pair.question, pair.stated, place_of(pair, pair.stated))) for pair in pairs)
    assert raised >= 0.85 * len(pairs)
    assert wrongly <= 0.05 * len(pairs)


@given(st.text(max_size=60), st.text(max_size=200), st.integers(0, 200), st.integers(0, 40))
def test_any_text_has_a_doubt_or_none(question, text, begin, length):
    assert isinstance(find_doubt(question, "", text, min(begin, len(text)), min(begin + length, len(text))), str)
