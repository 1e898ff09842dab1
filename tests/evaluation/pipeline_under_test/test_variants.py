"""Pipelines with changed settings, and the named ablations and controls."""

from pathlib import Path
from typing import Any

import pytest

from prefrag import evaluation
from prefrag.errors import BadInput
from prefrag.evaluation.pipeline_under_test.variants import VARIANTS, find_published, read_pipeline
from prefrag.pipelines.loading import build, load, names
from tests.evaluation.pipeline_under_test.lighthouse import setup
from tests.for_each import for_each


def parameters(pipeline: dict[str, Any], component: str) -> dict[str, Any]:
    values: dict[str, Any] = pipeline["components"][component]["init_parameters"]
    return values


@for_each("pipeline", "prefrag", "mspr")
def test_a_published_reading_is_a_variant_of_its_own(pipeline: str):
    assert VARIANTS[find_published(pipeline)][0] == pipeline


def test_pipeline_without_a_published_reading_names_others_with():
    with pytest.raises(BadInput, match="Of crag no other reading is known: choose from prefrag, mspr"):
        find_published("crag")


class TestChanges:
    def test_reach_all_blocks_with_the_setting_also_if_loaded(self):
        changed = read_pipeline("prefrag", ["local.observed_last=true", "start.top_k=3"])

        assert parameters(changed, "local")["observed_last"] is True
        assert parameters(changed, "local_again")["observed_last"] is True
        assert parameters(changed, "start")["top_k"] == 3
        assert "observed_last" not in parameters(read_pipeline("prefrag"), "local")

        assert parameters(read_pipeline(load("prefrag"), ["local.observed_last=true"]), "local")["observed_last"]

    def test_may_take_a_part_from_another_pipeline(self):
        changed = read_pipeline("react_mix", ["local.retriever=@prefrag_linked"])

        assert parameters(changed, "local")["retriever"]["type"].endswith(".LinkedRetriever")
        assert parameters(changed, "local") != parameters(read_pipeline("prefrag_linked"), "local")

    @for_each(
        "change, message",
        ("local.observed_last", "changes no setting: write PATH=VALUE"),
        ("=true", "changes no setting"),
        ("local.nothing=1", "RetrievalSource has no parameter 'nothing'"),
        ("nothing.top_k=1", "names neither a component"),
        ("start.sources=[local", "is not YAML"),
        ("local.nothing=@prefrag_linked", "prefrag_linked has no component or setting 'local.nothing' to copy"),
    )
    def test_that_cannot_be_made_are_refused_in_words(self, change: str, message: str):
        with pytest.raises(ValueError, match=message):
            read_pipeline("prefrag", [change])

    def test_are_recorded_and_make_another_pipeline(self, corpus: Path, dev: Path, tmp_path: Path):
        settings = {"corpus": corpus, "llm": "simulated", "progress": False, "output": tmp_path / "run"}

        changed = evaluation.run("prefrag", dev, changes=["local.observed_last=true"], **settings)

        assert (changed.config["pipeline"], changed.config["set"]) == ("prefrag", ["local.observed_last=true"])
        assert changed.config["pipeline_sha256"] != setup("prefrag").config["pipeline_sha256"]
        with pytest.raises(ValueError, match="set was"):
            evaluation.run("prefrag", dev, **settings)


class TestVariants:
    def test_have_names_that_no_pipeline_has(self):
        assert not set(VARIANTS) & set(names())

    @for_each("name", *VARIANTS)
    def test_can_be_built_and_differ_from_their_pipeline(self, name: str):
        build(read_pipeline(name), name)

        assert read_pipeline(name) != read_pipeline(VARIANTS[name][0])

    def test_of_a_linked_source_differ_in_that_source_alone(self):
        for name in ("react_mix_linked", "vanilla_local_linked", "vanilla_mix_linked"):
            plain, linked = read_pipeline(VARIANTS[name][0]), read_pipeline(name)

            assert parameters(linked, "local") == parameters(read_pipeline("prefrag_linked"), "local")
            assert {**linked["components"], "local": None} == {**plain["components"], "local": None}

    def test_without_prs_neither_select_nor_judge(self):
        changed = read_pipeline("mspr_without_prs")

        assert not parameters(changed, "selector")["enabled"]
        assert not parameters(changed, "judge")["enabled"]

    def test_are_run_by_name(self, corpus: Path, dev: Path):
        ended = evaluation.run("react_mix_linked", dev, corpus=corpus, llm="simulated", progress=False)

        assert ended.config["pipeline"] == "react_mix_linked"
        assert (ended.config["retriever"], ended.metrics["acc"]) == ("linked", 100)
        assert ended.metrics["lookups"] > ended.metrics["total"]
