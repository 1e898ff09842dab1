"""The table of settings: what is read, when, and what is refused."""

import os
from pathlib import Path
from typing import Any

import pytest

from prefrag.errors import BadInput
from prefrag.settings import check_settings, export_secrets, models, read_secrets, settings
from tests.for_each import for_each


@for_each(
    "variable, text, name, value",
    ("PREFRAG_RUN_SECONDS", " 1.5 ", "run_seconds", 1.5),
    ("PREFRAG_RUN_SECONDS", "", "run_seconds", 600),
    ("PREFRAG_RUN_SECONDS", "  ", "run_seconds", 600),
    ("PREFRAG_MAX_WAITING", "0", "max_waiting", 0),
    ("PREFRAG_SERVE", " a, b,,", "serve", ("a", "b")),
    ("PREFRAG_API_KEYS", " a, b,,", "api_keys", ("a", "b")),
    ("PREFRAG_API_KEYS", "", "api_keys", ()),
    ("PREFRAG_DATA_DIR", "~/data", "data_dir", Path("~/data").expanduser()),
    ("HAYHOOKS_PIPELINES_DIR", "/wrappers", "wrappers_dir", Path("/wrappers")),
    ("PREFRAG_WEB", "ASK", "web", "ask"),
    ("PREFRAG_WEB", "", "web", None),
)
def test_a_setting_is_read_when_it_is_used(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, name: str, value: Any
):
    monkeypatch.setenv(variable, text)

    assert getattr(settings, name) == value


def test_a_switch_is_spelt_alike_everywhere(monkeypatch: pytest.MonkeyPatch):
    for text in ("on", "TRUE", "yes", "1", "off", "False", "NO", "0"):
        for variable in ("WEB", "REMOTE_MODEL", "AUDIT_QUERIES", "OPEN_DEPLOY", "DEBUG", "LLM_THINKING"):
            monkeypatch.setenv(f"PREFRAG_{variable}", text)
        is_on = text in ("on", "TRUE", "yes", "1")

        assert settings.web == ("on" if is_on else "off")
        read = (settings.remote_model, settings.audit_queries, settings.open_deploy, settings.debug)
        assert {*read, models["llm"].thinking} == {is_on}, text


def test_what_is_not_understood_opens_no_exit(monkeypatch: pytest.MonkeyPatch):
    for variable in ("WEB", "REMOTE_MODEL", "AUDIT_QUERIES", "OPEN_DEPLOY"):
        monkeypatch.setenv(f"PREFRAG_{variable}", "onn")
        with pytest.raises(BadInput, match=f"PREFRAG_{variable} is 'onn': set it to on"):
            check_settings()

        assert getattr(settings, variable.lower()) in (False, "off")
        monkeypatch.delenv(f"PREFRAG_{variable}")


@pytest.mark.parametrize(
    ("variable", "text", "allowed"),
    [
        *[("PREFRAG_RUN_SECONDS", text, "a number above zero") for text in ("0", "-1", "nan", "inf", "soon")],
        *[("PREFRAG_MAX_RUNS", text, "a whole number of at least 1") for text in ("0", "1.5", "many")],
        ("PREFRAG_DRAIN_SECONDS", "-1", "a whole number of at least 0"),
        ("PREFRAG_LLM_THINKING", "maybe", "on or off"),
        ("PREFRAG_JUDGE_STRUCTURED", "xml", "json_schema, json_object or off"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_allowed(
    monkeypatch: pytest.MonkeyPatch, variable: str, text: str, allowed: str
):
    monkeypatch.setenv(variable, text)

    with pytest.raises(BadInput) as raised:
        check_settings()

    assert str(raised.value) == f"{variable} is '{text}': set it to {allowed}, or unset it."


@for_each("value", ",", "  ", "k\u00e9y", "a\tb")
def test_keys_that_cannot_work_are_refused_and_not_repeated(monkeypatch: pytest.MonkeyPatch, value: str):
    monkeypatch.setenv("PREFRAG_API_KEYS", value)

    with pytest.raises(BadInput, match="PREFRAG_API_KEYS: set it to keys"):
        _ = settings.api_keys


def test_an_unknown_name_is_reported_with_the_nearest(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PREFRAG_REMOTE_MODELS", "off")
    monkeypatch.setenv("PREFRAG_Web_index", "mine")
    monkeypatch.setenv("PREFRAG_QQ", "1")
    monkeypatch.setenv("PREFRAG_TEST_SHARED", "/shared")
    monkeypatch.setenv("PREFRAG_MY_INDEX", "mine")

    assert check_settings(own={"PREFRAG_MY_INDEX"}) == [
        "PREFRAG_QQ is not a setting.",
        "PREFRAG_REMOTE_MODELS is not a setting: did you mean PREFRAG_REMOTE_MODEL?",
        "PREFRAG_Web_index is not a setting: did you mean PREFRAG_WEB_INDEX?",
    ]


class TestASecretInAFile:
    @pytest.fixture
    def file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        (tmp_path / "key").write_bytes(b"the key \r\n")
        for name in ("LLM_API_KEY", "JUDGE_API_KEY", "GOLD_API_KEY", "ELASTICSEARCH_API_KEY", "API_KEYS"):
            monkeypatch.setenv(f"PREFRAG_{name}_FILE", str(tmp_path / "key"))
        return tmp_path / "key"

    def test_counts_without_the_end_of_its_line(self, file: Path):
        assert check_settings() == []
        assert read_secrets() == ["the key"] * 5

    def test_reaches_the_stores_of_haystack(self, file: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(os, "environ", dict(os.environ))

        export_secrets()
        file.write_text("another")
        export_secrets()

        assert os.environ["PREFRAG_ELASTICSEARCH_API_KEY"] == settings.elasticsearch_api_key == "another"
        assert "PREFRAG_LLM_API_KEY" not in os.environ

    def test_is_refused_beside_the_variable(self, file: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_LLM_API_KEY", "sk-other")

        with pytest.raises(BadInput, match="PREFRAG_LLM_API_KEY and PREFRAG_LLM_API_KEY_FILE are both set") as raised:
            check_settings()
        assert "sk-other" not in str(raised.value)

    @pytest.mark.parametrize(("content", "why"), [(None, "No such file"), (b"", "empty"), (b"\xff", "not text")])
    def test_is_refused_where_it_cannot_be_read(self, file: Path, content: bytes | None, why: str):
        file.unlink() if content is None else file.write_bytes(content)

        with pytest.raises(BadInput, match=rf"PREFRAG_GOLD_API_KEY_FILE is '.*key', which .*{why}"):
            _ = settings.gold_api_key
