"""Reading the questions and the corpus of a training."""

from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.training.dataset import Dataset
from tests.for_each import for_each
from tests.training.towns import write_dataset


def question(key: str, *gold: str) -> dict[str, Any]:
    return {"id": key, "question": f"What is {key}?", "answers": ["it"], "supporting_ids": list(gold)}


def passage(key: str) -> dict[str, Any]:
    return {"id": key, "title": key, "text": f"About {key}."}


def test_the_two_files_stand_with_a_colon_between_them(tmp_path: Path):
    written = write_dataset(tmp_path / "a:b", [question("q", "p")], [passage("p")])

    assert Dataset.parse(f"{written.questions}:{written.corpus}") == written
    with pytest.raises(FileNotFoundError, match="nowhere"):
        Dataset.parse(f"nowhere.jsonl:{written.corpus}")


@for_each("text", "", "a.jsonl", ":a.jsonl", "a.jsonl:")
def test_one_file_is_not_enough(text: str):
    with pytest.raises(ValueError, match=r"QUESTIONS.jsonl:CORPUS.jsonl"):
        Dataset.parse(text)


def test_questions_without_gold_passages_are_left_out(tmp_path: Path):
    questions, passages = write_dataset(tmp_path, [question("one", "p"), question("two")], [passage("p")]).read()

    assert [question.id for question in questions] == ["one"]
    assert [passage.id for passage in passages] == ["p"]


@pytest.mark.parametrize(
    ("gold", "passages", "at_least", "message"),
    [
        (("p", "gone"), [passage("p")], 1, "'gone' of question 'one'"),
        (
            ("p",),
            [passage("p"), {**passage("p"), "text": "Other."}],
            1,
            r"corpus.jsonl holds two passages with the id 'p': give each its own id",
        ),
        (("p",), [passage("p")], 25, "too few questions .*: 1, but training needs at least 25"),
    ],
    ids=["a gold passage that the corpus lacks", "two passages with one id", "too few questions"],
)
def test_what_cannot_be_learnt_from_is_refused_in_words(
    tmp_path: Path, gold: tuple[str, ...], passages: list[Any], at_least: int, message: str
):
    with pytest.raises(ValueError, match=message):
        write_dataset(tmp_path, [question("one", *gold)], passages).read(at_least=at_least)


class TestDigest:
    def test_of_two_datasets_of_one_name_differs_with_their_content(self, tmp_path: Path):
        asked, corpus = [question("q", "p")], [passage("p")]
        first = write_dataset(tmp_path / "1" / "data", asked, corpus)
        same = write_dataset(tmp_path / "2" / "data", asked, corpus)
        others = (
            write_dataset(tmp_path / "3" / "data", [{**asked[0], "answers": ["that"]}], corpus),
            write_dataset(tmp_path / "4" / "data", asked, [{**corpus[0], "text": "Something else."}]),
        )

        assert {first.name, same.name, *(dataset.name for dataset in others)} == {"data/questions"}
        assert first.digest() == same.digest()
        assert len({first.digest(), *(dataset.digest() for dataset in others)}) == 3

    def test_of_an_index_follows_its_passages(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path))
        store = TantivyDocumentStore(path=tmp_path / "indexes" / "own")
        store.write_documents([Document(id="p", content="About p."), Document(id="r", content="About r.")])
        questions = write_dataset(tmp_path / "data", [question("q", "p")], []).questions
        dataset = Dataset(questions, None, "own")
        before = dataset.digest()
        assert dataset.digest() == before

        store.write_documents([Document(id="p", content="Changed.")], DuplicatePolicy.OVERWRITE)

        assert dataset.digest() != before
