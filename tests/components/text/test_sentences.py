import re
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from prefrag.components.text.sentences import (
    cut_text,
    find_cut,
    plain_sentences,
    sentence_at,
    sentence_spans,
    shown_sentences,
    split_strips,
    with_list,
)
from prefrag.components.text.unicode_form import UNSPACED_SCRIPTS
from tests.for_each import for_each

TEXT = "Alpha sails. It was built in 1969 by Dr. Beta, of Gamma!\n\nFerries\nDelta won?  \u201cYes.\u201d"
SHOWN = ["Alpha sails.", "It was built in 1969 by Dr. Beta, of Gamma!", "Ferries", "Delta won?", "\u201cYes.\u201d"]
PIECES = [
    *("A b. ", "\n\n", "\n", "x", "Dr. ", "e.g. ", "\u3002", "\xc9t\xe9. "),
    *("\u042f", " ", "\r\n", "?", '"', "w" * 500, ": ", "|"),
]


@for_each(
    "text, sentences",
    (TEXT, SHOWN),
    ("It opened. \xc9mile came. \u042f\u043d spoke.", ["It opened.", "\xc9mile came.", "\u042f\u043d spoke."]),
    ("The hall of St. Mary, No. 5, opened. 7 came.", ["The hall of St. Mary, No. 5, opened.", "7 came."]),
    ("tool: drill no. 15; user: Di Foss", ["tool: drill no. 15; user: Di Foss"]),
    ("Lockers nos. 3 and 4 are free.", ["Lockers nos. 3 and 4 are free."]),
    ("They said no. Then 15 came.", ["They said no.", "Then 15 came."]),
    ("Say yes or no. 15 came.", ["Say yes or no.", "15 came."]),
    ("It was read by Dr.\nBeta. Then", ["It was read by Dr.\nBeta.", "Then"]),
    ("Ropes, nets etc.\n\nsails", ["Ropes, nets etc.", "sails"]),
    ("\u6771\u4eac\u3002\u5927\u962a\uff01", ["\u6771\u4eac\u3002", "\u5927\u962a\uff01"]),
    (
        "A heading\nThe pump runs for ten\nminutes a day. Then it\nrests.\n- a point:\nso\nAnother point",
        ["A heading", "The pump runs for ten\nminutes a day.", "Then it\nrests.", "- a point:", "so", "Another point"],
    ),
    (
        "Es ist am 3. Juni um 14 Uhr. Dr. Falk gibt z. B. den Schl\u00fcssel Nr. 7. Das Haus ist aus dem 19. Jahrhundert.",
        [
            "Es ist am 3. Juni um 14 Uhr.",
            "Dr. Falk gibt z. B. den Schl\u00fcssel Nr. 7.",
            "Das Haus ist aus dem 19. Jahrhundert.",
        ],
    ),
    (
        "I am 7. He is in flat 3. Plan b. Then 5. May came.",
        ["I am 7.", "He is in flat 3.", "Plan b.", "Then 5.", "May came."],
    ),
    ("Es waren 12. Danach kam 4. Junikäfer.", ["Es waren 12.", "Danach kam 4.", "Junikäfer."]),
    ("flat: 3; rent: 540\nflat: 4; rent: 610", ["flat: 3; rent: 540", "flat: 4; rent: 610"]),
    ("", []),
    ("\n\n \n", []),
)
def test_sentences_end_with_stop_paragraph_or_a_line_that_ends(text: str, sentences: list[str]):
    assert shown_sentences(text) == sentences


@for_each(
    "sentence",
    # An ordinal behind an article or a preposition, in either case.
    *(
        "Im 3. Stock sitzt die Buchhaltung.",
        "Am 2. Januar \xf6ffnet es.",
        "Die 3. Auflage ist da.",
        "Sein 2. Sieg z\xe4hlt.",
    ),
    # An abbreviation before a name or a noun.
    *("Bei Fr. Lehmann, Abt. Einkauf.", "Falk u. S\xf6hne liefern f\xfcr 2 Mio. Euro.", "Hr. Ing. Holm baut lt. Plan."),
    *(
        "Versand kostet zzgl. Steuer evtl. Zoll.",
        "Den stellv. Vorsitz hat Dr. med. Noll.",
        "Kelo v. London ist ein Urteil.",
    ),
    *(
        "Die Fa. Bruhn & Sohn deckt das Dach.",
        "Das Gutachten schrieb Obering. Frauke Nolte.",
        "Es spricht Dekan em. Rolf Aust, danach Prof. em. Ute Klamm.",
    ),
    # A preposition and an article as letters.
    *("Er wohnt in Frankfurt a. d. Oder.", "Frau v. d. Heide leitet den Chor.", "Das ist Neustadt a.d. Aisch."),
    *("Rothenburg o. d. Tauber ist alt.", "Dr. v. d. Brelie kommt.", "Das gilt i. d. Regel auch dort."),
    # An ordinal behind another ordinal, or in an address.
    *(
        "Die Anmeldung ist für den 1. und 2. Kurs offen.",
        "Das gilt in der 5./6. Klasse.",
        "Er wohnt in der Lindenstr. 4 b, 3. Etage, 24103 Kiel.",
        "Die Praxis ist im Haus 5, 2. Eingang links.",
        "Das Amt ist in der Torstr. 8, 2. Tor, 24103 Kiel.",
        "Sie wohnt im Haus 7, 1. Hinterhof.",
        "Umsatz im 1. bis 3. Quartal ist hoch.",
    ),
    # An abbreviation before a number or a section of a law.
    *(
        "Es gilt gem. \xa7 5 Abs. 2 weiter.",
        "Tel. 0431 55, Bahnhofstr. 12, Mo.\u2013Fr. 8 Uhr.",
        "Er wiegt max. 40 kg v. 8. Sept. 2025.",
    ),
)
def test_german_ordinals_and_abbreviations_end_no_sentence(sentence: str):
    assert shown_sentences(f"{sentence} Dann ist es gut.") == [sentence, "Dann ist es gut."]


@for_each(
    "first, second",
    ("Die Frist endet am 30.", "Danach ist Schluss."),
    ("Er kommt am Fr.", "Dann geht er."),
    ("Er wohnt in der Hafenstr.", "Ada wohnt dort auch."),
    ("Hans Hartl.", "Maria kommt."),
    ("It took 30 min.", "5 people came."),
    ("I would love u.", "Tom would too."),
    ("Run it with kubectl.", "Open the page."),
    ("Catch em.", "Tom will."),
    ("He came in 300 a.d.", "Rome fell."),
    ("He took a., b., c. d.", "Tom took none."),
    ("Options a. d.", "Both are right."),
    ("Mark the lines a. d.", "Tom took none."),
    ("Das Rohr hat 50 mm i. d.", "Die Säule ist lang."),
    ("Smith, n. d.", "The book is lost."),
    ("Die Plätze 1. bis 3.", "Anna bekam Gold."),
    ("Wir lesen die Kapitel 1, 2.", "Haftpflichtversicherungen sind nicht Teil der Prüfung."),
    ("Er hat mit Glück die Noten 2, 3.", "Englisch, Latein und Mathe sind besser."),
    ("Die Lösung ist 3, 4.", "Fertig."),
    ("See pages 12, 14.", "However, the map is old."),
    ("Er hat die Zimmer 1, 2.", "Anna hat ein anderes."),
    ("Es sind die Zimmer 1, 2.", "Danach kommt der Flur."),
    ("Es kamen 3 und 4.", "Anna ging."),
)
def test_true_ends_stay_ends_beside_german_short_forms(first: str, second: str):
    assert shown_sentences(f"{first} {second}") == [first, second]


@for_each("sentence", *SHOWN)
def test_the_one_at_a_place_is_whole(sentence: str):
    begin = TEXT.index(sentence)

    assert {sentence_at(TEXT, begin), sentence_at(TEXT, begin + len(sentence) - 1)} == {sentence}


def test_a_long_one_is_several_cut_between_words():
    text = f"{'a ' * 2_000}1969{' b' * 2_000}"

    assert "1969" in sentence_at(text, text.index("1969"))
    assert max(map(len, shown_sentences(text))) <= 400
    assert set(" ".join(shown_sentences(text)).split()) == {"a", "b", "1969"}


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join), st.integers(0, 50))
def test_sentences_stand_in_order_and_leave_out_blanks_alone(text: str, place: int):
    spans = sentence_spans(text)

    assert all(text[begin:end].strip() == text[begin:end] != "" for begin, end in spans)
    begins, ends = [*(begin for begin, _ in spans), len(text)], [0, *(end for _, end in spans)]
    assert not "".join(text[end:begin] for end, begin in zip(ends, begins, strict=True)).strip()
    assert all(end <= begin for end, begin in zip(ends, begins, strict=True))
    assert sentence_at(text, place) in text


def test_those_that_were_measured_with_stay_as_they_were():
    assert plain_sentences("It was built by Dr. Beta. \xc9mile came\nthen.") == [
        "It was built by Dr.",
        "Beta. \xc9mile came",
        "then.",
    ]
    assert plain_sentences(" \n") == []
    assert len(plain_sentences("a " * 2_000)[0]) <= 600


WORDS = [
    *(
        "The budget ",
        "of 1,250,000 euros. ",
        "1.5 km ",
        "in 1931.\n",
        "\n\n",
        "caf\u0065\u0301 ",
        "Stop! ",
        "10\xa0000 ",
    ),
    *(
        "\u4f1a\u8bae\u5c06\u4e8e1250",
        "\u5e74\u3002",
        "\u0e01\u0e33\u0e2b\u0e19\u0e14\u0e17\u0e35\u0e48",
        "\U0001f44d\U0001f3fd ",
        "\u0928\u0940\u0924\u093f ",
    ),
]
NUMBER = re.compile(r"\d[\d.,\xa0]*")


class TestCut:
    @for_each(
        "text, characters, left",
        ("It opened. It closed in 1931 for good.", 16, "It opened."),
        ("The budget was 1,250,000 euros.", 19, "The budget was"),
        ("The budget was 1 250 000 euros.", 19, "The budget was"),
        ("The budget was 1\xa0250\xa0000 euros.", 20, "The budget was"),
        ("It was Dr. Ines Calloway who built it.", 21, "It was Dr. Ines"),
        ("A. " + "word " * 9, 24, "A. word word word word"),
        ("\u4f1a\u8bae\u5c06\u4e8e\u661f\u671f\u4e8c\u4e3e\u884c", 5, "\u4f1a\u8bae\u5c06\u4e8e\u661f"),
        ("\u7b2c1250\u53f7", 3, "\u7b2c"),
        ("\u0e01\u0e33\u0e01\u0e33", 3, "\u0e01\u0e33"),
        ("caf\u0065\u0301", 4, "caf"),
        ("\U0001f44d\U0001f3fd", 1, "\U0001f44d"),
        ("abcdef", 3, "abc"),
        ("ab", 2, "ab"),
        ("ab", 0, ""),
    )
    def test_is_between_sentences_else_between_words(self, text: str, characters: int, left: str):
        assert cut_text(text, characters) == left

    def test_is_marked_and_the_mark_counts(self):
        assert cut_text("The budget was 1,250,000 euros.", 19, " ...") == "The budget was ..."
        assert cut_text("All of it.", 10, " ...") == "All of it."

    @example("1.5 km 1.5 km \u4f1a\u8bae\u5c06\u4e8e125010\xa0000 ", 13, 11)
    @given(
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map("".join), st.integers(13, 90), st.integers(0, 30)
    )
    def test_is_never_within_a_word_or_a_number(self, text: str, characters: int, begin: int):
        place = find_cut(text, characters, min(begin, len(text)))

        if place == len(text):
            return
        assert begin < place <= begin + characters
        before, after = text[place - 1], text[place]
        assert not unicodedata.category(after).startswith("M")
        is_spaced = not re.search(f"[{UNSPACED_SCRIPTS}]", before + after)
        assert not (is_spaced and before.isalnum() and after.isalnum())
        assert not any(
            number.start() < place < number.end() and place < number.end() - 1 for number in NUMBER.finditer(text)
        )

    @given(st.text(), st.integers(-2, 50), st.integers(0, 9))
    def test_leaves_a_beginning_and_goes_on(self, text: str, characters: int, begin: int):
        cut = cut_text(text, characters)

        assert text.startswith(cut)
        assert len(cut) <= max(0, characters)
        assert find_cut(text, max(1, characters), begin) > begin or begin >= len(text)

    def test_takes_a_sentence_of_a_text_that_is_shown_whole(self):
        sentence = f"Its parts are {'word ' * 130}and 1,250,000 rivets."

        assert plain_sentences(sentence)[0].endswith("word")
        assert shown_sentences("\u0e01\u0e33" * 500)[0].endswith("\u0e33")
        assert with_list("To sign:\n1. " + "word " * 500, "To sign:").endswith("word")


class TestStrips:
    @for_each(
        "text, sentences, strips",
        (
            *("One is. Two is.\n\nThree is.  Four is. Five is. Six is. Seven is.", 3),
            ["One is. Two is.", "Three is.  Four is.", "Five is. Six is. Seven is."],
        ),
        ("One is.", 1, ["One is."]),
        ("One is. Two is.", 1, ["One is. Two is."]),
        (" \n", 3, []),
    )
    def test_of_few_sentences_are_about_equal_and_one_or_two_are_one(
        self, text: str, sentences: int, strips: list[str]
    ):
        assert split_strips(text, sentences) == strips

    @given(st.text(alphabet="aA.! \n", max_size=60), st.integers(1, 4))
    def test_nothing_is_lost(self, text: str, sentences: int):
        assert "".join("".join(split_strips(text, sentences)).split()) == "".join(text.split())


@for_each(
    "behind, items",
    ("\n1. Build it.\n2. Sign it\n   with a key.\n\nThen rest.", "\n1. Build it.\n2. Sign it\n   with a key."),
    ("\n\n- Build it.\n\n- Sign it.\nIt is done.\n\nMore.", "\n\n- Build it.\n\n- Sign it.\nIt is done."),
    (" Then rest.\n1. Sleep.", ""),
    ("\nThen rest.\n1. Sleep.", ""),
    ("", ""),
    # A sentence that stands twice, as in a table of contents, has the list of one place, or of none if both have one.
    ("\n\nGuests. To sign:\n1. Call.", "\n1. Call."),
    ("\n1. Show.\n\nGuests. To sign:\nThen rest.", "\n1. Show."),
    ("\n1. Show.\n\nGuests. To sign:\n1. Show.\n\nMore.", "\n1. Show."),
    ("\n1. Show.\n\nGuests. To sign:\n1. Call.", ""),
    ("\n- Show.\n\nTo sign:\n- Call.\n\nTo sign:", ""),
)
def test_the_items_of_a_list_go_with_the_sentence_before_it(behind, items):
    assert with_list(f"First. To sign:{behind}", "To sign:") == f"To sign:{items}"
