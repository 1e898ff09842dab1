"""`prefrag doctor`: what it finds and advises, and its exit code."""

import errno
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prefrag.cli import checks, local_servers
from prefrag.cli.kept_model import Choice, store_choice
from prefrag.cli.local_servers import LocalServer
from prefrag.components.document_stores.tantivy.index_location import data_directory
from tests.cli.running import prefrag
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.for_each import for_each
from tests.server.elasticsearch_stub import Stub, elasticsearch

SCHEMA_KEPT = completion('{"wet": true}')


@pytest.fixture(autouse=True)
def no_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """No model server on this machine is looked for."""
    monkeypatch.setattr(local_servers, "PORTS", {})


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFRAG_INDEX", "demo")


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch, demo: None) -> Iterator[FakeModelServer]:
    """A model server that is set in the environment, lists its model and keeps to schemas."""
    model = FakeModelServer()
    model.answers = [(200, completion("OK")), (200, SCHEMA_KEPT)]
    model.listed = {"data": [{"id": "served"}]}
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", model.url)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "served")
    yield model
    model.close()


def examined(*arguments: object) -> tuple[int, dict[str, list[dict[str, str]]]]:
    """The exit code, and the findings by part."""
    result = prefrag("doctor", "--json", "--port", 1, *arguments)
    findings: dict[str, list[dict[str, str]]] = {}
    for finding in json.loads(result.stdout)["findings"]:
        findings.setdefault(finding["part"], []).append(finding)
    return result.exit_code, findings


class TestTheDataFolder:
    @pytest.mark.skipif("os.name != 'posix'")
    def test_that_others_can_read_is_named_with_what_is_open(self, demo: None) -> None:
        folder = data_directory()
        (folder / "indexes").mkdir(parents=True, mode=0o755)
        folder.chmod(0o755)

        code, found = examined()

        assert code == 0
        assert f"{folder}: indexes" in found["data"][0]["text"]
        assert "chmod -R go=" in found["data"][0]["advice"]

    def test_that_is_closed_is_named_with_what_to_do(self, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = data_directory()
        folder.mkdir(parents=True)
        access, listdir = os.access, os.listdir

        def refuse(place: str | Path = ".") -> list[str]:
            if Path(place).is_relative_to(folder):
                raise PermissionError(errno.EACCES, "Permission denied", str(place))
            return listdir(place)

        monkeypatch.setattr(os, "access", lambda place, mode: Path(place) != folder and access(place, mode))
        monkeypatch.setattr(os, "listdir", refuse)

        code, found = examined()

        assert code == 1
        for part in ("data", "pipeline"):
            assert f"The data folder {folder} is closed to this account" in found[part][0]["text"]


class TestIndex:
    def test_demo_is_named_and_the_reader_answers_without_a_model(self, demo: None):
        code, found = examined()

        assert code == 0
        assert found["index"][0]["status"] == found["model"][0]["status"] == "note"
        assert "demo's invented documents" in found["index"][0]["text"]
        assert found["index"][0]["advice"] == "To index your own: prefrag index YOUR_FILES"
        assert "extractive reader answers" in found["model"][0]["text"]
        assert found["judge"][0]["text"] == "Decision trees judge, without a model"

    def test_one_of_ones_own_is_counted_and_a_damaged_one_a_problem(self, corpus: Path):
        prefrag("index", corpus, "--no-web")
        code, found = examined()
        assert code == 0
        assert (found["index"][0]["status"], found["index"][0]["text"]) == ("ok", "default contains 3 passages")
        folder = Path(os.environ["PREFRAG_DATA_DIR"]) / "indexes" / "default"
        for file in folder.rglob("*.store"):
            file.write_bytes(b"broken")
        code, found = examined()
        assert code != 0
        assert "index the documents again" in found["index"][0]["text"]

    def test_an_absent_one_is_a_problem_with_the_way_out(self, corpus: Path):
        prefrag("index", corpus, "--no-web", "--index", "papers")

        code, found = examined("--index", "notes")

        assert code == 3
        assert found["index"][0]["status"] == "problem"
        assert "prefrag index YOUR_FILES --collection notes" in found["index"][0]["text"]
        assert found["index"][0]["advice"] == "There are these collections: papers; choose one with PREFRAG_INDEX=NAME."


class TestModel:
    def test_those_of_this_machine_are_offered(self, demo: None, monkeypatch: pytest.MonkeyPatch):
        server = LocalServer("Ollama", "http://127.0.0.1:11434/v1", ("qwen3",))
        monkeypatch.setattr("prefrag.cli.checks.find_local_servers", lambda: [server])

        _, found = examined()

        assert "Ollama at http://127.0.0.1:11434/v1 (qwen3)" in found["model"][0]["advice"]

    def test_replying_model_is_fine_and_is_asked_for_one_token_first(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        """Whatever the limit is. The model judges."""

        monkeypatch.setenv("PREFRAG_LLM_MAX_TOKENS", "4000")

        code, found = examined()

        assert code == 0
        assert [one["status"] for one in found["model"]] == ["ok", "ok"]
        assert "served at " in found["model"][0]["text"]
        assert found["model"][1]["text"] == "Format text: PREFRAG_LLM_FORMAT says so"
        assert found["judge"][0]["text"] == "Decision trees judge, and no model, as none has passed its trial"
        assert [request["max_tokens"] for request in model.requests] == [1, 64]
        assert "Tidewright" not in json.dumps(model.requests), "nothing of the documents goes there"

    def test_untried_model_is_tried_once_and_its_abilities_are_named(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.delenv("PREFRAG_LLM_FORMAT")

        texts = [examined()[1]["model"][1]["text"] for _ in range(2)]

        assert texts[0] == texts[1]
        assert texts[0].startswith("Format steps: 0 of 4 tasks right (it did not search for the next fact, nor")
        assert len(model.requests) == 2 + 4 + 2

    def test_one_that_is_not_listed_is_named(self, model: FakeModelServer):
        model.listed = {"data": [{"id": "other"}]}

        code, found = examined()

        assert code == 0
        assert found["model"][1]["text"] == "The server lists other, but not served"

    @for_each("setting, stated", ("", "may use 2,048 of the 2,048 tokens"), ("900", "may use 900 of the 2,048 tokens"))
    def test_window_of_the_server_is_used_if_no_smaller_one_is_set(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch, setting: str, stated: str
    ):
        monkeypatch.setenv("PREFRAG_LLM_CONTEXT", setting)
        model.listed = {"data": [{"id": "served", "max_model_len": 2048}]}

        assert stated in examined()[1]["model"][0]["text"]

    def test_one_that_refuses_the_key_or_is_down_is_a_problem(self, model: FakeModelServer):
        model.answers = [(401, {})]
        refused = examined()
        model.close()

        for (code, found), setting in ((refused, "PREFRAG_LLM_API_KEY"), (examined(), "PREFRAG_LLM_BASE_URL")):
            assert (code, found["model"][0]["status"]) == (1, "problem")
            assert setting in found["model"][0]["text"]

    @pytest.mark.parametrize(
        ("reply", "finish_reason", "code", "text", "advice"),
        [
            *(
                (
                    completion(thought),
                    *("length", 0, "It thinks before it replies, and 512 tokens may be too few for that"),
                    "PREFRAG_LLM_MAX_TOKENS to 4000",
                )
                for thought in ("<think>Is it wet? The", "", None)
            ),
            (completion(None, reasoning="Yes."), "stop", 1, "--reasoning-parser", ""),
            (completion("Yes, it is."), "stop", 0, "", "Set PREFRAG_LLM_STRUCTURED to json_object or off."),
        ],
        ids=["thinks", "silent", "null", "files its words as reasoning", "has no schemas"],
    )
    def test_thinking_model_needs_room_and_other_signs_are_named(
        self, model: FakeModelServer, reply: dict[str, Any], finish_reason: str, code: int, text: str, advice: str
    ):
        reply["choices"][0]["finish_reason"] = finish_reason
        model.answers = [(200, completion("OK")), (200, reply)]
        ended, found = examined()
        assert ended == code
        assert text in found["model"][1]["text"]
        assert advice in found["model"][1].get("advice", "")

    @for_each("role, name, code", ("LLM", "", 2), ("JUDGE", "judging", 1))
    def test_server_without_name_or_judge_that_is_down_is_a_problem(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch, role: str, name: str, code: int
    ):
        with monkeypatch.context() as patched:
            patched.setenv(f"PREFRAG_{role}_BASE_URL", "http://127.0.0.1:1/v1")
            patched.setenv(f"PREFRAG_{role}_MODEL", name)
            ended, found = examined()
        assert ended == code
        if name:
            assert found["judge"][0]["status"] == "problem"
        else:
            assert any("PREFRAG_LLM_MODEL is not set" in one["text"] for part in found.values() for one in part)

    def test_choice_of_a_first_question_is_used_and_says_so(
        self, model: FakeModelServer, monkeypatch: pytest.MonkeyPatch
    ):
        store_choice(Choice(model.url, "served"))
        monkeypatch.delenv("PREFRAG_LLM_BASE_URL")
        monkeypatch.delenv("PREFRAG_LLM_MODEL")

        _, found = examined()

        assert "as you chose" in found["model"][0]["text"]


class TestWeb:
    def test_a_closed_one_says_how_to_open_it(self, corpus: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.delenv("PREFRAG_WEB")
        prefrag("index", corpus, "--no-web")

        _, found = examined()

        assert found["web"][0]["text"].startswith(
            "The web is closed: open it with `prefrag index --web --collection default`"
        )

    def test_is_searched_once_and_only_online_and_where_it_is_open(
        self, corpus: Path, web_searches: list[str], monkeypatch: pytest.MonkeyPatch
    ):
        prefrag("index", corpus, "--web")

        assert examined()[1]["web"][0]["text"] == "Questions may go to the web (DDGSWebSearch)"
        assert web_searches == []
        assert examined("--online")[1]["web"][0]["text"].endswith("it answers (results: 1)")
        assert web_searches == ["weather"]
        for setting in ("off", "ask"):
            monkeypatch.setenv("PREFRAG_WEB", setting)
            examined("--online")
        assert web_searches == ["weather"]

    @pytest.fixture
    def web_searches(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The queries that a fake search engine gets."""
        sent: list[str] = []

        class Engine:
            def text(self, query: str, **settings: Any) -> list[dict[str, str]]:
                sent.append(query)
                return [{"title": "Weather", "href": "https://weather.example/", "body": "Wet."}]

        monkeypatch.setattr("haystack_integrations.components.websearch.ddgs.ddgs_websearch.DDGS", Engine)
        return sent


class TestServing:
    @for_each(
        "content, text",
        ({"status": "ready"}, "prefrag serve is ready at"),
        ({"status": "not ready"}, "is not ready"),
        ({"something": "else"}, "prefrag serve is not running on port"),
    )
    def test_a_running_server_is_told_from_another(self, demo: None, content: dict[str, str], text: str):
        server = FakeModelServer()
        server.listed = content
        try:
            _, found = examined("--port", server.url.rpartition(":")[2].removesuffix("/v1"))
        finally:
            server.close()

        assert text in found["serve"][0]["text"]

    def test_bad_keys_and_settings_for_the_server_alone_are_named(
        self, demo: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PREFRAG_REQUIRE_KEY", "on")
        assert "PREFRAG_REQUIRE_KEY" in checks._check_keys().text
        monkeypatch.delenv("PREFRAG_REQUIRE_KEY")
        monkeypatch.setenv("PREFRAG_API_KEYS", ",")
        (tmp_path / ".env").write_text("PREFRAG_LLM_MODEL=qwen3\n", encoding="utf-8")
        monkeypatch.chdir(tmp_path)

        _, found = examined()

        assert "PREFRAG_API_KEYS" in found["keys"][0]["text"]
        assert "PREFRAG_LLM_MODEL, but `prefrag ask`, `chat` and `index` do not read" in found["settings"][-1]["text"]

    @pytest.mark.parametrize(("words", "what"), [("off", "without questions"), ("on", "with questions")])
    def test_tracing_is_named_where_it_is_switched_on(
        self, demo: None, monkeypatch: pytest.MonkeyPatch, words: str, what: str
    ):
        assert "tracing" not in examined()[1]
        monkeypatch.setenv("HAYSTACK_AUTO_TRACE_ENABLED", "true")
        monkeypatch.setenv("PREFRAG_TRACE_CONTENT", words)

        assert what in examined()[1]["tracing"][0]["text"]

    @for_each(
        "name, status", ("new", "ok"), ("unmounted/log", "note"), ("open", "note" if os.name == "posix" else "ok")
    )
    def test_an_audit_log_is_named_and_tried(
        self, demo: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, status: str
    ):
        (tmp_path / "open").touch()
        (tmp_path / "open").chmod(0o644)
        monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(tmp_path / name))

        _, found = examined()

        assert found["audit log"][0]["status"] == status
        assert str(tmp_path) in found["audit log"][0]["text"]


def test_keys_that_servers_share_are_checked_for_other_readers(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_STATE", "elasticsearch")
    with elasticsearch(Stub()) as stub:
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", stub.url)
        monkeypatch.setenv("PREFRAG_ELASTICSEARCH_API_KEY", "good")
        stub.document = {"_source": {"keys": []}, "_seq_no": 1, "_primary_term": 1}
        stub.status, stub.key = 200, None
        open_to_others = checks._check_keys()
        stub.key = "good"
        closed = checks._check_keys()
    lost = checks._check_keys()

    assert "Anyone who reaches Elasticsearch can read and change the hashes" in open_to_others.text
    assert (closed.status, lost.status) == ("ok", "note")
    assert "does not answer" in lost.text


def test_absent_pipeline_or_elasticsearch_is_a_problem(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_ELASTICSEARCH_URL", "http://127.0.0.1:1")

    code, found = examined("--pipeline", "prefrag_elasticsearch")
    other, absent = examined("--pipeline", "nowhere")

    assert (code, absent["pipeline"][0]["status"]) == (1, "problem")
    assert "PREFRAG_ELASTICSEARCH_URL" in found["elasticsearch"][0]["text"]
    # Several servers may use the same Elasticsearch.
    assert "PREFRAG_STATE=elasticsearch" in found["keys"][0]["advice"]
    assert other != 0


def test_report_is_lines_for_people_and_a_status_for_scripts(demo: None):
    result = prefrag("doctor", "--port", 1)

    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert any(line.startswith("\u2713 ok      version: prefrag ") for line in lines)
    assert any(line.startswith("! note    index: demo contains ") for line in lines)
    assert lines[-1] == "prefrag ask will work."
    assert json.loads(prefrag("doctor", "--port", 1, "--json").stdout)["works"] is True

    result = prefrag("doctor", "--port", 1, "--index", "notes")

    assert result.exit_code == 3
    assert "\u2717 problem index: " in result.stdout
    assert "prefrag ask will not work" in result.stdout
