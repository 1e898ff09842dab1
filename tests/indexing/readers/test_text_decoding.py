"""Decoding texts of any encoding."""

import random
from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from prefrag.indexing.readers.text_decoding import decode_text, looks_like_text
from prefrag.indexing.report import CannotRead
from tests.for_each import for_each

GERMAN = "Die Gr\u00f6\u00dfe des Gef\u00e4\u00dfes \u00fcberrascht: \u00c4pfel, \u00d6l und \u00dcbermut."
FRENCH = "L'\u00e9t\u00e9 dernier, o\u00f9 \u00e9taient les \u00e9l\u00e8ves fran\u00e7ais? D\u00e9j\u00e0 l\u00e0-bas."
QUOTED = "He said \u201cit\u2019s fine\u201d \u2013 the price is 5 \u20ac."
POLISH = "Za\u017c\u00f3\u0142\u0107 g\u0119\u015bl\u0105 ja\u017a\u0144. Wszyscy ludzie rodz\u0105 si\u0119 wolni i r\u00f3wni pod wzgl\u0119dem swych praw."
RUSSIAN = "\u0412\u0441\u0435 \u043b\u044e\u0434\u0438 \u0440\u043e\u0436\u0434\u0430\u044e\u0442\u0441\u044f \u0441\u0432\u043e\u0431\u043e\u0434\u043d\u044b\u043c\u0438 \u0438 \u0440\u0430\u0432\u043d\u044b\u043c\u0438 \u0432 \u0434\u043e\u0441\u0442\u043e\u0438\u043d\u0441\u0442\u0432\u0435 \u0438 \u043f\u0440\u0430\u0432\u0430\u0445."
JAPANESE = "\u3059\u3079\u3066\u306e\u4eba\u9593\u306f\u3001\u751f\u307e\u308c\u306a\u304c\u3089\u306b\u3057\u3066\u81ea\u7531\u3067\u3042\u308a\u3001\u5c0a\u53b3\u3068\u6a29\u5229\u3068\u306b\u3064\u3044\u3066\u5e73\u7b49\u3067\u3042\u308b\u3002"
HEBREW = "\u05db\u05dc \u05d1\u05e0\u05d9 \u05d0\u05d3\u05dd \u05e0\u05d5\u05dc\u05d3\u05d5 \u05d1\u05e0\u05d9 \u05d7\u05d5\u05e8\u05d9\u05df \u05d5\u05e9\u05d5\u05d5\u05d9\u05dd \u05d1\u05e2\u05e8\u05db\u05dd \u05d5\u05d1\u05d6\u05db\u05d5\u05d9\u05d5\u05ea\u05d9\u05d4\u05dd. \u05db\u05d5\u05dc\u05dd \u05d7\u05d5\u05e0\u05e0\u05d5 \u05d1\u05ea\u05d1\u05d5\u05e0\u05d4 \u05d5\u05d1\u05de\u05e6\u05e4\u05d5\u05df, \u05dc\u05e4\u05d9\u05db\u05da \u05d7\u05d5\u05d1\u05d4 \u05e2\u05dc\u05d9\u05d4\u05dd \u05dc\u05e0\u05d4\u05d5\u05d2 \u05d0\u05d9\u05e9 \u05d1\u05e8\u05e2\u05d4\u05d5 \u05d1\u05e8\u05d5\u05d7 \u05e9\u05dc \u05d0\u05d7\u05d5\u05d5\u05d4. \u05d0\u05d9\u05df \u05dc\u05d4\u05e4\u05dc\u05d5\u05ea \u05d0\u05d3\u05dd \u05d1\u05d2\u05dc\u05dc \u05de\u05d9\u05e0\u05d5 \u05d0\u05d5 \u05d1\u05d2\u05dc\u05dc \u05d3\u05ea\u05d5."
ARABIC = "\u064a\u0648\u0644\u062f \u062c\u0645\u064a\u0639 \u0627\u0644\u0646\u0627\u0633 \u0623\u062d\u0631\u0627\u0631\u0627 \u0645\u062a\u0633\u0627\u0648\u064a\u0646 \u0641\u064a \u0627\u0644\u0643\u0631\u0627\u0645\u0629 \u0648\u0627\u0644\u062d\u0642\u0648\u0642. \u0648\u0642\u062f \u0648\u0647\u0628\u0648\u0627 \u0639\u0642\u0644\u0627 \u0648\u0636\u0645\u064a\u0631\u0627 \u0648\u0639\u0644\u064a\u0647\u0645 \u0623\u0646 \u064a\u0639\u0627\u0645\u0644 \u0628\u0639\u0636\u0647\u0645 \u0628\u0639\u0636\u0627 \u0628\u0631\u0648\u062d \u0627\u0644\u0625\u062e\u0627\u0621."
GREEK = "\u038c\u03bb\u03bf\u03b9 \u03bf\u03b9 \u03ac\u03bd\u03b8\u03c1\u03c9\u03c0\u03bf\u03b9 \u03b3\u03b5\u03bd\u03bd\u03b9\u03bf\u03cd\u03bd\u03c4\u03b1\u03b9 \u03b5\u03bb\u03b5\u03cd\u03b8\u03b5\u03c1\u03bf\u03b9 \u03ba\u03b1\u03b9 \u03af\u03c3\u03bf\u03b9."


@for_each(
    "text, encoding",
    (GERMAN, "latin-1"),
    (FRENCH, "latin-1"),
    ("Caf\u00e9", "latin-1"),
    (QUOTED, "cp1252"),
    (POLISH, "iso8859-2"),
    (POLISH, "cp1250"),
    (RUSSIAN, "cp1251"),
    (RUSSIAN, "koi8-r"),
    (RUSSIAN, "iso8859-5"),
    (GREEK, "cp1253"),
    (HEBREW, "cp1255"),
    (HEBREW, "iso8859-8"),
    (ARABIC, "cp1256"),
    (JAPANESE, "shift_jis"),
    (JAPANESE, "euc_jp"),
    (GERMAN, "utf-16-le"),
    (GERMAN, "utf-16-be"),
    (GERMAN, "utf-16"),
    (GERMAN, "utf-32"),
)
def test_a_text_shows_its_encoding(text: str, encoding: str) -> None:
    assert decode_text(text.encode(encoding)) == text


@for_each(
    "text, encoding, declared",
    (f"{'This is a long English text about a town. ' * 400}The M\u00fcller family lived there.\n", "latin-1", None),
    (GREEK, "iso8859-7", "iso-8859-7"),
    (QUOTED, "cp1252", "iso-8859-1"),  # Every browser reads this encoding as cp1252.
    (GERMAN, "cp1252", "utf-8"),
)
def test_declared_encoding_wins_over_the_guess_unless_wrong(text: str, encoding: str, declared: str | None) -> None:
    assert decode_text(text.encode(encoding), declared) == text


@for_each("declared", "nonsense", "utf-16", "hex", "punycode", "idna", "\u00e4\0", "unicode_escape", "utf-7")
def test_a_declaration_that_is_none_is_passed_over(declared: str) -> None:
    assert decode_text(b"<p>A page of +AGE- \\x41</p>", declared) == "<p>A page of +AGE- \\x41</p>"


def test_utf8_with_a_broken_byte_keeps_the_rest() -> None:
    assert decode_text((GERMAN * 5).encode() + b"\xff.") == GERMAN * 5 + "\ufffd."


@for_each("seed", *range(20))
def test_arbitrary_bytes_are_no_text(seed: int) -> None:
    data = random.Random(seed).randbytes(3_000)

    assert not looks_like_text(data)
    with pytest.raises(CannotRead):
        decode_text(data)


@given(st.text(min_size=4, alphabet=st.characters(codec="ascii")), st.data())
def test_a_text_with_a_zero_byte_is_not_taken_for_utf16(text: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(text)))

    with pytest.raises(CannotRead, match="zero bytes"):
        decode_text(f"{text.replace(chr(0), 'x')[:place]}\0{text.replace(chr(0), 'x')[place:]}".encode())


@given(st.text(), st.sampled_from(["utf-8-sig", "utf-16", "utf-32"]))
def test_text_in_utf8_comes_back_and_a_byte_order_mark_decides(text: str, encoding: str) -> None:
    if "\0" in text:
        return
    if text:
        assert decode_text(text.encode(encoding)) == text
    if not text.startswith("\ufeff"):
        assert decode_text(text.encode()) == text


@given(st.binary(min_size=1))
@example(b"\xef\xbb\xbf")
def test_arbitrary_bytes_become_a_storable_text_or_are_refused(data: bytes) -> None:
    with suppress(CannotRead):
        text = decode_text(data)
        assert "\0" not in text
        # This would raise if the text had a lone surrogate.
        text.encode()
    looks_like_text(data)


@for_each(
    "beginning, is_text",
    (b"All: build\n\tmake it\n", True),
    (GERMAN.encode("latin-1"), True),
    (GERMAN.encode("utf-16"), True),
    (("a" + "\u00e9" * 5_000).encode()[:8_192], True),
    (RUSSIAN.encode("cp1251"), True),
    (b"", False),
    (b" \n", False),
    (b"\x7fELF\x02\x01\x01\0\0", False),
    (b"\x89PNG\r\n\x1a\n", False),
    (b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNz\n", False),
    (b"# mine\n[default]\naws_access_key_id = AKIA5\naws_secret_access_key = wJalr\n", False),
    (b"machine example.org login ada password s3cret\n", False),
    (b"API_TOKEN=abc\n", False),
    (b"Install it.\nThen set a password:\npassword = changeme\nand start it.\n", True),
    (b"name = Ada\ncity = Kiel\n", True),
)
def test_file_without_a_suffix_is_read_if_it_is_harmless_text(beginning: bytes, is_text: bool) -> None:
    """It is no program, picture or private key."""

    assert looks_like_text(beginning) is is_text
