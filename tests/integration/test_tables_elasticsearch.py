"""Rows of tables and pages of sentences, out of passages that lie in a real Elasticsearch."""

from pathlib import Path
from typing import Any

import pytest

from prefrag import pipelines
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.indexing import index
from prefrag.evaluation.own_files.office_documents import make_file

PAGES = [
    "Guide of the Petrel museum\n\nThe museum shows lamps.\nThe cloakroom is on the left.",
    "How to get here\n\nTake the tram to the harbour.\nThe tram leaves every ten minutes.",
    "Your visit\n\nThe telephone of the lighthouse keeper is 4471.\nDogs stay outside.",
]
ROWS = "Lamp,Year,Price\nPetrel,1931,410 crowns\nAlcyon,1947,385 crowns\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "lamps.csv").write_text(ROWS)
    (tmp_path / "guide.pdf").write_bytes(make_file({"path": "guide.pdf", "pages": PAGES}))
    return tmp_path


async def ask(question: str) -> dict[str, Any]:
    return await pipelines.ask_async(pipelines.load("prefrag_elasticsearch"), question)


@pytest.fixture
def indexed(folder: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> Path:
    for model in ("PREFRAG_LLM_BASE_URL", "PREFRAG_LLM_MODEL", "PREFRAG_LLM_GGUF"):
        monkeypatch.delenv(model, raising=False)
    monkeypatch.setenv("PREFRAG_INDEX", name)
    monkeypatch.setenv("PREFRAG_WEB", "off")
    report = index([folder], ElasticCollection(name))
    assert report.skipped == []
    return folder


@pytest.mark.usefixtures("indexed")
async def test_a_row_in_elasticsearch_answers():
    result = await ask("price of the Alcyon lamp")

    assert (result["answer"], result["certainty"]) == ("385 crowns", "stated")
    assert result["evidence"][0]["sentence"] == "Lamp: Alcyon; Year: 1947; Price: 385 crowns"
    assert (await ask("How many lamps are there?"))["answer"] == "2, counted in 2 rows"


@pytest.mark.usefixtures("indexed")
async def test_a_sentence_in_elasticsearch_has_its_own_page():
    result = await ask("What is the telephone of the lighthouse keeper?")
    [sentence] = [quotation for quotation in result["evidence"] if "4471" in quotation["sentence"]]

    assert sentence["page"] == 3
    # The pages are so short that they are one passage, which begins on the first.
    assert {document["page"] for document in result["documents"] if document["file"].endswith(".pdf")} == {3}


async def test_long_tables_beyond_ascii_are_stored_in_elasticsearch(tmp_path: Path, name: str, monkeypatch):
    """Elasticsearch refuses keywords above 32,766 bytes, and these letters take three bytes each."""
    tables = [
        ["Lamp,Name,Price", *(f"{kind} {number},{chr(0x706F) * 175},{number} crowns" for number in range(count))]
        for kind, count in (("Oil", 29), ("Gas", 2), ("Arc", 29))
    ]
    (tmp_path / "lamps.csv").write_text("\n\n".join("\n".join(rows) for rows in tables), encoding="utf-8")
    monkeypatch.setenv("PREFRAG_INDEX", name)
    monkeypatch.setenv("PREFRAG_WEB", "off")

    collection = ElasticCollection(name)
    report = index([tmp_path], collection)

    assert report.skipped == []
    assert (await ask("price of Arc 17"))["answer"] == "17 crowns"
