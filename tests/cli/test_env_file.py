"""A misspelt setting is reported, because it may have been meant to forbid something."""

from pathlib import Path
from typing import Any

import pytest

from prefrag.cli.env_file import find_unknown_settings
from tests.cli.running import prefrag

SENTENCE = "PREFRAG_REMOTE_MODELS is not a setting: did you mean PREFRAG_REMOTE_MODEL?"


@pytest.fixture(autouse=True)
def misspelt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFRAG_REMOTE_MODELS", "off")


@pytest.mark.parametrize(
    ("command", "code"),
    [(("ask", "Who?", "--index", "absent"), 3), (("index",), 2), (("serve", "--demo"), 2)],
    ids=["ask", "index", "serve"],
)
def test_a_command_reports_it_and_goes_on_unless_it_would_serve(
    started: dict[str, Any], command: tuple[str, ...], code: int
):
    result = prefrag(*command)

    assert (result.exit_code, SENTENCE in " ".join(result.stderr.split())) == (code, True)
    assert not started


def test_the_doctor_reports_it(monkeypatch: pytest.MonkeyPatch):
    assert SENTENCE in prefrag("doctor", "--json", "--index", "absent", "--port", 1).stdout
    monkeypatch.setenv("PREFRAG_MAX_RUNS", "many")
    assert "PREFRAG_MAX_RUNS is 'many'" in prefrag("doctor", "--json", "--index", "absent", "--port", 1).stdout


def test_what_a_pipeline_of_ones_own_reads_is_not_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mine.yaml").write_text("index: ${PREFRAG_MY_INDEX:-mine}\n")
    (tmp_path / "named.yaml").write_text("api_key: {env_vars: [PREFRAG_MY_KEY]}\n")
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(tmp_path / "own"))
    monkeypatch.setenv("PREFRAG_MY_INDEX", "x")
    monkeypatch.setenv("PREFRAG_MY_KEY", "x")

    assert find_unknown_settings(tmp_path / "named.yaml") == [SENTENCE]
