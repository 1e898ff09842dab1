"""A pipeline under test: what is put in the place of its parts, and what is told of it."""

from __future__ import annotations

import gc
import json
import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from prefrag import evaluation
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.web_retriever import WebRetriever
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.pipeline_under_test.experiment import Experiment
from prefrag.evaluation.pipeline_under_test.setup import Setup
from prefrag.evaluation.simulated_reader import SimulatedReader
from prefrag.pipelines import load
from prefrag.pipelines.loading import Pipeline, find, read_block
from prefrag.pipelines.replacing import replace_parts
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, scripted_yaml, search, verdict

LIGHTHOUSE = {"id": "p1", "title": "Ardal Light", "text": "Ardal Light was built by Mona Reeve.", "source": "local"}
BUILDER = {"id": "p2", "title": "Mona Reeve", "text": "Mona Reeve was born in Pellhaven.", "source": "web"}
BOTH = {"id": "p3", "title": "Pellhaven", "text": "Pellhaven is a port.", "source": "both"}
QUESTION = {
    "id": "q1",
    "question": "Where was the builder of Ardal Light born?",
    "answers": ["Pellhaven"],
    "supporting_ids": ["p1", "p2"],
}
# Nobody is asked there: it is only that no model need be loaded.
SERVER = {"llm": "http://localhost:9/v1", "model": "large"}
PIPELINES = ("prefrag", "mspr", "react_mix", "prefrag_direct", "prefrag_three_sources", "vanilla_mix", "dr_rag_qdc")


def jsonl(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "corpus.jsonl", LIGHTHOUSE, BUILDER, BOTH)


@pytest.fixture
def dev(tmp_path: Path) -> Path:
    return jsonl(tmp_path / "dev.jsonl", QUESTION)


def setup(pipeline: Any = "prefrag", questions: Path | None = None, **settings: Any) -> Setup:
    return Setup(pipeline, Experiment(**settings), questions)


def own_model(folder: Path, kind: str, **parameters: Any) -> Path:
    """:returns: A pipeline that asks a model of its own."""
    model = {"type": kind, "init_parameters": parameters}
    block = replace_parts(read_block(find("vanilla_mix")), {"ChatModel": model})
    file = folder / "own_model.yaml"
    file.write_text(yaml.safe_dump(block), encoding="utf-8")
    return file


def blocks(value: Any, kind: str) -> list[dict[str, Any]]:
    """:returns: The parameters of every block of a class, wherever it stands."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    found = [one for part in parts for one in blocks(part, kind)]
    if isinstance(value, dict) and str(value.get("type", "")).endswith(f".{kind}"):
        found.append(value["init_parameters"])
    return found


def shown(prediction: dict[str, Any]) -> set[tuple[str, str]]:
    return {(document["id"], document["source"]) for document in prediction["result"]["documents"]}


class TestCorpora:
    def test_a_pipeline_with_two_sources_gets_the_corpus_split(self, corpus: Path, dev: Path):
        ended = evaluation.run("prefrag", dev, corpus=corpus, llm="simulated", progress=False)

        assert shown(ended.predictions[0]) >= {("p1", "local"), ("p2", "web")}
        assert ("p2", "local") not in shown(ended.predictions[0])
        assert (ended.metrics["acc"], ended.metrics["recall"]) == (100, 100)
        assert (ended.config["split"], ended.config["web"]) == (True, str(corpus))

    def test_a_pipeline_with_one_source_gets_it_whole(self, corpus: Path, dev: Path):
        # What stands in for the web is told wherever something does.
        for name, source, web in (("vanilla_local", "local", None), ("vanilla_web", "web", str(corpus))):
            ended = evaluation.run(name, dev, corpus=corpus, llm="simulated", progress=False)

            assert shown(ended.predictions[0]) >= {("p1", source), ("p2", source)}
            assert (ended.config["split"], ended.config["web"]) == (False, web)

    def test_each_can_be_forced(self, corpus: Path, dev: Path):
        ends = {"corpus": corpus, "llm": "simulated", "progress": False}

        whole = evaluation.run("vanilla_mix", dev, split=False, **ends)
        part = evaluation.run("vanilla_web", dev, split=True, **ends)

        assert {("p1", "local"), ("p2", "local")} <= shown(whole.predictions[0])
        assert whole.config["web"] == str(corpus)
        assert ("p1", "web") not in shown(part.predictions[0])

    def test_a_corpus_for_the_web_stands_beside_the_whole_one(self, corpus: Path, dev: Path, tmp_path: Path):
        web = jsonl(tmp_path / "web.jsonl", BUILDER)
        local = jsonl(tmp_path / "local.jsonl", LIGHTHOUSE)

        ended = evaluation.run("prefrag", dev, corpus=local, web_corpus=web, llm="simulated", progress=False)

        assert shown(ended.predictions[0]) == {("p1", "local"), ("p2", "web")}
        assert (ended.config["split"], ended.config["web"]) == (False, str(web))

    @pytest.mark.parametrize("name", PIPELINES)
    def test_every_block_searches_them(self, corpus: Path, dev: Path, name: str):
        ready = setup(name, dev, corpus=corpus, llm="simulated")

        stores = blocks(ready.block, "TantivyDocumentStore")
        assert {store["index"] for store in stores} <= {ready.local, ready.second}
        assert all(web["index"] == ready.second for web in blocks(ready.block, "WebRetriever"))
        with ready.environment():
            assert ready.build().to_dict()

    def test_a_second_source_of_the_house_gets_the_second_part(self, corpus: Path):
        ready = setup("prefrag_three_sources", corpus=corpus)

        archive = ready.block["components"]["archive"]["init_parameters"]
        assert blocks(archive, "TantivyDocumentStore")[0]["index"] == ready.second

    def test_no_query_leaves_the_house_and_a_closed_web_does_not_matter(
        self, corpus: Path, dev: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setenv("PREFRAG_WEB", "off")

        ended = evaluation.run("prefrag", dev, corpus=corpus, llm="simulated", progress=False)

        assert ended.metrics["total_web"] > 0
        assert ended.predictions[0]["result"]["queries_sent_out"] == []
        assert os.environ["PREFRAG_WEB"] == "off"

    def test_the_real_web_stays_a_web_search_without_a_stand_in(self, corpus: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB_INDEX", "other")
        ready = setup(corpus=corpus, web="ddgs", **SERVER)

        assert (ready.config["web"], ready.config["split"]) == ("ddgs", False)
        with ready.environment():
            source = ready.build().get_component("web")
            assert isinstance(source, RetrievalSource)
            assert isinstance(source.retriever, WebRetriever)
            assert not source.retriever.stays_in_house

    def test_a_web_search_of_ones_own_is_replaced_as_well(self, corpus: Path, tmp_path: Path):
        shipped = read_block(find("vanilla_web"))["components"]["web"]["init_parameters"]["retriever"]
        file = tmp_path / "own.yaml"
        own = load(
            "vanilla_web", replace={"web.retriever": shipped["init_parameters"]["search"], "web.external": False}
        )
        file.write_text(own.dumps(), encoding="utf-8")

        ready = setup(file, corpus=corpus)

        assert blocks(ready.block, "WebRetriever")[0]["index"] == ready.second

    def test_gold_passages_that_no_index_holds_are_counted_and_told(
        self, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ):
        other = {**QUESTION, "id": "q2", "question": "Who built Ardal Light?", "supporting_ids": ["p1", "gone", "lost"]}
        dev = jsonl(tmp_path / "two.jsonl", QUESTION, other)
        for settings in ({"llm": "simulated"}, SERVER):
            counted = setup("prefrag", dev, corpus=corpus, **settings).gold_missing(load_questions(dev))

            assert counted == {"questions": 1, "passages": 2}
            assert "2 of 4 gold passages are not in" in caplog.text
            assert "1 of 2 questions lack one or more" in caplog.text
            caplog.clear()
        ended = evaluation.run("prefrag", dev, corpus=corpus, llm="simulated", progress=False)
        assert ended.config["gold_missing"] == {"questions": 1, "passages": 2}

    def test_gold_passages_may_be_in_either_source(self, corpus: Path, dev: Path, tmp_path: Path):
        asked = load_questions(dev)
        local, web = jsonl(tmp_path / "local.jsonl", LIGHTHOUSE), jsonl(tmp_path / "web.jsonl", BUILDER)
        nothing = {"questions": 0, "passages": 0}

        assert setup("prefrag", corpus=corpus).gold_missing(asked) == nothing
        assert setup("prefrag", corpus=local, web_corpus=web).gold_missing(asked) == nothing
        assert setup("prefrag", corpus=local, split=False).gold_missing(asked) == {"questions": 1, "passages": 1}

    def test_gold_passages_are_not_counted_where_their_ids_tell_nothing(self, corpus: Path, dev: Path):
        asked = load_questions(dev)

        assert setup("prefrag").gold_missing(asked) is None
        assert setup("prefrag", corpus=corpus, web="ddgs").gold_missing(asked) is None
        assert setup("no_retrieval", corpus=corpus).gold_missing(asked) is None

    def test_the_corpus_of_other_questions_is_refused_before_one_is_asked(self, dev: Path, tmp_path: Path):
        other = jsonl(tmp_path / "other.jsonl", {**BOTH, "id": "elsewhere"})

        with pytest.raises(ValueError, match=r"None of the 2 gold passages is in .*other.jsonl: give the corpus of"):
            evaluation.run("prefrag", dev, corpus=other, progress=False, **SERVER)

    def test_an_absent_one_is_said(self, tmp_path: Path):
        with pytest.raises(FileNotFoundError, match="nothing.jsonl"):
            setup(corpus=tmp_path / "nothing.jsonl")

    @pytest.fixture
    def stores(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The stores that a corpus is put into, though no server is asked."""
        from prefrag.evaluation import corpora

        make, stores = corpora.evaluation_indexes, []

        def made(*arguments: Any, store: str = "tantivy", **settings: Any) -> corpora.CorpusIndexes:
            stores.append(store)
            return make(*arguments, **settings)

        monkeypatch.setattr(corpora, "evaluation_indexes", made)
        return stores

    def test_elasticsearch_takes_the_place_of_the_embedded_index(self, corpus: Path, stores: list[str]):
        for name, asked in (("prefrag", {"store": "elasticsearch"}), ("prefrag_elasticsearch", {})):
            stores.clear()
            ready = setup(name, corpus=corpus, **asked, **SERVER)

            assert stores == ["tantivy", "elasticsearch"]
            found = blocks(ready.block, "ElasticsearchDocumentStore")
            assert {store["index"] for store in found} == {ready.local}
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

    def test_a_second_source_of_the_house_has_its_own_index_in_elasticsearch(self, corpus: Path, stores: list[str]):
        ready = setup("prefrag_three_sources", corpus=corpus, store="elasticsearch", **SERVER)

        archive = ready.block["components"]["archive"]["init_parameters"]
        assert [store["index"] for store in blocks(archive, "ElasticsearchDocumentStore")] == [ready.second]
        assert ready.second != ready.local

    def test_gold_passages_are_looked_for_wherever_a_source_searches(
        self, corpus: Path, dev: Path, stores: list[str], monkeypatch: pytest.MonkeyPatch
    ):
        from prefrag.evaluation import corpora

        asked: list[Any] = []
        monkeypatch.setattr(corpora, "absent_passages", lambda wanted, indexes: asked.extend(indexes) or set())
        for name in ("prefrag", "prefrag_three_sources", "vanilla_local"):
            asked.clear()
            ready = setup(name, corpus=corpus, store="elasticsearch", **SERVER)
            ready.gold_missing(load_questions(dev))

            local, web = ("elasticsearch", ready.local), ("tantivy", ready.second)
            archive = ("elasticsearch", ready.second)
            assert (
                set(asked)
                == {
                    "prefrag": {local, web},
                    "prefrag_three_sources": {local, archive, web},
                    "vanilla_local": {local},
                }[name]
            )


class TestModel:
    def test_the_simulated_reader_takes_the_place_of_every_model(self, corpus: Path, dev: Path):
        for name in ("prefrag", "mspr", "dr_rag_qdc"):
            rates = {"judge_error": 0.1, "reflection_error": 0.2, "distraction": 0.3, "seed": 4}
            ready = setup(name, dev, corpus=corpus, llm="simulated", **rates)

            assert not blocks(ready.block, "ChatModel")
            readers = blocks(ready.block, "SimulatedReader")
            assert readers
            assert all(reader.items() >= rates.items() for reader in readers)
            assert ready.config["llm"] == {"kind": "simulated", **rates}
            assert ready.config["simulated"]
            with ready.environment():
                assert isinstance(ready.build().get_component("reasoner").chat_generator, SimulatedReader)

    def test_a_simulated_reader_that_the_pipeline_names_itself_is_told_as_one(
        self, corpus: Path, dev: Path, tmp_path: Path
    ):
        reader = {"questions": str(dev), "corpus": str(corpus), "judge_error": 0.2, "seed": 3}
        config = setup(
            own_model(tmp_path, "prefrag.evaluation.simulated_reader.reader.SimulatedReader", **reader)
        ).config

        assert config["simulated"]
        assert config["llm"] == {
            **{"kind": "simulated", "judge_error": 0.2, "reflection_error": 0.0, "distraction": 0.0, "seed": 3}
        }

    def test_a_model_that_the_pipeline_names_itself_is_told_and_never_as_simulated(
        self, corpus: Path, dev: Path, tmp_path: Path
    ):
        pipeline = own_model(tmp_path, "haystack.components.generators.chat.openai.OpenAIChatGenerator", model="large")

        assert setup(pipeline).config["llm"] == {"kind": "OpenAIChatGenerator", "model": "large"}
        for llm in ("simulated", "embedded", "http://localhost:9/v1"):
            with pytest.raises(ValueError, match=r"a model of its own \(OpenAIChatGenerator\), which llm does not"):
                setup(pipeline, dev, corpus=corpus, llm=llm)

    def test_the_simulated_reader_reads_the_questions_in_the_form_that_is_named(self, corpus: Path, dev: Path):
        ready = Setup("prefrag", Experiment(corpus=corpus, llm="simulated"), dev, "jsonl")

        assert {reader["format"] for reader in blocks(ready.block, "SimulatedReader")} == {"jsonl"}

    def test_whether_a_model_judges_is_told(self, corpus: Path, dev: Path, monkeypatch: pytest.MonkeyPatch):
        simulated = {"questions": dev, "corpus": corpus, "llm": "simulated"}
        names = ("prefrag", "mspr", "prefrag_classifier", "vanilla_mix", "prefrag_direct")
        judged = {name: setup(name, **simulated).config["judged"] for name in names}

        assert judged == dict.fromkeys(names, False) | {"prefrag": True, "mspr": True}
        assert setup("prefrag", **SERVER).config["judged"]
        assert not setup("prefrag", llm="embedded").config["judged"], "the embedded model is not asked"
        monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", "http://localhost:8/v1")
        assert setup("prefrag").config["judged"]

    def test_variables_that_change_a_run_are_told(self, corpus: Path, dev: Path, monkeypatch: pytest.MonkeyPatch):
        variables = {
            "PREFRAG_PAIR_CLASSIFIER": "mine",
            "PREFRAG_LLM_CONTEXT": "4096",
            "PREFRAG_WEB": "off",
        }
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("PREFRAG_LLM_API_KEY", "secret")

        assert setup("prefrag").config["environment"] == variables
        ready = setup("prefrag", dev, corpus=corpus, llm="simulated")
        assert ready.config["environment"] == {"PREFRAG_PAIR_CLASSIFIER": "mine"}, "others do not matter there"

    def test_variables_that_the_yaml_reads_are_part_of_its_digest(self, monkeypatch: pytest.MonkeyPatch):
        before = setup("prefrag_elasticsearch").config["pipeline_sha256"]
        monkeypatch.setenv("PREFRAG_INDEX", "another")

        assert setup("prefrag_elasticsearch").config["pipeline_sha256"] != before

    def test_the_simulated_reader_needs_its_files(self, corpus: Path, dev: Path):
        for files in ({"questions": dev}, {"corpus": corpus}):
            with pytest.raises(ValueError, match="give questions and corpus"):
                setup(llm="simulated", **files)  # type: ignore[arg-type]

    def test_the_same_seed_gives_the_same_results(self, corpus: Path, dev: Path):
        def answers(seed: int) -> list[Any]:
            settings = {"llm": "simulated", "judge_error": 0.5, "reflection_error": 0.5, "progress": False}
            ended = evaluation.run("prefrag", dev, corpus=corpus, seed=seed, **settings)
            return [[event["kind"] for event in ended.predictions[0]["result"]["trace"]], ended.metrics["acc"]]

        assert answers(1) == answers(1)
        assert len({str(answers(seed)) for seed in range(6)}) > 1

    def test_the_environments_model_is_told_without_what_is_secret(self, monkeypatch: pytest.MonkeyPatch):
        assert setup().config["llm"] == {"kind": "embedded"}
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://user:pass@localhost:9/v1")
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "large")
        monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", "http://localhost:8/v1")
        monkeypatch.setenv("PREFRAG_JUDGE_MODEL", "judge")

        assert setup().config["llm"] == {
            "kind": "server",
            "base_url": "http://localhost:9/v1",
            "model": "large",
            "judge": {"base_url": "http://localhost:8/v1", "model": "judge"},
        }

    def test_a_url_is_the_server_while_the_evaluation_runs(self, monkeypatch: pytest.MonkeyPatch):
        ready = setup(llm="http://localhost:9/v1", model="large")

        with ready.environment():
            assert ready.build().get_component("reasoner").chat_generator.is_embedded is False
            assert (os.environ["PREFRAG_LLM_BASE_URL"], os.environ["PREFRAG_LLM_MODEL"]) == (
                "http://localhost:9/v1",
                "large",
            )
        assert "PREFRAG_LLM_BASE_URL" not in os.environ
        assert ready.config["llm"] == {"kind": "server", "base_url": "http://localhost:9/v1", "model": "large"}

    def test_embedded_is_embedded_whatever_the_environment_says(self, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://localhost:9/v1")
        monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", "http://localhost:9/v1")
        ready = setup(llm="embedded")

        with ready.environment():
            assert "PREFRAG_LLM_BASE_URL" not in os.environ
            assert "PREFRAG_JUDGE_BASE_URL" not in os.environ
        assert os.environ["PREFRAG_LLM_BASE_URL"] == "http://localhost:9/v1"
        assert ready.config["llm"] == {"kind": "embedded"}

    def test_a_seed_reaches_the_sampling_of_a_model(self):
        models = blocks(setup(seed=7).block, "ChatModel")

        assert models
        assert all(model["generation_kwargs"]["seed"] == 7 for model in models)

    def test_top_k_is_set_at_the_start_also_above_what_a_request_may_ask(self):
        ready = setup(top_k=30, **SERVER)

        assert blocks(ready.block, "StateBuilder")[0]["top_k"] == ready.config["top_k"] == 30
        with ready.environment():
            ready.build()


class TestPipelines:
    def test_may_be_loaded_already_and_are_still_changed(self, corpus: Path, dev: Path):
        ended = evaluation.run(load("prefrag"), dev, corpus=corpus, llm="simulated", progress=False)

        assert ended.metrics["acc"] == 100

    def test_that_do_not_exist_or_cannot_be_built_are_said(self, tmp_path: Path):
        with pytest.raises(FileNotFoundError, match="There is no pipeline 'nothing'"):
            setup("nothing")
        for text, message in (
            ("a: [", "cannot be loaded"),
            ("- a", "no `components`"),
            ("components: {}", "no component answer and no start"),
            (
                "components: {start: {type: prefrag.components.state.state.Nothing, init_parameters: {}}}",
                "cannot be loaded",
            ),
        ):
            file = tmp_path / "own.yaml"
            file.write_text(text, encoding="utf-8")
            with pytest.raises(ValueError, match=message):
                setup(file).build()

    def test_name_their_retriever(self, corpus: Path):
        retrievers = {name: setup(name).config["retriever"] for name in ("prefrag", "prefrag_dense", "prefrag_hybrid")}

        assert retrievers == {"prefrag": "bm25", "prefrag_dense": "dense", "prefrag_hybrid": "hybrid"}
        assert setup("vanilla_web").config["retriever"] == "web"
        assert setup("vanilla_web", corpus=corpus).config["retriever"] == "bm25"
        assert setup("dr_rag_linked").config["retriever"] == "linked"
        assert setup("no_retrieval").config["retriever"] is None

    def test_with_vectors_have_the_corpus_embedded(self, corpus: Path, monkeypatch: pytest.MonkeyPatch):
        embedded: list[tuple[str, str]] = []
        monkeypatch.setattr(
            "prefrag.pipelines.indexing.embedding.embed_index",
            lambda index, model: embedded.append((index, model)),
        )

        ready = setup("prefrag_hybrid", corpus=corpus)

        assert embedded == [(ready.local, "BAAI/bge-large-en-v1.5")]


SCRIPT = (search("alpha"), search("beta delta"), answer("1974"))
ASKED = [evaluation.Question("hp-1", "In which year did the yard that built alpha win the prize?", ("1974",))]


class TestRecording:
    @pytest.fixture
    def scripted(self, tmp_path: Path) -> Path:
        """A pipeline whose model and sources reply from scripts; its web is external, its judge another model."""
        text = scripted_yaml(*SCRIPT, verdicts=(verdict(False),), errors={})
        file = tmp_path / "scripted.yaml"
        file.write_text(text, encoding="utf-8")
        return file

    def run(self, pipeline: Path, **settings: Any) -> evaluation.Run:
        return evaluation.run(str(pipeline), ASKED, **{"progress": False, **settings})

    def test_is_replayed_without_any_model_and_without_the_web(self, scripted: Path, tmp_path: Path):
        kept = tmp_path / "kept.jsonl"
        first = self.run(scripted, record=kept)
        assert {name for name in CALLS if CALLS[name]} == {"model", "judge", "local", "web"}
        CALLS.clear()

        again = self.run(scripted, replay=kept)

        assert set(CALLS) == {"local"}
        assert again.predictions[0]["result"]["answer"] == first.predictions[0]["result"]["answer"] == "1974"
        assert again.predictions[0]["result"]["documents"] == first.predictions[0]["result"]["documents"]
        assert again.metrics["total_web"] == first.metrics["total_web"] == 1
        assert again.predictions[0]["result"]["queries_sent_out"] == []
        assert again.config["llm"] == first.config["llm"]
        assert again.config["replayed"] == str(kept)

    def test_is_replayed_where_the_web_is_closed(self, scripted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        self.run(scripted, record=tmp_path / "kept.jsonl")
        monkeypatch.setenv("PREFRAG_WEB", "off")

        assert self.run(scripted, replay=tmp_path / "kept.jsonl").metrics["total_web"] == 1

    def test_with_a_reply_missing_is_an_error_that_names_the_question(self, scripted: Path, tmp_path: Path):
        kept = tmp_path / "kept.jsonl"
        self.run(scripted, record=kept)
        lines = kept.read_text(encoding="utf-8").splitlines()
        replies = [line for line in lines if json.loads(line)["key"].startswith("reply")]
        kept.write_text("\n".join(line for line in lines if line != replies[-1]) + "\n", encoding="utf-8")

        with pytest.raises(ValueError, match=r"Question 'hp-1' \(In which year .* does not hold this reply of"):
            self.run(scripted, replay=kept)

    def test_with_a_reply_missing_ends_without_a_complaint_about_the_questions_asked_beside_it(
        self, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ):
        dev = jsonl(
            tmp_path / "many.jsonl",
            *(
                {**QUESTION, "id": f"q{n}", "question": f"Where was builder {n} of Ardal Light born?"}
                for n in range(12)
            ),
        )
        kept, settings = tmp_path / "kept.jsonl", {"corpus": corpus, "progress": False}
        evaluation.run("mspr", dev, llm="simulated", record=kept, **settings)
        lines = kept.read_text(encoding="utf-8").splitlines()
        replies = [line for line in lines if json.loads(line)["key"].startswith("reply")]
        left = set(lines) - set(replies[len(replies) // 2 :])
        kept.write_text("".join(f"{line}\n" for line in lines if line in left), encoding="utf-8")

        with pytest.raises(ValueError, match=r"Question 'q\d+' .* cannot be replayed"):
            evaluation.run("mspr", dev, replay=kept, concurrency=6, output=tmp_path / "run", **settings)
        gc.collect()
        assert [record.getMessage() for record in caplog.records if record.name == "asyncio"] == []
        done = (tmp_path / "run" / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
        assert 0 < len(done) < 12

    def test_with_a_search_missing_is_one_too(self, scripted: Path, tmp_path: Path):
        kept = tmp_path / "kept.jsonl"
        self.run(scripted, record=kept)
        lines = kept.read_text(encoding="utf-8").splitlines()
        kept.write_text(
            "\n".join(line for line in lines if not json.loads(line)["key"].startswith("search")) + "\n",
            encoding="utf-8",
        )

        with pytest.raises(ValueError, match="Question 'hp-1' .* does not hold this search of web: beta delta"):
            self.run(scripted, replay=kept)

    def test_plays_a_web_that_failed_as_failed(self, tmp_path: Path):
        file = tmp_path / "scripted.yaml"
        text = scripted_yaml(*SCRIPT, verdicts=(verdict(False),), errors={"web": "rate limit"})
        file.write_text(text, encoding="utf-8")
        first = self.run(file, record=tmp_path / "kept.jsonl")
        CALLS.clear()

        again = self.run(file, replay=tmp_path / "kept.jsonl")

        assert "web" not in CALLS
        assert "rate limit" in again.predictions[0]["result"]["errors"][0]
        assert again.predictions[0]["result"]["answer"] == first.predictions[0]["result"]["answer"]

    def test_goes_on_where_it_was_stopped(self, scripted: Path, tmp_path: Path):
        kept = tmp_path / "kept.jsonl"
        self.run(scripted, record=kept)
        CALLS.clear()

        self.run(scripted, record=kept)

        assert set(CALLS) == {"local"}

    def test_is_not_continued_with_another_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        setup(record=tmp_path / "kept.jsonl")
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://localhost:9/v1")

        with pytest.raises(ValueError, match="holds replies of another model"):
            setup(record=tmp_path / "kept.jsonl")

    def test_of_something_else_cannot_be_replayed(self, scripted: Path, tmp_path: Path):
        (tmp_path / "kept.jsonl").write_text("\n", encoding="utf-8")

        with pytest.raises(ValueError, match="holds no evaluation: make it with --record"):
            self.run(scripted, replay=tmp_path / "kept.jsonl")

    def test_holds_whole_pipelines_with_the_simulated_reader_in_one_file(self, corpus: Path, dev: Path, tmp_path: Path):
        kept = tmp_path / "kept.jsonl"
        for name in ("prefrag", "mspr"):
            first = evaluation.run(name, dev, corpus=corpus, llm="simulated", record=kept, progress=False)
            again = evaluation.run(name, dev, corpus=corpus, replay=kept, progress=False)

            assert again.predictions[0]["scores"] == first.predictions[0]["scores"]
            assert again.config["simulated"]
