"""`prefrag pipelines`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import prefrag


def test_lists_the_pipelines():
    assert "prefrag" in prefrag("pipelines").stdout.split()


def test_a_pipeline_is_drawn_from_its_yaml():
    result = prefrag("pipelines", "--draw", "prefrag")

    assert result.exit_code == 0
    assert result.stdout.startswith("flowchart TD")
    assert "n_judge -->|switch_web| n_to_web" in result.stdout


@pytest.mark.parametrize("text", [None, "components: [", "components: {}"])
def test_a_pipeline_that_is_absent_or_unusable_ends_with_3(tmp_path: Path, text: str | None):
    if text is not None:
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")

    result = prefrag("pipelines", "--draw", tmp_path / "mine.yaml")

    assert result.exit_code == 3
    assert "mine.yaml" in " ".join(result.stderr.split())
