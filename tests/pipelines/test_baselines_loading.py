"""The builders of the baselines and variants, and their hand-written YAML."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from prefrag.pipelines import load
from prefrag.pipelines.prefrag import (
    build_prefrag_classifier,
    build_prefrag_direct,
    build_prefrag_without_preference,
    build_prefrag_without_reflection,
)
from prefrag.pipelines.react import build_react, build_react_mix
from prefrag.pipelines.vanilla import build_no_retrieval, build_vanilla_local, build_vanilla_mix, build_vanilla_web

BUILDERS: dict[str, Callable[[], Any]] = {
    "no_retrieval": build_no_retrieval,
    "vanilla_local": build_vanilla_local,
    "vanilla_web": build_vanilla_web,
    "vanilla_mix": build_vanilla_mix,
    "react": build_react,
    "react_mix": build_react_mix,
    "prefrag_classifier": build_prefrag_classifier,
    "prefrag_direct": build_prefrag_direct,
    "prefrag_without_preference": build_prefrag_without_preference,
    "prefrag_without_reflection": build_prefrag_without_reflection,
}


def graph(pipeline: Any) -> dict[str, Any]:
    data = pipeline.to_dict()
    data["connections"] = sorted((line["sender"], line["receiver"]) for line in data["connections"])
    data["components"] = dict(sorted(data["components"].items()))
    data.pop("connection_type_validation", None)
    return data


@pytest.mark.parametrize("name", BUILDERS)
def test_the_builder_and_the_yaml_describe_the_same_graph(name: str):
    assert graph(BUILDERS[name]()) == graph(load(name))


@pytest.mark.parametrize("name", BUILDERS)
def test_answer_formats_and_sampling_are_the_same_for_every_method(name: str):
    # Appendix B.3 of PrefRAG aligns the answer format over all baselines.
    def settings(pipeline: str) -> tuple[Any, Any]:
        parameters = load(pipeline).to_dict()["components"]["reasoner"]["init_parameters"]
        return parameters["answer_format"], parameters["generation_kwargs"]

    assert settings(name) == settings("prefrag")


def test_direct_and_without_preference_differ_in_words_alone():
    direct, without = graph(load("prefrag_direct")), graph(load("prefrag_without_preference"))

    for block in ("reasoner", "forced"):
        for data in (direct, without):
            for tool in data["components"][block]["init_parameters"]["tools"]:
                tool.pop("description")
    assert direct == without


@pytest.mark.parametrize(
    ("name", "says"), [("prefrag_direct", True), ("prefrag_without_preference", False), ("react", False)]
)
def test_only_direct_says_which_source_is_preferred(name: str, says: bool):
    tools = load(name).to_dict()["components"]["reasoner"]["init_parameters"]["tools"]

    assert any("prefer" in tool["description"].lower() for tool in tools) is says


def test_the_classifier_takes_the_place_of_the_judges_model_and_of_nothing_else():
    prefrag, classifier = graph(load("prefrag")), graph(load("prefrag_classifier"))

    judges = prefrag["components"]["judge"]["init_parameters"]
    judges["judge"] = judges["judge"]["init_parameters"]["tree_judge"]
    assert classifier == prefrag
