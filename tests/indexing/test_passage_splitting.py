import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from prefrag.indexing.passage_splitting import MOST_CHARACTERS, MOST_WORDS, split_into_passages
from tests.for_each import for_each

_WORDS = st.text(alphabet="abcdefgh", min_size=1, max_size=8)
_SENTENCES = st.lists(_WORDS, min_size=1, max_size=40).map(lambda words: " ".join(words).capitalize() + ".")


def _sentence(word: str, count: int) -> str:
    return " ".join([word.capitalize(), *[word] * (count - 1)]) + "."


@given(
    st.text() | st.lists(st.sampled_from(["A b. ", "\n\n", "x" * 700, "\f", "Dr. ", "\u3002", " ", "\n"])).map("".join)
)
def test_nothing_of_a_text_is_lost_added_or_moved(text: str) -> None:
    assert "".join(split_into_passages(text)) == text


@given(st.lists(st.sampled_from(["word ", "Stop. ", "x" * 3000, "line\n", "\n\n", "\u6f22\u5b57" * 900])).map("".join))
def test_no_passage_is_longer_than_the_limits_and_a_short_tail(text: str) -> None:
    for passage in split_into_passages(text):
        assert len(passage.split()) < MOST_WORDS + 30
        assert len(passage) <= MOST_CHARACTERS


@given(st.lists(_SENTENCES, min_size=1, max_size=40))
def test_sentences_stay_whole(sentences: list[str]) -> None:
    for passage in split_into_passages(" ".join(sentences)):
        assert passage.rstrip().endswith(".")


def test_passage_of_enough_words_closes_with_a_paragraph() -> None:
    text = "\n\n".join(_sentence(word, 60) for word in ("one", "two", "three", "four"))

    assert [passage.split()[0] for passage in split_into_passages(text)] == ["One", "Three"]


def test_heading_goes_with_its_text_a_short_end_with_the_last():
    """The last sentence of few words goes with the passage before it."""

    text = f"{_sentence('above', 110)}\n\nThe heading\n\n{_sentence('below', 50)}"

    assert split_into_passages(text)[1].startswith("The heading")

    assert len(split_into_passages(f"{_sentence('long', 130)} {_sentence('end', 12)}")) == 1


@for_each("before", "Dr.", "J.", "e.g.", "No.", "Prof.")
def test_an_abbreviation_does_not_end_a_sentence(before: str) -> None:
    text = f"{_sentence('start', 80)} {'word ' * 50}{before} Smith {'more ' * 30}end. {_sentence('rest', 90)}"

    assert not any(passage.rstrip().endswith(before) for passage in split_into_passages(text))


def test_a_table_is_cut_between_its_rows() -> None:
    rows = "".join(f"row {number} | value of it\n" for number in range(100))

    passages = split_into_passages(rows)

    assert len(passages) > 1
    assert all(passage.startswith("row") and passage.endswith("\n") for passage in passages)


def test_a_text_in_one_line_takes_little_more_memory_than_it_has() -> None:
    text = "some words in a line without an end " * 5_000
    tracemalloc.start()
    try:
        passages = split_into_passages(text)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert "".join(passages) == text
    assert most < 4 * len(text)


def test_text_without_blanks_is_not_cut_before_a_vowel_sign() -> None:
    passages = split_into_passages("x" + "\u0e19\u0e49\u0e33" * 1_000)

    assert all(passage.endswith("\u0e33") for passage in passages)
