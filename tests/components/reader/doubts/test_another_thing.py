"""A sentence with an answer may be about another thing than the question."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


def test_a_question_with_only_a_verb_is_read():
    assert doubt("What makes The Hague famous?", "The Hague is famous for its court.", "its court") == ""


@for_each(
    "question, answer, text, right, twin",
    (
        "What stands north of the tannery?",
        "the ropewalk",
        "The tannery stands north of the ropewalk.",
        "The ropewalk",
        "The ropewalk stands north of the tannery.",
    ),
    (
        "Which firm supplies Tarn Ltd?",
        "Brae Ltd",
        "Tarn Ltd supplies Brae Ltd.",
        "Brae Ltd",
        "Tarn Ltd is supplied by Brae Ltd.",
    ),
    ("What caused the fire?", "a power cut", "The fire caused a power cut.", "A heater", "A heater caused the fire."),
    (
        "What powers the mill?",
        "the saw",
        "The mill powers the saw.",
        "a turbine",
        "In winter a turbine powers the mill.",
    ),
)
def test_an_object_is_no_subject_of_a_thing_s_verb(question, answer, text, right, twin):
    assert doubt(question, text, answer) == "role"
    assert doubt(question, twin, right) == ""


@for_each(
    "form, question, answer, text, twin",
    (
        "role",
        "Who designed the buoy that was built for Bo Lind?",
        "Bo Lind",
        "Ann Low designed it at the wish of Bo Lind.",
        "At the wish of Ann Low, Bo Lind designed it.",
    ),
    (
        "role",
        "Who founded the press?",
        "Bo Lind",
        "The press was founded by Ann Low for Bo Lind in 1990.",
        "The press was founded by Ann Low and Bo Lind in 1990.",
    ),
    (
        "role",
        "Who built the boat?",
        "Bo Lind",
        "Ann Low built the boat near the house of Bo Lind.",
        "Ann Low built the boat with Bo Lind.",
    ),
    (
        "role",
        "Who broke an arm?",
        "Bo Lind",
        "Carolina broke down near Bo Lind.",
        "Carolina broke down when Bo Lind had broken an arm.",
    ),
    ("role", "Who called the vicar?", "Tim Nye", "The vicar called Tim Nye.", "The vicar was called by Tim Nye."),
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
        "property",
        "What is the code of the north gate?",
        "Fenway",
        "The north gate is called Fenway. The code is kept by the porter.",
        "The code of the north gate is Fenway. The porter keeps the key.",
    ),
    (
        "other subject",
        "When do the juniors train?",
        "Tuesday",
        "On Tuesday the seniors train.",
        "On Tuesday the juniors train.",
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
    ("other thing", "How old is Hanna Voss?", "41", "Martha Voss is 41.", "Hanna Voss is 41."),
    (
        "other thing",
        "Who is responsible for room 12?",
        "Ms Kay",
        "Ms Kay is responsible for rooms 10 and 14.",
        "Ms Kay is responsible for rooms 10 to 14.",
    ),
    (
        "other thing",
        "What is the largest toll?",
        "4 pounds",
        "The smallest toll is 4 pounds.",
        "The smallest toll, the largest toll and the rent are 4 pounds.",
    ),
    (
        "other time",
        "How many boats came after the fire?",
        "twenty",
        "Before the fire, twenty boats came.",
        "Since the fire, twenty boats came.",
    ),
    (
        "other object",
        "Who painted the chapel?",
        "Ida Roe",
        "Ida Roe painted a ceiling in the chapel.",
        "Ida Roe painted the chapel in May.",
    ),
    (
        "other object",
        "Who painted the chapel?",
        "Ida Roe",
        "Ida Roe painted a ceiling and painted a door of the chapel.",
        "Ida Roe painted a ceiling in May and painted the chapel in June.",
    ),
    (
        "turned",
        "How many cases were reported?",
        "forty",
        "There were forty unreported cases.",
        "There were forty reported cases.",
    ),
    (
        "turned",
        "When was the heyday of non-Arab art?",
        "1945",
        "The heyday of Arab art was 1945.",
        "The heyday of non-Arab art was 1945.",
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
        "part",
        "When was the treaty signed?",
        "1648",
        "The printing of the treaty took place in 1648.",
        "The signing of the treaty took place in 1648.",
    ),
    (
        "part",
        "When is the concert?",
        "8 pm",
        "The lecture on the concert is at 8 pm.",
        "The start of the concert is at 8 pm.",
    ),
)
def test_another_thing_raises_a_doubt_and_its_twin_none(form, question, answer, text, twin):
    assert doubt(question, text, answer) == form
    assert doubt(question, twin, answer) == ""


@for_each(
    "question, answer, text, expected",
    ("Who founded the press that printed it?", "Longshore Press", "Longshore Press printed it.", "described thing"),
    ("With whom did Ann paint the boat that sank?", "the blue boat", "The boat is the blue boat.", "described thing"),
    ("Who founded the press that printed it?", "Nora Quill", "Nora Quill founded Longshore Press.", ""),
    ("Which press printed the book that sank?", "Longshore Press", "Longshore Press printed the book.", ""),
    ("Who is the king that sank?", "the old king", "It was the old king.", ""),
)
def test_the_thing_that_is_only_described_is_no_answer(question, answer, text, expected):
    assert doubt(question, text, answer) == expected


def test_a_sentence_in_other_words_has_another_kind_perhaps():
    question, text = "How heavy is the biggest boat in the lake?", "The largest boat weighs 9 tons."
    assert doubt(question, text, "9 tons") == ""
    assert doubt("How much weighs the biggest boat?", text, "9 tons") == "other thing"


def test_somebody_with_a_name_may_be_called_something_else():
    question, text = "Where does the Ster turn north?", "The river turns north near Brae."
    assert doubt(question, text, "Brae", "Ster") == ""
    assert doubt("Where does the road turn north?", text, "Brae", "Ster") == "other subject"


def test_a_relative_has_another_first_name():
    text = "George Voss (1454 to 1505) was the son of Edmund Voss."
    assert doubt("When did Henry Voss's father die?", text, "1505", "George Voss") == ""
    assert doubt("When did Henry Voss die?", text, "1505", "George Voss") == "other thing"


def test_the_title_says_which_thing_a_sentence_is_about():
    question, text = "What is the pressure of the new press?", "The pressure is 9 bar."
    assert doubt(question, text, "9 bar", "Manual of the old press") == "other thing"
    assert doubt(question, text, "9 bar", "Manual of the new press") == ""
