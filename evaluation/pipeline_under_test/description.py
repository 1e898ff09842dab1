"""Describe a pipeline and its model for `config.json`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from prefrag.components.document_stores.tantivy.index_location import INDEX_VARIABLE, WEB_INDEX_VARIABLE
from prefrag.components.state.web_switch import WEB_SWITCH
from prefrag.evaluation.pipeline_under_test.experiment import EMBEDDED, SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.pipeline_blocks import (
    CHAT_MODEL,
    RECORDED,
    SIMULATED_READER,
    SOURCE,
    is_outside,
    is_second,
    start_of,
)
from prefrag.pipelines.blocks import Block, blocks, class_of, is_block, parameters_of

_SWITCH = "prefrag.components.judge.source_switch_judge.SourceSwitchJudge"
# The names of the retrievers of a preferred source.
_RETRIEVERS = {
    "HybridRetriever": "hybrid",
    "DenseRetriever": "dense",
    "TantivyBM25Retriever": "bm25",
    "ElasticsearchMultiMatchRetriever": "bm25",
    "LinkedRetriever": "linked",
    "LinkedStages": "linked",
    "WebRetriever": "web",
}
# Variables that change a run and that are recorded nowhere else; those that the YAML reads are part of its digest.
_MODEL_VARIABLES = tuple(f"PREFRAG_{role}_{name}" for role in ("LLM", "JUDGE") for name in ("CONTEXT", "STRUCTURED"))
_INDEX_VARIABLES = (INDEX_VARIABLE, WEB_INDEX_VARIABLE, WEB_SWITCH)
_PART_VARIABLES = ("PREFRAG_PAIR_CLASSIFIER",)


def describe_model(pipeline: Block, experiment: Experiment, name: str) -> dict[str, Any]:
    """Describe the model that a pipeline calls, also where it names one of its own.

    :param pipeline: The content of its YAML.
    :param experiment: The settings of the evaluation.
    :param name: The name of the pipeline.
    :returns: ``kind`` and the other known settings.
    :raises ValueError: When the experiment sets a model that the pipeline would not call.
    """
    own = [block for block in _find_generators(pipeline) if block["type"] != CHAT_MODEL]
    only_own = own and not any(block["type"] == CHAT_MODEL for block in blocks(pipeline))
    if own and (experiment.llm == SIMULATED or (only_own and experiment.llm is not None)):
        raise ValueError(
            f"The pipeline {name} names a model of its own ({class_of(own[0])}), which llm does not replace: "
            f"put {CHAT_MODEL} in its place, or leave llm out."
        )
    reader = next((block for block in own if block["type"] == SIMULATED_READER), None)
    if reader is not None:
        set_there = parameters_of(reader)
        return {"kind": SIMULATED, **{key: set_there.get(key) or rate for key, rate in experiment.rates.items()}}
    if only_own:
        return {"kind": class_of(own[0]), "model": parameters_of(own[0]).get("model")}
    llm = _describe_server(experiment)
    return {**llm, "own": [class_of(block) for block in own]} if own else llm


def has_model_judge(pipeline: Block, llm: Mapping[str, Any]) -> bool:
    """Check whether a model judges the retrieved passages, so that its errors matter.

    :param pipeline: The content of its YAML.
    :param llm: What :func:`describe_model` returns.
    :returns: Whether one does.
    """
    # An AutoJudge does not call the embedded model.
    is_embedded = llm.get("kind") == EMBEDDED and "judge" not in llm
    switches = [parameters_of(block) for block in blocks(pipeline) if block["type"] == _SWITCH]
    judging = [{class_of(block) for block in blocks(switch)} for switch in switches if switch.get("enabled", True)]
    return any("ModelJudge" in judges and not (is_embedded and "AutoJudge" in judges) for judges in judging)


def describe_environment(experiment: Experiment, llm: Mapping[str, Any]) -> dict[str, str]:
    """List the variables of the environment that change the run.

    :param experiment: The settings of the evaluation.
    :param llm: What :func:`describe_model` returns.
    :returns: Their values by name.
    """
    names = [*_PART_VARIABLES]
    if experiment.replay is None and llm.get("kind") != SIMULATED:
        names += _MODEL_VARIABLES
    if experiment.corpus is None:
        names += _INDEX_VARIABLES
    return {name: value for name in names if (value := os.environ.get(name, "").strip())}


def describe_web(pipeline: Block, experiment: Experiment) -> str | None:
    """Name the corpus or search engine that is searched as the web.

    :param pipeline: The content of its YAML.
    :param experiment: The settings of the evaluation.
    :returns: What an external source searches, or else a second local one: ``ddgs`` or the file of a corpus; None where
        there is neither, or the pipeline itself decides.
    """
    sources = [parameters_of(block) for block in blocks(pipeline) if block["type"] == SOURCE]
    outside = any(is_outside(source) for source in sources)
    if outside and experiment.web is not None:
        return experiment.web
    if experiment.corpus is not None and (outside or any(is_second(source, pipeline) for source in sources)):
        return str(experiment.web_corpus or experiment.corpus)
    return None


def describe_retriever(pipeline: Block) -> str | None:
    """Name the retriever of the preferred source.

    :param pipeline: The content of its YAML, with the replaced parts.
    :returns: Its kind in a word; None where nothing is retrieved.
    """
    preferred = start_of(pipeline).get("preferred")
    components: Mapping[str, Any] = pipeline.get("components", {})
    sources = [block["init_parameters"] for block in components.values() if block["type"] == SOURCE]
    source = next((source for source in sources if source.get("name") == preferred), None)
    if source is None:
        # DR-RAG's linked retrieval holds its sources inside.
        kinds = [class_of(block) for block in components.values()]
        return next((_RETRIEVERS[kind] for kind in kinds if kind in _RETRIEVERS), None)
    kind = class_of(source["retriever"])
    stands_in = kind == "WebRetriever" and source["retriever"]["init_parameters"].get("index")
    return "bm25" if stands_in else _RETRIEVERS.get(kind, kind)


def _find_generators(pipeline: Block) -> list[Block]:
    """Return the models that the parts of a pipeline call."""
    found: list[Block] = []
    for block in blocks(pipeline):
        generator: Any = parameters_of(block).get("chat_generator")
        if is_block(generator) and generator["type"] != RECORDED and generator not in found:
            found.append(generator)
    return found


def _describe_server(experiment: Experiment) -> dict[str, Any]:
    if experiment.llm == SIMULATED:
        return {"kind": SIMULATED, **experiment.rates}
    url = experiment.server or os.environ.get("PREFRAG_LLM_BASE_URL", "").strip()
    judge = os.environ.get("PREFRAG_JUDGE_BASE_URL", "").strip()
    if not url or experiment.llm == EMBEDDED:
        llm: dict[str, Any] = {"kind": EMBEDDED}
    else:
        model = experiment.model or os.environ.get("PREFRAG_LLM_MODEL", "").strip()
        llm = {"kind": "server", "base_url": _strip_secrets(url), "model": model}
    if judge and experiment.llm != EMBEDDED:
        model = os.environ.get("PREFRAG_JUDGE_MODEL", "").strip()
        llm["judge"] = {"base_url": _strip_secrets(judge), "model": model}
    return llm if experiment.seed is None else {**llm, "seed": experiment.seed}


def _strip_secrets(url: str) -> str:
    """Return the URL without the parts that may be secret."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
