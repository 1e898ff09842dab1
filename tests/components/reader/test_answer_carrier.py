"""Which sentence carries an answer, and which reply gives no value."""

from haystack import Document

from prefrag.components.reader.answer_carrier import (
    find_carrier,
    find_own_words,
    is_refusal,
    is_verdict,
    own_words,
)
from tests.for_each import for_each

PASSAGES = [
    Document(
        content="Hotels in London are paid up to 160 pounds. Abroad, ask the office first.", meta={"title": "Travel"}
    ),
    Document(
        content="The Osprey weighs 85 to 95 kg. It was built by Marten and Sons in 1974.", meta={"title": "Osprey"}
    ),
]


@for_each(
    "question, answer, sentence",
    ("how much is a hotel in London", "160 pounds", "Hotels in London are paid up to 160 pounds."),
    ("how much is a hotel in London", "Up to 160 pounds.", "Hotels in London are paid up to 160 pounds."),
    ("who built the Osprey", "The Osprey was built by Marten and Sons", "It was built by Marten and Sons in 1974."),
    ("what weighs 85 to 95 kg?", "the Osprey", "The Osprey weighs 85 to 95 kg."),
    ("at what depth did it open", "1,974 meters", "It was built by Marten and Sons in 1974."),
    ("is a hotel in London paid?", "Yes", "Hotels in London are paid up to 160 pounds."),
    ("when was the Osprey built", "Construction ended in 1974.", "It was built by Marten and Sons in 1974."),
    ("whom to ask abroad", "Staff ask the office first", "Abroad, ask the office first."),
)
def test_sentence_with_its_numbers_names_words_carries_an_answer(question, answer, sentence):
    assert find_carrier(question, answer, PASSAGES).sentence == sentence


@for_each(
    "question, answer",
    ("how much did the Osprey cost", "4,500 pounds"),
    ("who built the Osprey", "Bramwell Motors"),
    ("who built the Osprey", "Marten and Sons in 1975"),
    ("when was the Osprey built", "in the spring after the flood"),
    ("was kostet der Osprey", "Das steht in keinem der Texte."),
    ("who built the Osprey", "Marten and Daughters"),
    ("who built the Osprey", "Martha and Sons"),
    ("which film is it", "No Way Home"),
    ("is a hotel abroad paid?", "A hotel abroad is not paid up to 160 pounds."),
)
def test_sentence_without_its_number_name_or_word_carries_none(question, answer):
    assert find_carrier(question, answer, PASSAGES) is None


@for_each("answer, text", ("5 years", "five years"), ("five years", "5 years"), ("after 12 days", "after Twelve days"))
def test_small_numbers_are_equal_as_words_and_as_figures(answer, text):
    passage = Document(content=f"The register is kept for some time, {text}.")

    assert find_carrier("how long is the register kept", answer, [passage]) is not None


def test_sentence_nearer_to_the_question_carries_the_answer():
    passages = [Document(content="The hall seats 640. The club sold 640 day tickets in June.", meta={"title": "Club"})]

    assert find_carrier("how many day tickets were sold", "640", passages).sentence.startswith("The club sold")
    assert find_carrier("how many does the hall seat", "640", passages).sentence == "The hall seats 640."


@for_each(
    "question, answer",
    ("what did the Osprey cost", "The passages do not mention the cost."),
    ("what did the Osprey cost", "It is not stated what the Osprey did cost."),
    ("Who is the owner of the Osprey?", "the owner of the Osprey"),
    ("What did the Osprey cost?", "No price is mentioned anywhere"),
)
def test_reply_without_a_value_of_its_own_is_a_refusal(question, answer):
    assert is_refusal(question, answer, PASSAGES)


@for_each(
    "question, answer",
    ("how much is a hotel in London", "160"),
    ("how much is a hotel in London", "160 pounds, as the passages say"),
    ("who built the Osprey", "Bramwell Motors"),
    ("Is the Osprey older than the Heron?", "No."),
    ("Which is older, the Osprey or the Heron?", "the Osprey"),
)
def test_a_value_is_no_refusal_even_one_that_no_passage_has(question, answer):
    assert not is_refusal(question, answer, PASSAGES)


def test_an_answers_own_words_are_those_that_its_question_lacks():
    assert own_words("Who built the Osprey?", "The Osprey was built by Marten") == ["Marten"]


def test_yes_and_no_are_verdicts_and_words_like_them_are_not():
    assert is_verdict("No, it is not.")
    assert is_verdict("**Yes**")
    assert is_verdict("Yes - since 1974")
    for title in ("Nobody", "No Way Home", "No. 10 Downing Street", "No price is given"):
        assert not is_verdict(title), title


def test_scripts_without_blanks_are_compared_as_they_stand():
    passages = [Document(content="灯塔由王小明设计。", meta={"title": "灯塔"})]

    assert find_carrier("谁设计了灯塔?", "王小明", passages).is_whole
    assert find_carrier("谁设计了灯塔?", "李大", passages) is None
    # One end in another script is compared by whole words.
    assert find_carrier("Who designed it?", "Ida", [Document(content="灯塔由Ida设计。")]).is_whole


def test_short_words_with_yes_no_are_carried_by_the_nearest():
    passages = [Document(content="Die Halle ist zu. Die Fähre ist offen.", meta={"title": "Hafen"})]

    assert find_carrier("Ist die Fähre offen?", "Ja", passages, is_yes_no=True).sentence == "Die Fähre ist offen."


def test_alternative_in_a_passage_is_no_refusal():
    question = "Between the Osprey and the Heron, which weighs more?"

    assert not is_refusal(question, "the Osprey", PASSAGES)
    assert is_refusal(question, "the Heron", PASSAGES)


@for_each(
    "answer, words",
    ("The driver pays.", ["driver"]),
    ("the drivers, always", ["driver"]),
    ("Who pays?", []),
    ("the office", []),
)
def test_own_words_of_an_answer_are_found_in_a_sentence(answer: str, words: list[str]):
    sentence = "Parking fines are paid by the driver."

    places = find_own_words("Who pays?", answer, sentence)

    assert [sentence[begin:end] for begin, end in places] == words
