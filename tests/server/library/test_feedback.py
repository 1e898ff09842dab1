"""What users think of answers is kept, as far as it refers to known answers, and exported for other commands."""

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from starlette.testclient import TestClient

from prefrag.components.document_stores.tantivy.index_location import index_path
from prefrag.evaluation.datasets import load_questions
from prefrag.server.access.keys import add_key
from prefrag.server.library import feedback
from prefrag.server.library.feedback import feedback_file
from prefrag.training.dataset import Dataset
from tests.cli.running import prefrag
from tests.for_each import for_each
from tests.full_disk import files_of_at_most
from tests.indexes import index_of
from tests.pipelines.scripted import answer, search

QUESTION = {"question": "Who built alpha?"}
RESULT: dict[str, Any] = {
    "question": "Who built alpha?",
    "answer": "Beta",
    "label": "CORRECT",
    "probability": 0.9,
    "documents": [
        {"mark": "1", "id": "p1", "title": "Alpha", "source": "local", "content": "Alpha was built by Beta."}
    ],
    "citations": [{"mark": "1", "id": "p1", "title": "Alpha", "source": "local"}],
    "queries_sent_out": [{"source": "web", "query": "delta", "provider": "X"}],
    "counts": {"total": 2, "total_local": 1, "total_web": 1, "sources": {"local": {}}},
    "usage": {"seconds": 1.5, "llm_calls": 2},
    "trace": [{"kind": "thought", "text": "secret"}],
    "errors": ["a folder"],
}

Client = Callable[..., TestClient]


def give(client: TestClient, **body: Any) -> Any:
    return client.post("/feedback", json={"rating": "up", "result": RESULT, **body})


def kept() -> list[dict[str, Any]]:
    return [json.loads(line) for line in feedback_file().read_text().splitlines()] if feedback_file().exists() else []


class TestGiving:
    def test_keeps_rating_comment_and_what_is_known_of_a_result(self, served: Client):
        response = give(served(), comment="Nice.", answer="Beta & Co.")

        assert response.status_code == 200
        (line,) = kept()
        assert line.pop("id") == response.json()["id"]
        assert line.pop("time").startswith("20")
        assert line == {
            "key": None,
            "collection": "default",
            "pipeline": None,
            "rating": "up",
            "comment": "Nice.",
            "answer": "Beta & Co.",
            "compared": None,
            "result": {
                "question": "Who built alpha?",
                "answer": "Beta",
                "label": "CORRECT",
                "probability": 0.9,
                "forced": False,
                "not_found": False,
                "documents": [{"mark": "1", "id": "p1", "title": "Alpha", "source": "local"}],
                "citations": [{"mark": "1", "id": "p1", "title": "Alpha", "source": "local"}],
                "queries_sent_out": [{"source": "web", "query": "delta"}],
                "counts": {"total_local": 1, "total_web": 1, "total": 2, "used_local": 0, "used": 0, "lookups": 0},
                "usage": {"seconds": 1.5},
            },
        }
        assert stat.S_IMODE(feedback_file().stat().st_mode) == 0o600

    def test_takes_the_result_of_a_run_and_keeps_nothing_without_it(self, served: Client):
        client = served()
        result = client.post("/prefrag/run", json=QUESTION).json()["result"]
        assert not feedback_file().exists()

        assert give(client, result=result).status_code == 200
        assert kept()[0]["result"]["question"] == QUESTION["question"]

    def test_names_key_and_collection_and_needs_leave_to_search(self, serve: Client, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "papers,board")
        client = serve()
        ada, ben = ({"Authorization": f"Bearer {add_key(*key)}"} for key in (("ada", ["papers"]), ("ben", [])))
        body = {"rating": "down", "result": RESULT}

        client.post("/feedback", json=body, headers=ada)
        client.post("/feedback", json={**body, "index": "board", "pipeline": "mspr"}, headers=ben)
        assert client.post("/feedback", json={**body, "index": "board"}, headers=ada).status_code == 404
        assert client.post("/feedback", json=body).status_code == 401
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "all")
        assert client.post("/feedback", json={**body, "index": "nowhere"}, headers=ben).status_code == 404
        assert client.post("/feedback", json={**body, "collection": "nowhere"}, headers=ben).status_code == 404
        both = {**body, "collection": "board", "index": "nowhere"}
        assert client.post("/feedback", json=both, headers=ben).status_code == 422

        found = [(line["key"], line["collection"], line["pipeline"]) for line in kept()]
        assert found == [("ada", "papers", None), ("ben", "board", "mspr")]

    @for_each(
        "body",
        {"rating": "great"},
        {"rating": None},
        {"compared": "web"},
        {"result": {**RESULT, "usage": {"seconds": -1}}},
        {"comment": "x" * 4_001},
        {"answer": "x" * 4_001},
        {"answer": 1974},
        {"result": None},
        {"result": []},
        {"result": {}},
        {"result": {"question": ""}},
        {"result": {**RESULT, "question": "x" * 4_001}},
        {"result": {**RESULT, "answer": ["Beta"]}},
        {"result": {**RESULT, "probability": 7}},
        {"result": {**RESULT, "documents": "all"}},
        {"result": {**RESULT, "documents": [{}] * 1_001}},
        {"result": {**RESULT, "citations": [{"id": {"a": 1}}]}},
        {"result": {**RESULT, "counts": {"total": -1}}},
        {"more": 1},
    )
    def test_of_another_shape_is_refused(self, served: Client, body: dict[str, Any]):
        assert give(served(), **body).status_code == 422
        assert kept() == []

    def test_is_not_taken_from_a_foreign_form_and_cuts_long_titles(self, served: Client):
        body = json.dumps({"rating": "up", "result": RESULT})
        for headers in ({"Content-Type": "text/plain"}, {}):
            response = served().post("/feedback", content=body, headers=headers)
            assert response.status_code in (415, 422)
        assert kept() == []
        give(served(), result={**RESULT, "documents": [{"mark": "1", "id": "p1", "title": "x" * 5_000}]})
        assert len(kept()[0]["result"]["documents"][0]["title"]) == 1_000

    def test_is_refused_when_its_file_is_full(self, served: Client, monkeypatch: pytest.MonkeyPatch):
        client = served()
        give(client)
        monkeypatch.setattr(feedback, "MOST_BYTES", feedback_file().stat().st_size + 10)

        response = give(client)

        assert response.status_code == 507
        assert "move the file away" in response.json()["detail"]
        assert len(kept()) == 1

    def test_that_cannot_be_written_says_so_without_the_folder(self, served: Client, tmp_path: Path):
        client = served()
        feedback_file().mkdir(parents=True)

        response = give(client)

        assert response.status_code == 507
        assert "cannot be written" in response.json()["detail"]
        assert str(feedback_file().parent) not in response.text

    def test_on_a_full_disk_leaves_the_next_line_whole(self, served: Client):
        client = served()
        give(client)
        with files_of_at_most(feedback_file().stat().st_size + 10):
            assert give(client).status_code == 507
        give(client)

        assert "2 in all; 1 unreadable" in prefrag("feedback", "list").stdout


class TestListing:
    def test_shows_each_in_one_line_and_can_be_narrowed(self, served: Client):
        assert prefrag("feedback", "list").stdout == "0 in all\n"
        give(served(), rating="down", comment="No.\nIt was\x1b[31m Gamma.", answer="Gamma")
        give(served(), result={**RESULT, "answer": ""})
        first, second, total = prefrag("feedback", "list").stdout.splitlines()
        assert first.endswith("Who built alpha? -> Beta; right: Gamma; No. It was [31m Gamma.")
        assert " UTC down  " in first
        assert second.endswith("-> (no answer)")
        assert total == "2 in all"
        assert "1 in all" in prefrag("feedback", "list", "--rating", "up").stdout
        assert "0 in all" in prefrag("feedback", "list", "--index", "papers").stdout

    def test_says_how_often_each_of_two_compared_answers_was_right(self, served: Client):
        client = served()
        for seconds, rating in ((1, "up"), (2, "down"), (3, "down")):
            give(client, compared="reader", rating=rating, result={**RESULT, "usage": {"seconds": seconds}})
        give(client, compared="model", result={**RESULT, "usage": {"seconds": 48.04}})
        give(client)

        total, reader, model = prefrag("feedback", "list").stdout.splitlines()[-3:]

        assert total == "5 in all"
        assert reader == "Compared without the model: 1 of 3 right, 2.0 s each (median)"
        assert model == "Compared with the model: 1 of 1 right, 48.0 s each (median)"


class TestExporting:
    def export(self, tmp_path: Path, *options: object) -> Any:
        return prefrag("feedback", "export", tmp_path / "questions.jsonl", *options)

    def questions(self, tmp_path: Path) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
        read = load_questions(tmp_path / "questions.jsonl")
        return [(question.question, question.answers, question.supporting_ids) for question in read]

    def test_takes_the_liked_or_corrected_answer_and_can_be_narrowed(self, served: Client, tmp_path: Path):
        client = served()
        marks = [{"mark": mark, "id": mark} for mark in ("1", "W1", "A1", "2", "1", "\u0661", "")]
        give(client)
        give(client, result={**RESULT, "question": "Who built\ndelta?"}, rating="down", answer=" Gamma ")
        give(client, result={**RESULT, "question": "Who built epsilon?", "citations": marks}, answer="Zeta")
        result = self.export(tmp_path)
        assert result.exit_code == 0, result.output
        assert self.questions(tmp_path) == [
            ("Who built alpha?", ("Beta",), ("p1",)),
            # The citations of a wrong answer prove nothing.
            ("Who built delta?", ("Gamma",), ()),
            # Only passages of an index count.
            ("Who built epsilon?", ("Zeta",), ("1", "2")),
        ]
        assert "3 questions written" in result.stdout
        (tmp_path / "questions.jsonl").unlink()
        assert self.export(tmp_path, "--rating", "down").exit_code == 0
        assert [question for question, *_ in self.questions(tmp_path)] == ["Who built delta?"]
        assert self.export(tmp_path, "--index", "papers").exit_code == 3

    def test_counts_what_has_no_right_answer_or_came_again(self, served: Client, tmp_path: Path):
        client = served()
        give(client, rating="down")
        give(client, result={**RESULT, "answer": " "})
        give(client)
        give(client, answer="Gamma")
        with feedback_file().open("a") as file:
            file.write("{}\n")

        result = self.export(tmp_path)

        assert self.questions(tmp_path) == [("Who built alpha?", ("Gamma",), ("p1",))]
        assert "left out: 3 replaced by later feedback, 1 unreadable." in result.stdout

    def test_takes_no_answer_that_was_disliked_later(self, served: Client, tmp_path: Path):
        index_of([Document(id="p1", content="Alpha was built by Beta.")], index_path("default"))
        client = served()
        give(client)
        give(client, rating="down")

        for options in ((), ("--rating", "up"), ("--kind", "training")):
            result = self.export(tmp_path, *options)
            assert result.exit_code == 3
            assert "1 replaced by later feedback" in result.stderr

    def test_of_nothing_writes_no_file(self, served: Client, tmp_path: Path):
        assert self.export(tmp_path).exit_code == 3
        give(served(), rating="down")

        result = self.export(tmp_path)

        assert result.exit_code == 3
        assert "1 without a right answer" in result.stderr
        assert not (tmp_path / "questions.jsonl").exists()

    def test_for_training_holds_only_questions_with_indexed_passages(self, served: Client, tmp_path: Path):
        index_of(
            [Document(id="p1", content="Alpha was built by Beta.", meta={"title": "Alpha"})], index_path("default")
        )
        client = served()
        give(client)
        give(client, result={**RESULT, "question": "Gone?", "citations": [{"mark": "1", "id": "gone"}]})
        give(client, result={**RESULT, "question": "Uncited?", "citations": []})
        give(client, result={**RESULT, "question": "Wrong?"}, rating="down", answer="Gamma")

        result = self.export(tmp_path, "--kind", "training")

        assert "1 with citations that are not in the collection" in result.stdout
        assert "2 with an answer that was not liked or cites no passage of a collection" in result.stdout
        questions, passages = Dataset.parse(f"{tmp_path / 'questions.jsonl'}:default").read()
        assert [question.question for question in questions] == ["Who built alpha?"]
        assert [passage.id for passage in passages] == ["p1"]

    def test_says_when_the_questions_are_on_several_indexes(
        self, serve: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PREFRAG_COLLECTIONS", "papers")
        client = serve()
        give(client, index="papers")
        give(client)

        result = self.export(tmp_path)

        assert "on several collections (default, papers)" in result.stderr
        assert len(self.questions(tmp_path)) == 2


def test_from_a_question_over_http_to_an_evaluation(
    served: Client, script_pipeline: Callable[..., None], tmp_path: Path
):
    client = served(search("alpha"), answer("Beta [[1]]"))
    result = client.post("/prefrag/run", json=QUESTION).json()["result"]
    assert result["citations"], "the passage is cited, so that it can become a gold passage"
    give(client, result=result)
    questions = tmp_path / "questions.jsonl"
    assert prefrag("feedback", "export", questions).exit_code == 0

    script_pipeline(search("alpha"), answer("Beta [[1]]"))
    options = ("--questions", questions, "--output", tmp_path / "run", "--set", "prompts=product")
    evaluated = prefrag("evaluate", "--pipeline", "prefrag", *options)

    assert evaluated.exit_code == 0, evaluated.output
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert metrics["acc"] == 100
