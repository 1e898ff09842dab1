"""What `index` and `ask` ask, keep and set about whether questions may go to the web."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from prefrag.cli import web_consent
from prefrag.components.document_stores.tantivy.document_store import read_web_consent
from prefrag.components.document_stores.tantivy.index_location import index_path
from tests.cli.running import prefrag
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import answer, search

QUESTION = "In which year did the yard that built alpha win the prize?"
ALLOW = "The web is closed for questions on this collection. Open it with: prefrag index --web"


@pytest.fixture(autouse=True)
def unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PREFRAG_WEB")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], list[str]]:
    """A terminal at which a person gives the same answer to every question; the questions are collected."""

    def sit_down(says: bool) -> list[str]:
        questions: list[str] = []

        def confirm(text: str, **_: Any) -> bool:
            questions.append(text)
            return says

        monkeypatch.setattr(web_consent, "can_ask_user", lambda: True)
        monkeypatch.setattr(web_consent.typer, "confirm", confirm)
        return questions

    return sit_down


def kept(collection: str = "default") -> bool | None:
    return read_web_consent(index_path(collection))


class TestTheFirstIndexing:
    @pytest.mark.parametrize("says", [True, False])
    def test_asks_at_a_terminal_and_keeps_the_answer(
        self, corpus: Path, terminal: Callable[[bool], list[str]], says: bool
    ):
        questions = terminal(says)

        prefrag("index", corpus)
        prefrag("index", corpus)

        assert kept() is says
        (question,) = questions
        assert question.startswith("May questions go to the web when the documents of the collection 'default' do not")

    def test_without_a_terminal_closes_the_web_and_says_so_once(self, corpus: Path):
        first, second = prefrag("index", corpus), prefrag("index", corpus)

        assert first.exit_code == 0
        assert [line for line in first.stderr.splitlines() if "web" in line] == [ALLOW]
        assert "web" not in second.stderr
        assert kept() is False
        assert f"{ALLOW} --collection papers" in prefrag("index", corpus, "--index", "papers").stderr

    def test_asks_nothing_without_an_index_or_if_variables_decide(
        self, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        (tmp_path / "photo.png").write_bytes(b"\x89PNG")
        assert prefrag("index", tmp_path / "photo.png").exit_code == 4
        assert kept() is None
        monkeypatch.setenv("PREFRAG_WEB", "off")
        assert "web" not in prefrag("index", corpus).stderr
        assert kept() is None


class TestTheOptionOfIndex:
    @for_each("option, expected", ("--web", True), ("--no-web", False))
    def test_sets_the_answer_of_a_new_index(self, corpus: Path, option: str, expected: bool):
        result = prefrag("index", corpus, option)

        assert kept() is expected
        assert "web" not in result.stderr

    def test_sets_the_answer_of_an_existing_one_without_files(self, corpus: Path):
        prefrag("index", corpus, "--no-web")

        assert prefrag("index", "--web").exit_code == 0
        assert kept() is True
        assert "3 unchanged" in prefrag("index", corpus).stdout
        assert kept() is True

    def test_of_an_absent_index_ends_with_3_and_without_it_with_2(self):
        result = prefrag("index", "--web", "--index", "nope")
        assert (result.exit_code, prefrag("index").exit_code) == (3, 2)
        assert "There is no collection 'nope'" in result.stderr


class TestAsk:
    @pytest.fixture
    def ask(self, corpus: Path, script_pipeline: Callable[..., None]) -> Callable[..., Any]:
        prefrag("index", corpus, "--no-web")

        def run(*arguments: object) -> Any:
            script_pipeline(search("delta"), answer("1974"))
            return prefrag("ask", QUESTION, *arguments)

        return run

    def test_states_once_why_the_web_was_not_searched(self, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch):
        result = ask()
        assert "web" not in CALLS
        CALLS.clear()
        monkeypatch.setenv("PREFRAG_WEB", "ask")
        asking = ask()
        assert "web" not in CALLS
        assert result.stdout.count("Not searched: web (the web is closed: open it with `prefrag index --web") == 1
        assert "Held back from web: delta (PREFRAG_WEB=ask, and nobody can be asked here)" in asking.stdout

    def test_opens_or_closes_the_web_for_a_question_if_allowed(
        self, ask: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
    ):
        assert "Queries sent to the web: web: delta" in ask("--web").stdout
        monkeypatch.setenv("PREFRAG_WEB", "on")
        assert "No query was sent to the web." in ask("--no-web").stdout

        monkeypatch.setenv("PREFRAG_WEB", "off")

        result = ask("--web")

        assert result.exit_code == 2
        assert "The web is closed by PREFRAG_WEB=off: unset that to open it" in result.stderr

    @pytest.mark.parametrize("option", [(), ("--web",)])
    @pytest.mark.parametrize("says", [True, False])
    def test_shows_each_query_before_it_leaves_where_that_is_set(
        self,
        ask: Callable[..., Any],
        monkeypatch: pytest.MonkeyPatch,
        terminal: Callable[[bool], list[str]],
        says: bool,
        option: tuple[str, ...],
    ):
        monkeypatch.setenv("PREFRAG_WEB", "ask")
        questions = terminal(says)

        result = ask(*option)

        assert questions == ["Send to web: delta"]
        assert ("web" in CALLS) is says
        expected = "Queries sent to the web: web: delta" if says else "Held back from web: delta (you did not allow it)"
        assert expected in result.stdout


def test_unreachable_elasticsearch_is_reported_at_once(
    script_pipeline: Callable[..., None], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PREFRAG_WEB", "on")
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://127.0.0.1:1")

    result = prefrag("ask", QUESTION, "--pipeline", "prefrag_elasticsearch", "--index", "nope")

    assert result.exit_code == 1
    assert "No Elasticsearch answers" in result.stderr
    assert "Step 1" not in result.stdout
