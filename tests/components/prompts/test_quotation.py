"""Passages are quoted in prompts, so that nothing in them can be an instruction, a turn, a field or a mark."""

from time import process_time

import pytest
from haystack.dataclasses import ChatMessage
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator
from prefrag.components.prompts.quotation import defuse_tokens, quote_text, quote_title
from prefrag.components.state.passages import passages
from tests.components.samples import document
from tests.for_each import for_each
from tests.gguf import GGUF, needs_gguf
from tests.hostile import CONTROL_TOKENS, LINES, TAGS, find_faults

HOSTILE = st.lists(st.one_of(st.sampled_from((*CONTROL_TOKENS, *TAGS, *LINES, "[1]", "\n", "[W1kx]")), st.text()))
INVISIBLE = [*"\u200b\u202e\u2066\ufeff\u00ad\ufe0f\U000e0041\U000e0100\x00\x07\x9c"]


class TestText:
    def test_quoted_text_stays_readable_without_colours_and_marks(self):
        assert len(quote_title("word " * 6_000)) <= 300
        assert quote_title("word " * 6_000).endswith("...")
        assert quote_title("x" * 300) == "x" * 300

        text = "p < 0.05, a -> b, {x: [1, 5]}, 10 % of $5 & more; \u00c5ngstr\u00f6m, \u6771\u4eac"

        assert quote_text(text) == f"| {text.replace('[1', '[ 1')}"
        assert quote_text("\x1b[31mred\x1b[0m \x1b]0;title\x07hat") == "| red hat"
        assert find_faults(quote_text("[" + " " * 40 + "1" + " " * 40 + "]")) == []

    @for_each("sign", *CONTROL_TOKENS, *TAGS)
    def test_holds_no_control_token_and_no_tag(self, sign: str):
        for text in (sign, f"a{sign}b", sign * 3, f"{sign[0]}{sign}", f"{sign[:1]}\u200b{sign[1:]}", f"\x1b[1m{sign}"):
            assert find_faults(quote_text(text)) == []
            assert find_faults(quote_title(text)) == []

    @for_each("line", *LINES)
    @for_each("ending", "\n", "\r", "\r\n", "\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1e")
    def test_begins_no_line_of_a_prompt(self, line: str, ending: str):
        shown = quote_text(f"A tower.{ending}{line} 1666")

        assert shown == f"| A tower.\n| {line} 1666"
        assert "\n" not in quote_title(f"A tower{ending}{line} 1666")

    @for_each("mark", "[1]", "[W1]", "[1-kd]", "[1kx]", "\u30101\u3011", "[ 1 ]", "[Passage 1]", "[a2]")
    def test_holds_no_mark(self, mark: str):
        inner = mark[1:-1].strip()

        assert quote_text(f"{mark} Board minutes") == f"| ({inner}) Board minutes"
        assert quote_title(f"Minutes {mark}") == f"Minutes ({inner})"

    @for_each("sign", *INVISIBLE)
    def test_holds_nothing_that_a_reader_does_not_see(self, sign: str):
        assert quote_text(f"to{sign}wer") == "| tower"
        assert quote_title(f"to{sign}wer") == "tower"

    @for_each("source", "(local)", "((local))", "\uff08 web \uff09", "( (WEB))")
    def test_names_no_source_in_its_title_however_it_is_written(self, source: str):
        assert not {"(", "\uff08"} & set(quote_title(f"Minutes {source}"))
        assert quote_title("Board minutes (local)") == "Board minutes local"
        assert quote_title("Paris (film)") == "Paris (film)"

    @given(HOSTILE)
    def test_of_whatever_words_has_no_fault(self, parts: list[str]):
        text = "".join(parts)
        shown = quote_text(text)

        assert find_faults(shown) == find_faults(quote_title(text)) == []
        assert all(line.startswith("| ") for line in shown.split("\n") if shown)
        assert len(quote_title(text).splitlines()) == 1
        assert quote_text(text) == shown

    @pytest.mark.slow
    @for_each("text", "<" * 300_000, "[" * 300_000, " " * 300_000, "\x1b]" * 150_000, "[1" * 150_000)
    def test_of_any_length_takes_little_time(self, text: str):
        started = process_time()
        quote_text(text)
        quote_title(text)

        assert process_time() - started < 5


class TestRepeatedWords:
    @for_each("token", *CONTROL_TOKENS, "\ufe64|im_end|\ufe65", "\uff1c/s\uff1e", "<0x0A>")
    def test_hold_no_control_token(self, token: str):
        for text in (token, f"a{token}b", token * 3, f"{token[0]}{token}", f"{token[:3]}{token}{token[3:]}"):
            broken = defuse_tokens(text)
            assert not any(text in broken for text in (token, *CONTROL_TOKENS))
            assert defuse_tokens(broken) == broken

    def test_keep_marks_and_objects(self):
        text = '{"a": ["x", "y"], "b": [1, 5]} [1kx][2fb, W1] [Passage 1kx] [sic] p < 0.05 a<b'

        assert defuse_tokens(text) == text


@pytest.mark.slow
@needs_gguf
def test_the_embedded_model_reads_no_control_token_in_a_passage():
    model = EmbeddedChatGenerator(GGUF)

    def count(text: str) -> int:
        reply = model.run([ChatMessage.from_user(text)], generation_kwargs={"max_tokens": 1})["replies"][0]
        return int(reply.meta["usage"]["prompt_tokens"])

    empty = count("hello")
    assert count("hello" + "<|im_end|>" * 50) - empty == 50, "a control token is one token"
    for token in ("<|im_end|>", "<|im_start|>", "<|endoftext|>"):
        assert count(passages([document("a", token * 50)])) - empty > 200
