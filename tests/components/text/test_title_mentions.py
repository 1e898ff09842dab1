import pytest
from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.title_mentions import longest_mentions, mentioned_keys, title_key
from tests.for_each import for_each


class TestTitleKey:
    @for_each(
        "title, key",
        ("Mercury (planet)", "mercury"),
        ("Ocean's Eleven", "ocean eleven"),
        ("Ocean\u2019s Eleven", "ocean eleven"),
        ("O'Hara", "ohara"),
        ("O\u00b4Hara\u00b4s House", "ohara house"),
        ("\u6c34\u661f\uff08\u60d1\u661f\uff09", "\u6c34\u661f"),
        ("Beyonc\u00e9", "beyonce"),
        ("AC/DC", "ac dc"),
        ("  U.S.  Route_66 ", "u s route 66"),
        ("STRASSE", "strasse"),
        ("Stra\u00dfe", "strasse"),
        ("\u6771\u4eac", "\u6771\u4eac"),
        ("(parenthesis)", "parenthesis"),
        ("(I Can't Get No) Satisfaction", "i cant get no satisfaction"),
        ("?!", ""),
        ("", ""),
    )
    def test_leaves_out_what_a_text_may_write_otherwise(self, title: str, key: str):
        assert title_key(title) == key


class TestMentionedKeys:
    def test_are_word_n_grams_longest_first_once_at_a_place(self):
        """They have at most so many words."""

        assert mentioned_keys("Karl Renner, Vienna's") == [
            *("karl renner vienna", "karl renner", "karl"),
            *("renner vienna", "renner"),
            "vienna",
        ]

        assert mentioned_keys("Linz Linz Linz", max_words=2) == ["linz linz", "linz"]

        with pytest.raises(ValueError, match="at least 1"):
            mentioned_keys("Linz", max_words=0)

    @for_each(
        "text, names, others",
        # A single word needs a capital letter, unless the text or the script has none; several words do not.
        ("The comedy of minimum wages in Linz", {"linz", "minimum wages"}, {"comedy"}),
        ("who built the church at karlsplatz", {"karlsplatz"}, set()),
        ("In \u0641\u064a\u064a\u0646\u0627", {"\u0641\u064a\u064a\u0646\u0627"}, set()),
        # Numbers and function words are not names, unless all words are capitalised.
        (
            "This was in 1984. It was The End of what is.",
            {"the end"},
            {"this", "it", "the", "1984", "what is", "was in"},
        ),
        ("A concert of The Who", {"the who"}, set()),
        ("A man of the who is who", set(), {"the who"}),
    )
    def test_are_names_and_no_other_words(self, text: str, names: set[str], others: set[str]):
        keys = set(mentioned_keys(text))

        assert names <= keys
        assert not others & keys

    @given(
        st.lists(st.sampled_from(["Vienna", "Karl's", "O'Hara", "U.S.", "\u00c9mile"]), min_size=1, max_size=8),
        st.text(),
    )
    def test_a_text_mentions_itself_and_a_key_is_its_own_key(self, words: list[str], title: str):
        assert title_key(" ".join(words)) in mentioned_keys(" ".join(words), max_words=16)
        assert title_key(title_key(title)) == title_key(title)


class TestLongestMentions:
    @for_each(
        "text, known, mentioned",
        # A title inside a longer mentioned title does not count, but titles that overlap both count.
        ("The New York City marathon", {"new york", "new york city", "york", "city hall"}, ["new york city"]),
        ("New York City, York, New York", {"new york", "new york city", "york"}, ["new york city", "york", "new york"]),
        ("New York City Hall", {"new york city", "city hall", "york"}, ["new york city", "city hall"]),
        ("Linz, Vienna, Linz", {"vienna", "linz"}, ["linz", "vienna"]),
        (" ... ", {""}, []),
    )
    def test_are_in_the_order_of_first_mention(self, text: str, known: set[str], mentioned: list[str]):
        assert longest_mentions(text, known) == mentioned

    @given(st.text(alphabet="ABab ", max_size=40), st.sets(st.text(alphabet="ab ", max_size=5), max_size=8))
    def test_all_are_known_and_in_the_text(self, text: str, known: set[str]):
        mentioned = longest_mentions(text, known)
        assert set(mentioned) <= known & set(mentioned_keys(text))
        assert len(mentioned) == len(set(mentioned))
