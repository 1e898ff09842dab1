"""The web of an evaluation with snippets and junk."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.core.serialization import component_from_dict, component_to_dict

from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.web.web_retriever import WebRetriever
from prefrag.evaluation.pipeline_under_test.noisy_web import NoisyWeb
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.pipelines.asking import ask
from tests.evaluation.pipeline_under_test.lighthouse import blocks, jsonl, setup
from tests.for_each import for_each
from tests.indexes import index_of

LIGHTS = [
    {"id": f"p{number}", "title": f"Ardal Light {number}", "text": f"Ardal Light {number} is tall. It is old."}
    for number in range(10)
]
JUNK = [
    {"id": f"j{number}", "title": f"Cake {number}", "text": f"Cake number {number} is baked. It is sweet."}
    for number in range(60)
]
QUERIES = [f"Ardal Light {number}" for number in range(30)]

Web = Callable[..., NoisyWeb]


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Web:
    monkeypatch.setenv("PREFRAG_HOME", str(tmp_path / "home"))
    corpus = jsonl(tmp_path / "corpus.jsonl", *LIGHTS, *JUNK)
    questions = jsonl(
        tmp_path / "dev.jsonl", {"id": "q", "question": "Which cake?", "answers": ["0"], "supporting_ids": ["j0"]}
    )
    path = tmp_path / "index"
    index_of(
        [Document(id=light["id"], content=light["text"], meta={"title": light["title"]}) for light in LIGHTS], path
    )

    class Searching(WebRetriever):
        """The corpus in place of the web, found by its path."""

        def _choose(self) -> Any:
            from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
            from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever

            return TantivyBM25Retriever(TantivyDocumentStore(path=str(path)))

    searching = Searching(search=None)  # type: ignore[arg-type]
    return lambda **settings: NoisyWeb(searching, corpus=str(corpus), questions=str(questions), **settings)


def found(web: NoisyWeb, query: str, top_k: int = 5) -> list[tuple[str, str | None]]:
    return [(page.id, page.content) for page in web.run(query, top_k)["documents"]]


def test_without_noise_it_is_the_stand_in(web: Web):
    quiet = web()

    assert quiet.run(QUERIES[0], 5) == quiet.web.run(QUERIES[0], 5)


def test_passages_are_cut_to_their_first_sentences_junk_as_well(web: Web):
    for _, text in found(web(sentences=1, junk=0.5), QUERIES[3], 9):
        assert text is not None
        assert text.count(".") == 1


def test_share_of_junk_is_as_set_and_results_move_down(web: Web):
    noisy, total = web(junk=0.2), 0
    for query in QUERIES:
        before = [page.id for page in noisy.web.run(query, 5)["documents"]]
        after = [key for key, _ in found(noisy, query)]
        own = [key for key in after if key.startswith("p")]
        assert own == before[: len(own)]
        assert len(set(after)) == len(after) == len(before) == 5
        total += len(after) - len(own)

    assert total / (5 * len(QUERIES)) == pytest.approx(0.2, abs=0.08)


def test_junk_is_no_gold_passage_and_has_no_word_of_the_query(web: Web):
    noisy = web(junk=1.0)
    junk = {key for query in QUERIES for key, _ in found(noisy, query)}

    assert len(junk) > 20
    assert "j0" not in junk
    assert not junk & {light["id"] for light in LIGHTS}
    # All junk shares a word with this query, so only real results are shown.
    assert {key for key, _ in found(noisy, "Ardal Light cake")} <= {light["id"] for light in LIGHTS}


def test_query_gets_the_same_whatever_was_searched_before(web: Web):
    shuffled = random.Random(1).sample(QUERIES, len(QUERIES))
    first, other = web(junk=0.5, seed=3), web(junk=0.5, seed=3)
    before = {query: found(first, query) for query in QUERIES}

    async def search_all() -> list[Any]:
        return await asyncio.gather(*(other.run_async(query, 5) for query in shuffled))

    after = [[(page.id, page.content) for page in result["documents"]] for result in asyncio.run(search_all())]
    assert dict(zip(shuffled, after, strict=True)) == before
    assert {query: found(web(junk=0.5, seed=4), query) for query in QUERIES} != before


def test_junk_without_a_corpus_is_refused():
    with pytest.raises(ValueError, match="Junk passages are drawn from a corpus"):
        NoisyWeb(WebRetriever(search=None), junk=0.1)  # type: ignore[arg-type]


class TestInAPipeline:
    def noisy(self, corpus: Path, dev: Path, name: str = "prefrag") -> Setup:
        return setup(name, dev, corpus=corpus, llm="simulated", web_sentences=1, web_junk=0.2, seed=7)

    @for_each("name", "prefrag", "mspr", "vanilla_web", "prefrag_three_sources")
    def test_web_is_always_noisy_and_readers_know_the_snippet_length(self, corpus: Path, dev: Path, name: str):
        ready = self.noisy(corpus, dev, name)

        noisy = blocks(ready.block, "NoisyWeb")
        assert len(noisy) == len(blocks(ready.block, "WebRetriever")) > 0
        assert all((settings["sentences"], settings["junk"], settings["seed"]) == (1, 0.2, 7) for settings in noisy)
        assert {reader["web_sentences"] for reader in blocks(ready.block, "SimulatedReader")} == {1}

    def test_its_queries_stay_local_and_its_source_stays_external(self, corpus: Path, dev: Path):
        ready = self.noisy(corpus, dev)
        with ready.environment():
            pipeline = ready.build()
            source = pipeline.get_component("web")
            assert isinstance(source, RetrievalSource)
            assert (source.external, source.leaves_machine) == (True, False)
            again = component_from_dict(NoisyWeb, component_to_dict(source.retriever, "web"), "web")
            assert again.to_dict() == source.retriever.to_dict()

            result = ask("Where was the builder of Ardal Light born?", pipeline)

        assert result["answer"] == "Pellhaven"
        assert "noisy stand-in index" in json.dumps(result["trace"])
        assert '"sent_out": true' not in json.dumps(result)

    def test_without_noise_nothing_stands_between(self, corpus: Path, dev: Path):
        assert not blocks(setup("prefrag", dev, corpus=corpus, llm="simulated").block, "NoisyWeb")
