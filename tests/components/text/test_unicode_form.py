import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.unicode_form import normalize_unicode
from tests.for_each import for_each


@for_each(
    "text, form",
    ("Ko\u0308penick", "K\u00f6penick"),
    ("\ufb01nanziell, o\ufb03ce", "finanziell, office"),
    ("10\u00b2 m, Brand\u2122", "10\u00b2 m, Brand\u2122"),
    ("Vienna", "Vienna"),
    ("\ud800 half of a pair", "\ud800 half of a pair"),
)
def test_what_looks_the_same_is_the_same(text: str, form: str):
    assert normalize_unicode(text) == form


@given(st.text())
def test_the_form_of_a_text_is_its_own(text: str):
    form = normalize_unicode(text)
    assert normalize_unicode(form) == form == normalize_unicode(unicodedata.normalize("NFD", text))
