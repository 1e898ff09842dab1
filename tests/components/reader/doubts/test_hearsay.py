"""What somebody says, thinks or denies."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "form, question, answer, text, twin",
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
        "The shed has it; the code is 4417.",
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
)
def test_what_is_only_said_is_doubtful_and_its_twin_not(form, question, answer, text, twin):
    assert doubt(question, text, answer) == form
    assert doubt(question, twin, answer) == ""


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


@for_each(
    "text, twin",
    ("Piet thinks the bouncy castle costs 180 euros.", "Piet knows the bouncy castle costs 180 euros."),
    ("I guess the bouncy castle costs 180 euros.", "In all the bouncy castle costs 180 euros."),
    ("Our neighbour imagines the bouncy castle costs 180 euros.", "Ann has the bouncy castle, which costs 180 euros."),
    ("Hopefully the bouncy castle costs 180 euros.", "Currently the bouncy castle costs 180 euros."),
    ("Suppose the bouncy castle costs 180 euros.", "Today the bouncy castle costs 180 euros."),
    ("Imagine that the bouncy castle costs 180 euros.", "On Sunday the bouncy castle costs 180 euros."),
    ("Let us say the bouncy castle costs 180 euros.", "In our fair the bouncy castle costs 180 euros."),
    ("The bouncy castle costs 180 euros, or so they say.", "The bouncy castle costs 180 euros, or so with tax."),
    ("The bouncy castle costs 180 euros, says Piet.", "The bouncy castle costs 180 euros, with tax."),
    ("The bouncy castle costs 180 euros, I believe.", "The bouncy castle costs 180 euros, I know."),
    ("The bouncy castle, they tell us, costs 180 euros.", "The bouncy castle, new this year, costs 180 euros."),
    ("The bouncy castle is estimated to cost 180 euros.", "The bouncy castle is allowed to cost 180 euros."),
    ("It is a joke that the bouncy castle costs 180 euros.", "The bouncy castle that we rent costs 180 euros."),
)
def test_an_opinion_is_doubtful_and_its_twin_not(text, twin):
    question = "How much does the bouncy castle cost?"
    assert doubt(question, text, "180 euros") == "hearsay"
    assert doubt(question, twin, "180 euros") == ""


@for_each(
    "question, answer, text",
    ("What is the price of the calf?", "700 euros", "My uncle imagines the calf costs 700 euros."),
    ("Who cuts the hedge?", "Vera Moll", "Jens bets Vera Moll cuts the hedge."),
)
def test_an_opinion_may_have_any_verb(question, answer, text):
    assert doubt(question, text, answer) == "hearsay"


@for_each(
    "question, answer, text",
    ("How much does the pump deliver?", "30 litres", "The pump is designed to deliver 30 litres."),
    ("How much does the shelf hold?", "30 kg", "The shelf is rated to hold 30 kg."),
    ("How much does the shelf hold?", "30 kg", "The shelf is tested to hold 30 kg."),
    ("How much does the policy cover?", "5000 euros", "The policy is limited to cover 5000 euros."),
    ("How much does it cost?", "300 euros", "It was reduced to cost 300 euros."),
    ("How much does the repair cost?", "300 euros", "I confirm the repair costs 300 euros."),
    ("When does the shop open?", "9", "Ann confirmed the shop opens at 9."),
    ("When does the course begin?", "6 May", "The chair announced the course begins on 6 May."),
    ("How much does the repair cost?", "300 euros", "The repair costs 300 euros, we agreed."),
)
def test_what_is_made_so_confirmed_or_agreed_is_stated(question, answer, text):
    assert doubt(question, text, answer) == ""
