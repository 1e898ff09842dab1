"""The description of a pipeline and its model in `config.json`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml

from prefrag.evaluation.pipeline_under_test.description import describe_noise, varies_with
from prefrag.evaluation.simulated_reader.policy import Policy
from prefrag.pipelines.loading import find, read_block
from prefrag.pipelines.replacing import replace_parts
from tests.evaluation.pipeline_under_test.lighthouse import SERVER, setup

READER = "prefrag.components.reader.extractive_reader.ExtractiveReader"


def own_model(folder: Path, kind: str, **parameters: Any) -> Path:
    """Write a pipeline that names a model of its own."""
    model = {"type": kind, "init_parameters": parameters}
    block = replace_parts(read_block(find("vanilla_mix")), {"ChatModel": model})
    file = folder / "own_model.yaml"
    file.write_text(yaml.safe_dump(block), encoding="utf-8")
    return file


def test_simulated_reader_of_a_pipeline_is_described_as_such(corpus: Path, dev: Path, tmp_path: Path):
    reader = {"questions": str(dev), "corpus": str(corpus), "judge_error": 0.2, "seed": 3}
    config = setup(own_model(tmp_path, "prefrag.evaluation.simulated_reader.reader.SimulatedReader", **reader)).config

    assert config["simulated"]
    assert config["llm"] == {
        "kind": "simulated",
        **asdict(Policy(judge_error=0.2, seed=3)),
        **dict.fromkeys(["source_choice", "source_error", "second_try", "queries"]),
    }


def test_model_of_a_pipeline_is_described_and_never_as_simulated(corpus: Path, dev: Path, tmp_path: Path):
    pipeline = own_model(tmp_path, "haystack.components.generators.chat.openai.OpenAIChatGenerator", model="large")

    assert setup(pipeline).config["llm"] == {"kind": "OpenAIChatGenerator", "model": "large"}
    for llm in ("simulated", "reader", "http://localhost:9/v1"):
        with pytest.raises(ValueError, match=r"a fixed model \(OpenAIChatGenerator\), which llm cannot replace"):
            setup(pipeline, dev, corpus=corpus, llm=llm)


def test_a_method_that_reads_log_probabilities_is_not_simulated(corpus: Path, dev: Path):
    with pytest.raises(ValueError, match=r"flare needs the log probabilities.*has none: set llm to a GGUF"):
        setup("flare", dev, corpus=corpus, llm="simulated")

    assert setup("flare", **SERVER).config["llm"]["kind"] != "simulated"


def test_whether_a_model_judges_is_described(corpus: Path, dev: Path, monkeypatch: pytest.MonkeyPatch):
    simulated = {"questions": dev, "corpus": corpus, "llm": "simulated"}
    names = ("prefrag", "mspr", "prefrag_classifier", "vanilla_mix", "prefrag_direct", "self_rag", "crag")
    judged = {name: setup(name, **simulated).config["judged"] for name in names}

    assert judged == dict.fromkeys(names, False) | {"prefrag": True, "mspr": True, "self_rag": True, "crag": True}
    assert setup("prefrag", **SERVER).config["judged"]
    assert not setup("prefrag", llm="reader").config["judged"], "the trees judge"
    assert not setup("self_rag", llm="reader").config["judged"], "nothing is criticised"
    # With the product's prompts the trees are asked first, unless a model is named for judging.
    for experiment in (simulated, SERVER):
        judged = [setup(name, **experiment, prompts="product").config["judged"] for name in ("prefrag", "self_rag")]
        assert judged == [False, True]
    monkeypatch.setenv("PREFRAG_JUDGE_BASE_URL", "http://localhost:8/v1")
    assert setup("prefrag").config["judged"]
    assert setup("prefrag", prompts="product").config["judged"]
    monkeypatch.delenv("PREFRAG_JUDGE_BASE_URL")
    monkeypatch.setenv("PREFRAG_JUDGE_GGUF", "/models/judge.gguf")
    assert setup("prefrag").config["llm"]["judge"] == {"kind": "embedded", "model": "judge.gguf"}
    assert setup("prefrag").config["judged"]


def test_variables_that_change_a_run_are_described(corpus: Path, dev: Path, monkeypatch: pytest.MonkeyPatch):
    variables = {"PREFRAG_PAIR_CLASSIFIER": "mine", "PREFRAG_LLM_CONTEXT": "4096", "PREFRAG_WEB": "off"}
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://localhost:9/v1")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PREFRAG_LLM_API_KEY", "secret")

    assert setup("prefrag").config["environment"] == variables
    ready = setup("prefrag", dev, corpus=corpus, llm="simulated")
    assert ready.config["environment"] == {"PREFRAG_PAIR_CLASSIFIER": "mine"}, "others do not matter there"
    ready = setup("prefrag", dev, corpus=corpus, llm="reader")
    assert ready.config["environment"] == {"PREFRAG_PAIR_CLASSIFIER": "mine"}, "others do not matter there"


def test_yaml_variables_are_in_the_digest_and_no_secret_is_told(
    monkeypatch: pytest.MonkeyPatch,
):
    """The model of the environment is described without what is secret."""

    before = setup("prefrag_elasticsearch").config["pipeline_sha256"]
    monkeypatch.setenv("PREFRAG_INDEX", "another")

    assert setup("prefrag_elasticsearch").config["pipeline_sha256"] != before

    assert setup().config["llm"] == setup(llm="reader").config["llm"]
    monkeypatch.setenv("PREFRAG_LLM_GGUF", "/models/small.gguf")
    assert setup().config["llm"] == {"kind": "embedded", "model": "small.gguf"}
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


def test_the_reader_is_described_by_its_files_and_its_threshold(tmp_path: Path):
    card = {"threshold": 0.7, "dated_choice": 0.9, "other_choice": 0.5, "comparison": 0.5}
    (tmp_path / "card.json").write_text(json.dumps(card), encoding="utf-8")

    def described(**settings: Any) -> Any:
        reader = {"Reasoner.reader": {"type": f"{READER}", "init_parameters": {"model": str(tmp_path), **settings}}}
        file = tmp_path.with_suffix(".yaml")
        file.write_text(yaml.safe_dump(replace_parts(read_block(find("vanilla_local")), reader)), encoding="utf-8")
        return setup(file, llm="reader").config["llm"]

    before = described()
    assert before == {"kind": "reader", "files": before["files"], "threshold": 0.7}
    assert described(threshold=0.5) == {**before, "threshold": 0.5}
    (tmp_path / "encoder.onnx").write_bytes(b"trained again")

    assert described()["files"] != before["files"]


def test_a_pipeline_without_a_reader_is_refused_where_one_is_set(tmp_path: Path):
    file = tmp_path / "unread.yaml"
    block = replace_parts(read_block(find("vanilla_local")), {"Reasoner.reader": None})
    file.write_text(yaml.safe_dump(block), encoding="utf-8")

    with pytest.raises(ValueError, match="has no reader: give its Reasoner a reader"):
        setup(file, llm="reader")
    assert setup(file).config["llm"] == {"kind": "reader"}


def test_name_their_retriever(corpus: Path):
    retrievers = {name: setup(name).config["retriever"] for name in ("prefrag", "prefrag_dense", "prefrag_hybrid")}

    assert retrievers == {"prefrag": "bm25", "prefrag_dense": "dense", "prefrag_hybrid": "hybrid"}
    assert setup("vanilla_web").config["retriever"] == "web"
    assert setup("vanilla_web", corpus=corpus).config["retriever"] == "bm25"
    assert setup("vanilla_web", corpus=corpus, web_sentences=2).config["retriever"] == "bm25"
    assert setup("dr_rag_linked").config["retriever"] == "linked"
    assert setup("dr_rag_cfs_dense").config["retriever"] == "dense"
    assert setup("no_retrieval").config["retriever"] is None


def test_settings_without_use_for_a_pipeline_are_not_recorded(corpus: Path, dev: Path):
    web = ["web_junk", "web_sentences"]
    named = ["second_try", "source_choice", "source_error"]
    expected = {
        "prefrag": ["judge_error", "queries", "reflection_error", "stopping_error", *web],
        "prefrag_without_reflection": ["judge_error", "queries", "stopping_error", *web],
        "mspr": ["judge_error", "queries", "reflection_error", *named, "stopping_error", *web],
        "react": ["queries", *named, "stopping_error", *web],
        "vanilla_mix": web,
        "vanilla_local": [],
        "dr_rag_qdc": [],
    }
    for name, settings in expected.items():
        config = setup(name, dev, corpus=corpus, llm="simulated", web_junk=0.2).config
        recorded = {**config, **config["llm"]}
        assert varies_with(read_block(find(name)), config["llm"]) == settings
        unused = {"queries", *named, *web} - set(settings)
        assert {key for key in ("queries", *named, *web) if recorded[key] is None} == unused


def test_the_noise_of_the_web_is_described(corpus: Path):
    config = setup(corpus=corpus, web_sentences=2, web_junk=0.2, **SERVER).config

    assert (config["web_sentences"], config["web_junk"]) == (2, 0.2)
    assert describe_noise(config) == "the first 2 sentences of each passage, 20% junk"
    assert describe_noise(setup(corpus=corpus, **SERVER).config) == describe_noise({}) == ""
