"""Replace a shipped pipeline by one that replies from a script."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.scripted import answer, scripted_yaml, search, verdict


@pytest.fixture
def script_pipeline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., None]:
    """Replace the shipped pipeline by a scripted one, which by default switches to the web."""

    def write(*replies: str, name: str = "prefrag", **settings: Any) -> None:
        if not replies:
            replies = (search("alpha"), search("beta delta"), answer("1974"))
            settings = {"verdicts": (verdict(False),), **settings}
        folder = tmp_path / "yaml"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.yaml").write_text(scripted_yaml(*replies, **settings), encoding="utf-8")
        monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(folder))

    return write
