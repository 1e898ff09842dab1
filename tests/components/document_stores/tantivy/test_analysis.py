import pytest

from prefrag.components.document_stores.tantivy.analysis import LANGUAGES
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore


class TestLanguages:
    def test_an_unknown_one_is_refused_with_the_known_ones(self):
        with pytest.raises(ValueError, match=r"klingon.*english.*turkish"):
            TantivyDocumentStore(language="klingon")

    @pytest.mark.parametrize("language", LANGUAGES)
    def test_every_listed_one_works(self, tmp_path, language):
        assert TantivyDocumentStore(path=str(tmp_path / "index"), language=language).analyze("Radio")


class TestWords:
    def test_analysis_is_that_of_the_index(self, towns):
        expected = ["run", "heron", "u", "s", "naïv"]
        assert towns.analyze("The Running HERONS of U.S., naïve") == expected
        assert TantivyDocumentStore(path="nowhere").analyze("The Running HERONS of U.S., naïve") == expected
        assert towns.analyze_many(["The Running HERONS of U.S., naïve", "", "run"]) == [expected, [], ["run"]]
