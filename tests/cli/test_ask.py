"""`prefrag ask`: what it prints, and how it ends."""

import io
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from rich.status import Status

from prefrag.cli.ask import check_result, run
from prefrag.cli.run_printer import RunPrinter
from prefrag.components.state.state import Event
from prefrag.errors import PrefragError
from tests.cli.running import prefrag
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.fakes import CALLS
from tests.for_each import for_each
from tests.pipelines.scripted import answer, scripted_yaml, search
from tests.python_process import start_python

Result = Any
Ask = Callable[..., Result]
QUESTION = "In which year did the yard that built alpha win the prize?"


@pytest.fixture
def ask(script_pipeline: Callable[..., None]) -> Ask:
    """Ask a scripted pipeline, by default one that switches to the web."""

    def run(*arguments: object, script: tuple[str, ...] = (), question: str = QUESTION) -> Result:
        script_pipeline(*script)
        return prefrag("ask", question, *arguments)

    return run


class TestAsk:
    def test_prints_steps_then_answer_label_and_documents(self, ask: Ask):
        result = ask()

        assert result.exit_code == 0
        lines = [line.strip() for line in result.stdout.splitlines() if line.strip()]
        beginnings = [
            "Question: In which year",
            "Step 1",
            "Thought: I look it up.",
            "Search local: alpha",
            "Found in local",
            "Verdict: keep",
            "Observed from local: all of them",
            "Step 2",
            "Thought",
            "Search local: beta delta",
            "Found in local",
            "Verdict: switch",
            "Search web: beta delta",
            "Found in web",
            "Observed from web",
            "Step 3",
            "Thought",
            "Answer: 1974",
            "Reflection",
            "Answer: 1974",
            "Label: CORRECT",
            "Documents",
            "[1] alpha (local)",
            "\u201cAlpha was built by Beta.\u201d",
            "[W1] delta (web)",
            "\u201cDelta won the prize in 1974.\u201d",
            "The answer cites no passage.",
            "3 retrievals (2 local, 1 web), 4 model calls",
            "Queries sent to the web: web: beta delta",
        ]
        for line, beginning in zip(lines, beginnings, strict=True):
            assert line.startswith(beginning)
        assert "PREFRAG_LLM" not in result.stdout, "there is a model"

    def test_json_is_the_result_alone_and_trace_adds_the_trace(self, ask: Ask):
        result = ask("--json")
        assert result.exit_code == 0
        shown = json.loads(result.stdout)
        assert shown["answer"] == "1974"
        assert [document["id"] for document in shown["documents"]] == ["local-alpha", "web-delta"]
        assert "trace" not in shown
        assert "Search web: beta delta" in result.stderr
        CALLS.clear()
        assert json.loads(ask("--json", "--trace").stdout)["trace"][0]["kind"] == "thought"
        CALLS.clear()
        assert '{"kind": "verdict", "step": 2, "status": false' in ask("--trace").stdout

    @for_each(
        "settings, printed",
        ({}, "Answer: 1974\nLabel: CORRECT\n"),
        ({"readings": [[("Beta", 0.55)]]}, "Probably: Alpha was built by Beta. [1] (alpha, local)\n"),
        (
            {"readings": [[("Beta", 0.1)]]},
            "No sure answer.\n  [1] alpha: Alpha was built by Beta.\n  [2] beta: Beta is a yard in Gamma.\n",
        ),
    )
    def test_quiet_prints_answer_and_label_or_the_evidence_alone(
        self, script_pipeline: Callable[..., None], settings: dict[str, Any], printed: str
    ):
        script_pipeline(**settings, **({"verdicts": ()} if settings else {}))
        result = prefrag("ask", QUESTION, "--quiet", *(("--source", "local") if settings else ()))
        assert (result.exit_code, result.stdout) == (0, printed)

    def test_a_forced_answer_is_marked(self, ask: Ask):
        result = ask("--max-steps", 0, script=(search("alpha"), answer("Perhaps 1974", label=None)))

        assert "Label: no label (forced: the model ran out of steps and had to answer)" in result.stdout

    def test_answer_of_a_model_that_finds_none_is_no_failure(self):
        check_result({"answered": False, "certainty": "not_found"}, None)

        with pytest.raises(PrefragError, match="The model gave no answer"):
            check_result({"answered": False, "certainty": None}, None)

    def test_options_narrow_the_run(self, ask: Ask):
        filters = {"field": "meta.year", "operator": ">", "value": 1990}

        result = ask("--source", "local", "--prefer", "local", "--top-k", 2, "--filters", json.dumps(filters))

        assert result.exit_code == 0
        assert CALLS["local"][0]["filters"] == filters
        assert "web" not in CALLS
        assert "No query was sent to the web." in result.stdout

    def test_a_pipeline_may_be_a_file(self, tmp_path: Path):
        (tmp_path / "mine.yaml").write_text(scripted_yaml(answer("From my file")), encoding="utf-8")

        assert "From my file" in prefrag("ask", QUESTION, "--pipeline", tmp_path / "mine.yaml").stdout

    def test_without_an_answer_it_shows_what_it_found_and_ends_well(self, script_pipeline: Callable[..., None]):
        script_pipeline(readings=[[("Beta", 0.2)]], verdicts=())

        result = prefrag("ask", QUESTION, "--source", "local")
        shown = json.loads(prefrag("ask", QUESTION, "--json", "--source", "local").stdout)

        assert result.exit_code == 0
        assert "Read: Beta [1] (20% likely, not given)" in result.stdout
        assert "\nNo sure answer.\n  [1] alpha: Alpha was built by Beta.\n" in result.stdout
        assert "no model call" in result.stdout
        assert result.stdout.count("PREFRAG_LLM_BASE_URL") == 1, "that there is no model is noticed once"
        assert (shown["answer"], shown["answered"], shown["guess"]) == ("", False, "Beta")
        assert shown["evidence"][0]["sentence"] == "Alpha was built by Beta."

    def test_text_of_strangers_cannot_steer_the_terminal(self, ask: Ask):
        assert "\x1b" not in ask(script=(answer("19\x1b[31m74"),)).stdout


class TestAskThatFails:
    def test_failing_model_ends_with_1_and_json_still_has_the_result(self, ask: Ask):
        script = (search("alpha"), "!the model server is down")
        result = ask(script=script)
        CALLS.clear()
        as_json = ask("--json", script=script)

        assert result.exit_code == as_json.exit_code == 1
        assert "Found in local" in result.stdout
        assert "Error: The reasoner's model failed: the model server is down" in result.stderr
        assert "Traceback" not in result.output
        shown = json.loads(as_json.stdout)
        assert shown["steps"][0]["query"] == "alpha"
        assert "down" in shown["errors"][-1]

    @pytest.fixture
    def broken(self, script_pipeline: Callable[..., None]) -> Callable[..., Result]:
        """Ask a pipeline in which these sources fail."""

        def run(*sources: str, **settings: Any) -> Result:
            errors = {source: f"the {source} is gone" for source in sources}
            one_call = settings.get("pipeline") in ("vanilla_local", "no_retrieval")
            script = ("1974",) if one_call else (search("alpha delta"), answer("1974"))
            script_pipeline(*script, errors=errors, **settings)
            return prefrag("ask", QUESTION)

        return run

    def test_answer_without_a_working_search_ends_with_1(self, broken: Callable[..., Result]):
        result = broken("local", pipeline="vanilla_local", name="prefrag")

        assert result.exit_code == 1
        assert "Answer: 1974" in result.stdout
        (line,) = result.stderr.splitlines()
        assert line.startswith("Error: No source could be searched")
        assert "the local is gone" in line

    def test_failed_source_ends_with_1_and_the_web_gets_nothing(self, broken: Callable[..., Result]):
        result = broken("local")

        assert result.exit_code == 1
        assert "Error: The source 'local' failed" in result.stderr
        assert "No query was sent to the web." in result.stdout
        assert "Held back from web: alpha delta ('local' failed)" in result.stdout

    def test_one_working_source_suffices_if_there_is_an_answer(self, broken: Callable[..., Result], ask: Ask):
        """A method that searches nothing needs an answer alone."""

        assert broken("web").exit_code == 0
        assert broken("web", documents={"local": {}, "web": {}}).exit_code == 0, "finding nothing is no failure"
        assert broken("local", "web", pipeline="no_retrieval").exit_code == 0
        assert ask(script=("nothing", "that", "can", "be", "")).exit_code == 1

    @for_each(
        "arguments, message, code",
        (("--source", "attic"), "attic", 2),
        (("--top-k", 0), "top_k", 2),
        (("--top-k", "many"), "--top-k", 2),
        (("--max-steps", 99), "max_steps", 2),
        (("--filters", "{"), "--filters", 2),
        (("--filters", "[]"), "--filters", 2),
        (("--corpus", "a.jsonl", "--index", "b"), "not both", 2),
        (("--bogus",), "bogus", 2),
        (("--pipeline", "unheard-of"), "unheard-of", 3),
        (("--pipeline", "nowhere.yaml"), "nowhere.yaml", 3),
        (("--corpus", "nowhere.jsonl"), "nowhere.jsonl", 3),
        (("--web-corpus", "nowhere.jsonl"), "nowhere.jsonl", 3),
    )
    def test_wrong_use_ends_with_2_and_something_missing_with_3(
        self, ask: Ask, arguments: tuple[object, ...], message: str, code: int
    ):
        result = ask(*arguments)

        assert result.exit_code == code
        assert message in result.stderr

    def test_question_too_long_or_none_outside_the_demo_ends_with_2(self, ask: Ask):
        result = prefrag("ask", "--index", "mine")

        assert ask(question="x" * 4001).exit_code == result.exit_code == 2
        assert "Give a question" in result.stderr

    @pytest.mark.slow
    @pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
    def test_ctrl_c_ends_with_130_at_once(self, tmp_path: Path):
        text = scripted_yaml(search("alpha"), answer()).replace(
            "tests.fakes.ScriptedRetriever", "tests.cli.waiting.WaitingRetriever"
        )
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
        command = ("-u", "-m", "prefrag.cli.main", "ask", QUESTION, "--pipeline", tmp_path / "mine.yaml")

        with start_python(*command) as process:
            assert process.stdout is not None
            for line in process.stdout:
                if "Search local" in line:
                    process.send_signal(signal.SIGINT)
                    break
            _, errors = process.communicate(timeout=30)

        assert process.returncode == 130
        assert "Traceback" not in errors


class TestCorpus:
    def test_is_indexed_once_and_searched(self, corpus: Path, tmp_path: Path):
        (tmp_path / "mine.yaml").write_text(scripted_yaml(search("buoys"), answer("Three")), encoding="utf-8")
        arguments = ("ask", "How many buoys?", "--pipeline", tmp_path / "mine.yaml", "--corpus", corpus)

        assert prefrag(*arguments).exit_code == 0
        made = sorted(Path(os.environ["PREFRAG_DATA_DIR"], "indexes").iterdir())
        assert prefrag(*arguments).exit_code == 0

        assert len(made) == 1
        assert made == sorted(Path(os.environ["PREFRAG_DATA_DIR"], "indexes").iterdir())
        assert os.environ["PREFRAG_INDEX"] == made[0].name

    def test_without_a_passage_in_it_is_refused(self, tmp_path: Path, ask: Ask):
        (tmp_path / "bad.jsonl").write_text("no json\n", encoding="utf-8")

        result = ask("--corpus", tmp_path / "bad.jsonl")

        assert result.exit_code == 2
        assert "line 1" in result.stderr
        assert list(Path(os.environ["PREFRAG_DATA_DIR"]).rglob("corpus-*")) == []


class TestTrial:
    @pytest.fixture
    def model(self, script_pipeline: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
        """A model that always gives the same answer, and that was never tried."""
        script_pipeline("unused", replace={"ChatModel": {"type": "prefrag.components.generators.chat_model.ChatModel"}})
        model = FakeModelServer()
        model.answers = [(200, completion("Thought: I see.\nFinal Answer: 1974\nSelf-Evaluation: CORRECT"))]
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", model.url)
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "served")
        monkeypatch.delenv("PREFRAG_LLM_FORMAT")
        yield model
        model.close()

    def test_follows_the_first_answer_and_scripts_do_not_wait(self, model: FakeModelServer):
        for words, said in (("-q", False), ("--json", False), ("--no-web", True), ("--no-web", False)):
            result = prefrag("ask", QUESTION, words)
            assert result.exit_code == 0
            assert ("Trying once what this model can do" in result.stderr) is said

        prompts = [one["messages"][0]["content"] for one in model.requests]
        assert sum("Marlow Lift" in prompt for prompt in prompts) == 1

    def test_is_left_out_where_the_model_is_slow(self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr("prefrag.cli.ask._TRIAL_SECONDS", 0.0)

        assert "Trying" not in prefrag("ask", QUESTION).stderr


async def test_the_line_below_the_steps_says_how_far_the_model_is(monkeypatch: pytest.MonkeyPatch):
    outputs = [
        Event("progress", 1, {"read": 1_200, "total": 3_400}),
        Event("thought", 1, {"text": "t"}),
        {"answer": ""},
    ]

    async def stream(*arguments: Any, **options: Any) -> AsyncIterator[Any]:
        for output in outputs:
            yield output

    monkeypatch.setattr("prefrag.pipelines.stream", stream)
    printer, shown = RunPrinter(Console(file=io.StringIO())), list[Any]()
    monkeypatch.setattr(Status, "update", lambda self, status: shown.append(status))

    await run(None, "Where?", {}, printer)

    assert shown == ["The model reads: 1,200 of 3,400 tokens", "thinking"]
