"""Which pipelines are served."""

from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from prefrag.errors import BadInput
from prefrag.pipelines.loading import YAML_PIPELINES
from prefrag.server.access.keys import add_key
from prefrag.server.chat.served_pipelines import choose_pipelines, skips_broken

SHIPPED = {file.stem: file for file in YAML_PIPELINES.glob("*.yaml")}
WRAPPER = """
from hayhooks import BasePipelineWrapper


class PipelineWrapper(BasePipelineWrapper):
    def setup(self) -> None: ...

    def run_api(self, question: str) -> str:
        return question.upper()

    async def run_chat_completion_async(self, model: str, messages: list, body: dict) -> str:
        return messages[-1]["content"].upper()
"""


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A user's folder with a pipeline of a new name and one with the name of a shipped pipeline."""
    folder = tmp_path / "own"
    folder.mkdir()
    for name in ("mine", "react"):
        (folder / f"{name}.yaml").write_text("components: {}")
    monkeypatch.setenv("PREFRAG_PIPELINES_DIR", str(folder))
    return folder


@pytest.fixture
def wrappers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A folder with a wrapper of Hayhooks, and a folder without one."""
    (tmp_path / "wrappers" / "shouting").mkdir(parents=True)
    (tmp_path / "wrappers" / "shouting" / "pipeline_wrapper.py").write_text(WRAPPER)
    (tmp_path / "wrappers" / "notes").mkdir()
    monkeypatch.setenv("HAYHOOKS_PIPELINES_DIR", str(tmp_path / "wrappers"))
    return tmp_path / "wrappers"


def test_prefrag_is_served_by_default_or_the_named_in_order(own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Files are served by their names."""

    assert choose_pipelines() == {"prefrag": SHIPPED["prefrag"]}
    assert not skips_broken()
    (other := tmp_path / "other.yaml").write_text("components: {}")
    monkeypatch.setenv("PREFRAG_SERVE", f" mspr, mine,{other},")
    named = [("mspr", SHIPPED["mspr"]), ("mine", own / "mine.yaml"), ("other", other)]
    assert list(choose_pipelines().items()) == named
    assert not skips_broken()


def test_all_means_the_shipped_and_own_ones_which_go_first(own: Path, monkeypatch: pytest.MonkeyPatch):
    """An own pipeline replaces a shipped one of its name."""

    monkeypatch.setenv("PREFRAG_SERVE", "all")

    assert choose_pipelines() == SHIPPED | {name: own / f"{name}.yaml" for name in ("mine", "react")}
    assert skips_broken()


@pytest.mark.parametrize("serve", ["prefrag,prefrag.yaml", "mine,elsewhere/mine.yaml"])
def test_two_of_one_name_are_refused(own: Path, serve: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "elsewhere").mkdir()
    for file in ("prefrag.yaml", "elsewhere/mine.yaml"):
        (tmp_path / file).write_text("components: {}")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PREFRAG_SERVE", serve)

    with pytest.raises(BadInput, match="would both be served as"):
        choose_pipelines()


def test_wrappers_for_hayhooks_replace_prefrag_or_join_the_named(wrappers: Path, monkeypatch: pytest.MonkeyPatch):
    # An editor may keep a copy in a hidden folder, which is not run.
    (wrappers / ".ipynb_checkpoints").mkdir()
    (wrappers / ".ipynb_checkpoints" / "pipeline_wrapper.py").write_text(WRAPPER)
    assert choose_pipelines() == {"shouting": wrappers / "shouting"}

    monkeypatch.setenv("PREFRAG_SERVE", "prefrag,shouting")
    assert choose_pipelines() == {"prefrag": SHIPPED["prefrag"], "shouting": wrappers / "shouting"}


def test_a_wrapper_of_ones_own_answers(
    wrappers: Path, serve: Callable[..., TestClient], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PREFRAG_API_KEYS", "secret")
    client = serve()

    refused = client.post("/shouting/run", json={"question": "who?"})
    answered = client.post("/shouting/run", json={"question": "who?"}, headers={"Authorization": "Bearer secret"})

    assert (refused.status_code, answered.json()) == (401, {"result": "WHO?"})
    assert client.get("/ready").json() == {"status": "ready"}


@pytest.mark.parametrize("route", ["/shouting/run", "/v1/chat/completions", "/open-webui/v1/chat/completions"])
def test_own_wrapper_is_not_for_a_key_bound_to_collections(
    wrappers: Path, serve: Callable[..., TestClient], route: str
):
    bound, free = add_key("bound", collections=["maps"]), add_key("free")
    client = serve()
    message = {"role": "user", "content": "who?"}
    body = {"question": "who?"} if route.endswith("/run") else {"model": "shouting", "messages": [message]}

    refused, answered = (
        client.post(route, json=body, headers={"Authorization": f"Bearer {key}"}) for key in (bound, free)
    )

    assert (refused.status_code, answered.status_code) == (403, 200)
    assert "WHO?" in answered.text
    assert "WHO?" not in refused.text


@pytest.mark.parametrize(
    ("variable", "folder", "message"),
    [
        ("PREFRAG_PIPELINES_DIR", "nowhere", "nowhere.*PREFRAG_PIPELINES_DIR"),
        ("HAYHOOKS_PIPELINES_DIR", "nowhere", "nowhere.*HAYHOOKS_PIPELINES_DIR"),
        ("PREFRAG_PIPELINES_DIR", "wrappers", "no YAML pipelines in"),
    ],
)
def test_folder_that_is_absent_or_without_a_pipeline_is_refused(
    variable: str, folder: str, message: str, wrappers: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setenv(variable, str(tmp_path / folder))
    with pytest.raises(FileNotFoundError, match=message):
        choose_pipelines()
