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

    @given(st.text())
    def test_a_key_is_its_own_key(self, title: str):
        assert title_key(title_key(title)) == title_key(title)


class TestMentionedKeys:
    def test_are_the_word_n_grams_longest_first_at_each_place(self):
        assert mentioned_keys("Karl Renner, Vienna's") == [
            *("karl renner vienna", "karl renner", "karl"),
            *("renner vienna", "renner"),
            "vienna",
        ]

    def test_come_once_and_have_at_most_so_many_words(self):
        assert mentioned_keys("Linz Linz Linz", max_words=2) == ["linz linz", "linz"]

    def test_one_word_needs_a_capital_letter_and_several_do_not(self):
        keys = mentioned_keys("The comedy of minimum wages in Linz")
        assert "comedy" not in keys
        assert "linz" in keys
        assert "minimum wages" in keys

    def test_without_any_capital_letter_none_is_required(self):
        assert "karlsplatz" in mentioned_keys("who built the church at karlsplatz")

    def test_a_script_without_capitals_needs_none(self):
        assert "\u0641\u064a\u064a\u0646\u0627" in mentioned_keys("In \u0641\u064a\u064a\u0646\u0627")

    def test_function_words_and_numbers_are_no_names(self):
        keys = mentioned_keys("This was in 1984. It was The End of what is.")
        assert not {"this", "it", "the", "1984", "what is", "was in"} & set(keys)
        assert "the end" in keys

    def test_function_words_that_all_have_capitals_are(self):
        assert "the who" in mentioned_keys("A concert of The Who")
        assert "the who" not in mentioned_keys("A man of the who is who")

    def test_no_words_is_refused(self):
        with pytest.raises(ValueError, match="at least 1"):
            mentioned_keys("Linz", max_words=0)

    @given(st.lists(st.sampled_from(["Vienna", "Karl's", "O'Hara", "U.S.", "\u00c9mile"]), min_size=1, max_size=8))
    def test_a_text_mentions_itself(self, words: list[str]):
        assert title_key(" ".join(words)) in mentioned_keys(" ".join(words), max_words=16)


class TestLongestMentions:
    def test_a_title_inside_a_longer_one_does_not_count_there(self):
        known = {"new york", "new york city", "york", "city hall"}
        assert longest_mentions("The New York City marathon", known) == ["new york city"]
        assert longest_mentions("New York City, York and New York", known) == ["new york city", "york", "new york"]

    def test_titles_that_overlap_both_count(self):
        assert longest_mentions("New York City Hall", {"new york city", "city hall", "york"}) == [
            "new york city",
            "city hall",
        ]

    def test_are_in_the_order_of_first_mention(self):
        assert longest_mentions("Linz, Vienna, Linz", {"vienna", "linz"}) == ["linz", "vienna"]

    def test_none_in_a_text_without_words(self):
        assert longest_mentions(" ... ", {""}) == []

    @given(st.text(alphabet="ABab ", max_size=40), st.sets(st.text(alphabet="ab ", max_size=5), max_size=8))
    def test_all_are_known_and_in_the_text(self, text: str, known: set[str]):
        mentioned = longest_mentions(text, known)
        assert set(mentioned) <= known & set(mentioned_keys(text))
        assert len(mentioned) == len(set(mentioned))
