"""Reading labels, queries, answers and tools in the ways that models write them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.reasoner.reply_formats.fields import (
    MAX_QUERY_CHARACTERS,
    Tool,
    announces_search,
    find_tool,
    one_answer,
    plain,
    plain_query,
    read_label,
)
from prefrag.components.state.state import Label
from tests.for_each import for_each

TOOLS = [Tool("Search_Engine", "Finds."), Tool("Search_2", "Finds more.", source="web")]
words = st.from_regex(r"[A-Za-z0-9À-ÿ]+( [A-Za-z0-9À-ÿ]+){0,6}", fullmatch=True)


class TestReadLabel:
    @for_each("label", *list(Label))
    @for_each("written", "{}", " {}.\n", "**{}**", "_{}_", "`{}`", "({})", "[{}]", "The answer is {}!")
    def test_finds_each_label_in_its_field(self, label: Label, written: str):
        assert read_label(written.format(label.value)) is label
        assert read_label(written.format(label.value.lower())) is label
        assert read_label(written.format(label.value.title())) is label

    @for_each(
        "text, label",
        ("PARTIALLY_CORRECT", Label.PARTIALLY_CORRECT),
        ("partially-correct", Label.PARTIALLY_CORRECT),
        ("Partial correct", Label.PARTIALLY_CORRECT),
        ("partly correct", Label.PARTIALLY_CORRECT),
        ("in-correct", Label.INCORRECT),
        ("not correct", Label.INCORRECT),
        ("PARTIALLY CORRECT. The year is correct, the place is incorrect.", Label.PARTIALLY_CORRECT),
        ("INCORRECT - the correct answer would be another", Label.INCORRECT),
        ("CORRECT (nothing in it is incorrect)", Label.CORRECT),
        ("INCORRECT: it is not CORRECT", Label.INCORRECT),
        ("CORRECT\nIt could have been INCORRECT", Label.CORRECT),
        ("CORRECT; nothing is wrong with it", Label.CORRECT),
        ("Not entirely correct", Label.PARTIALLY_CORRECT),
        ("The answer is not fully correct", Label.PARTIALLY_CORRECT),
        ("not quite correct", Label.PARTIALLY_CORRECT),
        ("Not entirely correct: the year is incorrect", Label.PARTIALLY_CORRECT),
        ("partially incorrect", Label.PARTIALLY_CORRECT),
        ("PARTIAL", Label.PARTIALLY_CORRECT),
        ("PARTIALLY", Label.PARTIALLY_CORRECT),
        ("It isn't correct", Label.INCORRECT),
        ("It isn\u2019t correct", Label.INCORRECT),
        ("far from correct", Label.INCORRECT),
        ("Neither correct nor complete", Label.INCORRECT),
        ("hardly correct", Label.INCORRECT),
        ("not a correct answer", Label.INCORRECT),
        ("WRONG", Label.INCORRECT),
        ("not only correct but complete", Label.CORRECT),
        ("NOT_CORRECT", Label.INCORRECT),
        ("not-correct", Label.INCORRECT),
        ("no longer correct", Label.INCORRECT),
        ("by no means correct", Label.INCORRECT),
        ("nowhere near correct", Label.INCORRECT),
        ("It fails to be correct", Label.INCORRECT),
        ("correct, but incomplete", Label.PARTIALLY_CORRECT),
        ("correct only in part", Label.PARTIALLY_CORRECT),
        ("INCORRECT because the correct ship is Alpha", Label.INCORRECT),
        ("Incorrect, the correct answer is 1888", Label.INCORRECT),
        ("CORRECT, without doubt", Label.CORRECT),
        ("CORRECT since no passage says that it is not correct", Label.CORRECT),
        ("CORRECT - the passages leave no doubt", Label.CORRECT),
    )
    def test_the_longer_labels_hold_the_shorter_ones(self, text: str, label: Label):
        assert read_label(text) is label

    @for_each(
        "text",
        *("", "I am sure", "correctly", "INCORRECTLY", "uncorrected"),
        "CORRECT, PARTIALLY CORRECT, INCORRECT",
        "one of CORRECT, PARTIALLY CORRECT, INCORRECT",
        "CORRECT / INCORRECT",
        "not incorrect",
        "I doubt that it is correct",
        "unlikely to be correct",
        "There is no evidence that the answer is correct",
        "Unable to verify that it is correct",
        "The correct answer was not found",
        "Correct? No.",
    )
    def test_reads_none_where_the_field_names_none_or_all(self, text: str):
        assert read_label(text) is None


class TestPlain:
    @for_each(
        "text, words",
        ("**1974**", "1974"),
        ("### 1974", "1974"),
        ("`1974`", "1974"),
        ('"1974"', "1974"),
        ('**"1974"**', "1974"),
        ("'**1974**'", "1974"),
        ("> **1974**", "1974"),
        ("  1974.  ", "1974."),
        ("#1 hit", "#1 hit"),
        ("O'Neill", "O'Neill"),
        ('"Alpha" and "Beta"', '"Alpha" and "Beta"'),
        ("2 * 3", "2 * 3"),
        ("**0\u00a0**", "0"),
        ("", ""),
        ('"', '"'),
        ("***", ""),
    )
    def test_takes_the_marks_off_both_ends(self, text: str, words: str):
        assert plain(text) == words

    @given(words, st.text())
    def test_leaves_words_as_they_are_also_the_second_time(self, unmarked: str, text: str):
        assert plain(unmarked) == unmarked
        assert plain(plain(text)) == plain(text)
        assert read_label(text) in (None, *Label)
        assert plain("* " * 50_000 + "1974" + " *" * 50_000) == "1974"


class TestPlainQuery:
    @given(words)
    def test_unwraps_quotes_code_and_objects(self, query: str):
        for written in (
            query,
            f'"{query}"',
            f"`{query}`",
            f"**{query}**",
            json.dumps({"query": query}),
            json.dumps({"top_k": 3, "q": query}),
            json.dumps({"note": "x", "query": query}, indent=1),
            f"```json\n{json.dumps({'query': query})}\n```",
            f"{{'query': '{query}'}}",
            f'{{"query": "{query}',
        ):
            assert plain_query(written) == query

    @for_each("text", "{x} in set theory", '{"top_k": 3}', "{}")
    def test_leaves_braces_that_hold_no_query(self, text: str):
        assert plain_query(text) == text

    @given(st.text(max_size=3_000))
    def test_is_one_line_of_bounded_length(self, text: str):
        query = plain_query(text)

        assert len(query) <= MAX_QUERY_CHARACTERS
        assert "\n" not in query


class TestFindTool:
    @for_each(
        "name, found",
        *((name, [TOOLS[0]]) for name in ("Search_Engine", "search engine", "SearchEngine", "**Search_Engine**")),
        *(("Search-Engine.", [TOOLS[0]]), ("Search 2", [TOOLS[1]])),
        *((name, [None]) for name in ("", "Search", "Search_3", "Telephone", "None")),
    )
    def test_bears_other_spellings_and_finds_no_other(self, name: str, found: list[Tool | None]):
        assert [find_tool(name, TOOLS)] == found


@for_each(
    "text, answer",
    ("Here is the answer:\n\n1887 [1]", "1887 [1]"),
    ("Here is the answer:\n1887 [1]", "1887 [1]"),
    ("# Answer\n\n1887", "1887"),
    ("**Answer**\n\n1887", "1887"),
    ("**Answer:** 1887", "1887"),
    ("Sure!\n\n1887", "1887"),
    ("Based on the passages, I will explain.\n\nThe lamp was lit in 1887 [1].", "The lamp was lit in 1887 [1]."),
    ("There are three ships:\n\n1. Alpha [1]\n\n2. Beta [2]", "There are three ships: 1. Alpha [1] 2. Beta [2]"),
    ("There are three:\n- Alpha\n- Beta\n\nI hope that helps!", "There are three: - Alpha - Beta"),
    ("1. Alpha\n\n2. Beta", "1. Alpha 2. Beta"),
    ("1974\n\nI hope that helps!", "1974"),
    ("**Alpha**\n\nAs the passages say.", "Alpha"),
    ("The answer is 1887.\n\nHere is why: it was lit then.", "The answer is 1887."),
    ("[1, 5]", "[1, 5]"),
    ("x in [1, 2]", "x in [1, 2]"),
    ("---\n\n1887", "1887"),
    ("The ship was Alpha.\n\nShe sank in 1900.\n\n[1][2]", "The ship was Alpha. [1][2]"),
    ("1887\n\nSources: [1], [W2]", "1887 [1][W2]"),
    ("1887 [1]\n\n**Sources:** [1]", "1887 [1]"),
    ("The interval is:\n\n[1, 5]", "[1, 5]"),
    ("Okay, let me explain. The ship was Alpha.\n\nShe sank.", "Okay, let me explain. The ship was Alpha."),
    ("I Will Always Love You\n\nIt is a song.", "I Will Always Love You"),
    ("Here Is Your War\n\nIt is a book.", "Here Is Your War"),
    ("Alpha, and here is why.\n\nShe sank.", "Alpha, and here is why."),
    (r"The answer is \[ \boxed{\text{Ada Quill}} \] [1]", "Ada Quill [1]"),
    (r"$\boxed{1887}$", "1887"),
    (r"To draw a frame, write \boxed{x} in LaTeX.", r"To draw a frame, write \boxed{x} in LaTeX."),
    ("None of the three [1].", "None of the three [1]."),
    ("No.", "No."),
    ("The answer:", "The answer:"),
    ("Not correct procedure", "Not correct procedure"),
)
def test_an_answer_is_what_a_reader_would_take(text: str, answer: str):
    assert one_answer(text) == answer


@given(words, words, st.text(max_size=300))
def test_answer_is_a_line_and_no_paragraph_before_replaces_it(title: str, answer: str, text: str):
    assert "\n" not in one_answer(text)
    for before in (f"# {title}x\n\n", "Here is what I found:\n\n", "Let me answer.\n\n", "Answer:\n\n"):
        assert one_answer(before + answer) == plain(answer)


@for_each(
    "text, announced",
    *((text, True) for text in ("I need to search for more.", "Let me look up the yard.", "Need to find the yard.")),
    *((text, True) for text in ("Next, I will check the web.", "Searching for the yard.")),
    *((text, False) for text in ("1974", "Search and Rescue", "I looked it up: it is 1974.", "Let me answer: 1974")),
    *((text, False) for text in ("Looking for Alaska", "Searching for Bobby Fischer", "He was looking for gold.")),
    ("1974; there is no need to search.", False),
)
def test_the_announcement_of_a_search_is_told_from_an_answer(text: str, announced: bool):
    assert announces_search(text) is announced
