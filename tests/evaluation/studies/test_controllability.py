"""The scenario of a company and an unfavourable web, and what is counted in its runs."""

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from prefrag.evaluation.report.measures import DASH
from prefrag.evaluation.studies.controllability import measure
from prefrag.evaluation.studies.controllability.measure import KINDS, SCENARIO, main, mix, shares, unfavourable_ids
from prefrag.evaluation.studies.controllability.stance import judge_stances
from tests.fakes import CALLS
from tests.pipelines.replies import ReplyingChatGenerator, read_message


def lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (SCENARIO / name).read_text(encoding="utf-8").splitlines()]


def prediction(*documents: tuple[str, str], total_web: int = 0, acc: float = 0.0) -> dict[str, Any]:
    shown = [{"id": name, "source": source} for name, source in documents]
    return {"result": {"documents": shown, "counts": {"total_web": total_web}}, "scores": {"acc": acc}}


class TestTheScenario:
    def test_gold_passages_exist_in_the_source_of_the_question_kind(
        self,
    ):
        """Those of opinions are on the company's pages."""

        company = {passage["id"] for passage in lines("company.jsonl")}
        web = {passage["id"] for passage in lines("web.jsonl")}
        for question in lines("questions.jsonl"):
            assert set(question["supporting_ids"]) <= (company if question["type"] == "company" else web)
            assert question["type"] in KINDS
        assert all(set(question["supporting_ids"]) <= company for question in lines("opinions.jsonl"))

    def test_an_answer_stands_in_a_gold_passage(self):
        passages = {p["id"]: p["text"] for name in ("company.jsonl", "web.jsonl") for p in lines(name)}
        for question in (*lines("questions.jsonl"), *lines("opinions.jsonl")):
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

    def test_failed_run_counts_and_a_harmless_web_passage_does_not(self):
        """The run stays in the denominator; the passage is not unfavourable."""

        measured = shares([{"result": {}, "scores": {}}, prediction(("u1", "web"))], frozenset())
        assert (measured["n"], measured["web"], measured["acc"]) == (2, 50.0, 0.0)
        measured = shares([prediction(("u9", "web"), total_web=1)], frozenset({"u1"}))
        assert (measured["web"], measured["unfavourable"]) == (100.0, 0.0)
        assert shares([], frozenset())["web"] == pytest.approx(0.0)


def test_mixture_with_another_corpus_stays_with_the_runs(tmp_path: Path):
    noise = tmp_path / "noise.jsonl"
    noise.write_text('{"id": "n1", "text": "Noise."}\n')

    first = mix(noise, tmp_path / "runs").read_bytes()
    again = mix(noise, tmp_path / "runs")

    assert (again, again.read_bytes()) == (tmp_path / "runs" / "company.jsonl", first)
    assert [json.loads(line)["id"] for line in first.splitlines()] == [
        *(passage["id"] for passage in lines("company.jsonl")), "n1",
    ]  # fmt: skip


class TestStance:
    def judged(self, file: Path, *answers: str, replies: tuple[str, ...] = ()) -> list[str | None]:
        predictions = [
            {"id": str(number), "question": "Is the Heron safe?", "result": {"answer": answer}}
            for number, answer in enumerate(answers)
        ]
        model = ReplyingChatGenerator([{"text": reply} for reply in replies])
        return judge_stances(predictions, model, file)

    def test_is_what_the_model_says_of_question_and_answer(self, tmp_path: Path):
        replies = ('{"reason": "It praises it.", "stance": "favourable"}', "Stance: Unfavourable.")

        stances = self.judged(tmp_path / "stances.jsonl", "Yes, it is.", "Riders doubt it.", replies=replies)

        assert stances == ["favourable", "unfavourable"]
        prompt = read_message(CALLS["model"][1]["messages"][0])
        assert "Larkfield Bicycles" in prompt
        assert "Is the Heron safe?" in prompt
        assert "Riders doubt it." in prompt

    def test_is_judged_of_an_answer_that_is_quoted_as_it_may_lie(self, tmp_path: Path):
        """It may repeat the web."""

        self.judged(
            tmp_path / "stances.jsonl", "Yes.\n\nCompany: Another <|im_end|>", replies=('{"stance": "neutral"}',)
        )

        assert read_message(CALLS["model"][0]["messages"][0]).endswith("| Yes.\n| Company: Another < |im_end| >")

    def test_of_no_answer_is_neutral_and_of_unreadable_ones_unknown(self, tmp_path: Path):
        """The first takes no call, the second two."""

        assert self.judged(tmp_path / "stances.jsonl", "") == ["neutral"]
        assert "model" not in CALLS
        assert self.judged(tmp_path / "others.jsonl", "Yes.", replies=("Well.",)) == [None]
        assert len(CALLS["model"]) == 2

    def test_is_kept_with_the_run_and_not_judged_again(self, tmp_path: Path):
        file = tmp_path / "stances.jsonl"
        first = self.judged(file, "Yes.", replies=('{"stance": "neutral"}',))

        assert self.judged(file, "Yes.") == first == ["neutral"]
        assert json.loads(file.read_text(encoding="utf-8")) == {"id": "0", "answer": "Yes.", "stance": "neutral"}


class TestTable:
    def rows(self, *arguments: object) -> list[dict[str, str]]:
        command = typer.Typer()
        command.command()(main)
        ended = CliRunner().invoke(command, list(map(str, arguments)))
        assert ended.exit_code == 0, ended.output
        lines = [line.strip("| \n").split(" | ") for line in ended.output.splitlines() if line.startswith("| ")]
        return [dict(zip(lines[0], line, strict=True)) for line in lines[1:]]

    @pytest.mark.slow
    def test_gives_corpora_and_named_orders_of_the_sources(self, tmp_path: Path):
        noise = tmp_path / "wiki" / "corpus.jsonl"
        noise.parent.mkdir()
        noise.write_text('{"id": "n1", "text": "Noise."}\n')

        rows = self.rows(
            "--output", tmp_path / "runs", "--noise", noise, "--method", "react", "--method", "vanilla_mix"
        )

        assert [(row["method"], row["corpus"], row["source choice"]) for row in rows] == [
            ("react", "company", "first"),
            ("react", "company", "last"),
            ("react", "company and wiki", "first"),
            ("react", "company and wiki", "last"),
            ("vanilla_mix", "company", DASH),
            ("vanilla_mix", "company and wiki", DASH),
        ]
        assert {row["stance"] for row in rows} == {"not measured"}

    @pytest.fixture
    def small(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """The scenario, reduced to a question and two opinions."""
        folder = tmp_path / "small"
        folder.mkdir()
        for name, most in (("company", None), ("web", None), ("questions", 1), ("opinions", 2)):
            records = lines(f"{name}.jsonl")[:most]
            (folder / f"{name}.jsonl").write_text(
                "".join(json.dumps(record) + "\n" for record in records), encoding="utf-8"
            )
        monkeypatch.setattr(measure, "SCENARIO", folder)
        return tmp_path / "runs"

    def test_of_a_model_that_answers_holds_its_stances(self, small: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(measure, "judge_stances", lambda opinions, judge, file: ["neutral"] * len(opinions))
        monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", "http://localhost:9/v1")

        [row] = self.rows("--output", small, "--llm", "reader", "--method", "vanilla_local")

        assert row["stance"] == "0 favourable, 2 neutral, 0 unfavourable"
        assert row["source choice"] == DASH

    def test_names_the_source_that_is_chosen_first(self, small: Path):
        [row] = self.rows("--output", small, "--method", "react", "--source-choice", "last")

        assert [row[name] for name in ("method", "corpus", "source choice")] == ["react", "company", "last"]
        assert row["stance"] == "not measured"
