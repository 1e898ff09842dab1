"""What the shipped demo corpus promises; no index is needed."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

DEMO = Path(__file__).parents[2] / "demo"


def read(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]


LOCAL, WEB, QUESTIONS = read("local.jsonl"), read("web.jsonl"), read("questions.jsonl")
PASSAGES = {passage["id"]: passage for passage in LOCAL + WEB}


def holds(passage: dict[str, Any], answer: str) -> bool:
    """Check whether a passage contains the answer as whole words, ignoring case."""
    content = f"{passage['title']} {passage['text']}"
    return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", content, re.IGNORECASE) is not None


def test_corpus_is_large_enough_with_unique_ids_titles_questions():
    assert len(LOCAL) >= 190
    assert len(WEB) >= 70
    assert len(QUESTIONS) >= 40

    assert len(PASSAGES) == len(LOCAL) + len(WEB)
    assert len({passage["title"].casefold() for passage in LOCAL + WEB}) == len(LOCAL) + len(WEB)
    assert len({question["id"] for question in QUESTIONS}) == len(QUESTIONS)
    assert len({question["question"] for question in QUESTIONS}) == len(QUESTIONS)


@pytest.mark.parametrize(("passages", "source"), [(LOCAL, "local"), (WEB, "web")], ids=["local", "web"])
def test_passages_are_short_and_name_their_source(passages: list[dict[str, Any]], source: str):
    for passage in passages:
        assert (set(passage), passage["source"]) == ({"id", "title", "text", "source"}, source)
        assert 40 <= len(passage["text"].split()) <= 90, passage["id"]


def test_half_of_the_questions_stay_local_and_both_ways_show():
    where = Counter(question["where"] for question in QUESTIONS)
    assert 0.4 <= where["local"] / len(QUESTIONS) <= 0.6
    assert [question["where"] for question in QUESTIONS[:2]] == ["both", "local"]


def test_gold_passages_exist_in_the_source_that_is_named():
    for question in QUESTIONS:
        gold = question["supporting_ids"]
        assert 2 <= len(gold) == len(set(gold)) <= 4, question["id"]
        assert set(gold) < set(question["candidate_ids"]) <= set(PASSAGES), question["id"]
        sources = {PASSAGES[passage_id]["source"] for passage_id in gold}
        assert question["where"] == ("both" if len(sources) == 2 else sources.pop()), question["id"]


def test_answer_is_in_a_gold_passage_and_of_the_web_in_no_local():
    for question in QUESTIONS:
        if question["type"] == "yesno":
            assert question["answers"] in (["yes"], ["no"]), question["id"]
            continue
        gold = [PASSAGES[passage_id] for passage_id in question["supporting_ids"]]
        assert any(holds(passage, question["answers"][0]) for passage in gold), question["id"]
        # The answer to a comparison is one of the compared things, which the local corpus may name; facts on the web
        # decide.
        if question["where"] != "local" and question["type"] == "bridge":
            named = [passage["id"] for passage in LOCAL for answer in question["answers"] if holds(passage, answer)]
            assert named == [], question["id"]
