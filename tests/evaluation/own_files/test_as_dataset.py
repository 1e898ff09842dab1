"""The questions about people's own files as a dataset."""

from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from typer.testing import CliRunner

from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.own_files import as_dataset
from prefrag.evaluation.own_files.as_dataset import find_gold, make_dataset
from prefrag.evaluation.own_files.checks import squeeze
from prefrag.evaluation.studies.four_worlds import make_world, read_dataset
from tests.for_each import for_each

MILL = Document(id="mill", content="The mill opens at\nnine. | Ada | 1870", meta={"file_name": "mill.txt"})
COPY = Document(id="copy", content="News: the mill opens at nine.", meta={"file_name": "news.txt"})
GULL = Document(id="gull", content="Gulls nest on cliffs.", meta={"file_name": "gull.txt"})
PASSAGES = [MILL, COPY, GULL]
TEXTS = {passage.id: squeeze(passage.content or "") for passage in PASSAGES}


def question(*sentences: str, **changes: Any) -> dict[str, Any]:
    asked = {"id": "q", "question": "When?", "answers": ["nine"], "type": "date", "answerable": True}
    return {**asked, "sentences": list(sentences), **changes}


@for_each(
    "asked, gold",
    # One of the two passages would do.
    (question("The mill opens at nine."), []),
    (question("Ada | 1870"), ["mill"]),
    (question("Ada | 1870", first_hop={"sentences": ["Gulls nest on cliffs."]}), ["mill", "gull"]),
    # A sentence that no passage holds: what the question needs is not known.
    (question("Gulls nest on cliffs.", "It shuts at ten."), []),
)
def test_gold_passages_hold_the_sentences(asked: dict[str, Any], gold: list[str]):
    assert find_gold(asked, TEXTS) == gold


def test_questions_that_cannot_be_asked_alone_are_left_out():
    sentence = "Gulls nest on cliffs."
    unanswerable, follow_up = question(sentence, answerable=False), question(sentence, history=["Hello."])

    asked, corpus = make_dataset([unanswerable, follow_up, question(sentence, id="kept")], PASSAGES)

    assert [record["id"] for record in asked] == ["kept"]
    assert len(corpus) == len(PASSAGES)


def test_the_worlds_can_be_made_of_what_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    TantivyDocumentStore(path=str(tmp_path / "index")).write_documents(PASSAGES)
    monkeypatch.setattr(as_dataset, "read_questions", lambda part: [question("Ada | 1870")])

    result = CliRunner().invoke(as_dataset.app, [str(tmp_path / "index"), "dev", str(tmp_path / "own")])

    assert result.exit_code == 0, result.output
    world = make_world("web", load_questions(tmp_path / "own" / "dev.jsonl"), read_dataset(tmp_path / "own"))
    assert {"mill"} <= {passage.id for passage in world.passages["web"]}
