"""The shipped pipelines with linked retrieval: what a run observes."""

from pathlib import Path

import pytest

from prefrag import pipelines
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from tests.components.samples import document
from tests.pipelines.scripted import answer, script, search, verdict

PASSAGES = {
    "Aurora": "The Aurora was a ship that Holm built in 1971.",
    "Holm": "Their greatest success came in 1974.",
    "Sea Trophy": "A trophy that shipyards win.",
    "Trophy": "When somebody did win the trophy there was a feast.",
}


@pytest.mark.parametrize(("name", "tool"), [("prefrag_linked", "Search_Engine"), ("mspr_linked", "Search_Local")])
async def test_a_run_observes_what_only_a_title_leads_to(name: str, tool: str, tmp_path: Path):
    store = TantivyDocumentStore(path=str(tmp_path / "index"))
    store.write_documents([document(title, text) for title, text in PASSAGES.items()])
    # The passage about Holm contains no word of a query.
    replies = (search("Aurora", tool), search("trophy year", tool), answer(label="CORRECT"))
    parts = script(*replies, pipeline=name, verdicts=(verdict(True),) * 4)
    # Only the local source searches as shipped.
    del parts["local.retriever"]
    pipeline = pipelines.load(name, parts | {"TantivyDocumentStore": store})

    result = await pipelines.ask_async(pipeline, "When was the greatest success of who built the Aurora?", top_k=2)

    observed = [event["documents"] for event in result["trace"] if event["kind"] == "observation"]
    assert "Aurora" in observed[0]
    assert "Holm" in {title for titles in observed for title in titles}
    assert (result["answer"], result["errors"]) == ("1974", [])
