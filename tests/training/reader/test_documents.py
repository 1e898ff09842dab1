"""The examples that the reader learns from people's own documents."""

import json
import random

import pytest

from prefrag.evaluation.question import Question
from prefrag.training.reader.documents import (
    asked_examples,
    learnt_examples,
    marked_examples,
    read_documents,
    run_examples,
    twins,
)
from prefrag.training.reader.examples import Example

TOWNS = ("Oskerry", "Tolmouth", "Harwick", "Selby", "Quill", "Marne")


@pytest.fixture
def documents(tmp_path):
    pytest.importorskip("sklearn", reason="near passages are found with scikit-learn (the extra `train`)")
    records, corpus = [], []
    for number, town in enumerate(TOWNS):
        text = f"The mill of {town} was built in 18{number}0 by Ann {town[:3]}on. It was sold to Bea Low."
        passage = {"document": str(number), "title": town, "text": text}
        corpus += [passage, {**passage, "text": f"The mill of {town} has a wheel. Nobody knows who paid for it."}]
        records += [
            {**passage, "question": f"When was the mill of {town} built?", "answers": [f"18{number}0"]},
            {**passage, "question": f"When was the mill of {town} burnt?", "answers": []},
        ]
    for name, lines in (("mills", records), ("corpus", corpus)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return read_documents(tmp_path / "mills.jsonl", tmp_path / "corpus.jsonl")


def test_without_its_document_no_passage_holds_the_answer(documents):
    asked = [example for seed in range(8) for example in asked_examples(documents, random.Random(seed))]

    kinds = {(example.origin, example.kind) for example in asked}
    assert kinds >= {("mills", "span"), ("mills-none", "none"), ("mills-gone", "none"), ("mills-twin", "none")}
    for example in asked:
        has_answer = any(answer and answer in text for answer in example.answers for _, text in example.passages)
        assert has_answer == (example.kind == "span")


def test_a_half_learns_nothing_of_the_documents_of_the_other(documents):
    mine = {f"mills-{number}" for number in range(3)}

    learnt = list(learnt_examples(documents, mine.__contains__, len, random.Random(1)))

    assert {example.key for example in learnt} == mine
    assert {title for example in learnt for title, _ in example.passages} & set(TOWNS[3:]) == set()


def test_a_twin_asks_for_what_its_passages_do_not_have():
    passages = (("Selby", "Selby opened in 1850."), ("Quill", "Quill opened in 1900."))
    examples = [
        Example(
            str(number),
            f"When was the mill of {town} opened?",
            passages[number : number + 1],
            (year,),
            (0,),
            "span",
            "m",
        )
        for number, (town, year) in enumerate((("Selby", "1850"), ("Quill", "1900")))
    ]

    changed = [example for seed in range(20) for example in twins(examples, random.Random(seed))]

    assert {example.question for example in changed if "not" not in example.question} == {
        "When was the mill of Quill opened?",
        "When was the mill of Selby opened?",
    }
    assert all("not" in example.question or example.passages[0][0] not in example.question for example in changed)
    assert {(example.kind, example.gold) for example in changed} == {("none", ())}


def test_a_marked_answer_is_one_and_a_marked_neighbour_none():
    text = "The mill was built in 1850. It was sold in 1900 to Bea Low."
    example = Example("q", "When was the mill built?", (("Selby", text),), ("1850",), (0,), "span", "m")

    marked = [variant for seed in range(20) for variant in marked_examples([example], len, random.Random(seed))]

    right = {example.passages[0][1] for example in marked if example.kind == "span"}
    assert right == {"The mill was built in \u00ab 1850 \u00bb."}
    assert all("1850 \u00bb" not in example.passages[0][1] for example in marked if example.kind == "none")


def test_a_run_gives_what_its_reader_saw_and_needs_contents(tmp_path):
    mill, yard = ({"title": name, "content": f"The {name} was built in 1850."} for name in ("mill", "yard"))
    asked = {"answers": ["1850"], "result": {"documents": [mill, {**yard, "given": True}]}}
    runs = [
        {**asked, "id": "mills-1", "question": "When was the mill built?"},
        {**asked, "id": "mills-2", "question": "Who paid for the mill?", "answerable": False},
        {**asked, "id": "mills-3", "question": "Was the mill sold?"},
    ]
    (tmp_path / "predictions.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))

    first, second = run_examples(tmp_path)

    assert (first.origin, first.kind, first.passages) == ("run", "span", (("mill", "The mill was built in 1850."),))
    assert (second.origin, second.kind, second.family) == ("run-none", "none", first.family)
    (tmp_path / "predictions.jsonl").write_text(json.dumps({**asked, "result": {"documents": [{"title": "mill"}]}}))
    with pytest.raises(ValueError, match="contents=false"):
        list(run_examples(tmp_path))


def test_a_run_of_a_dataset_gives_an_example_for_each_search(tmp_path):
    retrieved = [
        {"title": "mill", "content": "The mill was sold to Ann Low.", "step": 1},
        {"title": "Ann", "content": "Ann Low was born in Selby.", "step": 2},
    ]
    asked = {"id": "a-1", "question": "Where was the buyer of the mill born?", "answers": ["Selby"]}
    line = json.dumps({**asked, "result": {"documents": retrieved}})
    (tmp_path / "predictions.jsonl").write_text(line + "\n", encoding="utf-8")
    question = Question("a-1", asked["question"], ("Selby",), dataset="towns")

    first, second = run_examples(tmp_path, {"a-1": question})

    assert [(example.key, example.origin, example.kind, len(example.passages)) for example in (first, second)] == [
        ("a-1", "towns", "none", 1),
        ("a-1", "towns", "span", 2),
    ]
    assert not list(run_examples(tmp_path, {}, learnt=["a-1"]))
