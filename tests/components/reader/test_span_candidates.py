"""Which spans of a passage may be an answer."""

from prefrag.components.reader.reader_input import passage_text
from prefrag.components.reader.span_candidates import span_candidates
from tests.for_each import for_each

TEXT = (
    'Maud Ferrant, a lathe maker from Oskerry, founded the "Tidal Works" on 4 March 1923 with about 720 people. '
    "The University of Tolmouth gave her the Halvard Prize in 1969."
)


@for_each(
    "span, kind",
    ("Maud Ferrant", "name"),
    ("Tidal Works", "quotation"),
    ("4 March 1923", "date"),
    ("1969", "year"),
    ("720", "number"),
    ("The University of Tolmouth", "name"),
    ("lathe maker", "phrase"),
    ("Tidewright", "title"),
)
def test_names_dates_numbers_quotes_phrases_title_are_candidates(span, kind):
    assert (span, kind) in [(one.text, one.kind) for one in span_candidates(0, "Tidewright (firm)", TEXT)]


def test_candidate_has_its_place_for_the_encoder_and_no_double():
    whole, found = passage_text("Tidewright", TEXT), span_candidates(3, "Tidewright", TEXT)

    assert [(whole[one.begin : one.end], 3) for one in found] == [(one.text, one.passage) for one in found]
    assert len({(one.begin, one.end) for one in found}) == len(found) > 0
    assert span_candidates(0, "", "") == []


def test_no_span_goes_on_into_the_next_sentence():
    found = [
        one.text for one in span_candidates(0, "", "It was drawn by Mikkel Thorsby. The Walrus knew J. M. Barrie.")
    ]

    assert "Mikkel Thorsby" in found
    assert "J. M. Barrie" in found
    assert not [text for text in found if "Thorsby. " in text]
