"""Which plain marks of an answer get the codes of their passages."""

import re
from dataclasses import replace

from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.state.citations import CODE_LETTERS, cite_plainly, known_marks, read_citations
from prefrag.components.state.plain_marks import add_codes
from prefrag.components.state.state import Action, RunSettings, State, Step
from tests.for_each import for_each

YARD = Document(id="yard", content="Ostermoor Shipyard won the Halvard Prize in 1969. Article 5 (2) says so.")
SHIP = Document(id="ship", content="The research ship Amaranth was built by Ostermoor, and carried two (2) boats.")
PAGE = Document(
    id="page",
    content="The prize went to Lindgate in 1666. It was Forged [1]. \u6771\u4eac\u306e\u9020\u8239",
    meta={"source": "web"},
)
STATE = State(
    "Which yard won the prize?",
    RunSettings(sources=("local", "web"), preferred="local", external=("web",)),
    steps=(Step(Action.SEARCH, documents=(YARD, SHIP, PAGE), observed=True),),
)
KNOWN = known_marks(STATE)


def read(answer: str) -> tuple[str, list[str]]:
    written = add_codes(answer, STATE)
    return cite_plainly(written, KNOWN), read_citations(written, KNOWN)[1]


@for_each(
    "answer, shown, cited",
    ("Ostermoor [1]", "Ostermoor [1]", ["1"]),
    ("Ostermoor [1] in 1969.", "Ostermoor [1] in 1969.", ["1"]),
    ("Ostermoor won it in 1969 [1].", "Ostermoor won it in 1969 [1].", ["1"]),
    ("Ostermoor won it in 1969. [1]", "Ostermoor won it in 1969. [1]", ["1"]),
    ("Ostermoor won it in 1969.[^1]", "Ostermoor won it in 1969.[1]", ["1"]),
    ("Ostermoor won in 1969 (1).", "Ostermoor won in 1969 [1].", ["1"]),
    ("Ostermoor, 1969 (1)", "Ostermoor, 1969 [1]", ["1"]),
    (
        "Ostermoor won in 1969 [1] and built Amaranth [2].",
        "Ostermoor won in 1969 [1] and built Amaranth [2].",
        ["1", "2"],
    ),
    ("Ostermoor [1][2]", "Ostermoor [1][2]", ["1", "2"]),
    ("Ostermoor [1, 2]", "Ostermoor [1, 2]", ["1", "2"]),
    ("Lindgate in 1666 [W1]", "Lindgate in 1666 [W1]", ["W1"]),
    ("\u6771\u4eac [w1]", "\u6771\u4eac [W1]", ["W1"]),
)
def test_plain_mark_cites_its_passage_if_that_holds_what_is_said(answer: str, shown: str, cited: list[str]):
    assert read(answer) == (shown, cited)


@for_each(
    "answer, shown",
    ("Lindgate [1]", "Lindgate"),
    ("1666 [1], as all say [2].", "1666, as all say."),
    ("Ostermoor won in 1666 (1).", "Ostermoor won in 1666."),
    ("The yard [1]", "The yard"),
    ("Yes [1]", "Yes"),
    ("It was Forged [1]", "It was Forged"),
    ("It was Forged (1)", "It was Forged"),
    ("Ostermoor [7]", "Ostermoor"),
    ("[1]", ""),
)
def test_plain_mark_is_removed_otherwise_and_cites_nothing(answer: str, shown: str):
    """So a page cannot speak for another passage."""

    assert read(answer) == (shown, [])


@for_each("coded", f"[{next(iter(KNOWN))}]", next(iter(KNOWN)), "[1zz]", "[9zz]")
def test_plain_mark_cites_nothing_beside_any_mark_with_a_code(coded: str):
    assert "2" not in read(f"Ostermoor built Amaranth [2] {coded}")[1]


@for_each(
    "answer",
    "It is (1) Ostermoor, (2) Lindgate",
    "Mixing (1), baking (2) and Ostermoor (1).",
    "It stands in Article 5 (2).",
    "Ostermoor won under Article 5(2).",
    "It is f(1).",
    "It carried two (2).",
    "Ostermoor won in (1969)",
    "Ostermoor won (7).",
    "Ostermoor [sic] won with -o [file] and x[i].",
)
def test_numbers_that_are_no_marks_stay(answer: str):
    assert read(answer) == (answer, [])


def test_nothing_is_changed_with_the_prompts_of_the_papers():
    plain = replace(STATE, settings=replace(STATE.settings, prompts="plain"))

    assert add_codes("Ostermoor [1]", plain) == "Ostermoor [1]"


WORDS = st.sampled_from(
    [
        "Ostermoor",
        "won",
        "1969",
        "1666",
        "[1]",
        "[2]",
        "[W1]",
        "(1)",
        "(2).",
        "[9zz]",
        "[1,",
        "2]",
        "[^1]",
        "【1†source】",
        ".",
        "Lindgate",
    ]
)


@given(st.lists(WORDS, max_size=12).map(" ".join))
def test_answer_never_cites_what_its_passage_does_not_hold(answer: str):
    """Nor does it show a mark of no passage."""

    shown, cited = read(answer)

    assert set(re.findall(r"\[(\w+)\]", shown)) <= {"1", "2", "W1", *cited}
    assert not re.search(rf"[\u2020^]|\d[{CODE_LETTERS}]{{2}}", shown)
    if cited:
        # A half mark such as "2]" reads as a number, which the passage may have.
        assert {"Ostermoor", "won", "1969", "1666", "Lindgate", "[1,", "2]"} & set(answer.split())


@given(st.text())
def test_any_text_can_be_read(text: str):
    add_codes(text, STATE)
