"""What the end of a sentence, or a sentence behind it, takes back."""

from tests.components.reader.doubts.doubt import doubt
from tests.for_each import for_each


@for_each(
    "form, question, answer, text, twin",
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
        "taken back",
        "What is the toll?",
        "4 pounds",
        "The toll is 4 pounds. None of this is right.",
        "The toll is 4 pounds. Some of this is for the mill.",
    ),
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
)
def test_what_is_taken_back_is_doubtful_and_its_twin_not(form, question, answer, text, twin):
    assert doubt(question, text, answer) == form
    assert doubt(question, twin, answer) == ""


@for_each(
    "behind, twin",
    (", but will not come.", ", but will come late."),
    (", but will no longer be offered.", ", but is quite small."),
    (", so we took another one.", ", so we need a sponsor."),
    (" (wrong).", " (all day)."),
    (" (cancelled).", " (included)."),
    (" (rejected).", " (booked)."),
    (" (old price).", " (old and new hall)."),
    (" (2019). The castle costs 200 euros (2021).", " (2021). The castle cost 120 euros (2019)."),
    (" - cancelled.", " - call first."),
    (". This price is out of date.", ". This price is on the board."),
    (". It will not come.", ". It will come at ten."),
    (". It is no longer available.", ". It can be rented now."),
    (". That price is off.", ". That price is low."),
    (". No: it is free.", ". No. 7 is free."),
    (". Not any more.", ". Not bad."),
    (". Wrong: it is free.", ". Right: it is new."),
)
def test_what_stands_behind_takes_a_statement_back(behind, twin):
    question, castle = "How much does the bouncy castle cost?", "The bouncy castle costs 180 euros"
    assert doubt(question, castle + behind, "180 euros") == "taken back"
    assert doubt(question, castle + twin, "180 euros") == ""


@for_each(
    "question, answer, text",
    ("What is the first film on a shark?", "Jaws", "The first film on a shark is Jaws (1975)."),
    ("Who first recorded the song?", "Ann Low", "Ann Low first recorded the song, but it was not a hit."),
    ("What is cancelled?", "the fair", "On Sunday the fair (cancelled) was to be in the park."),
)
def test_what_stands_behind_may_tell_something_else(question, answer, text):
    assert doubt(question, text, answer) != "taken back"


@for_each(
    "question, answer, text",
    ("How long is the warranty?", "24 months", "The warranty lasts 24 months. It will not cover worn parts."),
    ("How long is the notice period?", "three months", "The notice period is three months. It cannot be shortened."),
    ("How long is the notice period?", "three months", "The notice period is three months, but cannot be shortened."),
    ("When is the deadline?", "6 May", "The deadline is 6 May. It cannot be extended."),
    ("When is the deadline?", "6 May", "The deadline is 6 May. It can no longer be extended."),
    ("When is the meeting?", "6 May", "The meeting is on 6 May. It will not be moved."),
    ("When is the meeting?", "6 May", "The meeting is on 6 May. It will not take long."),
    ("When is the meeting?", "6 May", "The meeting is on 6 May, but will not take long."),
    ("When is the meeting?", "6 May", "The meeting is on 6 May. No, you do not have to register."),
    ("When is the meeting?", "6 May", "The meeting is on 6 May. No. It is in the hall."),
    ("How much does the tank hold?", "5 litres", "The tank holds 5 litres. It cannot be removed."),
    ("Who is the tenant?", "Ann Low", "The tenant is Ann Low. She cannot sublet the flat."),
    ("Who is the tenant?", "Ann Low", "The tenant is Ann Low. She will not come."),
    ("When is the meeting?", "6 May", "The meeting is on 6 May. She will not come."),
    ("How long is the bridge?", "300 metres", "The bridge is 300 metres long. It is no longer used by trains."),
    ("How long is the bridge?", "300 metres", "The bridge is 300 metres long, but is no longer used by trains."),
    ("How long is the hall?", "30 metres", "The hall is 30 metres long, but has another entrance."),
    ("What is the fee?", "12 euros", "The fee is 12 euros. It will not be refunded."),
    ("How many onions do you need?", "2 onions", "You need 2 onions, chopped."),
    ("How much cheddar do you need?", "200 g of cheddar", "You need 200 g of cheddar, grated."),
    ("What is the house made of?", "brick", "The house is made of brick, painted."),
    ("What is the house made of?", "brick", "The house is made of brick (insulated)."),
    ("Where is the key?", "in the top drawer", "The key is in the top drawer (locked)."),
    ("How fast is the car?", "200 km/h", "The speed of the car is 200 km/h (limited)."),
    ("What is the price?", "120 euros", "The price is 120 euros, reduced."),
    ("What is the price?", "120 euros", "The price is 120 euros (discounted)."),
    ("What is the address?", "a@b.c", "The address is a@b.c (monitored)."),
    ("Who is Tom played by?", "Bo Lind", "Tom is played by Bo Lind, deceased."),
    ("What is the population of Brae?", "12,000", "Brae has a population of 12,000 (2021)."),
    ("What is the unemployment rate?", "6%", "The unemployment rate is 6% (2020)."),
    ("What is the population of Brae?", "12,000", "Brae has a population of 12,000 (2011). Toft has 3,000 (2021)."),
    ("Where is the ring worn?", "on the left hand", "The ring is worn on the left hand, but customs vary elsewhere."),
)
def test_a_property_behind_a_statement_takes_nothing_back(question, answer, text):
    assert doubt(question, text, answer) == ""
