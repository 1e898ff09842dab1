"""One of the things between which a question lets choose, in a sentence that does not say what is asked."""

from prefrag.components.reader.doubts.other_option import compares_options, without_other_options
from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each

BREED = "Which breed comes from Germany, the Spinone or the Hovawart?"


@for_each(
    "question, answer, text, right, twin",
    (BREED, "The Spinone", "The Spinone is a breed from Italy.", "The Hovawart", "The Hovawart comes from Germany."),
    (BREED, "Spinone", "The Spinone is a breed from Italy.", "Hovawart", "The Hovawart is German: it is from Germany."),
    (
        "Which film is about a poetry contest, Slam or Race?",
        "Race",
        "Race is a film by Vic Abel.",
        "Slam",
        "Slam follows a poetry contest.",
    ),
    (
        "Who runs the archive, Ada Ford or Bo Lind?",
        "Ada Ford",
        "Ada Ford runs the shop.",
        "Bo Lind",
        "Bo Lind runs the archive.",
    ),
    (
        "Which house has a garden, Elm End or Oak End?",
        "Elm End",
        "Elm End has a cellar.",
        "Oak End",
        "Oak End has a garden.",
    ),
    (
        "Which school closed in 1990, Brae or Ness?",
        "Brae",
        "Brae School closed in 1981.",
        "Ness",
        "Ness closed in 1990.",
    ),
    (
        "Is Brae College or Ness College public?",
        "Brae College",
        "Brae College is private.",
        "Ness College",
        "Ness College is public.",
    ),
    (
        "Did Ada Ford or Bo Lind sign the lease?",
        "Ada Ford",
        "Ada Ford read the plan.",
        "Bo Lind",
        "Bo Lind signed the lease.",
    ),
    ("Who pays the toll, Ada, Bo or Cy?", "Cy", "Cy pays the rent.", "Bo", "Bo pays the toll."),
    ("Who pays the toll: Ada or Bo?", "Bo", "Bo pays the rent.", "Ada", "Ada pays the toll."),
    ("Which team won the cup: Oak, Ash or Elm?", "Ash", "Ash lost the match.", "Elm", "Elm won the cup."),
    (
        'Which song is by Ada Ford, "Low Tide" or "High Tide"?',
        "Low Tide",
        "Low Tide is by Bo Lind.",
        "High Tide",
        "High Tide is by Ada Ford.",
    ),
)
def test_the_option_without_what_is_asked_is_doubtful(question, answer, text, right, twin):
    assert doubt(question, text, answer) == "other option"
    assert doubt(question, twin, right) == ""


@for_each(
    "question, answer, text",
    ("Which is older, the mill or the inn?", "The mill", "The mill was built in 1690."),
    ("Which film came out first, Slam or Race?", "Race", "Race is a film of 1990."),
    ("Who was born earlier, Ada Ford or Bo Lind?", "Bo Lind", "Bo Lind (born 1901) was a painter."),
    ("Is the boat red or blue?", "red", "The boat is red."),
    ("Is the fee 20 or 25 euros?", "25 euros", "The fee is 25 euros."),
    ("Do I pay in cash or by card?", "by card", "You can only pay by card."),
    ("Was the mill or the inn sold in 2020?", "The mill", "The mill was sold in 2019."),
    ("Who signs for one or two nights?", "Ada Ford", "Ada Ford signs for them."),
    ("Who is the editor of Salt or Sand?", "Ada Ford", "The editor is Ada Ford."),
)
def test_other_questions_with_or_raise_no_doubt(question, answer, text):
    assert doubt(question, text, answer) == ""


@for_each(
    "question, answer, text",
    ("Does the class start at 9 or at 10?", "10", "The class starts at 10."),
    ("Is the piano in Brae or in Ness?", "Ness", "The piano is in Ness."),
    ("Is the supplier Hart Ltd or Combe Ltd?", "Combe Ltd", "The supplier is Combe Ltd."),
    ("Should the samples be frozen or dried?", "dried", "The samples should be dried."),
)
def test_the_sentence_needs_nothing_of_the_other_options(question, answer, text):
    assert doubt(question, text, answer) == ""


@for_each(
    "question, answer, left",
    ("Does it begin at 9 or at 10?", "10", "Does it begin at 10"),
    ("Who drives the van: Tom, Una or Vic?", "Vic", "Who drives the van Vic"),
    ("Is the piano in room 12 or room 14?", "room 12", "Is the piano in room 12"),
    ("Who drives the van or the bus?", "Una", "Who drives the van or the bus?"),
    ("Who drives the van?", "Una", "Who drives the van?"),
)
def test_the_other_options_of_a_question_are_left_out(question, answer, left):
    assert without_other_options(question, answer) == left


@for_each(
    "question, answer, compares",
    ("Which is older, the mill or the inn?", "the mill", True),
    ("Which film came out first, Slam or Race?", "Race", True),
    ("Which mountain is taller, Gasherbrum II or Langtang Ri?", "Gasherbrum II", True),
    ("Which genus has more species, Crowea or Dracula?", "Dracula", True),
    (BREED, "Hovawart", False),
    ("Who is the older brother of Ada?", "Bo", False),
    ("", "", False),
)
def test_a_comparison_is_of_two_options(question, answer, compares):
    assert compares_options(question, answer) is compares
