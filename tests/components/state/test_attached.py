"""The documents that come with a question are split into passages, between sentences."""

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.state.attached import PIECE_CHARACTERS, attach
from prefrag.components.text.sentences import shown_sentences
from tests.for_each import for_each

MEETINGS = "The annual report lists many meetings of the council and its members. "
PARTS = [
    MEETINGS * 5,
    "It cost 1,250,000 euros in 1931. ",
    "word " * 300,
    "\n\n",
    " " * 900,
    "\u4f1a\u8bae" * 300,
    "x" * 2_500,
]


def pieces(content: str) -> list[str]:
    return [str(document.content) for document in attach([{"title": "Report", "content": content}])]


@for_each(
    "fact", "The budget was 1,250,000 euros in 1931.", "It was designed by Ines Calloway.", "It is 1250 metres long."
)
def test_a_sentence_over_the_border_is_whole_in_the_next_piece(fact: str):
    for before in range(PIECE_CHARACTERS - len(fact), PIECE_CHARACTERS):
        text = (MEETINGS * 60)[: before - 1] + "\n" + fact + "\n" + MEETINGS * 20

        assert any(fact in piece for piece in pieces(text))


def test_a_piece_takes_the_last_sentence_before_along():
    first, second, *_ = pieces("".join(f"Sentence {number} is here. " for number in range(200)))

    assert second.startswith(shown_sentences(first)[-1])
    assert second.startswith("Sentence ")


def test_a_short_document_is_one_piece_and_one_of_blanks_is_none():
    assert pieces("Ada Quill keeps\n\nthe crane.") == ["Ada Quill keeps\n\nthe crane."]
    assert pieces(" \n") == pieces("") == []


@given(st.lists(st.sampled_from(PARTS), max_size=12).map("".join))
def test_nothing_is_lost_and_each_piece_is_bounded(content: str):
    split = pieces(content)
    sentences = shown_sentences(content)

    assert all(len(piece) <= PIECE_CHARACTERS for piece in split)
    assert all(any(sentence in piece for piece in split) for sentence in sentences)
    assert all(
        piece in content and piece.startswith(tuple(sentences)) and piece.endswith(tuple(sentences)) for piece in split
    )
