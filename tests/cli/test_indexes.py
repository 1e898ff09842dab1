"""`prefrag indexes`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from prefrag.cli import indexes, web_consent
from prefrag.components.document_stores.tantivy.index_location import index_path
from tests.cli.running import prefrag


class TestList:
    def test_has_a_line_for_each_index(self, corpus: Path):
        prefrag("index", corpus, "--index", "papers", "--web")
        prefrag("index", corpus, "--no-web")

        default, papers = prefrag("indexes", "list").stdout.splitlines()

        assert default.startswith("default ")
        assert "3 passages" in papers
        assert "1 files" in papers
        assert papers.endswith("  web")
        assert default.endswith("no web")

    def test_is_json_with_the_option(self, corpus: Path):
        prefrag("index", corpus, "--no-web")

        (entry,) = json.loads(prefrag("indexes", "list", "--json").stdout)

        assert {key: entry[key] for key in ("name", "passages", "files", "web", "problem")} == {
            "name": "default",
            "passages": 3,
            "files": 1,
            "web": False,
            "problem": None,
        }
        assert entry["bytes"] > 0
        assert entry["changed"].endswith("+00:00")

    def test_says_how_to_make_the_first(self):
        result = prefrag("indexes", "list")

        assert result.exit_code == 0
        assert "prefrag index YOUR_FILES" in result.stdout

    def test_names_what_is_wrong_with_a_damaged_one(self, corpus: Path):
        prefrag("index", corpus)
        (index_path("default") / "prefrag-index.json").write_text("{broken")

        result = prefrag("indexes", "list")

        assert result.exit_code == 0
        assert "default: The index" in result.stderr


class TestDrop:
    def test_needs_a_yes_where_nobody_can_be_asked(self, corpus: Path):
        prefrag("index", corpus)

        refused = prefrag("indexes", "drop", "default")
        done = prefrag("indexes", "drop", "default", "--yes")

        assert refused.exit_code == 2
        assert "--yes" in refused.stderr
        assert done.exit_code == 0
        assert "The index 'default' with 3 passages is deleted, " in done.stdout
        assert not index_path("default").exists()
        assert corpus.exists()

    @pytest.mark.parametrize("says", [True, False])
    def test_asks_at_a_terminal(self, corpus: Path, monkeypatch: pytest.MonkeyPatch, says: bool):
        asked: list[str] = []

        def confirm(text: str, **_: Any) -> bool:
            asked.append(text)
            return says

        prefrag("index", corpus)
        monkeypatch.setattr(web_consent, "is_terminal", lambda: True)
        monkeypatch.setattr(indexes.typer, "confirm", confirm)

        result = prefrag("indexes", "drop", "default")

        assert asked == ["Delete the index 'default' with 3 passages?"]
        assert result.exit_code == 0
        assert index_path("default").exists() is not says

    @pytest.mark.parametrize(("name", "code"), [("../default", 2), ("/", 2), ("demo", 2), ("unmade", 3)])
    def test_refuses_a_path_and_what_is_not_there(self, corpus: Path, name: str, code: int):
        prefrag("index", corpus)

        assert prefrag("indexes", "drop", name, "--yes").exit_code == code
        assert index_path("default").exists()

    def test_a_question_afterwards_is_told_that_there_is_no_index(self, corpus: Path):
        prefrag("index", corpus, "--index", "papers")
        prefrag("indexes", "drop", "papers", "--yes")

        result = prefrag("ask", "Where does buoy 1 float?", "--index", "papers")

        assert result.exit_code == 3
        assert "There is no index 'papers'" in result.stderr
