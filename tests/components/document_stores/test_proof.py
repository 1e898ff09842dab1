"""The certainty that was chosen for an index holds for what answers there, and only makes it stricter."""

from dataclasses import replace
from pathlib import Path

import pytest
from haystack import Document

from prefrag.components.document_stores.proof import READER, find_stated_from, keep_proof, name_answerer, read_proofs
from prefrag.components.sources.source_rules import SourceRules
from prefrag.components.state.answer_composer import compose
from prefrag.components.state.state import Action, RunSettings, State, Step
from prefrag.components.state.state_builder import StateBuilder
from tests.for_each import for_each
from tests.indexes import index_of


def test_what_was_measured_is_kept_for_each_answerer(tmp_path: Path):
    store = index_of([Document(content="The hall.")], tmp_path / "index")
    keep_proof(tmp_path / "index", READER, "prefrag", {"sentence": "One.", "stated_from": 0.8})
    keep_proof(tmp_path / "index", "qwen", "prefrag", {"sentence": "Two.", "stated_from": None})

    assert {name: own["prefrag"]["sentence"] for name, own in read_proofs(tmp_path / "index").items()} == {
        READER: "One.",
        "qwen": "Two.",
    }
    assert find_stated_from([store]) == {"reader": 0.8}


def test_the_choice_for_a_model_holds_only_for_this_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    store = index_of([Document(content="The hall.")], tmp_path / "index")
    keep_proof(tmp_path / "index", "qwen", "prefrag", {"stated_from": 0.9})
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "other")

    assert find_stated_from([store]) == {}
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "qwen")
    assert find_stated_from([store]) == {"model": 0.9}


def test_the_strictest_choice_of_all_pipelines_holds(tmp_path: Path):
    store = index_of([Document(content="The hall.")], tmp_path / "index")
    for pipeline, chosen in (("prefrag", 0.9), ("prefrag_faithful", None), ("dr_rag", 0.8)):
        keep_proof(tmp_path / "index", READER, pipeline, {"stated_from": chosen})

    assert find_stated_from([store]) == {"reader": 0.9}


@for_each(
    "url, model, gguf, name",
    ("", "", "", READER),
    ("", "qwen", "", READER),
    ("http://user:secret@127.0.0.1:9/v1", "", "", "127.0.0.1:9"),
    ("http://127.0.0.1:9/v1", "qwen", "/models/small.gguf", "qwen"),
    ("", "", "/models/small.gguf", "small.gguf"),
)
def test_what_answers_has_a_name(url: str, model: str, gguf: str, name: str):
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in (("BASE_URL", url), ("MODEL", model), ("GGUF", gguf)):
            patch.setenv(f"PREFRAG_LLM_{variable}", value)

        assert name_answerer() == name


@for_each(
    "text",
    "",
    "[]",
    '{"the reader": 3}',
    '{"the reader": {"prefrag": 3}}',
    '{"the reader": {"stated_from": 0.9}}',
    '{"the reader": {"prefrag": {"stated_from": "much"}}}',
    '{"the reader": {"prefrag": {"stated_from": true}}}',
)
def test_a_damaged_file_chooses_nothing(tmp_path_factory: pytest.TempPathFactory, text: str):
    folder = tmp_path_factory.mktemp("damaged")
    store = index_of([Document(content="The hall.")], folder / "index")
    (folder / "index" / "prefrag-proof.json").write_text(text)

    assert find_stated_from([store]) == {}


@for_each("chosen, certainty", (0.0, "stated"), (0.9, "stated"), (0.95, "probably"))
def test_an_answer_below_the_choice_is_at_most_probable(chosen: float, certainty: str):
    settings = RunSettings(("local",), "local", stated_from=(("reader", chosen),))
    step = Step(Action.ANSWER, answer="1931", certainty="stated", probability=0.9)
    result = compose(State("When?", settings, steps=(step,)))

    assert result["certainty"] == certainty
    assert result["answered"] is (certainty == "stated")


def test_the_choice_never_makes_an_answer_stated():
    settings = RunSettings(("local",), "local", stated_from=(("reader", 0.1),))
    step = Step(Action.ANSWER, answer="1931", certainty="probably", probability=0.6)

    assert compose(State("When?", settings, steps=(step,)))["certainty"] == "probably"


def test_a_run_learns_the_choice_of_its_index(tmp_path: Path):
    store = index_of([Document(content="The hall.")], tmp_path / "index")
    keep_proof(tmp_path / "index", READER, "prefrag", {"stated_from": 0.8})
    rules = SourceRules()
    rules._known = replace(rules._known, own=[store])
    state = StateBuilder(["local"], "local", rules=rules).run("Where is the crane?")["state"]

    assert state.settings.stated_from == (("reader", 0.8),)
