"""A mistake in the YAML of a pipeline is met with what to change: the line, and the name that was probably meant."""

from pathlib import Path

import pytest

from prefrag.pipelines import load
from prefrag.pipelines.advice import explain_error
from prefrag.pipelines.loading import YAML_PIPELINES, PipelineMissing
from tests.for_each import for_each

PREFRAG = (YAML_PIPELINES / "prefrag.yaml").read_text(encoding="utf-8")
RANKER = "prefrag.components.rankers.title_match_ranker.TitleMatchRanker"
RETRIEVER = PREFRAG[PREFRAG.index("      retriever:\n        type: prefrag") : PREFRAG.index("      ranker:\n")]
IN_MEMORY = """      retriever:
        type: haystack.components.retrievers.in_memory.bm25_retriever.InMemoryBM25Retriever
        init_parameters:
          document_store: {type: haystack.document_stores.in_memory.document_store.InMemoryDocumentStore}
"""


def line_of(text: str, yaml: str = PREFRAG) -> int:
    return next(number for number, line in enumerate(yaml.splitlines(), 1) if text in line)


@for_each(
    "old, new, advice",
    # a name that is nearly right
    ("max_steps: 3", "max_stepps: 3", "'max_stepps' (line {line}): the nearest is max_steps"),
    ("cost_of_leaving: 2", "cost_of_leavin: 2", "'cost_of_leavin' (line {line}): the nearest is cost_of_leaving"),
    (
        "max_characters: 400",
        "max_chars: 400",
        "WebGate has no parameter 'max_chars' (line {line}): the nearest is max_",
    ),
    ("candidates: 50", "colour: 50", "RetrievalSource has no parameter 'colour' (line {line}): it has name, retriever"),
    ("PreferenceRouter", "PreferenceRoutr", "(line {line}): the nearest is prefrag.components.loop.preference_router."),
    ("judge.tree_judge", "judge.tre_judge", "the nearest is prefrag.components.judge.tree_judge.TreeJudge"),
    ("connections:", "connection:", "it has no `connections`: `connection` is probably meant to be that"),
    ("components:", "component:", "it has no `components`: `component` is probably meant to be that"),
    # a block of one's own
    (
        RANKER,
        "my_rankers.MyRanker",
        "(line {line}) cannot be imported. If it is your own, put its module into the fold",
    ),
    (RETRIEVER, IN_MEMORY, "repeats the block '&index', and no block above has this mark: write '&index' before the"),
    # a key that stands twice
    ("  recorder:\n", "  judge: {type: a.b}\n\n  recorder:\n", "line {line}: 'judge' stands here twice"),
    ("top_k: 5", "top_k: 5\n      top_k: 6", "'top_k' stands here twice"),
    # a value that cannot be
    ("top_k: 5", "top_k: five", "component 'start': top_k is 'five': set it to a whole number from 1 to 50"),
    ("top_k: 5", "top_k: 0", "component 'start': top_k is 0"),
    ("top_k: 5", "top_k: [5", "line "),
    ("reflection: reply", "reflection: replay", "reflection is 'replay': set it to reply, call or off"),
    # a connection
    ("receiver: answer.state", "receiver: anser.state", "anser"),
    ("receiver: recorder.states", "receiver: recorder.state", "Input connections of recorder are: states"),
    ("sender: local.state, receiver: found.value", "sender: local.documents, receiver: found.value", "do not match"),
    (
        "sources: &sources [local, web]",
        "sources: &sources [local, web, archive]",
        "'archive', and no component searches",
    ),
)
def test_an_edit_that_fails_says_what_to_change(tmp_path: Path, old: str, new: str, advice: str):
    assert old in PREFRAG
    file = tmp_path / "own.yaml"
    file.write_text(PREFRAG.replace(old, new, 1), encoding="utf-8")
    line = line_of(new.strip().splitlines()[0], file.read_text(encoding="utf-8"))

    with pytest.raises(PipelineMissing) as error:
        load(str(file))

    assert advice.format(line=line) in str(error.value)


def test_a_key_that_overrides_a_merged_one_stands_once(tmp_path: Path):
    file = tmp_path / "own.yaml"
    merged = PREFRAG.replace(
        "init_parameters: {role: llm}", "init_parameters: &inner {<<: &outer {role: judge}, role: llm}", 1
    )
    again = merged.replace("init_parameters: {role: judge}", "init_parameters: {<<: *inner, role: judge}", 1)
    assert merged != PREFRAG != again
    file.write_text(again, encoding="utf-8")

    assert load(str(file)).get_component("rewriter").chat_generator.role == "llm"


def test_a_package_that_is_missing_is_named_with_its_extra():
    error = ValueError("Could not import class 'reranking.Reranker'")
    error.__cause__ = ModuleNotFoundError("No module named 'sentence_transformers'")

    advice = explain_error(error, {"components": {}}, "", ())

    assert advice == 'the package sentence_transformers is not installed: run pip install "prefrag[dense]".'


def test_a_package_of_no_extra_is_left_to_its_owner():
    error = ValueError("Could not import class 'reranking.Reranker'")
    error.__cause__ = ModuleNotFoundError("No module named 'somebodys_own'")

    assert "install the package in this environment" in explain_error(error, {"components": {}}, "", ())
