"""An answer that holds only for a case, a later time, another office or another person."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "question, answer, text, twin",
    (
        "Who is the chair?",
        "Ann Low",
        "From 1 January 2999 the chair is Ann Low.",
        "From 1 May 2019 the chair is Ann Low.",
    ),
    ("Who is the chair?", "Ann Low", "The chair is Ann Low from May 2999.", "Since May 2019 the chair is Ann Low."),
    ("Who is the chair?", "Ann Low", "As of 2099 the chair is Ann Low.", "As of 2019 the chair is Ann Low."),
    ("Who is the chair?", "Ann Low", "From May 2999 the chair is Ann Low.", "From 9 to 17 the chair is Ann Low."),
    (
        "Who is the chair?",
        "Ann Low",
        "From \u017feptember 2999 the chair is Ann Low.",
        "From \u017feptember the chair is Ann Low.",
    ),
    (
        "What is the entry fee?",
        "12 euros",
        "For members the entry fee is 12 euros.",
        "At the gate the entry fee is 12 euros.",
    ),
    (
        "What is the camp's fee?",
        "200 euros",
        "With a sibling, the fee is 200 euros.",
        "This year, the fee is 200 euros.",
    ),
    (
        "What is the entry fee?",
        "12 euros",
        "The entry fee is 12 euros for members and 20 euros for guests.",
        "The entry fee is 12 euros for members.",
    ),
    (
        "What is the entry fee?",
        "12 euros",
        "The entry fee is 12 euros for members. For guests it is 20 euros.",
        "The entry fee is 12 euros for members. The deposit is 20 euros.",
    ),
    (
        "What does the tent cost?",
        "120 euros",
        "The tent costs 120 euros in May and 180 euros in June.",
        "The tent costs 120 euros in May and has 18 poles.",
    ),
    (
        "When does the shop open?",
        "9.30",
        "The shop opens at 9.30 in winter and at 8.00 in summer.",
        "The shop opens at 9.30 and closes at 18.00.",
    ),
    (
        "How much does the castle cost?",
        "180 euros",
        "The castle costs 180 euros less than the tent.",
        "The castle costs 180 euros, less than the tent.",
    ),
    ("Who is the treasurer?", "Bo Lind", "The assistant treasurer is Bo Lind.", "The new treasurer is Bo Lind."),
)
def test_what_holds_only_for_a_case_is_doubtful(question, answer, text, twin):
    assert doubt(question, text, answer) == "restricted"
    assert doubt(question, twin, answer) == ""


@for_each(
    "question, answer, text",
    ("What is the entry fee for members?", "12 euros", "For members the entry fee is 12 euros."),
    ("What does the tent cost in May?", "120 euros", "The tent costs 120 euros in May and 180 euros in June."),
    ("How much less than the tent does it cost?", "180 euros", "The castle costs 180 euros less than the tent."),
    ("Who is the assistant treasurer?", "Bo Lind", "The assistant treasurer is Bo Lind."),
    ("When was the hall built?", "1920", "The hall was built in 1920 for the choir."),
    ("Who is the chair from May 2999?", "Ann Low", "From May 2999 the chair is Ann Low."),
)
def test_a_case_that_the_question_names_raises_no_doubt(question, answer, text):
    assert doubt(question, text, answer) == ""


@for_each(
    "text, twin",
    ("The phone number of Ann Low's mother is 4417.", "Ann Low's phone number is 4417."),
    ("The phone number of the mother of Ann Low is 4417.", "The new phone number of Ann Low is 4417."),
    ("Dear Ann,\nmy phone number is 4417.\nBo", "Dear Bo,\nmy phone number is 4417.\nAnn Low"),
)
def test_what_another_person_has_is_doubtful(text, twin):
    question = "What is the phone number of Ann Low?"
    assert doubt(question, text, "4417") == "other person"
    assert doubt(question, twin, "4417") == ""


@for_each(
    "question, answer, text",
    ("What is the rent?", "900 euros", "The rent is 900 euros without heating."),
    ("What is the rent?", "900 euros", "The rent is 900 euros without heating. The deposit is 1,800 euros."),
    ("What is the membership fee?", "40 euros", "The membership fee is 40 euros for adults."),
    ("What is the dose?", "20 mg", "The dose is 20 mg for adults."),
    ("How hot should the oven be?", "180 degrees", "Heat the oven to 180 degrees for the cake."),
    ("How much flour do you need?", "500 grams", "You need 500 grams for the dough."),
    ("What is the budget?", "5,000 euros", "The budget is 5,000 euros for the roof."),
    ("How many volts does it need?", "12 volts", "It needs 12 volts for operation."),
    ("How much does the bike weigh?", "12 kg", "The bike weighs 12 kg without pedals."),
    ("What is the allowance?", "50 euros", "The allowance is 50 euros for travel."),
    ("What is the allowance?", "50 euros", "The allowance is 50 euros for each day."),
    ("What is the fee?", "12 euros", "The fee is 12 euros for now."),
    ("What is the fee?", "12 euros", "For your information, the fee is 12 euros."),
    ("What is the fee?", "12 euros", "Without doubt, the fee is 12 euros."),
    ("What is the fee?", "12 euros", "Without a doubt, the fee is 12 euros."),
    ("What is the fee?", "12 euros", "For years the fee has been 12 euros."),
    ("What is the number of the office?", "4417", "For details the number of the office is 4417."),
    ("What is the limit?", "30 km/h", "For safety reasons the limit is 30 km/h."),
    ("What is the rent?", "900 euros", "From 1 March, the rent is 900 euros."),
    ("What is the rent?", "900 euros", "The rent has been 900 euros from May."),
    ("What does the museum show?", "boats", "From October the museum shows boats."),
    ("Who is the treasurer?", "Ann Low", "The club treasurer is Ann Low."),
    ("Who is the editor?", "Ann Low", "The managing editor is Ann Low."),
    ("Who is the mayor?", "Ann Low", "The town mayor is Ann Low."),
    ("Who is the manager?", "Ann Low", "The store manager, Ann Low, is here."),
    ("Who is the secretary?", "Ann Low", "The company secretary is Ann Low."),
    ("Who is the coach?", "Ann Low", "The head coach is Ann Low."),
    ("Who is the engineer?", "Ann Low", "The lead engineer is Ann Low."),
    ("Who is the director of the museum?", "Ann Low", "The founding director of the museum is Ann Low."),
    ("Who is the pope?", "Ann Low", "The reigning pope is Ann Low."),
    ("Who is the author of the book?", "Ann Low", "The famous author of the book is Ann Low."),
    ("Who is our doctor?", "Ann Low", "Our family doctor is Ann Low."),
    ("What is the capital of Peru?", "Lima", "Peru's largest city is Lima, the capital."),
    ("What is the fee?", "12 euros", "From \u017feptember 2019 the fee is 12 euros."),
)
def test_a_purpose_a_month_or_a_kind_of_office_restricts_nothing(question, answer, text):
    assert doubt(question, text, answer) == ""
