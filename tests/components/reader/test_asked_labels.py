"""What is left of passages for a question with a code or a number."""

from haystack import Document

from prefrag.components.reader.asked_labels import excerpts_on_asked
from tests.for_each import for_each

PARCELS = "Parcel 17 went to Ann Low. Parcel 18 went to Bo Lind. It was late. Parcel 19 is lost."
PUMPS = "The pump P-11 was replaced by P-12. The pump P-12 is new. The pump P-13 is old. All pumps are green."


def texts_on(question: str, *texts: str) -> list[str]:
    return [excerpt.text for excerpt in excerpts_on_asked(question, [Document(content=text) for text in texts])]


@for_each(
    "question, text, left",
    ("Who got parcel 17?", PARCELS, "Parcel 17 went to Ann Low."),
    # What is said behind a sentence goes on with the same parcel.
    ("Who got parcel 18?", PARCELS, "Parcel 18 went to Bo Lind. It was late."),
    ("Who got parcel 71?", PARCELS, PARCELS),
    ("Who got a parcel?", PARCELS, PARCELS),
    ("Who got the 17?", PARCELS, PARCELS),
    # P-12 stands beside P-11, so it may be meant, too.
    (
        "Which pump replaced the pump P-11?",
        PUMPS,
        "The pump P-11 was replaced by P-12. The pump P-12 is new. All pumps are green.",
    ),
    ("How old is the pump P-13?", PUMPS, "The pump P-13 is old. All pumps are green."),
    ("Who has K-AB 31?", "K-AB 30; Ann Low\nK-AB 31; Bo Lind\nK-AB 32; Kai Noll", "K-AB 31; Bo Lind"),
    ("Who has AB1?", "AB1 and AB2 are Ann's.\nAB2 is red.\nAB3 is Bo's.", "AB1 and AB2 are Ann's.\nAB2 is red."),
)
def test_sentences_on_another_label_are_left_out(question: str, text: str, left: str):
    assert texts_on(question, text) == [left]


def test_the_label_may_stand_in_another_document():
    assert texts_on("Who got parcel 17?", "Parcel 18 went to Bo Lind.", PARCELS) == ["", "Parcel 17 went to Ann Low."]


def test_places_in_an_excerpt_are_found_in_the_document():
    [excerpt] = excerpts_on_asked("Who got parcel 18?", [Document(content=PARCELS, meta={"title": "Parcels"})])

    assert excerpt.title == "Parcels"
    for word in ("Bo", "late"):
        assert excerpt.place_in_document(excerpt.text.index(word)) == PARCELS.index(word)
    assert excerpt.place_in_document(-3) == -3


def test_a_sentence_behind_one_on_another_label_is_unclear():
    text = "Order 7 is new. Order 8 is old. The delivery came."
    [excerpt] = excerpts_on_asked("Who sent order 7?", [Document(content=text)])

    assert excerpt.text == "Order 7 is new. The delivery came."
    assert excerpt.is_unclear(text.index("delivery"))
    assert not excerpt.is_unclear(text.index("new"))
