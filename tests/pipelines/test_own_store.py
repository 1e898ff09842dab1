"""The shipped pipelines over a Haystack store without term statistics."""

import uuid

import pytest
from haystack import Document
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from prefrag import pipelines
from prefrag.components.judge.tree_judge import TreeJudge
from tests.fakes import ScriptedChatGenerator, ScriptedRetriever
from tests.pipelines.scripted import answer, search

TOOLS = {"prefrag": "Search_Engine", "prefrag_classifier": "Search_Engine", "mspr": "Search_Local"}


@pytest.mark.parametrize(("name", "tool"), TOOLS.items())
async def test_is_judged_without_them(name: str, tool: str):
    # In-memory stores with the same index name share their documents.
    store = InMemoryDocumentStore(index=uuid.uuid4().hex)
    store.write_documents([Document(content="Alpha was built by Beta."), Document(content="Beta is a yard in Gamma.")])
    replies = [search("alpha", tool), search("beta", tool), answer("Gamma")]
    parts = {
        "ChatModel": ScriptedChatGenerator(replies),
        "judge.judge": TreeJudge(),
        "local.retriever": InMemoryBM25Retriever(store),
        "web.retriever": ScriptedRetriever({}, "web"),
    }

    result = await pipelines.ask_async(pipelines.load(name, parts), "Where is Beta?")

    assert (result["answer"], result["errors"]) == ("Gamma", [])
