"""A user's own retriever, following the example's README."""

import json
import sqlite3
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefrag import pipelines
from tests.components.serialisation import rebuilt
from tests.docs.markdown import CHECKOUT, fenced
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search

HERE = CHECKOUT / "examples" / "own_retriever"
MAKE = "python examples/own_retriever/make_tickets.py examples/corpus/tickets.jsonl tickets.sqlite"
Run = Callable[..., str]


@pytest.fixture
def retriever_class(run: Run, monkeypatch: pytest.MonkeyPatch) -> Any:
    run(MAKE)
    monkeypatch.syspath_prepend(str(HERE))
    from sqlite_retriever import SQLiteRetriever

    return SQLiteRetriever


@pytest.fixture
def retriever(retriever_class: Any) -> Any:
    return retriever_class("tickets.sqlite")


def ids(output: dict[str, Any]) -> list[str]:
    return [document.id for document in output["documents"]]


class TestRetriever:
    def test_finds_tickets_with_words_of_the_query_best_first(self, retriever: Any):
        """As many as wanted, the words in any form."""

        documents = retriever.run("oil under the winch")["documents"]

        assert [document.id for document in documents][:2] == ["t-101", "t-104"]
        assert documents[0].score > documents[1].score
        assert documents[0].meta["title"] == "Ticket 101: oil under the winch of the Ostermoor"
        assert documents[0].content.startswith("The crew of the Ostermoor")

        assert ids(retriever.run("cracking")) == ["t-101"]

        assert len(ids(retriever.run("winch", top_k=1))) == 1
        assert len(ids(retriever.run("winch"))) == 2

    @for_each(
        "query", 'oil" OR "x', "oil NEAR(", "title:oil", "oil*", "-oil", "oil AND zeppelin", "oil'); DROP TABLE t;--"
    )
    def test_takes_no_word_of_the_user_for_syntax(self, retriever: Any, query: str):
        assert "t-101" in ids(retriever.run(query))

    @for_each("query", "", " ", '"*()', "zeppelin", "_")
    def test_finds_nothing_where_there_is_nothing(self, retriever: Any, query: str):
        assert ids(retriever.run(query)) == []

    @pytest.mark.parametrize("settings", [{"database": ""}, {"database": "x", "top_k": 0}])
    def test_refuses_settings_that_make_no_sense(self, retriever_class: Any, settings: dict[str, Any]):
        with pytest.raises(ValueError, match=r"database is empty|top_k is 0"):
            retriever_class(**settings)

    def test_refuses_a_top_k_that_makes_no_sense(self, retriever: Any):
        with pytest.raises(ValueError, match="top_k is 0"):
            retriever.run("oil", top_k=0)

    def test_reports_a_missing_database_before_the_first_question(self, retriever_class: Any):
        with pytest.raises(FileNotFoundError, match=r"nothing\.sqlite .*make_tickets\.py"):
            retriever_class("nothing.sqlite").warm_up()

        assert not Path("nothing.sqlite").exists()

    def test_writes_nothing(self, retriever: Any):
        before = Path("tickets.sqlite").read_bytes()

        retriever.warm_up()
        retriever.run("oil")

        assert Path("tickets.sqlite").read_bytes() == before

    def test_is_saved_and_loaded_as_a_component(self, retriever: Any):
        assert rebuilt(retriever).database == "tickets.sqlite"


def test_the_script_replaces_the_tickets_that_were_there(run: Run):
    assert [run(MAKE), run(MAKE)] == ["4 tickets written\n"] * 2
    with sqlite3.connect("tickets.sqlite") as database:
        assert database.execute("SELECT count(*) FROM tickets").fetchone() == (4,)


@pytest.mark.slow
def test_the_commands_of_the_readme(
    run: Run, reply: Callable[..., Any], commands_of: Callable[[str], list[str]], checkout: Path
):
    make, in_python, export, ask, evaluate, serve = commands_of("own_retriever")
    assert make == MAKE
    run(make)

    reply(search("CTD too warm"), answer("Tom Averill"))
    printed = run(in_python)
    assert printed.splitlines()[0] == "Tom Averill"
    assert "[1] Ticket 103: CTD reads too warm (local)" in printed

    run(export)
    two_hops = (search("K7 shaft seal"), answer("Dunmere"))
    reply(*two_hops)
    printed = run(ask)
    assert "in the town of **Dunmere**" in printed
    assert "Ticket 101: oil under the winch of the Ostermoor (tickets)" in printed
    assert "K7 shaft seal (web)" in printed

    run(evaluate)
    metrics = json.loads((checkout / "runs" / "tickets_first" / "metrics.json").read_text())
    assert (metrics["n"], metrics["acc"], metrics["recall_all"], metrics["errors"]) == (2, 100.0, 100.0, 0)

    reply(*two_hops)
    responses = []
    run(serve, lambda client: responses.append(client.post("/tickets_first/run", json={"question": "Which town?"})))
    result = responses[0].json()["result"]
    assert (result["steps"][0]["searched"][0], result["answer"]) == ("tickets", "Dunmere")


def test_the_line_of_python_in_the_readme_is_that_of_the_script():
    (line,) = fenced((HERE / "README.md").read_text(), "python")

    assert line.strip().replace('"tickets.sqlite"', "database") in (HERE / "ask_tickets.py").read_text()


def test_the_database_is_a_variable_of_the_environment(retriever_class: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(HERE))
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != str(HERE)])
    monkeypatch.setenv("TICKETS_DATABASE", "other.sqlite")

    assert pipelines.load("tickets_first").get_component("tickets").retriever.database == "other.sqlite"
