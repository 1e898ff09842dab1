"""Which parts replace those of a pipeline."""

from pathlib import Path

import pytest

from prefrag.collections import embedding
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.web.web_retriever import WebRetriever
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.evaluation.simulated_reader import SimulatedReader
from prefrag.pipelines.loading import Pipeline, find, load, read_block
from tests.evaluation.pipeline_under_test.lighthouse import SERVER, blocks, setup
from tests.for_each import for_each

PIPELINES = ("prefrag", "mspr", "react_mix", "prefrag_direct", "prefrag_three_sources", "vanilla_mix", "dr_rag_qdc")


class TestCorpora:
    @for_each("name", *PIPELINES)
    def test_every_block_searches_them(self, corpus: Path, dev: Path, name: str):
        ready = setup(name, dev, corpus=corpus, llm="simulated")

        stores = blocks(ready.block, "TantivyDocumentStore")
        assert {store["index"] for store in stores} <= {ready.local, ready.second}
        assert all(web["index"] == ready.second for web in blocks(ready.block, "WebRetriever"))
        with ready.environment():
            assert ready.build().to_dict()

    def test_a_second_local_source_gets_the_second_part(self, corpus: Path):
        ready = setup("prefrag_three_sources", corpus=corpus)

        archive = ready.block["components"]["archive"]["init_parameters"]
        assert blocks(archive, "TantivyDocumentStore")[0]["index"] == ready.second

    @for_each("name", "dr_rag_cfs_dense", "prefrag_hybrid")
    def test_another_model_embeds_them_and_the_queries(self, corpus: Path, monkeypatch: pytest.MonkeyPatch, name: str):
        embedded: list[tuple[str, str]] = []
        monkeypatch.setattr(
            embedding, "embed_index", lambda collection, model: embedded.append((collection.name, model))
        )

        ready = setup(name, corpus=corpus, embedder="/models/mini")

        assert embedded == [(ready.local, "/models/mini")]
        assert {vectors["model"] for vectors in blocks(ready.block, "VectorRetriever")} == {"/models/mini"}
        text_embedders = blocks(ready.block, "SentenceTransformersTextEmbedder")
        assert {(embedder["model"], embedder["prefix"]) for embedder in text_embedders} == {("/models/mini", "")}
        assert ready.config["embedder"] == "/models/mini"

    def test_without_embeddings_are_the_same_with_any_embedder(self, corpus: Path):
        ready = setup("vanilla_local", corpus=corpus, embedder="/models/mini")

        assert ready.block == setup("vanilla_local", corpus=corpus).block
        assert ready.config["embedder"] is None

    def test_the_real_web_stays_a_web_search_without_a_stand_in(self, corpus: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB_INDEX", "other")
        ready = setup(corpus=corpus, web="ddgs", **SERVER)

        assert (ready.config["web"], ready.config["split"]) == ("ddgs", False)
        with ready.environment():
            source = ready.build().get_component("web")
            assert isinstance(source, RetrievalSource)
            assert isinstance(source.retriever, WebRetriever)
            assert not source.retriever.stays_local

    def test_a_web_search_of_ones_own_is_replaced_as_well(self, corpus: Path, tmp_path: Path):
        shipped = read_block(find("vanilla_web"))["components"]["web"]["init_parameters"]["retriever"]
        search = shipped["init_parameters"]["search"]
        file = tmp_path / "own.yaml"
        own = load("vanilla_web", replace={"web.retriever": search, "web.external": False})
        file.write_text(own.dumps(), encoding="utf-8")

        ready = setup(file, corpus=corpus)

        assert blocks(ready.block, "WebRetriever")[0]["index"] == ready.second

    def test_elasticsearch_takes_the_place_of_the_embedded_index(self, corpus: Path, stores: list[str]):
        for name, settings in (("prefrag", {"store": "elasticsearch"}), ("prefrag_elasticsearch", {})):
            stores.clear()
            ready = setup(name, corpus=corpus, **settings, **SERVER)

            assert stores == ["tantivy", "elasticsearch"]
            stores_used = blocks(ready.block, "ElasticsearchDocumentStore")
            assert {store["index"] for store in stores_used} == {ready.local}
            assert not blocks(ready.block, "TantivyBM25Retriever")
            assert blocks(ready.block, "WebRetriever")[0]["index"] == ready.second
            assert (ready.config["store"], ready.config["retriever"]) == ("elasticsearch", "bm25")
            with ready.environment():
                ready.build()

    @pytest.mark.parametrize("name", ["dr_rag_linked", "prefrag_linked", "mspr_linked"])
    def test_elasticsearch_also_finds_by_titles_and_weighs_words(self, corpus: Path, stores: list[str], name: str):
        ready = setup(name, corpus=corpus, store="elasticsearch", **SERVER)

        assert not blocks(ready.block, "TantivyDocumentStore")
        links = blocks(ready.block, "TitleMentionRetriever")
        assert {block["document_store"]["init_parameters"]["index"] for block in links} == {ready.local}
        trees = blocks(ready.block, "TreePairScorer")
        assert {block["term_statistics"]["type"].rpartition(".")[2] for block in trees} == {
            "ElasticsearchMultiMatchRetriever"
        }
        with ready.environment():
            Pipeline.from_dict(ready.block)


class TestModel:
    def test_the_simulated_reader_takes_the_place_of_every_model(self, corpus: Path, dev: Path):
        for name in ("prefrag", "mspr", "dr_rag_qdc"):
            rates = {
                "judge_error": 0.1,
                "reflection_error": 0.2,
                "stopping_error": 0.2,
                "source_error": 0.2,
                "distraction": 0.3,
                "answer_error": 0.4,
                "memory": 0.5,
            }
            rates |= {"source_choice": "last", "second_try": "query", "yes_no": "half", "queries": "alike"} | {
                "seed": 4
            }
            ready = setup(name, dev, corpus=corpus, llm="simulated", **rates)

            assert not blocks(ready.block, "ChatModel")
            readers = blocks(ready.block, "SimulatedReader")
            assert readers
            assert all(reader.items() >= rates.items() for reader in readers)
            named = ["source_choice", "source_error", "second_try"]
            without = {"prefrag": named, "dr_rag_qdc": [*named, "queries"]}.get(name, [])
            assert ready.config["llm"] == {"kind": "simulated", **rates, **dict.fromkeys(without)}
            assert ready.config["simulated"]
            with ready.environment():
                assert isinstance(ready.build().get_component("reasoner").chat_generator, SimulatedReader)

    def test_simulated_reader_reads_questions_in_the_named_form(self, corpus: Path, dev: Path):
        ready = Setup("prefrag", Experiment(corpus=corpus, llm="simulated"), dev, "jsonl")

        assert {reader["format"] for reader in blocks(ready.block, "SimulatedReader")} == {"jsonl"}

    def test_the_simulated_reader_needs_its_files(self, corpus: Path, dev: Path):
        for files in ({"questions": dev}, {"corpus": corpus}):
            with pytest.raises(ValueError, match="give questions and corpus"):
                setup(llm="simulated", **files)  # type: ignore[arg-type]

    def test_a_seed_reaches_the_sampling_of_a_model(self):
        models = blocks(setup(seed=7, **SERVER).block, "ChatModel")

        assert models
        assert all(model["generation_kwargs"]["seed"] == 7 for model in models)

    def test_top_k_is_set_at_the_start_also_above_the_request_limit(self):
        ready = setup(top_k=30, **SERVER)

        assert blocks(ready.block, "StateBuilder")[0]["top_k"] == ready.config["top_k"] == 30
        with ready.environment():
            ready.build()
