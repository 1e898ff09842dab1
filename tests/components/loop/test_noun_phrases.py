"""The noun phrases of a question end before its verb and keep what tells the thing apart."""

from prefrag.components.loop.noun_phrases import find_noun_phrases
from tests.for_each import for_each


@for_each(
    "question, phrase",
    ("When was the pump in cellar 4 installed?", "the pump in cellar 4"),
    ("When was the pump installed in cellar 4?", "the pump installed in cellar 4"),
    ("Who wrote the report on the flood?", "the report on the flood"),
    ("Who cleans the windows that face the yard?", "the windows that face the yard"),
    ("When was the barn that burnt in May painted?", "the barn that burnt in May"),
    ("Who led the Halyard project, and why?", "the Halyard project"),
    ("Who chaired the meeting on 3 May?", "the meeting on 3 May"),
    # After an auxiliary verb, the verb has no ending. It may have two words.
    ("When does the bus to Kelso leave?", "the bus to Kelso"),
    ("When does the lease for the annexe expire?", "the lease for the annexe"),
    ("When does the night bus to Kelso leave?", "the night bus to Kelso"),
    ("When did the old crane break down?", "the old crane"),
    ("When does the spring fair take place?", "the spring fair"),
    ("When does the sale of the mill go through?", "the sale of the mill"),
    ("Where does the bakery sell rolls?", "the bakery"),
    ("When does the office usually open?", "the office"),
    ("When will the new hall be opened?", "the new hall"),
    ("Did all the old members come?", "the old members"),
    ("Who should clean the green room?", "the green room"),
    # What follows the verb may be another phrase.
    ("When did the council sell the mill in Harl?", "the mill in Harl"),
    # "Is" asks for something after the noun.
    ("Is the new trailer heavy?", "the new trailer"),
    ("Is the key in the drawer?", "the key"),
    ("Is the pump in cellar 4 new?", "the pump in cellar 4"),
    ("Was the album well received?", "the album"),
    ("Was the Tarn Hall opened early?", "the Tarn Hall"),
)
def test_a_phrase_ends_before_the_verb(question: str, phrase: str):
    last = find_noun_phrases(question)[-1]

    assert question[last.begin : last.end] == phrase
    assert last.is_clear


@for_each(
    "question",
    "When does the night bus leave for the east yard?",
    "When does the pump that drains the yard start?",
)
def test_a_phrase_is_unclear_if_two_words_may_be_the_verb(question: str):
    assert not find_noun_phrases(question)[-1].is_clear


@for_each(
    "question, parts",
    ("Where is the key to a room on floor 2?", [("", "the key"), ("to", "a room"), ("on", "floor 2")]),
    ("When does the warranty of the pump in hall 2 end?", [("", "the warranty"), ("of", "the pump"), ("in", "hall 2")]),
    ("Who sells the tickets by mail?", [("", "the tickets")]),
    ("Who is on duty?", []),
)
def test_the_parts_of_a_phrase_follow_prepositions(question: str, parts: list[tuple[str, str]]):
    assert [
        (part.preposition, question[part.begin : part.end])
        for phrase in find_noun_phrases(question)
        for part in phrase.parts
    ] == parts
