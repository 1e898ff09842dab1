"""The shipped YAML under plain Hayhooks, deployed as it is."""

from pathlib import Path

import pytest

from prefrag.pipelines.loading import ALLOWLIST_VARIABLE, find, names
from tests.server_process import server_process

HAYHOOKS = ("-c", "from hayhooks.cli import hayhooks_cli; hayhooks_cli()")
QUESTION = "Who designed the Shearwater Current Meter?"
# They need a server, an extra with PyTorch, the web, a model, or a second index.
NEED_MORE = {name for name in names() if "elasticsearch" in name or "dense" in name or "hybrid" in name}
NEED_MORE |= {"vanilla_web", "no_retrieval", "flare", "prefrag_three_sources"}


@pytest.mark.slow
def test_every_shipped_pipeline_is_deployed_and_answers(tmp_path: Path):
    folder = tmp_path / "pipelines"
    folder.mkdir()
    settings = {"PREFRAG_INDEX": "demo", "PREFRAG_WEB": "off", ALLOWLIST_VARIABLE: "prefrag,duckduckgo_api_haystack"}
    answers = {}
    refusals = {}

    with server_process(*HAYHOOKS, "run", "--pipelines-dir", str(folder), folder=tmp_path, **settings) as client:
        for name in names():
            yaml = {"name": name, "source_code": find(name).read_text(encoding="utf-8"), "save_file": False}
            deployed = client.post("/deploy-yaml", json=yaml)
            if deployed.status_code != 200:
                refusals[name] = deployed.text
            elif name not in NEED_MORE:
                answers[name] = client.post(f"/{name}/run", json={"question": QUESTION})

    assert refusals == {}
    for name, answer in answers.items():
        assert answer.status_code == 200, name
        result = answer.json()["result"]["answer"]["result"]
        assert "Tobias Greaves" in (result["answer"] or result["guess"]), name
