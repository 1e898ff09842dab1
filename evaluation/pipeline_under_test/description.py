"""Describe a pipeline and its model for the file `config.json` of a run.

The report groups and compares runs by these descriptions. A run is only continued if its description is still the same.
All functions here read the pipeline's YAML. A block is one component of the YAML with its parameters.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from prefrag.components.document_stores.tantivy.index_location import INDEX_VARIABLE
from prefrag.components.reader.reader_files import CARD, SHIPPED_READER, read_card
from prefrag.components.state.web_switch import WEB_SWITCH
from prefrag.evaluation.pipeline_under_test.experiment import EMBEDDED, READER, SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.part_files import digest_folder
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
from prefrag.settings import models

# The class of the extractive reader, which answers without a language model.
_READER = "prefrag.components.reader.extractive_reader.ExtractiveReader"
# The classes that have a judge: it decides whether the retrieved passages are good enough.
_JUDGING = (
    "prefrag.components.judge.source_switch_judge.SourceSwitchJudge",
    "prefrag.components.crag.corrective_evaluator.CorrectiveEvaluator",
)
# The class that lets a model judge each passage, as in Self-RAG.
_CRITIC = "prefrag.components.self_rag.passage_critic.PassageCritic"
# The class that lets a model think, search and answer.
_REASONER = "prefrag.components.reasoner.reasoner.Reasoner"
# The classes that let a model check an answer.
_REVIEWING = (
    "prefrag.components.loop.self_reflector.SelfReflector",
    "prefrag.components.mspr.answer_reviewer.AnswerReviewer",
)
# The class that rewrites a question of a conversation so that it can be understood alone.
_REWRITER = "prefrag.components.loop.follow_up_rewriter.FollowUpRewriter"
# The name in the report of each retriever class.
_RETRIEVERS = {
    "HybridRetriever": "hybrid",
    "DenseRetriever": "dense",
    "TantivyBM25Retriever": "bm25",
    "ElasticsearchMultiMatchRetriever": "bm25",
    "LinkedRetriever": "linked",
    "LinkedStages": "linked",
    "WebRetriever": "web",
    # NoisyWeb always searches a corpus in place of the web, with BM25.
    "NoisyWeb": "bm25",
}
# The following are environment variables that change a run. Variables that a pipeline's YAML reads are left out,
# because the digest of the YAML covers them. These concern the model that answers and the model that judges.
_MODEL_VARIABLES = tuple(f"PREFRAG_{role}_{name}" for role in ("LLM", "JUDGE") for name in ("CONTEXT", "STRUCTURED"))
# These say which indexes are searched, and whether the web may be searched.
_INDEX_VARIABLES = (INDEX_VARIABLE, "PREFRAG_WEB_INDEX", WEB_SWITCH)
# These replace a component.
_COMPONENT_VARIABLES = ("PREFRAG_PAIR_CLASSIFIER",)


def describe_model(pipeline: Block, experiment: Experiment, name: str) -> dict[str, object]:
    """Describe what answers the questions.

    This is the configured model, a model of the pipeline's own, or the extractive reader.

    :param pipeline: The content of the pipeline's YAML.
    :param experiment: The settings of the evaluation.
    :param name: The name of the pipeline, for errors.
    :returns: The key ``kind`` and the settings that belong to this kind. ``kind`` is "simulated", "reader", "embedded"
        (a GGUF file in this process), "server", or the class of the pipeline's own model. ``own`` lists the classes of
        further models that the pipeline has besides the configured model.
    :raises ValueError: If the experiment and the pipeline contradict each other. There are three such cases. The
        experiment replaces a model that is fixed in the pipeline. The pipeline needs log probabilities, which the
        simulated reader does not have. The extractive reader is to answer, but no component of the pipeline has a
        reader.
    """
    own_generators = [block for block in _find_generators(pipeline) if block["type"] != CHAT_MODEL]
    has_configured = any(block["type"] == CHAT_MODEL for block in blocks(pipeline))
    has_only_own = bool(own_generators) and not has_configured
    # The simulated reader and the extractive reader replace every model, also the pipeline's own. Any other value of
    # `llm` replaces only the configured model.
    replaces_own = experiment.llm in (SIMULATED, READER)
    if has_only_own and experiment.llm is not None:
        replaces_own = True
    if own_generators and replaces_own:
        raise ValueError(
            f"The pipeline {name} has a fixed model ({class_of(own_generators[0])}), which llm cannot replace: "
            f"put {CHAT_MODEL} in its place, or leave llm out."
        )

    arguments = [parameters_of(block).get("generation_kwargs") or {} for block in blocks(pipeline)]
    if experiment.llm == SIMULATED and any(argument.get("logprobs") for argument in arguments):
        raise ValueError(
            f"The pipeline {name} needs the log probabilities of a model, and the simulated reader has none: "
            "set llm to a GGUF file or the URL of a model server."
        )

    reader = next((block for block in own_generators if block["type"] == SIMULATED_READER), None)
    if reader is not None:
        reader_settings = parameters_of(reader)
        policy = {key: reader_settings.get(key, value) for key, value in asdict(experiment.policy).items()}
        return {"kind": SIMULATED, **policy}
    if has_only_own:
        return {"kind": class_of(own_generators[0]), "model": parameters_of(own_generators[0]).get("model")}

    llm = _describe_configured_model(experiment)
    if llm["kind"] == READER:
        readers = (parameters_of(block).get("reader") for block in blocks(pipeline))
        reader_block = next(filter(is_block, readers), None)
        if reader_block is not None:
            llm |= _describe_reader(reader_block)
        elif experiment.llm == READER:
            raise ValueError(f"The pipeline {name} has no reader: give its Reasoner a reader, or leave llm out.")
    if own_generators:
        llm["own"] = [class_of(block) for block in own_generators]
    return llm


def has_model_judge(pipeline: Block, llm: Mapping[str, object], prompts: str = Experiment.prompts) -> bool:
    """Check whether a language model judges the retrieved passages. If not, the setting `judge_error` does nothing.

    An AutoJudge has decision trees and a model. It counts only if its model is always asked. This is so in two cases: a
    model was configured for judging, or a model on a server answers and the prompts are not those of the product. In
    all other cases the trees are asked first. Then the model is asked only if the trees are unsure and the model has
    passed its trial.

    :param pipeline: The content of the pipeline's YAML.
    :param llm: The description of the model, see :func:`describe_model`.
    :param prompts: The prompts that the pipeline uses: "plain", "product" or a folder.
    :returns: True if a model judges.
    """
    if llm.get("kind") != READER and any(block["type"] == _CRITIC for block in blocks(pipeline)):
        return True
    # An AutoJudge asks its trees first if no server is used, or with the prompts of the product.
    prefers_trees = prompts == "product" or llm.get("kind") in (EMBEDDED, READER)
    has_trees_first = prefers_trees and "judge" not in llm

    for block in blocks(pipeline):
        settings = parameters_of(block)
        if block["type"] in _JUDGING and settings.get("enabled", True):
            judges = {class_of(part) for part in blocks(settings)}
            asks_trees_first = has_trees_first and "AutoJudge" in judges
            if "ModelJudge" in judges and not asks_trees_first:
                return True
    return False


def varies_with(pipeline: Block, llm: Mapping[str, object], prompts: str = Experiment.prompts) -> list[str]:
    """List the settings of the evaluation that make a difference for this pipeline.

    :param pipeline: The content of the pipeline's YAML.
    :param llm: The description of the model, see :func:`describe_model`.
    :param prompts: The prompts that the pipeline uses: "plain", "product" or a folder.
    :returns: The names of the settings. Settings that make a difference for every pipeline are left out.
    """
    parts = list(blocks(pipeline))
    reasoner_settings = [parameters_of(block) for block in parts if block["type"] == _REASONER]
    model_callers = [block for block in parts if parameters_of(block).get("chat_generator") is not None]
    query_writers = [block for block in model_callers if _writes_queries(block)]
    loops = any(not reasoner.get("must_answer") for reasoner in reasoner_settings)
    reviewers = [parameters_of(block) for block in parts if block["type"] in _REVIEWING]
    names_source = any(len(reasoner.get("tools") or ()) > 1 for reasoner in reasoner_settings)
    has_web = any(block["type"] == SOURCE and is_outside(parameters_of(block)) for block in parts)
    reflects = any(part.get("enabled", True) and part.get("reflection") != "off" for part in reviewers)

    is_used_by_name = {
        "judge_error": has_model_judge(pipeline, llm, prompts),
        "queries": bool(query_writers),
        "reflection_error": reflects,
        "second_try": names_source,
        "source_choice": names_source,
        "source_error": names_source,
        "stopping_error": loops,
        "web_junk": has_web,
        "web_sentences": has_web,
    }
    return [name for name, is_used in is_used_by_name.items() if is_used]


def _writes_queries(block: Block) -> bool:
    """Check whether a component that calls the model may have the model write queries."""
    must_answer = block["type"] == _REASONER and parameters_of(block).get("must_answer")
    return block["type"] != _REWRITER and not must_answer


def describe_environment(experiment: Experiment, llm: Mapping[str, object]) -> dict[str, str]:
    """Return the environment variables that change the run.

    :param experiment: The settings of the evaluation.
    :param llm: The description of the model, see :func:`describe_model`.
    :returns: The values by name. Variables that are not set are left out.
    """
    names = list(_COMPONENT_VARIABLES)
    # The variables of the model change nothing in two cases. A replay calls no model. And the two readers are no
    # models, but a model may judge beside them.
    has_model = llm.get("kind") not in (SIMULATED, READER) or "judge" in llm
    if experiment.replay is None and has_model:
        names += _MODEL_VARIABLES
    if experiment.corpus is None:
        names += _INDEX_VARIABLES
    values = {name: os.environ.get(name, "").strip() for name in names}
    return {name: value for name, value in values.items() if value}


def describe_web(pipeline: Block, experiment: Experiment) -> str | None:
    """Name the search engine or corpus that the evaluation uses for the web, or for another second source.

    :param pipeline: The content of the pipeline's YAML.
    :param experiment: The settings of the evaluation.
    :returns: The name of the search engine or the path of the corpus. None if the evaluation replaces no such source.
    """
    sources = [parameters_of(block) for block in blocks(pipeline) if block["type"] == SOURCE]
    outside = any(is_outside(source) for source in sources)
    if outside and experiment.web is not None:
        return experiment.web
    replaces_second = outside or any(is_second(source, pipeline) for source in sources)
    if experiment.corpus is None or not replaces_second:
        return None
    return str(experiment.web_corpus or experiment.corpus)


def describe_noise(config: Mapping[str, object]) -> str:
    """Describe in words the noise that was added to the simulated web.

    For example, ``describe_noise({"web_sentences": 2, "web_junk": 0.25})`` returns ``"the first 2 sentences of each
    passage, 25% junk"``.

    :param config: The content of `config.json`.
    :returns: The description. Without noise, an empty text.
    """
    sentences = config.get("web_sentences")
    junk = config.get("web_junk")
    noise = []
    if sentences:
        noise.append(f"the first {sentences} sentences of each passage")
    if junk:
        noise.append(f"{junk:.0%} junk")
    return ", ".join(noise)


def describe_retriever(pipeline: Block) -> str | None:
    """Name the retriever of the preferred source.

    :param pipeline: The content of the pipeline's YAML.
    :returns: A name such as "bm25" or "hybrid". A class without a name of its own here is named as in the YAML. None if
        no retriever is found.
    """
    preferred = start_of(pipeline).get("preferred")
    components: Mapping[str, Any] = pipeline.get("components", {})
    sources = [block["init_parameters"] for block in components.values() if block["type"] == SOURCE]
    source = next((source for source in sources if source.get("name") == preferred), None)
    if source is None:
        # In the linked retrieval of DR-RAG, the sources are parameters of another component.
        class_names = [class_of(block) for block in components.values()]
        return next((_RETRIEVERS[name] for name in class_names if name in _RETRIEVERS), None)

    class_name = class_of(source["retriever"])
    # With an index in place of the web, the index is searched by BM25.
    if class_name == "WebRetriever" and source["retriever"]["init_parameters"].get("index"):
        return "bm25"
    return _RETRIEVERS.get(class_name, class_name)


def _find_generators(pipeline: Block) -> list[Block]:
    """List the different models of a pipeline, each as its block. Recorded models are left out."""
    generators: list[Block] = []
    for block in blocks(pipeline):
        generator: Any = parameters_of(block).get("chat_generator")
        if is_block(generator) and generator["type"] != RECORDED and generator not in generators:
            generators.append(generator)
    return generators


def _describe_configured_model(experiment: Experiment) -> dict[str, object]:
    """Describe the model that the experiment or the environment variables name.

    If they name no model, the extractive reader answers.
    """
    if experiment.llm == SIMULATED:
        return {"kind": SIMULATED, **asdict(experiment.policy)}
    if experiment.llm == READER:
        return {"kind": READER}

    configured = models["llm"]
    url = experiment.server or configured.base_url
    llm: dict[str, object]
    if experiment.gguf is not None:
        llm = {"kind": EMBEDDED, "model": experiment.gguf.name}
    elif url:
        llm = {"kind": "server", "base_url": _strip_secrets(url), "model": experiment.model or configured.model}
    elif configured.gguf:
        llm = {"kind": EMBEDDED, "model": Path(configured.gguf).name}
    else:
        llm = {"kind": READER}

    # A GGUF file that the experiment names also judges. Otherwise a model of its own may be configured for judging.
    judge = models["judge"]
    if experiment.gguf is None and judge.base_url:
        llm["judge"] = {"base_url": _strip_secrets(judge.base_url), "model": judge.model}
    elif experiment.gguf is None and judge.gguf:
        llm["judge"] = {"kind": EMBEDDED, "model": Path(judge.gguf).name}
    if experiment.seed is not None:
        llm["seed"] = experiment.seed
    return llm


def _describe_reader(block: Block) -> dict[str, object]:
    """Describe an extractive reader.

    The description has a digest of the reader's files. So a run is not continued after the reader was trained again.
    """
    if block["type"] != _READER:
        return {"reader": class_of(block)}
    settings = parameters_of(block)
    folder = SHIPPED_READER
    if settings.get("model"):
        folder = Path(settings["model"]).expanduser()
    files = digest_folder(folder)
    threshold = settings.get("threshold")
    if threshold is None:
        threshold = read_card(folder / CARD).threshold
    return {"files": files, "threshold": threshold}


def _strip_secrets(url: str) -> str:
    """Remove the user name, password and query of a URL.

    For example, ``_strip_secrets("https://user:pw@host:80/v1/?key=1")`` returns ``"https://host:80/v1"``.
    """
    parts = urlsplit(url)
    # The user name and the password stand before the @.
    _, _, host_and_port = parts.netloc.rpartition("@")
    path = parts.path.rstrip("/")
    return f"{parts.scheme}://{host_and_port}{path}"
