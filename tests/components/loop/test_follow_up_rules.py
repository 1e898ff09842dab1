"""Rules rewrite a follow-up from the question and answer before it."""

from prefrag.components.loop.follow_up_rules import pair_turns, rewrite_by_rules
from tests.for_each import for_each

ADA = ("Who led the Halyard project?", "Ada Quill")
SHIP = ("On which ship is the pump tried?", "the training ship Merganser")
TRAILER = ("How much may the trailer carry?", "1,150 kilograms")
LONG = ("Which ship sails?", "It was decided in May that of all ships only the Merganser sails.")


@for_each(
    "turn, question, meant",
    (ADA, "when did she leave?", "when did Ada Quill leave?"),
    (ADA, "What is her title?", "What is Ada Quill's title?"),
    (ADA, "who chose her in May?", "who chose Ada Quill in May?"),
    (SHIP, "where did it put in", "where did Merganser put in"),
    (SHIP, "How old is this ship?", "How old is the ship (Merganser)?"),
    (SHIP, "who sails there?", "who sails in Merganser?"),
    (TRAILER, "What did its inspection cost?", "What did the trailer's inspection cost?"),
    (("When did Ada Quill sail to Dover?", "1921"), "Was she alone?", "Was Ada Quill alone?"),
    (("Where is /etc/halyard.conf read?", "at the start"), "what does it set", "what does /etc/halyard.conf set"),
    (("When was the Merganser built?", "1921"), "And the Petrel?", "When was the Petrel built?"),
    (("When was the boiler in block C replaced?", "2021"), "who replaced it?", "who replaced the boiler in block C?"),
    (("How old is R?", "33"), "who wrote it?", "who wrote R?"),
    (("Is Vienna big?", "Yes."), "When was it founded?", "When was Vienna founded?"),
    (LONG, "where is it", None),
    (TRAILER, "how old is he", "how old is the trailer"),
    (("how much?", "No sure answer."), "when was it built?", None),
    (ADA, "Why?", None),
    (SHIP, "And in 2019?", "On which ship is the pump tried in 2019?"),
    (("How many came in 2024?", "31"), "and in 2019?", "How many came in 2019?"),
    (("How many came in 2024?", "31"), "For 2019?", "How many came in 2019?"),
    (("Which pump moves 1500 litres?", "R2"), "and in 2019?", "Which pump moves 1500 litres in 2019?"),
    (("How many more came in 2024 than in 2023?", "3"), "and in 2019?", None),
    (("Who is the witness of Ada Quill's will?", "Ben Marsh"), "And in the older one?", None),
    (("Who is the witness of Ada Quill's will?", "Ben Marsh"), "and the newer ones?", None),
    (SHIP, "what does this word mean", None),
    (("Who painted the barn?", "Joan Ek and Tor Vik"), "When was she born?", None),
    # A township is no ship, but one of several ships is.
    (("How large is the township of Halyard?", "4 km"), "who built this ship?", None),
    (("Which ships has Halyard?", "three"), "who built this ship?", "who built the ship (Halyard)?"),
)
def test_a_pronoun_becomes_what_was_named_before(turn: tuple[str, str], question: str, meant: str | None):
    assert rewrite_by_rules(question, [turn]) == meant


@for_each(
    "asked, question, meant",
    ("Who cleans the barn on lot 3?", "When was it built?", "When was the barn on lot 3 built?"),
    ("Who cleans the barn on lot 3?", "How old is this barn?", "How old is the barn on lot 3?"),
    ("What does the bus to Kelso cost?", "How long does it take?", "How long does the bus to Kelso take?"),
    ("When does the spring fair take place?", "Who runs it?", "Who runs the spring fair?"),
    ("Who led the Halyard project?", "When did it end?", "When did the Halyard project end?"),
    ("How long is the Petrel?", "Where is its home port?", "Where is the Petrel's home port?"),
    # The first noun is a person.
    ("Who is the manager of the Kelso branch?", "Who works there?", "Who works in the Kelso branch?"),
    ("Who is the captain of the Petrel?", "How old is it?", "How old is the Petrel?"),
    # The price and the table may be meant, but only the hours are several things.
    ("What is the price of the oak table?", "How heavy is it?", None),
    ("What are the opening hours of the pool?", "What does it cost?", "What does the pool cost?"),
    ("When does the night bus leave for the east yard?", "What does it cost?", None),
    ("Which rules apply in Sweden?", "Who wrote them?", None),
    ("What is the fee for members?", "How do they pay it?", None),
    # Nobody was named.
    ("Who is the captain of the Petrel?", "When was she born?", None),
    ("Who teaches the sewing class?", "When was she born?", None),
)
def test_a_pronoun_becomes_the_phrase_that_tells_the_thing_apart(asked: str, question: str, meant: str | None):
    assert rewrite_by_rules(question, [(asked, "")]) == meant


@for_each(
    "question",
    "how often do I turn the compost?",
    "What did Hester Quayle say of it?",
    "how heavy is the trailer when it is full?",
    "is it true that the moon is round?",
    "and who is the treasurer?",
    "what happened this year?",
    "Wann wurde es gebaut?",
)
def test_a_question_that_names_what_it_asks_for_is_left_alone(question: str):
    assert rewrite_by_rules(question, [SHIP]) == question


@for_each(
    "asked, fragment, meant",
    ("How far is Bergen from Berg?", "and from Oslo?", "How far is Bergen from Oslo?"),
    ("Who met Annabel in Anna?", "and in Linz?", "Who met Annabel in Linz?"),
    (
        "Does the Portland cement plant export to Port?",
        "and to Lima?",
        "Does the Portland cement plant export to Lima?",
    ),
    ("When did Ada Quill found Ada?", "and Dover?", "When did Ada Quill found Dover?"),
    # Where the name itself stands twice, both are meant.
    (
        "Who planned Bergen's harbour, and who built Bergen?",
        "and Oslo?",
        "Who planned Oslo's harbour, and who built Oslo?",
    ),
    ('Who wrote "Art  of War" for Art?', "and for Ada?", 'Who wrote "Art  of War" for Ada?'),
    ("Who painted “Art”?", "and “Love”?", "Who painted “Love”?"),
    # So with phrases, whatever word they begin with.
    ("who broke the car in the carpark?", "and the boat?", "who broke the boat in the carpark?"),
    ("where is our harbour?", "and the mill?", "where is the mill?"),
)
def test_a_fragment_replaces_the_last_name_and_no_part_of_a_word(asked: str, fragment: str, meant: str):
    assert rewrite_by_rules(fragment, [(asked, "")]) == meant


@for_each(
    "asked, fragment, meant",
    # What stands behind the same preposition is replaced.
    ("Who cleans the barn on lot 3?", "And on lot 4?", "Who cleans the barn on lot 4?"),
    ("When does the lease of the barn on lot 3 end?", "and on lot 4?", "When does the lease of the barn on lot 4 end?"),
    ("Who guards the gate of the east yard?", "And of the west yard?", "Who guards the gate of the west yard?"),
    ("What is the fee for adults?", "And for children?", "What is the fee for children?"),
    ("Who has the key of the hut in the wood?", "And at the lake?", None),
    ("Who audited Ferro?", "And in Oslo?", None),
    ("When does the bus from Ness to Brae leave?", "And from Tarn?", "When does the bus from Tarn to Brae leave?"),
    ("What is the dose for children under 12?", "And for adults?", None),
    # "The one" and "that" stand for the noun of the question.
    ("When was the barn on lot 3 built?", "And the one on lot 4?", "When was the barn on lot 4 built?"),
    ("What is the address of Ferro?", "And that of Kell and Sons?", "What is the address of Kell and Sons?"),
    ("How wide is the red door?", "And the blue one?", "How wide is the blue door?"),
    ("How many seats does the red bus have?", "And the blue one?", "How many seats does the blue bus have?"),
    ("How wide is the red door?", "And the older one?", None),
    ("How wide is the red door of the old barn?", "And the blue one?", None),
    # A noun replaces the phrase with the same noun, and no part of the verb.
    ("Who keeps the key of the red hut?", "And the blue hut?", "Who keeps the key of the blue hut?"),
    ("Who keeps the plan of hut 1?", "And the key of hut 2?", "Who keeps the key of hut 2?"),
    ("When does the spring fair take place?", "And the market?", "When does the market take place?"),
    ("When was the Merganser built?", "And the training ship?", "When was the training ship built?"),
    ("How many hours do apprentices work?", "And managers?", "How many hours do managers work?"),
    ("How many hours do new apprentices work?", "And managers?", "How many hours do managers work?"),
    ("How many hours do apprentices work?", "And firemen?", "How many hours do firemen work?"),
    ("How many hours do people work?", "And managers?", "How many hours do managers work?"),
    ("How many hours do apprentices work?", "And lunch?", None),
    ("How many hours do apprentices work?", "And full-time cooks?", "How many hours do full-time cooks work?"),
    ("Who is the treasurer?", "And managers?", None),
    ("What was the cost of the barn?", "And the year before?", None),
    # Polite words come before.
    ("What is the phone number of Ferro?", "ok, and the address?", "What is the address of Ferro?"),
    # A question word alone needs a verb behind the earlier question word.
    ("Where was the Merganser built?", "When?", "When was the Merganser built?"),
    ("When did Ada Quill retire?", "And why?", "Why did Ada Quill retire?"),
    ("Where did Ada Quill retire?", "When was that?", "When did Ada Quill retire?"),
    ("Where is the key?", "When?", None),
    ("Who built the barn?", "Where?", None),
)
def test_a_fragment_replaces_what_has_the_same_form(asked: str, fragment: str, meant: str | None):
    assert rewrite_by_rules(fragment, [(asked, "")]) == meant


def test_a_fragment_is_completed_before_what_follows_it():
    asked = [("Who is the captain of the Petrel?", "Ada Quill"), ("And of the Merganser?", "Ben Marsh")]

    assert rewrite_by_rules("Where was he born?", asked) == "Where was Ben Marsh born?"
    assert rewrite_by_rules("And the cook?", asked) == "Who is the cook of the Merganser?"

    asked = [("What does Ferro sell?", "steel"), ("What is the address there?", "Mill Road 3")]

    assert rewrite_by_rules("And the phone number?", asked) == "What is the phone number in Ferro?"


def test_a_pronoun_keeps_what_it_stands_for():
    said = (ADA, ("Who did she marry?", "Bert Quayle"), ("How old is he?", "41"), ("Where did she live?", "Dover"))
    history = [(role, text) for turn in said for role, text in zip(("user", "assistant"), turn, strict=True)]

    assert rewrite_by_rules("when did she leave?", pair_turns(history)) == "when did Ada Quill leave?"
    assert rewrite_by_rules("when did he leave?", pair_turns(history)) == "when did Bert Quayle leave?"
    assert pair_turns([("user", "a"), ("user", "b"), ("assistant", "c")]) == [("a", ""), ("b", "c")]


MILL = ("Who owns the mill?", "Bert Quayle")
HIS_SISTER = ("Who is his sister?", "Ada Quill")
HIS_UNKNOWN_SISTER = ("Who is his sister?", "No sure answer.")


@for_each(
    "turns, question, meant",
    ([MILL, HIS_SISTER], "Where was she born?", "Where was Ada Quill born?"),
    ([MILL, HIS_SISTER], "Where was he born?", "Where was Bert Quayle born?"),
    # Only the sister can be "she", and nobody has told who she is.
    ([MILL, HIS_UNKNOWN_SISTER], "Where was she born?", None),
    ([MILL, HIS_UNKNOWN_SISTER], "Where was he born?", "Where was Bert Quayle born?"),
    ([("Who is the sister of Bert Quayle?", "")], "When was she born?", None),
    ([("Who is Bert Quayle's sister?", "")], "When was she born?", None),
    ([("Who is the mayor of Dover?", "")], "When was she born?", None),
    ([ADA, ("Who is the owner of the mill?", "")], "When was she born?", "When was Ada Quill born?"),
    ([("Who was Bert Quayle?", "")], "When was he born?", "When was Bert Quayle born?"),
    # A man of the newest turn is not meant by "she".
    ([ADA, MILL, ("How old is he?", "41")], "Where was she born?", "Where was Ada Quill born?"),
    ([("Who taught Ada Quill?", ""), ("When did she retire?", "1990")], "When did he retire?", None),
    # Of two persons in a turn, nobody knows who was "he".
    (
        [("Who hired Bert Quayle?", "Ada Quill"), ("When did he start?", "2019")],
        "When did she go?",
        "When did Ada Quill go?",
    ),
    (
        [("Who leads Dover?", "Ada Quill"), ("How old is she?", "51")],
        "Where does he live?",
        "Where does Ada Quill live?",
    ),
    # Where nobody else is named, the pronoun may be a slip.
    ([MILL, ("How old is he?", "41")], "Where was she born?", "Where was Bert Quayle born?"),
)
def test_whoever_was_he_in_a_turn_is_not_she(turns: list[tuple[str, str]], question: str, meant: str | None):
    assert rewrite_by_rules(question, turns) == meant
