"""The numbers of passages, and the citations in answers."""

import re
from dataclasses import replace
from time import process_time

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.state.citations import (
    CODE_LETTERS,
    citation_marks,
    cite_plainly,
    known_marks,
    read_citations,
    without_codes,
)
from prefrag.components.state.state import Action, RunSettings, State, Step
from tests.for_each import for_each


def observed(*sources: str) -> State:
    documents = tuple(Document(id=f"d{n}", content="x", meta={"source": s}) for n, s in enumerate(sources))
    settings = RunSettings(sources=("local", "archive", "web"), preferred="local", external=("web",))
    return State("Who?", settings, steps=(Step(Action.SEARCH, documents=documents, observed=True),))


def test_numbers_differ_by_source_and_stay_also_for_equal_ids():
    marks = citation_marks(observed("local", "web", "archive", "web"))
    archive = Step(Action.SEARCH, documents=(Document(id="d0", content="y"), Document(id="d0", content="x")))

    assert marks == {("d0", "x"): "1", ("d1", "x"): "W1", ("d2", "x"): "2", ("d3", "x"): "W2"}
    assert citation_marks(observed("local").with_step(archive)) == {("d0", "x"): "1", ("d0", "y"): "2"}

    first = observed("local", "web")
    later = first.with_step(Step(Action.SEARCH, documents=(*observed("web").observed, Document(id="new", content="y"))))

    assert citation_marks(later).items() >= citation_marks(first).items()


@for_each(
    "answer, plain, cited",
    ("1969 [2][W1]", "1969", ["2", "W1"]),
    ("1969 [1, w2; 3]", "1969", ["1", "W2", "3"]),
    ("1969 [2] in Ansby [2].", "1969 in Ansby.", ["2"]),
    ("1969", "1969", []),
    ("the [sic] year", "the [sic] year", []),
    ("[W1]", "", ["W1"]),
)
def test_citations_are_read_and_taken_out(answer: str, plain: str, cited: list[str]):
    assert read_citations(answer) == (plain, cited)


@given(st.text())
def test_any_text_can_be_read(text: str):
    plain, cited = read_citations(text)

    assert len(plain) <= len(text)
    assert len(cited) == len(set(cited))


KNOWN = {"1kx": "1", "2fb": "2", "3zr": "3", "W1cc": "W1"}


@for_each(
    "answer, plain, shown, cited",
    ("1969 [2fb][W1cc]", "1969", "1969 [2][W1]", ["2", "W1"]),
    ("1969 [w1CC, 2fb]", "1969", "1969 [W1, 2]", ["W1", "2"]),
    ("1969 [1kx-3zr] or so", "1969 or so", "1969 [1, 2, 3] or so", ["1", "2", "3"]),
    ("1969 [Passage 1kx]", "1969", "1969 [1]", ["1"]),
    ("1969 [passages 1kx and 2fb]", "1969", "1969 [1, 2]", ["1", "2"]),
    ("1969\u30101kx\u3011", "1969", "1969[1]", ["1"]),
    ("1969 ([1kx][2fb])", "1969", "1969 ([1][2])", ["1", "2"]),
    ("1969 [1kx, 9qq]", "1969", "1969 [1]", ["1"]),
    ("main() [1kx]", "main()", "main() [1]", ["1"]),
)
def test_a_mark_with_its_code_is_a_citation(answer: str, plain: str, shown: str, cited: list[str]):
    assert read_citations(answer, KNOWN) == (plain, cited)
    assert cite_plainly(answer, KNOWN) == shown


@for_each("answer", "1969 [1]", "1969 [W1]", "1969 [1zz]", "1969 ([2])", "1969 [ 3 ]", "1969 [W1kx]")
def test_a_mark_without_its_code_cites_nothing_and_is_not_shown(answer: str):
    assert read_citations(answer, KNOWN) == ("1969", [])
    assert cite_plainly(answer, KNOWN) == "1969"


def test_a_document_whose_codes_are_all_tried_out_is_not_cited():
    codes = known_marks(observed("local", "web"))
    [own] = [mark for mark, plain in codes.items() if plain == "W1"]
    flood = "".join(f"[1{first}{second}]" for first in CODE_LETTERS for second in CODE_LETTERS)

    assert read_citations(f"1666 {flood}[{own}]", codes)[1] == ["W1"]
    assert read_citations(f"1666 [{own}]{flood[:5]}{flood[-5:]}", codes)[1] == ["W1"]


@for_each(
    "answer, shown",
    *(("[1984]", "(1984)"), ("x[7]", "x(7)"), ("[7]", "(7)"), ("[1, 5]", "(1, 5)"), ("in [1969]", "in (1969)")),
    *((other, other) for other in ("x[i]", "5kw", "(3)", "`a[0:2]`", "[sic]", "-o [file]", "[^a-z]", "[9th]")),
)
def test_other_brackets_stay_but_none_looks_like_a_mark(answer: str, shown: str):
    assert read_citations(f"{answer} [2fb]", KNOWN) == (shown, ["2"])
    assert cite_plainly(answer, KNOWN) == cite_plainly(answer, {}) == shown


FOREIGN = "[9zz] [8qq,9zz] [5kw] [2un][W1na] [7] [W2] \u30109\u3011 [^1] [^7] [1,2] \u30101\u2020source\u3011 \u30104:0\u2020a.pdf\u3011"


@for_each("mark", *FOREIGN.split())
def test_mark_of_no_passage_never_reaches_a_reader(mark: str):
    for answer, shown in ((f"1969 {mark}.", "1969."), (f"Won {mark} in 1969 {mark}", "Won in 1969")):
        assert read_citations(answer, KNOWN) == (shown, [])
        assert cite_plainly(answer, KNOWN) == shown

    assert read_citations(f"1969 [2fb] {mark}", KNOWN) == ("1969", ["2"])


def test_footnotes_go_with_their_marks():
    answer = "It won in 1969.[^1]\n\n[^1]: Board Minutes, page 3\n[^note]: Another"

    assert cite_plainly(answer, KNOWN) == read_citations(answer, KNOWN)[0] == "It won in 1969."


BENT = "(2fb) [^2fb] [cite:2fb] [2fb_Beatrix_Ollard] **[2fb]** `[2fb]` [**2fb**] 2fb _2FB_ [2-fb] (see_2fb)"


@for_each("bent", *BENT.split())
def test_bent_code_cites_its_passage_and_is_not_shown(bent: str):
    answer = "1969 " + (bent if bent == "_2FB_" else bent.replace("_", " "))
    plain, cited = read_citations(answer, KNOWN)

    assert (plain.removesuffix(" (see)"), cited) == ("1969", ["2"])
    assert cite_plainly(answer, KNOWN) in ("1969 [2]", "1969 ([2])", "1969 (see [2])")


AROUND = st.text(" ()[]^*_`:;.-cite1W\u3010\u3011\u2020", max_size=5)


@given(st.lists(st.tuples(AROUND, st.sampled_from([*KNOWN, "W2fb", "A1kx", "d3ZR"]), AROUND)))
def test_code_or_mark_of_another_passage_never_reaches_a_reader(parts: list[tuple[str, str, str]]):
    answer = "".join(map("".join, parts))

    for shown, marks in ((read_citations(answer, KNOWN)[0], ()), (cite_plainly(answer, KNOWN), KNOWN.values())):
        codes = re.findall(r"(?<![^\W_])[ADW]?(\d[a-z]{2})(?![^\W_])", shown, re.IGNORECASE)
        assert {code.lower() for code in codes}.isdisjoint({"1kx", "2fb", "3zr", "1cc"})
        assert set(re.findall(r"\[([AW]?\d+)\]", shown)) <= {*marks}


def test_marks_have_codes_of_question_and_document():
    """With the prompts of the papers they have none."""

    state = observed("local", "web", "archive")
    other = replace(state, question="When?")

    assert list(known_marks(state).values()) == ["1", "W1", "2"]
    assert all(re.fullmatch(r"W?\d[bcfhjkpqrsvwxz]{2}", mark) for mark in known_marks(state))
    assert known_marks(state) == known_marks(observed("local", "web", "archive"))
    assert known_marks(state).keys().isdisjoint(known_marks(other))
    assert known_marks(replace(state, settings=replace(state.settings, prompts="plain"))) == {}


def test_thoughts_show_marks_without_their_codes():
    assert without_codes("Passage 1kx and [w1cc] agree, 5kw do not.", KNOWN) == "Passage 1 and [W1] agree, 5kw do not."


@pytest.mark.slow
@for_each("text", "a" + " " * 300_000 + "b", "[1]" * 100_000, "[1kx" * 75_000, "(" * 300_000)
def test_a_long_text_is_read_in_little_time(text: str):
    started = process_time()
    for codes in (None, KNOWN):
        read_citations(text, codes)
    cite_plainly(text, KNOWN)
    without_codes(text, KNOWN)

    assert process_time() - started < 5
