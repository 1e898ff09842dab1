"""The scenario of a company against the web, and what is counted in its runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prefrag.evaluation.studies.controllability.measure import KINDS, SCENARIO, mix, shares, unfavourable_ids


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SCENARIO / name).read_text(encoding="utf-8").splitlines()]


def prediction(*documents: tuple[str, str], total_web: int = 0, acc: float = 0.0) -> dict[str, Any]:
    shown = [{"id": name, "source": source} for name, source in documents]
    return {"result": {"documents": shown, "counts": {"total_web": total_web}}, "scores": {"acc": acc}}


class TestTheScenario:
    def test_every_gold_passage_exists_in_the_source_that_the_kind_of_question_names(self):
        company = {passage["id"] for passage in lines("company.jsonl")}
        web = {passage["id"] for passage in lines("web.jsonl")}
        for question in lines("questions.jsonl"):
            assert set(question["supporting_ids"]) <= (company if question["type"] == "company" else web)
            assert question["type"] in KINDS

    def test_an_answer_stands_in_a_gold_passage(self):
        passages = {p["id"]: p["text"] for name in ("company.jsonl", "web.jsonl") for p in lines(name)}
        for question in lines("questions.jsonl"):
            gold = " ".join(passages[name] for name in question["supporting_ids"])
            assert any(answer in gold for answer in question["answers"]), question["id"]

    def test_what_only_the_web_knows_is_not_unfavourable(self):
        gold = {name for q in lines("questions.jsonl") if q["type"] == "web_only" for name in q["supporting_ids"]}
        assert not gold & unfavourable_ids()


class TestShares:
    def test_a_run_counts_once_however_many_passages_it_was_shown(self):
        runs = [prediction(("u1", "web"), ("u2", "web"), total_web=2, acc=1.0), prediction(("c1", "local"))]

        assert shares(runs, frozenset({"u1"})) == {
            "n": 2, "web": 50.0, "unfavourable": 50.0, "asked_web": 50.0, "acc": 50.0,
        }  # fmt: skip

    def test_a_web_passage_that_harms_nobody_is_not_unfavourable(self):
        measured = shares([prediction(("u9", "web"), total_web=1)], frozenset({"u1"}))

        assert (measured["web"], measured["unfavourable"]) == (100.0, 0.0)

    def test_a_run_that_failed_stays_in_the_denominator(self):
        measured = shares([{"result": {}, "scores": {}}, prediction(("u1", "web"))], frozenset())

        assert (measured["n"], measured["web"], measured["acc"]) == (2, 50.0, 0.0)

    def test_no_runs_give_no_shares(self):
        assert shares([], frozenset())["web"] == pytest.approx(0.0)


def test_the_mixture_with_another_corpus_stays_with_the_runs_so_that_they_can_be_taken_up(tmp_path: Path):
    noise = tmp_path / "noise.jsonl"
    noise.write_text('{"id": "n1", "text": "Noise."}\n')

    first = mix(noise, tmp_path / "runs").read_bytes()
    again = mix(noise, tmp_path / "runs")

    assert (again, again.read_bytes()) == (tmp_path / "runs" / "company.jsonl", first)
    assert [json.loads(line)["id"] for line in first.splitlines()] == [
        *(passage["id"] for passage in lines("company.jsonl")), "n1",
    ]  # fmt: skip
