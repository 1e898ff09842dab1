"""A query has one form, in which all of it can be seen; words are compared in another."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.one_line import one_line
from prefrag.components.web.query_form import comparison_form, query_form
from tests.for_each import for_each

HIDDEN = b"Ilse earns 214000"
SIGNS = st.one_of(
    st.text(), st.text("ae\u0301\u0323 \u200b\u00ad\ufe0f\u202e\U000e0101\uff21²\u1019\u103c\u0e48\ue000")
)


@given(SIGNS)
def test_the_form_is_a_fixed_point_of_what_shows_it(text: str):
    query = query_form(text)

    assert query == query_form(query) == one_line(query) == unicodedata.normalize("NFC", query)
    assert not any(unicodedata.category(sign) in ("Cf", "Co", "Cn", "Cs", "Cc") for sign in query)


@for_each(
    "base",
    0xE0100,  # variation selectors
    0xE0020,  # tags
    0xF0000,  # private use
    0x2FE0,  # unassigned
    0x1D173,  # formats of music
)
def test_no_byte_can_hide_behind_a_query(base: int):
    signs = [chr(base + (byte if base != 0x2FE0 and base != 0x1D173 else byte % 8)) for byte in HIDDEN]

    assert query_form(f"rope making{''.join(signs)}") == "rope making"


@for_each(
    "sign",
    *"\u200b\u200c\u200d\u200e\u202e\u2060\u2066\u00ad\u034f\u061c\u115f\u180b\u3164\ufeff\uffa0\ufe0f\u2800\U000e0101",
    "\U0001d159",  # a note without a head
)
def test_what_is_drawn_as_nothing_is_dropped_without_a_blank(sign: str):
    assert query_form(f"ro{sign}pe making{sign}") == "rope making"


@for_each("sign", *"\t\n\r\x0b\x00\x1b\u0085\u2028\u3000\u00a0")
def test_blanks_and_controls_are_one_blank(sign: str):
    assert query_form(f" rope{sign} {sign}making{sign}") == "rope making"


@for_each(
    "text",
    "แม่น้ำที่ยาวที่สุด",
    "आल्फा को किसने बनाया?",
    "Ai xây cầu Trường Tiền?",
    "မြို့",
    "谁建造了阿尔法\uff1f",
    "שָׁלוֹם",
    "Who said 10² is 5½ ℃?",
    "ẹ́",
)
def test_a_query_as_people_write_it_stays(text: str):
    assert query_form(text) == unicodedata.normalize("NFC", text)


@for_each(
    "text, query",
    ("\uff52\uff4f\uff50\uff45 \uff15", "rope 5"),
    ("\U0001d4fb\U0001d4f8\U0001d4f9\U0001d4ee \U0001d7d3", "rope 5"),
    ("ﾊﾞﾅﾅ", "バナナ"),
    ("e\u0301", "é"),
    ("x" + "\u0302" * 40, "x" + "\u0302" * 4),
    ("e\u200d\u0301", "é"),
)
def test_letters_are_plain_and_marks_are_few(text: str, query: str):
    assert query_form(text) == query


@for_each(
    "spelled",
    "e\u200barns 214\u200d000",
    "e\u00adarns 214000",
    "é\u0300ãr̂ns 214000",
    "\uff45\uff41\uff52\uff4e\uff53 \uff12\uff11\uff14\uff10\uff10\uff10",
    "earns%20214000",
    "earns%252520214000",
    "earns&#32;214000",
    "\u0435\u0430rns 214000",
    "\u03b5\u03b1rns 214000",
    "ᴇᴀʀɴꜱ 214000",
    "🅴🅰🆁🅽🆂 214000",
    "ⓔⓐⓡⓝⓢ ²14000",
    "earns ٢١٤٠٠٠",
    "ear\u0640ns 214\u0640000",
    "ear\u0578s 214000",
    r"earns\u0020214000",
    r"earns%u0020\x3214000",
    "EARNS,214000",
)
def test_what_reads_the_same_compares_as_the_same(spelled: str):
    assert comparison_form(spelled).split() == ["earns", "214000"]


def test_blanks_in_a_script_without_blanks_do_not_count():
    assert comparison_form("奥 斯\u3000特") == "奥斯特"


@given(SIGNS)
def test_comparing_ends_and_is_settled(text: str):
    compared = comparison_form(text)

    assert compared == comparison_form(compared)
