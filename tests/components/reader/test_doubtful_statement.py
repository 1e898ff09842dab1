"""A text that has the words of an answer may not state it: its form says so."""

from hypothesis import given
from hypothesis import strategies as st

from benchmarks.stated_pairs import StatedPair, read_pairs
from prefrag.components.reader.doubtful_statement import find_doubt
from tests.for_each import for_each


def doubt(question: str, text: str, answer: str, title: str = "") -> str:
    begin = text.index(answer)
    return find_doubt(question, title, text, begin, begin + len(answer))


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
        "unrealised",
        "When did the inn open?",
        "2 May 2025",
        "The inn was to open on 2 May 2025.",
        "The inn opened on 2 May 2025.",
    ),
    (
        "unrealised",
        "Who runs the kiosk?",
        "Lou Ames",
        "Lou Ames hopes to run the kiosk.",
        "Lou Ames now runs the kiosk.",
    ),
    (
        "hearsay",
        "Who sank the raft?",
        "Jim Orr",
        "People claim that Jim Orr sank the raft.",
        "Jim Orr sank the raft that people remember.",
    ),
    (
        "hearsay",
        "Who sold the urn?",
        "Eva Poe",
        "According to gossip, Eva Poe sold the urn.",
        "In the end, Eva Poe sold the urn.",
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
        "condition",
        "How much is the toll?",
        "3 pounds",
        "If a trailer is pulled, the toll is 3 pounds.",
        "The toll is 3 pounds.",
    ),
    ("limit", "When was the quay built?", "1820", "The quay was built before 1820.", "The quay was built in 1820."),
    (
        "nearly",
        "Who won the regatta?",
        "Bo Lind",
        "Bo Lind nearly won the regatta.",
        "Bo Lind clearly won the regatta.",
    ),
    (
        "taken back",
        "What is the new toll?",
        "4 pounds",
        "The board set a new toll of 4 pounds. It was struck down.",
        "The board set a new toll of 4 pounds. It is paid at the gate.",
    ),
    (
        "taken back",
        "Who is the new porter?",
        "Al Reed",
        "The choice of Al Reed as new porter was withdrawn.",
        "Al Reed is the new porter.",
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
    ("role", "Who called the vicar?", "Tim Nye", "The vicar called Tim Nye.", "The vicar was called by Tim Nye."),
    (
        "property",
        "What is the code of the north gate?",
        "Fenway",
        "The north gate is called Fenway. The code is kept by the porter.",
        "The code of the north gate is Fenway. The porter keeps the key.",
    ),
    (
        "other thing",
        "How many seats has boat number 7?",
        "13",
        "Boat number 4 has 13 seats.",
        "Boat number 7 has 13 seats.",
    ),
    (
        "other thing",
        "What is the telephone number of the mill?",
        "960221",
        "The fax number of the mill is 960221.",
        "The telephone number of the mill is 960221.",
    ),
    (
        "other thing",
        "What is in the north shed?",
        "the sails",
        "In the south shed there is the sails.",
        "In the north shed there is the sails.",
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
        "hearsay",
        "Who mended the nets?",
        "Ned Farr",
        "The author denies that in the old days, before the war, Ned Farr mended the nets.",
        "The author was born in the old days, before the war; Ned Farr mended the nets.",
    ),
    (
        "hearsay",
        "Who left the gate open?",
        "Ned Farr",
        "Ann rejects the claim that Ned Farr left the gate open.",
        "Ann painted the gate that Ned Farr left open.",
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
        "Someone says: the tent was 180 pounds.",
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
        "over",
        "What is the code of the shed?",
        "4417",
        "The code of the shed was 4417.",
        "The code of the shed is 4417.",
    ),
    (
        "taken back",
        "How many litres does the tank hold?",
        "90",
        "The tank holds 90 litres. This is an error in the manual.",
        "The tank holds 90 litres. This is written in the manual.",
    ),
    (
        "taken back",
        "What is the toll?",
        "4 pounds",
        "The toll is 4 pounds.\n\nThe bridge is open. Dogs wait.\n\nThis turned out to be wrong.",
        "The toll is 4 pounds.\n\nThe bridge is open. It was closed.\n\nThis way to the mill.",
    ),
    (
        "role",
        "When did Harold conquer the isle?",
        "1066",
        "In 1066 William conquered the isle and killed Harold.",
        "In 1066 Harold conquered the isle and killed William.",
    ),
    (
        "role",
        "What was Nora named?",
        "Clerk",
        "Nora named Pete Clerk of the isle.",
        "Nora was named Clerk of the isle.",
    ),
    (
        "other thing",
        "When was the random number rule proven?",
        "1896",
        "The prime number rule was proven in 1896.",
        "The random natural number rule was proven in 1896.",
    ),
    (
        "other thing",
        "When was part 8 sold?",
        "2008",
        "Part 5 was sold in 2008, on 8 May.",
        "Parts 5 and part 7 to 8 were sold in 2008.",
    ),
    (
        "other time",
        "How many boats came after the fire?",
        "twenty",
        "Before the fire, twenty boats came.",
        "Since the fire, twenty boats came.",
    ),
    (
        "other subject",
        "When do the juniors train?",
        "Tuesday",
        "On Tuesday the seniors train.",
        "On Tuesday the juniors train.",
    ),
    (
        "elsewhere",
        "What are the hours on Sundays?",
        "9 to 12",
        "The hours on weekdays are 9 to 12.",
        "The hours on Sundays are 9 to 12.",
    ),
    (
        "elsewhere",
        "When does the bus from Tarn leave?",
        "8.10",
        "The bus to Tarn leaves at 8.10.",
        "The bus from Tarn leaves at 8.10.",
    ),
    (
        "part",
        "When did the new press arrive?",
        "Monday",
        "The ink for the new press arrived on Monday.",
        "The new press for the ink arrived on Monday.",
    ),
    (
        "part",
        "What is the rent of the loft a year?",
        "65 pounds",
        "The rent of the loft is 65 pounds a month.",
        "The rent of the loft is 65 pounds a year.",
    ),
    (
        "other object",
        "Who painted the chapel?",
        "Ida Roe",
        "Ida Roe painted a ceiling in the chapel.",
        "Ida Roe painted the chapel in May.",
    ),
    (
        "turned",
        "How many cases were reported?",
        "forty",
        "There were forty unreported cases.",
        "There were forty reported cases.",
    ),
    (
        "taken back",
        "What is the toll?",
        "4 pounds",
        "The toll is 4 pounds. None of this is right.",
        "The toll is 4 pounds. Some of this is for the mill.",
    ),
    (
        "condition",
        "Who keeps the records?",
        "Pia Lane",
        "Unless the records are wrong, Pia Lane keeps them.",
        "The records are right: Pia Lane keeps them.",
    ),
    ("other thing", "How old is Hanna Voss?", "41", "Martha Voss is 41.", "Hanna Voss is 41."),
)
def test_a_form_raises_a_doubt_and_its_twin_none(form, question, answer, text, twin):
    assert doubt(question, text, answer) == form
    assert doubt(question, twin, answer) == ""


@for_each(
    "form, question, answer, text, twin",
    (
        "taken back",
        "When was the law passed?",
        "1995",
        "The law was on the list of 1995. It was withdrawn.",
        "The law was passed in 1995. It was amended.",
    ),
    (
        "taken back",
        "Who designed the mill?",
        "Ann Low",
        "The mill was designed by Ann Low. It was not true.",
        "The mill was designed by Ann Low. It was renovated.",
    ),
    (
        "taken back",
        "When did the ship sail?",
        "5 May",
        "The ship sailed on 5 May. This was denied.",
        "The ship sailed on 5 May. It was never seen again.",
    ),
    (
        "taken back",
        "When was the bill paid?",
        "5 May",
        "The bill was paid on 5 May. This is disputed.",
        "The bill was paid on 5 May. This is confirmed.",
    ),
    (
        "taken back",
        "When is the talk?",
        "5 May",
        "The talk is on 5 May. This is wrong.",
        "The talk is on 5 May. This is right.",
    ),
    (
        "taken back",
        "When is the talk?",
        "5 May",
        "The talk is on 5 May. That is no longer true.",
        "The talk is on 5 May. It is no longer.",
    ),
    (
        "taken back",
        "When is the talk?",
        "5 May",
        "The talk is on 5 May. Wrong!",
        "The talk is on 5 May. Welcome!",
    ),
    (
        "taken back",
        "When is the talk?",
        "5 May",
        "The talk is on 5 May. Correction: it is on 6 May.",
        "The talk is on 5 May. Reminder: it is in the hall.",
    ),
    (
        "taken back",
        "Who designed the mill?",
        "Ann Low",
        "The mill was designed by Ann Low. She did not!",
        "The mill was designed by Ann Low. She did.",
    ),
    (
        "over",
        "Who is the author of the book?",
        "Eva Stein",
        "The alleged author of the book was Eva Stein.",
        "The author of the book was Eva Stein.",
    ),
    (
        "hearsay",
        "Who will lead the choir?",
        "Eva Stein",
        "The board hoped that Eva Stein will lead the choir.",
        "The board decided that Eva Stein will lead the choir.",
    ),
    (
        "hearsay",
        "When is the report due?",
        "15 May",
        "The board notes that the report is due on 15 May.",
        "Please note that the report is due on 15 May.",
    ),
    (
        "hearsay",
        "When does the alloy melt?",
        "640 degrees",
        "The tests will show that the alloy melts at 640 degrees.",
        "The tests showed that the alloy melts at 640 degrees.",
    ),
    (
        "hearsay",
        "What is the code?",
        "4417",
        "Ivo says the code is 4417.",
        "Ivo owns the shed, and the code is 4417.",
    ),
    (
        "hearsay",
        "Who leads the choir?",
        "Eva Stein",
        "Ann Low says Eva Stein leads the choir.",
        "At weekends Eva Stein leads the choir.",
    ),
    (
        "hearsay",
        "What is the code?",
        "4417",
        "Rumour has it the code is 4417.",
        "The shed has it: the code is 4417.",
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
        "unrealised",
        "Who pays for repairs?",
        "The landlord",
        "The landlord should pay for repairs.",
        "The landlord shall pay for repairs.",
    ),
    (
        "unrealised",
        "When are the panes replaced?",
        "May",
        "The panes were to be replaced in May.",
        "The panes are to be replaced in May.",
    ),
    (
        "unrealised",
        "How often is the filter changed?",
        "every month",
        "The filter should have been changed every month.",
        "The filter should be changed every month.",
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
        "other thing",
        "Who is responsible for room 12?",
        "Ms Kay",
        "Ms Kay is responsible for rooms 10 and 14.",
        "Ms Kay is responsible for rooms 10 to 14.",
    ),
    (
        "other object",
        "Who painted the chapel?",
        "Ida Roe",
        "Ida Roe painted a ceiling and painted a door of the chapel.",
        "Ida Roe painted a ceiling in May and painted the chapel in June.",
    ),
    (
        "part",
        "When was the treaty signed?",
        "1648",
        "The printing of the treaty took place in 1648.",
        "The signing of the treaty took place in 1648.",
    ),
    (
        "other thing",
        "What is the largest toll?",
        "4 pounds",
        "The smallest toll is 4 pounds.",
        "The smallest toll, the largest toll and the rent are 4 pounds.",
    ),
    (
        "turned",
        "When was the heyday of non-Arab art?",
        "1945",
        "The heyday of Arab art was 1945.",
        "The heyday of non-Arab art was 1945.",
    ),
    (
        "unrealised",
        "Who is the mayor of Brae?",
        "Ann Low",
        "The board hopes to make the mayor Ann Low.",
        "Mayor Ann Low said of the visitors that they would leave Brae.",
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
        "unrealised",
        "What game opened in 1990?",
        "Raft Two",
        "Raft Two was to open in 1990.",
        "Raft Two opened in 1990 and will return.",
    ),
    (
        "hearsay",
        "How many teams won once?",
        "ten",
        "The ten teams claim to have won once.",
        "It is one of only ten teams to have won once.",
    ),
    (
        "hearsay",
        "What share of the people is Catholic?",
        "81 percent",
        "According to the porter, 81 percent of the people is Catholic.",
        "According to the 2011 Census, 81 percent of the people is Catholic.",
    ),
    (
        "hearsay",
        "What is the code of the shed?",
        "4417",
        "As for the code of the shed, Ivo claims that it is 4417.",
        "The code of the shed is 4417; Ivo claims that dogs wait.",
    ),
    (
        "open",
        "Who is the singer?",
        "Eva Poe",
        "The singer is Eva Poe (may be changed).",
        "The singer is Eva Poe (born May 21, 1992).",
    ),
    (
        "limit",
        "How many seats are there?",
        "300",
        "There are more than 300 seats.",
        "There are 300 seats.",
    ),
    (
        "part",
        "When is the concert?",
        "8 pm",
        "The lecture on the concert is at 8 pm.",
        "The start of the concert is at 8 pm.",
    ),
)
def test_a_doubt_has_a_twin_that_differs_in_its_form(form, question, answer, text, twin):
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


@for_each(
    "question, other, answer, text",
    ("What did Ann say?", "What did Ann sell?", "the mill is old", "Ann said that the mill is old."),
    ("What was Ann accused of?", "What was sold?", "sold the urn", "Ann was accused of having sold the urn."),
)
def test_hearsay_that_is_asked_for_is_an_answer(question, other, answer, text):
    assert doubt(question, text, answer) == ""
    assert doubt(other, text, "the mill" if "mill" in text else "the urn") == "hearsay"


def test_what_the_question_says_somebody_says_is_no_doubt():
    text = "Ann Low claims that the mill was built in 1820."
    assert doubt("When does Ann Low say the mill was built?", text, "1820") == ""
    assert doubt("When was the mill built?", text, "1820") == "hearsay"


def test_a_sentence_in_other_words_has_another_kind_perhaps():
    question, text = "How heavy is the biggest boat in the lake?", "The largest boat weighs 9 tons."
    assert doubt(question, text, "9 tons") == ""
    assert doubt("How much weighs the biggest boat?", text, "9 tons") == "other thing"


def test_a_modal_verb_of_the_question_is_no_doubt():
    text = "A frost might harm the pears."
    assert doubt("What could a frost harm?", text, "the pears") == ""
    assert doubt("What does a frost harm?", text, "the pears") == "unrealised"


def test_somebody_with_a_name_may_be_called_something_else():
    question, text = "Where does the Ster turn north?", "The river turns north near Brae."
    assert doubt(question, text, "Brae", "Ster") == ""
    assert doubt("Where does the road turn north?", text, "Brae", "Ster") == "other subject"


def test_what_the_question_itself_denies_or_plans_is_no_doubt():
    assert doubt("Who did not sign the lease?", "Hal Denn did not sign the lease.", "Hal Denn") == ""
    assert doubt("When was the inn finished?", "The inn was not finished until 1769.", "1769") == ""
    assert doubt("When will the inn open?", "The inn will open on 2 May.", "2 May") == ""
    assert doubt("What if the pump fails?", "If the pump fails, call the warden.", "call the warden") == ""


def test_an_answer_that_excepts_somebody_is_doubtful():
    answer, text = "Everybody except Max Crow", "Everybody except Max Crow has voted."
    assert doubt("Who has voted?", text, answer) == "exception"


def test_a_purpose_that_is_asked_for_is_no_doubt():
    text = "The aim of the guild was to mend nets."
    assert doubt("What was the aim of the guild?", text, "to mend nets") == ""


def test_what_is_denied_in_another_clause_is_no_doubt():
    question, answer = "Since when has the works in Brae made rope?", "1959"
    told = "The works in Brae has made rope since 1959 and is the only one that has no second."
    denied = "It was built in 1959 and has not made rope at the works."

    assert doubt(question, told, answer) == ""
    assert doubt(question, denied, answer) == "negation"


def test_a_relative_has_another_first_name():
    text = "George Voss (1454 to 1505) was the son of Edmund Voss."
    assert doubt("When did Henry Voss's father die?", text, "1505", "George Voss") == ""
    assert doubt("When did Henry Voss die?", text, "1505", "George Voss") == "other thing"


def test_the_title_says_which_thing_a_sentence_is_about():
    question, text = "What is the pressure of the new press?", "The pressure is 9 bar."
    assert doubt(question, text, "9 bar", "Manual of the old press") == "other thing"
    assert doubt(question, text, "9 bar", "Manual of the new press") == ""


def test_most_written_pairs_of_the_train_part_are_told_apart():
    pairs = [pair for pair in read_pairs() if pair.part == "train"]
    raised = sum(bool(doubt(pair.question, pair.unstated, place_of(pair, pair.unstated))) for pair in pairs)
    wrongly = sum(bool(doubt(pair.question, pair.stated, place_of(pair, pair.stated))) for pair in pairs)
    assert raised >= 0.85 * len(pairs)
    assert wrongly <= 0.05 * len(pairs)


@given(st.text(max_size=60), st.text(max_size=200), st.integers(0, 200), st.integers(0, 40))
def test_any_text_has_a_doubt_or_none(question, text, begin, length):
    assert isinstance(find_doubt(question, "", text, min(begin, len(text)), min(begin + length, len(text))), str)
