"""Whether a message names anything that documents could tell of, by its form."""

from hypothesis import given
from hypothesis import strategies as st

from prefrag.components.text.question_topic import fits_nothing, names_nothing
from tests.for_each import for_each


class TestNamesNothing:
    @for_each(
        "question",
        "What is in here?",
        "what can you do",
        "Who are you?",
        "How does this do it?",
        "which files are there?",
    )
    def test_only_function_words(self, question: str):
        assert names_nothing(question)

    @for_each(
        "question",
        "What is in the cellar?",
        "Who is Ada?",
        "hello",
        "What can a key do?",
        "2024?",
        "",
        "??",
        "What does the WHO do?",
        "Who is in IT?",
    )
    def test_a_word_that_names_something(self, question: str):
        assert not names_nothing(question)


class TestFitsNothing:
    @for_each("message", "hello", "Thanks!", "good morning", "ok then", "moin", "Thank you then")
    def test_a_greeting(self, message: str):
        assert fits_nothing(message, ["The boiler is in the cellar.", "It was sold then."])

    @for_each(
        "message",
        *("boiler", "wifi cellar", "boiler?", "who knows", "ORD-107", "thanks for the new boiler", "hello?", ""),
        *("does the lease forbid pets", "is smoking allowed here", "wann wurde die halle gebaut"),
        *("Boilers", "\u793e\u9577\u306f\u8ab0\u3067\u3059\u304b"),
    )
    def test_a_question_or_a_word_of_a_passage(self, message: str):
        assert not fits_nothing(message, ["The Boiler is in the cellar."])

    def test_no_passage_at_all(self):
        assert fits_nothing("hello", [])

    @given(st.text(), st.lists(st.text()))
    def test_any_text(self, message: str, texts: list[str]):
        assert fits_nothing(message, texts) in (True, False)
        assert not names_nothing(f"{message} zebra")
        assert not fits_nothing(f"{message}?", texts)
