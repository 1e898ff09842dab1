"""Setting up a pipeline under test: its corpora, its environment and its gold passages."""

import os
from pathlib import Path
from typing import Any

import pytest

from prefrag import evaluation
from prefrag.collections.elastic_collection import ElasticCollection
from prefrag.collections.local_collection import LocalCollection
from prefrag.evaluation.datasets import load_questions
from prefrag.evaluation.pipeline_under_test.part_files import digest_prompts
from prefrag.pipelines import load
from tests.evaluation.pipeline_under_test.lighthouse import BOTH, BUILDER, LIGHTHOUSE, QUESTION, SERVER, jsonl, setup
from tests.for_each import for_each
from tests.own_prompts import write_prompts


def shown(prediction: dict[str, Any]) -> set[tuple[str, str]]:
    return {(document["id"], document["source"]) for document in prediction["result"]["documents"]}


class TestPrompts:
    @for_each("prompts", "plain", "product")
    def test_are_the_plain_ones_unless_set_and_are_recorded(self, corpus: Path, dev: Path, prompts: str):
        chosen = {} if prompts == "plain" else {"prompts": prompts}

        under_test = setup("prefrag", corpus=corpus, **chosen)

        assert under_test.config["prompts"] == prompts
        assert under_test.build().get_component("start").prompts == prompts

    def test_of_a_loaded_pipeline_without_replacements_are_its_own(self):
        assert setup(load("no_retrieval")).config["prompts"] == "product"

    def test_of_a_folder_are_recorded_with_a_hash_of_their_contents(self, tmp_path: Path):
        """And of all their names."""

        own = write_prompts(tmp_path)
        plain, first = digest_prompts("plain"), setup("no_retrieval", prompts=own).config
        (tmp_path / "passage.jinja").write_text("content: {{ content }}")
        after = setup("no_retrieval", prompts=own).config

        assert (first["prompts"], len(first["prompts_sha256"])) == (own, 64)
        assert len({plain, first["prompts_sha256"], after["prompts_sha256"]}) == 3
        assert plain == digest_prompts("product")

    def test_of_a_folder_are_not_for_the_simulated_reader(self, tmp_path: Path):
        with pytest.raises(ValueError, match="knows only the shipped prompts: set prompts to product or plain"):
            setup("no_retrieval", llm="simulated", prompts=write_prompts(tmp_path))


class TestCorpora:
    @for_each("loaded", False, True)
    def test_are_split_for_two_sources_also_of_a_loaded_pipeline(self, corpus: Path, dev: Path, loaded: bool):
        pipeline = load("prefrag") if loaded else "prefrag"
        ended = evaluation.run(pipeline, dev, corpus=corpus, llm="simulated", progress=False)
        assert shown(ended.predictions[0]) >= {("p1", "local"), ("p2", "web")}
        assert ("p2", "local") not in shown(ended.predictions[0])
        assert (ended.metrics["acc"], ended.metrics["recall"]) == (100, 100)
        assert (ended.config["split"], ended.config["web"]) == (True, str(corpus))

    def test_a_pipeline_with_one_source_gets_it_whole(self, corpus: Path, dev: Path):
        # The corpus in place of the web is only named if a source uses it.
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

    @for_each("value", "off", "")
    def test_send_no_query_from_this_machine_also_with_a_closed_web(
        self, corpus: Path, dev: Path, monkeypatch: pytest.MonkeyPatch, value: str
    ):
        monkeypatch.setenv("PREFRAG_WEB", value)

        ended = evaluation.run("prefrag", dev, corpus=corpus, llm="simulated", progress=False)

        assert ended.metrics["total_web"] > 0
        assert ended.predictions[0]["result"]["queries_sent_out"] == []
        assert os.environ["PREFRAG_WEB"] == value

    def test_without_indexed_gold_passages_are_counted_and_reported(
        self, corpus: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ):
        other = {**QUESTION, "id": "q2", "question": "Who built Ardal Light?", "supporting_ids": ["p1", "gone", "lost"]}
        dev = jsonl(tmp_path / "two.jsonl", QUESTION, other)
        for settings in ({"llm": "simulated"}, SERVER):
            counted = setup("prefrag", dev, corpus=corpus, **settings).gold_missing(load_questions(dev))

            assert counted == {"questions": 1, "passages": 2}
            assert "2 of 4 gold passages are not in" in caplog.text
            assert "1 of 2 questions need such a passage" in caplog.text
            caplog.clear()
        ended = evaluation.run("prefrag", dev, corpus=corpus, llm="simulated", progress=False)
        assert ended.config["gold_missing"] == {"questions": 1, "passages": 2}

    def test_gold_passages_may_be_in_either_source(self, corpus: Path, dev: Path, tmp_path: Path):
        chosen = load_questions(dev)
        local, web = jsonl(tmp_path / "local.jsonl", LIGHTHOUSE), jsonl(tmp_path / "web.jsonl", BUILDER)
        nothing = {"questions": 0, "passages": 0}

        assert setup("prefrag", corpus=corpus).gold_missing(chosen) == nothing
        assert setup("prefrag", corpus=local, web_corpus=web).gold_missing(chosen) == nothing
        assert setup("prefrag", corpus=local, split=False).gold_missing(chosen) == {"questions": 1, "passages": 1}

    def test_do_not_count_gold_passages_where_ids_prove_nothing(self, corpus: Path, dev: Path):
        chosen = load_questions(dev)

        assert setup("prefrag").gold_missing(chosen) is None
        assert setup("prefrag", corpus=corpus, web="ddgs").gold_missing(chosen) is None
        assert setup("no_retrieval", corpus=corpus).gold_missing(chosen) is None

    def test_that_are_absent_or_of_other_questions_are_refused_first(self, dev: Path, tmp_path: Path):
        other = jsonl(tmp_path / "other.jsonl", {**BOTH, "id": "elsewhere"})
        with pytest.raises(ValueError, match=r"None of the 2 gold passages is in .*other.jsonl: give the corpus that"):
            evaluation.run("prefrag", dev, corpus=other, progress=False, **SERVER)
        with pytest.raises(FileNotFoundError, match="nothing.jsonl"):
            setup(corpus=tmp_path / "nothing.jsonl")

    def test_gold_passages_are_looked_for_wherever_a_source_searches(
        self, corpus: Path, dev: Path, stores: list[str], monkeypatch: pytest.MonkeyPatch
    ):
        from prefrag.evaluation import corpora

        searched: list[Any] = []
        monkeypatch.setattr(corpora, "absent_passages", lambda wanted, indexes: searched.extend(indexes) or set())
        for name in ("prefrag", "prefrag_three_sources", "vanilla_local"):
            searched.clear()
            ready = setup(name, corpus=corpus, store="elasticsearch", **SERVER)
            ready.gold_missing(load_questions(dev))

            local, web = ElasticCollection(ready.local), LocalCollection(ready.second)
            archive = ElasticCollection(ready.second)
            assert (
                set(searched)
                == {"prefrag": {local, web}, "prefrag_three_sources": {local, archive, web}, "vanilla_local": {local}}[
                    name
                ]
            )


class TestModel:
    @pytest.mark.slow
    def test_the_same_seed_gives_the_same_results(self, corpus: Path, dev: Path):
        def answers(seed: int) -> list[Any]:
            settings = {"llm": "simulated", "judge_error": 0.5, "reflection_error": 0.5, "progress": False}
            ended = evaluation.run("prefrag", dev, corpus=corpus, seed=seed, **settings)
            return [[event["kind"] for event in ended.predictions[0]["result"]["trace"]], ended.metrics["acc"]]

        assert answers(1) == answers(1)
        assert len({str(answers(seed)) for seed in range(6)}) > 1

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

    @pytest.fixture
    def with_models(self, monkeypatch: pytest.MonkeyPatch):
        for role in ("LLM", "JUDGE"):
            monkeypatch.setenv(f"PREFRAG_{role}_BASE_URL", SERVER["llm"])
            monkeypatch.setenv(f"PREFRAG_{role}_GGUF", "a")

    @pytest.mark.usefixtures("with_models")
    def test_reader_answers_without_any_model_in_any_environment(self, corpus: Path, dev: Path):
        ended = evaluation.run("prefrag", dev, corpus=corpus, llm="reader", progress=False)

        [prediction] = ended.predictions
        assert ended.config["llm"]["kind"] == "reader"
        assert (prediction["error"], ended.metrics["llm_calls"]) == (None, 0)
        assert prediction["result"]["probability"] is not None
        assert os.environ["PREFRAG_LLM_BASE_URL"] == SERVER["llm"]

    @pytest.mark.usefixtures("with_models")
    def test_a_gguf_file_is_the_model_whatever_the_environment(self, tmp_path: Path):
        file = tmp_path / "small.gguf"
        file.touch()
        ready = setup(llm=str(file))

        with ready.environment():
            assert {name for name in os.environ if name.endswith("_BASE_URL")} == set()
            assert os.environ["PREFRAG_LLM_GGUF"] == str(file)
            assert "PREFRAG_JUDGE_GGUF" not in os.environ
        assert os.environ["PREFRAG_LLM_GGUF"] == "a"
        assert ready.config["llm"] == {"kind": "embedded", "model": "small.gguf"}
