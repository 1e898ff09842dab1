"""A stopped training of a reader goes on only with what it was begun with. Nothing is trained here."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import prefrag.training.reader.training
from prefrag.training.dataset import Dataset
from prefrag.training.reader.documents import read_documents
from prefrag.training.reader.training import train_reader
from tests.training.towns import write_lines, write_rivers

MILL = {
    "question": "When was the mill built?",
    "document": "mill",
    "title": "Mill",
    "text": "The mill is of 1810.",
    "answers": ["1810"],
}


class Stopped(Exception):
    """The training was stopped while its encoders were trained."""


@pytest.fixture
def retrieved(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Retrieve nothing and stop before the encoders. The list has the seed of each retrieval."""
    seeds: list[int] = []

    def retrieve(datasets: list[Dataset], seed: int, report: Any) -> dict[str, dict[str, list[str]]]:
        seeds.append(seed)
        return {dataset.name: {} for dataset in datasets}

    def stop(*_: Any) -> None:
        raise Stopped

    monkeypatch.setattr(prefrag.training.reader.training, "import_xgboost", lambda: None)
    monkeypatch.setattr(prefrag.training.reader.training, "retrieve_unseen", retrieve)
    monkeypatch.setattr(prefrag.training.reader.training, "_train_encoders", stop)
    return seeds


@pytest.fixture
def arguments(tmp_path: Path) -> dict[str, Any]:
    """A training on a dataset and a file of single passages."""
    encoder = tmp_path / "encoder"
    encoder.mkdir()
    (tmp_path / "reading").mkdir()
    (encoder / "tokenizer.json").write_text("{}")
    return {
        "datasets": [write_rivers(tmp_path / "rivers", [("local", "local")] * 3)],
        "output": tmp_path / "reader",
        "reading": write_lines(tmp_path / "reading" / "mills.jsonl", [MILL]),
        "encoder": encoder,
    }


def copy_with_more(file: Path, more: str) -> Path:
    """Copy the folder of a file to another place, add a text to the file, and return the new file."""
    folder = file.parents[1] / "changed" / file.parent.name
    shutil.copytree(file.parent, folder)
    with (folder / file.name).open("a") as copy:
        copy.write(more)
    return folder / file.name


def change_data(before: dict[str, Any], file: str) -> dict[str, Any]:
    [dataset] = before["datasets"]
    more = '{"id": "more", "title": "More", "text": "More.", "question": "More?", "answers": ["x"]}\n'
    folder = copy_with_more(dataset.questions.with_name(file), more).parent
    return {"datasets": [Dataset(folder / "questions.jsonl", folder / "corpus.jsonl")]}


CHANGES: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "another seed": ("seed", lambda before: {"seed": 99}),
    "another corpus": ("datasets", lambda before: change_data(before, "corpus.jsonl")),
    "other questions": ("datasets", lambda before: change_data(before, "questions.jsonl")),
    "other single passages": ("reading", lambda before: {"reading": copy_with_more(before["reading"], "\n")}),
    "another encoder": (
        "encoder",
        lambda before: {"encoder": copy_with_more(before["encoder"] / "tokenizer.json", " ").parent},
    ),
    "more documents": ("documents", lambda before: {"documents": [read_documents(before["reading"])]}),
}


@pytest.mark.parametrize(("named", "change"), CHANGES.values(), ids=CHANGES)
def test_another_training_does_not_go_on(
    named: str, change: Callable[[dict[str, Any]], dict[str, Any]], retrieved: list[int], arguments: dict[str, Any]
):
    with pytest.raises(Stopped):
        train_reader(**arguments)

    with pytest.raises(ValueError, match=f"holds a training with another {named}: delete it"):
        train_reader(**{**arguments, **change(arguments)})

    assert retrieved == [7]


def test_the_same_training_goes_on_with_other_minutes(retrieved: list[int], arguments: dict[str, Any]):
    for minutes in (1, 2):
        with pytest.raises(Stopped):
            train_reader(**arguments, minutes=minutes)

    assert retrieved == [7]
