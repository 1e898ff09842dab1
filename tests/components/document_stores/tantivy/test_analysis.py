from concurrent.futures import ThreadPoolExecutor

import pytest
from haystack import Document

from prefrag.components.document_stores.tantivy.analysis import LANGUAGES, text_analyzer
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from tests.for_each import for_each


class TestLanguages:
    def test_an_unknown_one_is_refused_with_the_known_ones(self):
        with pytest.raises(ValueError, match=r"klingon.*english.*turkish"):
            TantivyDocumentStore(language="klingon")

    @for_each("language", *LANGUAGES)
    def test_every_listed_one_works(self, tmp_path, language):
        assert TantivyDocumentStore(path=str(tmp_path / "index"), language=language).analyze("Radio")


class TestWords:
    def test_analysis_is_that_of_the_index(self, towns):
        expected = ["run", "heron", "u", "s", "naïv"]
        assert towns.analyze("The Running HERONS of U.S., naïve") == expected
        assert TantivyDocumentStore(path="nowhere").analyze("The Running HERONS of U.S., naïve") == expected
        assert towns.analyze_many(["The Running HERONS of U.S., naïve", "", "run"]) == [expected, [], ["run"]]

    @for_each(
        "text, words",
        ("東京の橋", ["東京", "京の", "の橋"]),
        ("the 橋", ["橋"]),
        ("東京tower", ["東京", "tower"]),
        ("สะพาน", ["สะ", "ะพ", "พา", "าน"]),
        ("мост", ["мост"]),
    )
    def test_scripts_without_blanks_are_split_into_pairs_of_signs(self, text, words):
        assert TantivyDocumentStore(path="nowhere").analyze(text) == words

    def test_a_question_finds_a_part_of_such_a_run(self, tmp_path):
        store = TantivyDocumentStore(path=str(tmp_path / "index"))
        store.write_documents(
            [Document(id="a", content="東京の橋は1921年に造られた。"), Document(id="b", content="大阪の船。")]
        )

        assert [document.id for document in store.search("橋はいつ造られたか")] == ["a"]
        assert store.document_frequencies(["東京", "の橋", "海"]) == (2, {"東京": 1, "の橋": 1, "海": 0})


def test_each_thread_has_an_analyzer_of_its_own():
    here = text_analyzer("english")
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(text_analyzer, "english").result()

    assert here is text_analyzer("english")
    assert there is not here
