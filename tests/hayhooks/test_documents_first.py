"""The example folder under plain Hayhooks, without our application."""

from pathlib import Path

import pytest

from tests.for_each import for_each
from tests.pipelines.scripted import answer, scripted_yaml, search
from tests.server_process import CHECKOUT, server_process

FOLDER = CHECKOUT / "hayhooks"
QUESTION = "In which year did the yard that built alpha win the prize?"


@pytest.mark.slow
def test_plain_hayhooks_serves_it_under_the_name_of_its_folder(tmp_path: Path):
    (tmp_path / "prefrag.yaml").write_text(scripted_yaml(search("alpha"), answer("1974")), encoding="utf-8")
    hayhooks = ("-c", "from hayhooks.cli import hayhooks_cli; hayhooks_cli()")

    with server_process(
        *hayhooks, "run", "--pipelines-dir", "hayhooks", folder=tmp_path, PREFRAG_PIPELINES_DIR=str(tmp_path)
    ) as client:
        served = client.get("/status").json()["pipelines"]
        answered = client.post("/documents_first/run", json={"question": QUESTION})
        chat = {"model": "documents_first", "messages": [{"role": "user", "content": QUESTION}]}
        completion = client.post("/v1/chat/completions", json=chat)

    assert served == ["documents_first"]
    result = answered.json()["result"]
    assert (result["answer"], [document["id"] for document in result["documents"]]) == ("1974", ["local-alpha"])
    assert completion.json()["choices"][0]["message"]["content"].startswith("1974")


@for_each("name", "prefrag", "__init__.py")
def test_nothing_in_the_folder_takes_the_name_of_a_package(name: str):
    assert not (FOLDER / name).exists()
