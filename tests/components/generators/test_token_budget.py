"""Keeping a prompt inside the window of its model."""

from collections.abc import Sequence
from typing import Any

import pytest
from haystack import Document
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.generators.token_budget import FittedPrompt, estimate_tokens, fit_to_window, rough_tokens
from prefrag.components.state.state import WHOLE_TEXT, identity
from tests.for_each import for_each

INSTRUCTION = "Answer the question."
contents = st.none() | st.text(max_size=400)
observations = st.lists(st.lists(contents, max_size=4), max_size=4).map(
    lambda steps: [
        [Document(id=f"{number}-{rank}", content=content) for rank, content in enumerate(step)]
        for number, step in enumerate(steps)
    ]
)


def render(steps: Sequence[Sequence[Document]]) -> str:
    shown = [f"[{document.id}] {document.content or ''}" for step in steps for document in step]
    return "\n".join([INSTRUCTION, *shown])


def fit(steps: Sequence[Sequence[Document]], window: int, reply_tokens: int = 0) -> FittedPrompt:
    return fit_to_window(render, steps, room=window - reply_tokens, tokens=rough_tokens)


def text(tokens: int) -> str:
    return "x" * (tokens * 3)


def shown(fitted: FittedPrompt) -> list[str]:
    return [line.split("]")[0][1:] for line in fitted.prompt.splitlines() if line.startswith("[")]


class TestEstimate:
    @for_each("written, tokens", ("", 1), ("abc", 2), ("a" * 300, 101), ("北京", 3), ("é", 1), ("\ud83d", 2))
    def test_is_three_bytes_a_token_and_never_zero(self, written: str, tokens: int):
        assert rough_tokens(written) == estimate_tokens(written) == tokens

    # What the vocabulary of Qwen2.5 makes of them.
    @for_each(
        "written, counted",
        ("2024-03-07 | 482913 | 90411.27 | 8812.40\n" * 40, 1_520),
        ("48.208174,16.373819\n" * 40, 800),
        ("PN-5f3a9c01d7e2 SN 829104417253\n" * 40, 1_160),
        ("2024-03-07T11:15:09Z INFO request id=9f3c1a7be2d04c55 took 0.412s\n" * 40, 1_920),
        ("https://example.org/a/3918274410/view?id=9ac41f07d2&page=3\n" * 40, 1_280),
    )
    def test_is_high_enough_for_numbers_and_signs(self, written: str, counted: int):
        assert counted <= estimate_tokens(written) <= 1.6 * counted

    @for_each(
        "written",
        "The church at Karlsplatz was designed by Fischer von Erlach, and completed by his son. ",
        "Die Mitgliederversammlung beschließt über die Höhe der Beiträge und die Entlastung des Vorstands. ",
        "会议将于星期二举行。所有成员都应参加。",
        "........................................................................\n",
    )
    def test_leaves_prose_its_room(self, written: str):
        assert estimate_tokens(written * 20) <= 1.04 * rough_tokens(written * 20)

    @for_each("sign", "a", "1", "-", "_", " ", "会")
    def test_takes_no_time_for_one_long_word(self, sign: str):
        assert estimate_tokens(sign * 200_000) >= 60_000


class TestFit:
    @given(observations, st.integers(20, 400), st.integers(0, 50))
    def test_never_exceeds_the_window_by_its_own_estimate(
        self, steps: list[list[Document]], window: int, reply_tokens: int
    ):
        try:
            fitted = fit(steps, window, reply_tokens)
        except ValueError:
            assert rough_tokens(INSTRUCTION) > window - reply_tokens
        else:
            assert rough_tokens(fitted.prompt) <= window - reply_tokens

    @given(observations, st.integers(20, 400), st.text(), st.text())
    def test_counts_what_is_left_and_changes_neither_fits_nor_input(
        self, steps: list[list[Document]], window: int, one: str, other: str
    ):
        before = [list(step) for step in steps]
        ids = [document.id for step in steps for document in step]
        fitted = fit(steps, window)
        assert fit(steps, 100_000) == FittedPrompt(render(steps))
        assert steps == before
        assert len(shown(fitted)) == len(ids) - fitted.documents_cut
        assert set(shown(fitted)) <= set(ids)
        assert estimate_tokens(one + other) >= estimate_tokens(one)

    def test_cuts_the_oldest_observation_from_its_end_for_the_reply(self):
        steps = [[Document(id=f"{step}{rank}", content=text(30)) for rank in "ab"] for step in "123"]
        assert shown(fit(steps, 180)) == ["1a", "2a", "2b", "3a", "3b"]
        assert shown(fit(steps, 150)) == ["2a", "2b", "3a", "3b"]
        assert shown(fit(steps, 150, reply_tokens=30)) == ["2a", "3a", "3b"]

    @for_each(
        "steps, window, ids, cut, shortened, end",
        pytest.param(
            *([[("old", text(30))], [("new", text(100))]], 80, ["new"], 1, 1, "x ..."),
            id="the newest only when nothing else is left",
        ),
        pytest.param(
            *([[("long", text(200)), ("short", "All of it.")]], 100, ["long", "short"], 0, 1, "All of it."),
            id="the short ones of the newest are left as they are",
        ),
        # An answer or an unreadable reply has no observation, so the passages before it still count as the newest.
        pytest.param([[("only", text(100))], []], 60, ["only"], 0, 1, "x ...", id="the last that holds documents"),
        pytest.param([[("only", text(100))], [], [], []], 60, ["only"], 0, 1, "x ...", id="however far back"),
        pytest.param(
            *([[("a", None), ("b" * 300, "short")]], 50, ["a"], 1, 0, "[a] "),
            id="what does not fit without its text either is dropped",
        ),
    )
    def test_shortens_documents(self, steps: Any, window: int, ids: list[str], cut: int, shortened: int, end: str):
        fitted = fit([[Document(id=key, content=content) for key, content in step] for step in steps], window)

        assert (shown(fitted), fitted.documents_cut, fitted.documents_shortened) == (ids, cut, shortened)
        assert fitted.prompt.endswith(end)

    @for_each("before", 200, 300)
    def test_leaves_a_shortened_document_the_same_when_cut_again(self, before: int):
        whole = Document(id="long", content=text(before))
        part = Document(id="long", content=text(200), meta={WHOLE_TEXT: whole.content} if before > 200 else {})
        fitted = fit_to_window(
            lambda kept: [document for step in kept for document in step],
            [[part]],
            room=100,
            tokens=lambda kept: rough_tokens("".join(document.content for document in kept)),
        )
        assert fitted.documents_shortened == 1
        assert len(fitted.prompt[0].content or "") < len(part.content or "")
        assert identity(fitted.prompt[0]) == identity(whole)

    @for_each("steps", [], [[]], [[Document(id="a", content="b")]])
    def test_raises_when_the_prompt_alone_is_too_long(self, steps: list[list[Document]]):
        with pytest.raises(
            ValueError, match=r"needs about 7 tokens even without documents.*leaves only 5.*PREFRAG_LLM_CONTEXT"
        ):
            fit(steps, 5)
