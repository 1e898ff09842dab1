"""Replacing parts of a pipeline while it is loaded."""

from pathlib import Path
from typing import Any

import pytest
from haystack import component
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.core.serialization import component_to_dict
from haystack.utils import Secret

from prefrag import pipelines
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.pipelines.blocks import Block, blocks, class_of
from prefrag.pipelines.loading import Pipeline, find, read_block
from prefrag.pipelines.replacing import replace_parts
from tests.fakes import ScriptedChatGenerator, ScriptedRetriever
from tests.for_each import for_each
from tests.pipelines.scripted import answer

GENERATOR = ScriptedChatGenerator([answer()])
BLOCK = {"type": "tests.fakes.ScriptedChatGenerator", "init_parameters": {"script": [answer()]}}
RETRIEVER = ScriptedRetriever({}, "local")
SOURCE = {
    "type": "prefrag.components.sources.retrieval_source.RetrievalSource",
    "init_parameters": {"name": "local", "retriever": RETRIEVER, "candidates": 7},
}
REASONER = {
    "type": "prefrag.components.reasoner.reasoner.Reasoner",
    "init_parameters": {"chat_generator": BLOCK, "self_evaluation": True},
}


def parameters(replace: Any, name: str = "prefrag") -> dict[str, Any]:
    """The parameters of each component, as the loaded pipeline is saved."""
    saved = pipelines.load(name, replace=replace).to_dict()
    return {part: block["init_parameters"] for part, block in saved["components"].items()}


def found(name: str, kind: str, replace: Any) -> list[dict[str, Any]]:
    """The parameters of every block of a class."""
    return [block["init_parameters"] for block in blocks(parameters(replace, name)) if class_of(block) == kind]


class TestAParameter:
    def test_a_parameter_is_set_there_alone_however_deep(self):
        assert "max_top_k" not in read_block(find("prefrag"))["components"]["start"]["init_parameters"]
        sampling = {"reflector.generation_kwargs.temperature": 0.7, "reflector.generation_kwargs.seed": 1}
        deep = {"local.retriever.document_store.index": "mine"}
        parts = parameters({"start.top_k": 3, "start.max_top_k": 7, **sampling, **deep})
        assert (parts["start"]["top_k"], parts["start"]["max_top_k"]) == (3, 7)
        assert parts["local"]["retriever"]["init_parameters"]["document_store"]["init_parameters"]["index"] == "mine"
        trees = parts["judge"]["judge"]["init_parameters"]["tree_judge"]["init_parameters"]
        assert trees["term_statistics"]["init_parameters"]["index"] is None, "the anchor of the YAML names it"
        expected = {"temperature": 0.7, "top_p": 0.9, "max_tokens": 512, "seed": 1}
        assert parts["reflector"]["generation_kwargs"] == expected
        assert parts["reasoner"]["generation_kwargs"]["temperature"] == 0.1

    def test_in_a_list_is_counted_from_0(self):
        retrievers = parameters({"local.retriever.retrievers.0": RETRIEVER}, "prefrag_hybrid")["local"]["retriever"][
            "init_parameters"
        ]["retrievers"]

        assert [class_of(retriever) for retriever in retrievers] == ["ScriptedRetriever", "DenseRetriever"]


@pytest.mark.parametrize("generator", [GENERATOR, BLOCK], ids=["object", "block"])
class TestAComponent:
    def test_inside_another_is_replaced_there_alone(self, generator: Any):
        parts = parameters({"reasoner.chat_generator": generator})

        assert class_of(parts["reasoner"]["chat_generator"]) == "ScriptedChatGenerator"
        assert class_of(parts["forced"]["chat_generator"]) == "ChatModel"

    def test_is_replaced_wherever_its_class_stands(self, generator: Any):
        assert found("prefrag", "ChatModel", {"ChatModel": generator}) == []
        assert len(found("prefrag", "ScriptedChatGenerator", {"ChatModel": generator})) == 5


class TestAWholeComponent:
    def test_a_whole_component_takes_settings_of_further_keys(self):
        parts = parameters({"local.observed_last": True, "local": SOURCE})

        assert (parts["local"]["candidates"], parts["local"]["observed_last"]) == (7, True)


class TestWhatTheYamlRepeats:
    """By an anchor in the YAML, a supplement's source has the parameters of a step's source."""

    @for_each("key", "web.observed_last", "RetrievalSource.observed_last")
    def test_a_repeated_yaml_block_follows_the_replacement(self, key: str):
        parts = parameters({key: True})

        assert parts["web"]["observed_last"] is parts["web_again"]["observed_last"] is True

    def test_follows_a_whole_component_and_inside_another_one(self):
        parts = parameters({"local": SOURCE})
        second = parameters({"local.retriever": RETRIEVER}, "dr_rag_qdc_dense")["second_stage"]

        assert parts["local"] == parts["local_again"]
        assert class_of(second["source"]["init_parameters"]["retriever"]) == "ScriptedRetriever"

    @for_each("key", "web_again.observed_last", "web_again")
    def test_is_replaced_alone_under_its_own_name(self, key: str):
        whole = {**SOURCE, "init_parameters": {**SOURCE["init_parameters"], "observed_last": True}}

        parts = parameters({key: whole if key == "web_again" else True})

        assert (parts["web"]["observed_last"], parts["web_again"]["observed_last"]) == (False, True)

    @for_each("keys", ("web.candidates", "web_again.candidates"), ("web_again.candidates", "web.candidates"))
    def test_keeps_what_its_own_name_is_given_whatever_the_order(self, keys: tuple[str, str]):
        values = {"web.candidates": 3, "web_again.candidates": 4}

        parts = parameters({key: values[key] for key in keys})

        assert (parts["web"]["candidates"], parts["web_again"]["candidates"]) == (3, 4)

    def test_a_replaced_class_is_not_taken_for_repeated(self):
        parts = parameters({"Reasoner": {**REASONER}, "reasoner.self_evaluation": False})

        assert (parts["reasoner"]["self_evaluation"], parts["forced"]["self_evaluation"]) == (False, True)


@for_each("reverse", False, True)
def test_a_component_goes_before_its_class_whatever_the_order(reverse: bool):
    items = [("ChatModel", GENERATOR), ("reflector.chat_generator", ScriptedChatGenerator(["..."], name="own"))]

    parts = parameters(dict(reversed(items) if reverse else items))

    assert parts["reflector"]["chat_generator"]["init_parameters"]["name"] == "own"
    assert parts["reasoner"]["chat_generator"]["init_parameters"]["name"] == "model"


def test_a_file_and_a_path_are_loaded_too(tmp_path: Path):
    file = tmp_path / "own.yaml"
    file.write_text(pipelines.load("vanilla_local").dumps())

    for own in (file, str(file)):
        assert pipelines.load(own, {"start.top_k": 3}).get_component("start").top_k == 3


def test_the_pipeline_can_be_saved_and_arguments_are_unchanged():
    store = TantivyDocumentStore(index="mine")
    retriever = TantivyBM25Retriever(store)
    replace = {"local.retriever": retriever, "web.retriever": RETRIEVER, "local.ranker": TitleMatchRanker()}

    pipeline = pipelines.load("prefrag", replace)

    assert Pipeline.loads(pipeline.dumps()).to_dict()["components"] == pipeline.to_dict()["components"]
    assert pipeline.get_component("local").retriever is not retriever
    assert replace["local.retriever"] is retriever
    shipped = pipelines.load("prefrag").get_component("local").retriever
    assert component_to_dict(shipped, "shipped") != component_to_dict(retriever, "given")


def test_a_function_is_called_with_inner_blocks_first():
    seen: list[str] = []

    def rename(block: Block) -> Block:
        seen.append(class_of(block))
        if class_of(block) == "TantivyDocumentStore":
            return {**block, "init_parameters": {"index": "mine"}}
        return block

    stores = found("vanilla_local", "TantivyDocumentStore", rename)

    assert [store["index"] for store in stores] == ["mine"]
    assert seen.index("TantivyDocumentStore") < seen.index("TantivyBM25Retriever") < seen.index("RetrievalSource")


def test_the_blocks_that_are_given_stay_as_they_are():
    block = read_block(find("prefrag"))

    changed = replace_parts(block, {"web.observed_last": True, "ChatModel": GENERATOR, "judge": REASONER})

    assert block == read_block(find("prefrag"))
    assert changed != block


@component
class WithoutToDict:
    """Haystack saves it by its parameters."""

    def __init__(self, name: str = "x"):
        self.name = name

    @component.output_types(documents=list)
    def run(self, query: str) -> dict[str, Any]:
        return {"documents": []}


def test_a_component_without_to_dict_is_saved_as_by_haystack():
    source = parameters({"local.retriever": WithoutToDict("mine")})["local"]

    assert source["retriever"]["init_parameters"] == {"name": "mine"}


@for_each(
    "key, value, message",
    (
        "moon.top_k",
        3,
        r"'moon.top_k' in `replace` names neither a component nor a class.*components are start, rewriter,.*ChatModel",
    ),
    ("Judge", GENERATOR, "the classes .*SourceSwitchJudge"),
    ("judge", None, "'judge' in `replace` is a whole component: .* not None"),
    ("start.topk", 3, "StateBuilder has no parameter 'topk'; it has sources, preferred, .*top_k"),
    ("local.retriever.document_store.name", "x", "TantivyDocumentStore has no parameter 'name'; it has .*index"),
    ("start.top_k.most", 3, "there is no 'most' in 5, which has no parts"),
    ("start.sources.2", "x", "'2' is not valid in a list of 2: count from 0"),
    ("local.retriever", object(), "'local.retriever' in `replace` cannot be written as YAML: .*no `to_dict`"),
    ("local.retriever", ScriptedRetriever, "is neither a plain value nor a component"),
    ("start.sources", [{"local"}], "cannot be written as YAML"),
    ("ChatModel", OpenAIChatGenerator(Secret.from_token("k")), "'ChatModel' .* Cannot serialize token-based secret"),
    ("judge.judge", "oracle", "judge is 'oracle'"),
)
def test_a_mistake_is_reported_with_the_choices(key: str, value: Any, message: str):
    with pytest.raises(ValueError, match=message):
        pipelines.load("prefrag", {key: value})
