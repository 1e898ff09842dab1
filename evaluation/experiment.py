"""The pipeline under test: a pipeline as it is used, with the corpora, the model and the recording of an evaluation."""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import yaml
from haystack.core.errors import DeserializationError, PipelineError

from components.index_location import INDEX_VARIABLE, WEB_INDEX_VARIABLE
from components.recording import Entry, NotRecorded, Recording
from components.state_builder import WEB_SWITCH, web_is_off
from evaluation.question import Question
from pipelines.loading import Pipeline, find, read

logger = logging.getLogger(__name__)

SIMULATED, EMBEDDED, DDGS = "simulated", "embedded", "ddgs"
Block = dict[str, Any]

_CHAT_MODEL = "components.chat_model.ChatModel"
_SIMULATED_READER = "evaluation.simulated_reader.reader.SimulatedReader"
_RECORDED = "components.recorded_chat_generator.RecordedChatGenerator"
_RECORDING = "components.recording.Recording"
_SOURCE = "components.retrieval_source.RetrievalSource"
_STORE = "components.tantivy_document_store.TantivyDocumentStore"
_BM25 = "components.tantivy_bm25_retriever.TantivyBM25Retriever"
_TITLE_LINKS = "components.title_link_retriever.TitleLinkRetriever"
_ELASTICSEARCH = "components.elasticsearch_title_retriever.ElasticsearchTitleRetriever"
_ELASTICSEARCH_STORE = "haystack_integrations.document_stores.elasticsearch.document_store.ElasticsearchDocumentStore"
_WEB = "components.web_retriever.WebRetriever"
_VECTORS = "components.vector_retriever.VectorRetriever"
_JUDGE = "components.source_switch_judge.SourceSwitchJudge"
# What the retriever of the preferred source is called in `config.json`.
_RETRIEVERS = {
    "HybridRetriever": "hybrid",
    "DenseRetriever": "dense",
    "TantivyBM25Retriever": "bm25",
    "ElasticsearchTitleRetriever": "bm25",
    "LinkedRetriever": "linked",
    "LinkedRetrieval": "linked",
    "WebRetriever": "web",
}
# Variables that change what a run does and are told nowhere else: what a pipeline's YAML reads is part of its digest.
_MODEL_VARIABLES = tuple(f"PREFRAG_{role}_{name}" for role in ("LLM", "JUDGE") for name in ("CONTEXT", "STRUCTURED"))
_INDEX_VARIABLES = (INDEX_VARIABLE, WEB_INDEX_VARIABLE, WEB_SWITCH)
_PART_VARIABLES = ("PREFRAG_PAIR_CLASSIFIER",)


@dataclass(frozen=True)
class Experiment:
    """What of a pipeline is replaced for an evaluation; what is not set stays as it is.

    :param corpus: The passages; without it the pipeline searches the indexes that it names.
    :param web_corpus: The passages that stand in for the web.
    :param web: ``ddgs`` for the real web.
    :param split: Share the corpus out between the sources by the field ``source`` of its passages; by default where a
        pipeline has a second source and nothing else is given for it.
    :param store: ``elasticsearch`` puts the corpus there, and lets what finds passages by words or titles, and what
        weighs words, ask it in the place of the embedded index; pipelines that search Elasticsearch do so without it.
    :param llm: ``simulated``, ``embedded`` or the URL of an OpenAI-compatible server; by default the environment's.
    :param model: The model of that server; by default ``PREFRAG_LLM_MODEL``.
    :param top_k: Documents a retrieval.
    :param seed: Of the simulated reader, and of the sampling of models that take one.
    :param judge_error: How often the simulated reader judges passages wrongly, 0 to 1.
    :param reflection_error: How often it judges its answer wrongly, 0 to 1.
    :param distraction: How likely one irrelevant passage spoils its answer, 0 to 1.
    :param record: A file that keeps all replies of models and all finds of outside sources; what it holds already is
        not asked again.
    :param replay: Such a file, played in place of models and outside sources.
    :raises ValueError: When two of them contradict each other.
    """

    corpus: Path | None = None
    web_corpus: Path | None = None
    web: Literal["ddgs"] | None = None
    split: bool | None = None
    store: Literal["elasticsearch"] | None = None
    llm: str | None = None
    model: str | None = None
    top_k: int | None = None
    seed: int | None = None
    judge_error: float = 0.0
    reflection_error: float = 0.0
    distraction: float = 0.0
    record: Path | None = None
    replay: Path | None = None

    def __post_init__(self) -> None:
        for name in ("corpus", "web_corpus", "record", "replay"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, Path(value).expanduser())
        if self.web not in (None, DDGS):
            raise ValueError(f"web is '{self.web}': set it to {DDGS}, or give a corpus that stands in for the web.")
        if self.web is not None and self.web_corpus is not None:
            raise ValueError("Both the real web and a corpus in its place are given: choose one.")
        if self.split and self.web_corpus is not None:
            raise ValueError("A split corpus holds its own web: leave out the web corpus, or do not split.")
        if (self.split is not None or self.web_corpus is not None) and self.corpus is None:
            raise ValueError("Without a corpus there is nothing to split or to put beside the web corpus: give one.")
        if self.web is not None and self.replay is None and web_is_off():
            raise ValueError(f"{WEB_SWITCH} closes the web: unset it, or give a corpus that stands in for the web.")
        if self.store not in (None, "elasticsearch") or (self.store is not None and self.corpus is None):
            raise ValueError(f"store is '{self.store}': set it to elasticsearch, with a corpus to put there.")
        if self.record is not None and self.replay is not None:
            raise ValueError("A run either records or replays: choose one.")
        if self.replay is not None and (self.llm is not None or self.model is not None):
            raise ValueError("A replay asks no model: leave llm and model out.")
        if self.llm not in (None, SIMULATED, EMBEDDED) and not _is_url(self.llm):
            raise ValueError(f"llm is '{self.llm}': set it to {SIMULATED}, {EMBEDDED} or the URL of a model server.")
        if self.model is not None and self.llm in (SIMULATED, EMBEDDED):
            raise ValueError(f"A model is named, but llm is {self.llm}: give the URL of its server.")
        if self.llm != SIMULATED and (self.judge_error or self.reflection_error or self.distraction):
            raise ValueError(f"Only the simulated reader errs by rate: set llm to {SIMULATED}.")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"top_k is {self.top_k}: set it to 1 or more.")


class Setup:
    """A pipeline ready to be evaluated, and what is told of it.

    :param pipeline: The name of a pipeline, a YAML file, or a loaded pipeline.
    :param experiment: What is replaced.
    :param questions: The file of the questions, where they come from one; the simulated reader needs it.
    :param format: The form of that file, see :func:`evaluation.datasets.load_questions`.
    :raises FileNotFoundError: When there is no such pipeline, corpus or recording.
    :raises ValueError: When the pipeline cannot be read, or the recording is of something else.
    """

    def __init__(self, pipeline: Any, experiment: Experiment, questions: Path | None = None, format: str = "auto"):
        self.experiment = experiment
        self.questions = questions
        self.format = format
        self.name = _name(pipeline)
        # A loaded pipeline in which nothing is replaced is run as it is.
        self._as_it_is = pipeline if experiment == Experiment() and not isinstance(pipeline, str | Path) else None
        block = _read(pipeline)
        self._digest = _digest(block)
        start = block.get("components", {}).get("start", {}).get("init_parameters", {})
        self.sources: list[str] = list(start.get("sources") or [])
        self.preferred: str | None = start.get("preferred")
        self.split = self._splits()
        inside = any(found["type"] == _ELASTICSEARCH_STORE for found in _blocks(block))
        self.store = "elasticsearch" if inside else experiment.store or "tantivy"
        self.local, self.second = self._indexes()
        self._indexed_vectors(block)
        # What is searched in the place of an outside or a second source, once there is one.
        self.web: str | None = None
        self.block = _rewritten(block, self._changed)
        self.llm = self._llm(block)
        self._prepare_recording()

    @property
    def config(self) -> dict[str, Any]:
        """:returns: What `config.json` says of the pipeline."""
        experiment = self.experiment
        start = self.block.get("components", {}).get("start", {}).get("init_parameters", {})
        return {
            "pipeline": self.name,
            "pipeline_sha256": self._digest,
            "sources": self.sources,
            "corpus": None if experiment.corpus is None else str(experiment.corpus),
            "web": self.web,
            "split": self.split,
            "indexes": [self.local, self.second],
            "top_k": start.get("top_k"),
            "store": self.store,
            "retriever": self._retriever(),
            "llm": self.llm,
            "judged": self._judged(),
            "environment": self._variables(),
            "simulated": self.llm.get("kind") == SIMULATED,
            "replayed": None if experiment.replay is None else str(experiment.replay),
        }

    def gold_missing(self, questions: Sequence[Question]) -> dict[str, int] | None:
        """Count the gold passages that no retrieval can find, because no index holds them.

        :param questions: The questions.
        :returns: ``questions`` that lack one or more, and ``passages``; None where ids tell nothing: without a corpus
            of the run, without a source, and beside the real web.
        :raises ValueError: When all of them are missing.
        """
        experiment = self.experiment
        wanted = {passage for question in questions for passage in question.supporting_ids}
        if experiment.corpus is None or experiment.web is not None or not self.sources or not wanted:
            return None
        from evaluation.corpora import absent_passages

        # What stands in for the web is on disk, whatever the store.
        indexes = [(store, name) for store, name in ((self.store, self.local), ("tantivy", self.second)) if name]
        absent = absent_passages(wanted, indexes)
        corpora = " or ".join(str(corpus) for corpus in (experiment.corpus, experiment.web_corpus) if corpus)
        if absent == wanted:
            raise ValueError(
                f"None of the {len(wanted)} gold passages is in {corpora}: give the corpus of these questions."
            )
        lacking = sum(not absent.isdisjoint(question.supporting_ids) for question in questions)
        if absent:
            logger.warning(
                "%s of %s gold passages are not in %s and cannot be found: %s of %s questions lack one or more.",
                *(len(absent), len(wanted), corpora, lacking, len(questions)),
            )
        return {"questions": lacking, "passages": len(absent)}

    def build(self) -> Any:
        """Build the pipeline and warm it up; within :meth:`environment`.

        :returns: The Haystack pipeline.
        :raises ValueError: When it cannot be built, or has no beginning or end.
        """
        if self._as_it_is is not None:
            self._as_it_is.warm_up()
            return self._as_it_is
        try:
            # It fills the blocks with objects as it goes.
            pipeline = Pipeline.from_dict(_rewritten(self.block, lambda block: block))
        except (DeserializationError, PipelineError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise ValueError(f"The pipeline {self.name} cannot be built: {error}") from error
        if missing := {"start", "answer"} - set(pipeline.graph.nodes):
            raise ValueError(f"The pipeline {self.name} has no component {' and no '.join(sorted(missing))}.")
        pipeline.warm_up()
        return pipeline

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Set the variables that the model and the sources read, and put them back in the end."""
        experiment = self.experiment
        changes: dict[str, str | None] = {}
        if experiment.llm == EMBEDDED:
            changes |= {"PREFRAG_LLM_BASE_URL": None, "PREFRAG_JUDGE_BASE_URL": None}
        elif _is_url(experiment.llm):
            changes["PREFRAG_LLM_BASE_URL"] = experiment.llm
        if experiment.model is not None:
            changes["PREFRAG_LLM_MODEL"] = experiment.model
        if experiment.corpus is not None:
            changes |= {INDEX_VARIABLE: self.local, WEB_INDEX_VARIABLE: None}
        if experiment.replay is not None or (experiment.corpus is not None and experiment.web is None):
            # Nothing leaves the house, and a source that the switch closes would not even be replayed.
            changes[WEB_SWITCH] = None
        before = {name: os.environ.get(name) for name in changes}
        _set(changes)
        try:
            yield
        finally:
            _set(before)

    def _splits(self) -> bool | None:
        experiment = self.experiment
        if experiment.corpus is None or not self.sources:
            return None
        if experiment.split is not None:
            return experiment.split
        return len(self.sources) > 1 and experiment.web_corpus is None and experiment.web is None

    def _indexes(self) -> tuple[str | None, str | None]:
        """:returns: The names of the index of the preferred source and of the one of all others."""
        experiment = self.experiment
        if experiment.corpus is None:
            return None, None
        from rich.console import Console

        from evaluation.corpora import evaluation_indexes
        from pipelines.indexing_bar import indexing_bar

        split = bool(self.split)
        with indexing_bar(Console(stderr=True)) as on_progress:
            made = evaluation_indexes(
                experiment.corpus,
                split=split,
                web_corpus=experiment.web_corpus,
                on_progress=on_progress,
                on_skipped=lambda skipped: logger.warning("Skipped %s", skipped),
            )
            if self.store == "elasticsearch":
                there = evaluation_indexes(
                    experiment.corpus,
                    split=split,
                    store="elasticsearch",
                    web_corpus=experiment.web_corpus,
                    on_progress=on_progress,
                )
        if self.store == "elasticsearch":
            # What stands in for the web is on disk all the same.
            return there.local, made.web or made.local
        return made.local, made.web or made.local

    def _indexed_vectors(self, block: Block) -> None:
        models = {found["init_parameters"]["model"] for found in _blocks(block) if found["type"] == _VECTORS}
        if self.local is None or not models or self.store != "tantivy":
            return
        from pipelines.dense_indexing import embed_index

        for model in sorted(models):
            embed_index(self.local, model=model)

    # Changing the blocks

    def _changed(self, block: Block) -> Block:
        """:returns: One block with what the evaluation puts in the place of its parts; those are changed already."""
        kind, parameters = block["type"], dict(block.get("init_parameters") or {})
        if kind.endswith(".StateBuilder") and self.experiment.top_k is not None:
            parameters["top_k"] = self.experiment.top_k
            parameters["max_top_k"] = max(self.experiment.top_k, parameters.get("max_top_k") or 20)
        elif kind in (_STORE, _ELASTICSEARCH_STORE) and self.local is not None:
            parameters |= {"index": self.local, **({"path": None} if kind == _STORE else {})}
        elif kind == _BM25 and self.store == "elasticsearch":
            return self._elasticsearch()
        elif kind == _TITLE_LINKS and self.store == "elasticsearch" and parameters["document_store"]["type"] == _STORE:
            parameters["document_store"] = self._elasticsearch_store()
        elif kind == _SOURCE:
            parameters = self._source(parameters)
        elif kind == _CHAT_MODEL:
            return self._model(block)
        statistics = parameters.get("term_statistics")
        if self.store == "elasticsearch" and isinstance(statistics, dict) and statistics["type"] == _STORE:
            parameters["term_statistics"] = self._elasticsearch()
        generator = parameters.get("chat_generator")
        if self._recording and kind != _RECORDED and isinstance(generator, dict) and generator["type"] != _RECORDED:
            parameters["chat_generator"] = self._recorded(_model_name(generator), generator)
        return {**block, "init_parameters": parameters}

    def _source(self, parameters: Block) -> Block:
        experiment = self.experiment
        external = bool(parameters.get("external")) or _is_external(parameters.get("retriever"))
        if external and experiment.corpus is not None and experiment.web is None:
            # Still a source outside by name, so that its passages are cited as such; its queries stay in the house.
            self.web = str(experiment.web_corpus or experiment.corpus)
            search = parameters["retriever"]
            if search["type"] == _WEB:
                search = search["init_parameters"]["search"]
            stand_in = {"search": search, "index": self.second, "demo_stand_in": False}
            return {**parameters, "retriever": {"type": _WEB, "init_parameters": stand_in}}
        if external:
            if experiment.web is not None:
                self.web = experiment.web
                parameters = {**parameters, "retriever": _without_stand_in(parameters["retriever"])}
            if self._recording:
                # A replay that finds a gap is none; what failed when it was recorded fails again and is survived.
                strict = {"strict": True} if experiment.replay is not None else {}
                return {**parameters, "recording": self._recording, **strict}
        elif parameters.get("name") != self.preferred and self.second is not None and len(self.sources) > 1:
            self.web = str(experiment.web_corpus or experiment.corpus)
            return dict(_rewritten(parameters, self._in_second_index))
        return parameters

    def _elasticsearch(self) -> Block:
        return {"type": _ELASTICSEARCH, "init_parameters": {"document_store": self._elasticsearch_store()}}

    def _elasticsearch_store(self) -> Block:
        from pipelines.dense_indexing import elasticsearch_store
        from pipelines.passage_stores import DEFAULT_URL, URL_VARIABLE

        store: Block = elasticsearch_store(
            os.environ.get(URL_VARIABLE) or DEFAULT_URL, self.local or "default"
        ).to_dict()
        return store

    def _in_second_index(self, block: Block) -> Block:
        if block["type"] not in (_STORE, _ELASTICSEARCH_STORE):
            return block
        return {**block, "init_parameters": {**block["init_parameters"], "index": self.second}}

    def _model(self, block: Block) -> Block:
        experiment = self.experiment
        name = _model_name(block)
        if experiment.replay is not None:
            return self._recorded(name, None)
        if experiment.llm == SIMULATED:
            corpora = [experiment.corpus, experiment.web_corpus]
            if self.questions is None or experiment.corpus is None:
                raise ValueError("The simulated reader reads the gold passages from files: give questions and corpus.")
            block = {
                "type": _SIMULATED_READER,
                "init_parameters": {
                    "questions": str(self.questions),
                    "format": self.format,
                    "corpus": [str(corpus) for corpus in corpora if corpus is not None],
                    **self._rates(),
                },
            }
        elif experiment.seed is not None:
            parameters = dict(block.get("init_parameters") or {})
            parameters["generation_kwargs"] = {**(parameters.get("generation_kwargs") or {}), "seed": experiment.seed}
            block = {**block, "init_parameters": parameters}
        return self._recorded(name, block) if self._recording else block

    def _rates(self) -> dict[str, Any]:
        experiment = self.experiment
        rates = {key: getattr(experiment, key) for key in ("judge_error", "reflection_error", "distraction")}
        return {**rates, "seed": experiment.seed or 0}

    @property
    def _recording(self) -> Block | None:
        experiment = self.experiment
        path = experiment.replay or experiment.record
        if path is None:
            return None
        # While it records, the first reply to a call stands for all of the run, so that a replay takes the same way.
        mode = "replay" if experiment.replay is not None else "reuse"
        return {"type": _RECORDING, "init_parameters": {"path": str(path), "mode": mode}}

    def _recorded(self, name: str, generator: Block | None) -> Block:
        parameters = {"recording": self._recording, "name": name, "chat_generator": generator}
        if self.experiment.replay is not None:
            # It needs no model, and to build one may take a key that nobody has here.
            parameters["chat_generator"] = None
        return {"type": _RECORDED, "init_parameters": parameters}

    # What is told

    def _llm(self, pipeline: Block) -> dict[str, Any]:
        """:returns: The model that is asked, also where the pipeline names one of its own."""
        experiment = self.experiment
        own = [block for block in _generators(pipeline) if block["type"] != _CHAT_MODEL]
        only_own = own and not any(block["type"] == _CHAT_MODEL for block in _blocks(pipeline))
        if own and (experiment.llm == SIMULATED or (only_own and experiment.llm is not None)):
            raise ValueError(
                f"The pipeline {self.name} names a model of its own ({_class(own[0])}), which llm does not replace: "
                f"put {_CHAT_MODEL} in its place, or leave llm out."
            )
        reader = next((block for block in own if block["type"] == _SIMULATED_READER), None)
        if reader is not None:
            set_there = reader.get("init_parameters") or {}
            return {"kind": SIMULATED, **{key: set_there.get(key) or default for key, default in self._rates().items()}}
        if only_own:
            return {"kind": _class(own[0]), "model": (own[0].get("init_parameters") or {}).get("model")}
        llm = self._served()
        return {**llm, "own": [_class(block) for block in own]} if own else llm

    def _served(self) -> dict[str, Any]:
        experiment = self.experiment
        if experiment.llm == SIMULATED:
            return {"kind": SIMULATED, **self._rates()}
        url = experiment.llm if _is_url(experiment.llm) else os.environ.get("PREFRAG_LLM_BASE_URL", "").strip()
        judge = os.environ.get("PREFRAG_JUDGE_BASE_URL", "").strip()
        if not url or experiment.llm == EMBEDDED:
            llm: dict[str, Any] = {"kind": EMBEDDED}
        else:
            model = experiment.model or os.environ.get("PREFRAG_LLM_MODEL", "").strip()
            llm = {"kind": "server", "base_url": _address(url), "model": model}
        if judge and experiment.llm != EMBEDDED:
            model = os.environ.get("PREFRAG_JUDGE_MODEL", "").strip()
            llm["judge"] = {"base_url": _address(judge), "model": model}
        return llm if experiment.seed is None else {**llm, "seed": experiment.seed}

    def _prepare_recording(self) -> None:
        """Let a recording know the model that it is of, or learn it from there."""
        experiment = self.experiment
        if experiment.replay is not None:
            if not experiment.replay.is_file():
                raise FileNotFoundError(f"There is no recording {experiment.replay}: make one with --record.")
            try:
                kept = Recording(str(experiment.replay), "replay").play("model", "of the evaluation")
            except NotRecorded as error:
                raise ValueError(f"{experiment.replay} holds no evaluation: make it with --record.") from error
            self.llm = dict(kept.facts or {}) if kept is not None else {}
        elif experiment.record is not None:
            recording = Recording(str(experiment.record))
            kept = recording.record(Entry(facts=self.llm), "model", "of the evaluation")
            if kept.facts != self.llm:
                raise ValueError(
                    f"{experiment.record} holds replies of another model ({json.dumps(kept.facts)}, now "
                    f"{json.dumps(self.llm)}): record to another file."
                )

    def _judged(self) -> bool:
        """:returns: Whether a model judges what was found, so that its errors matter."""
        # `auto` does not ask the embedded model.
        asking = ("model", "cascade") if self._judge_is_embedded() else ("model", "cascade", "auto")
        judges = [block.get("init_parameters") or {} for block in _blocks(self.block) if block["type"] == _JUDGE]
        return any(
            judge.get("enabled", True) and judge.get("chat_generator") and judge.get("judge", "auto") in asking
            for judge in judges
        )

    def _judge_is_embedded(self) -> bool:
        return self.llm.get("kind") == EMBEDDED and "judge" not in self.llm

    def _variables(self) -> dict[str, str]:
        """:returns: The variables of the environment that change the run."""
        experiment = self.experiment
        names = [*_PART_VARIABLES]
        if experiment.replay is None and self.llm.get("kind") != SIMULATED:
            names += _MODEL_VARIABLES
        if experiment.corpus is None:
            names += _INDEX_VARIABLES
        return {name: value for name in names if (value := os.environ.get(name, "").strip())}

    def _retriever(self) -> str | None:
        components: Mapping[str, Any] = self.block.get("components", {})
        sources = [block["init_parameters"] for block in components.values() if block["type"] == _SOURCE]
        preferred = next((source for source in sources if source.get("name") == self.preferred), None)
        if preferred is None:
            # DR-RAG's linked retrieval holds its sources inside.
            kinds = [str(block["type"]).rpartition(".")[2] for block in components.values()]
            return next((_RETRIEVERS[kind] for kind in kinds if kind in _RETRIEVERS), None)
        kind = str(preferred["retriever"]["type"]).rpartition(".")[2]
        stands_in = kind == "WebRetriever" and preferred["retriever"]["init_parameters"].get("index")
        return "bm25" if stands_in else _RETRIEVERS.get(kind, kind)


def _name(pipeline: Any) -> str:
    if isinstance(pipeline, str | Path):
        return str(pipeline)
    return str((getattr(pipeline, "metadata", None) or {}).get("name") or "pipeline")


def _read(pipeline: Any) -> Block:
    if not isinstance(pipeline, str | Path):
        return dict(pipeline.to_dict())
    try:
        path = find(str(pipeline))
    except ValueError as error:
        raise FileNotFoundError(str(error)) from error
    try:
        block = yaml.safe_load(read(path))
    except yaml.YAMLError as error:
        raise ValueError(f"The pipeline {path} cannot be loaded: {error}") from error
    if not isinstance(block, dict) or not isinstance(block.get("components"), dict):
        raise ValueError(f"The pipeline {path} cannot be loaded: it has no `components`.")
    return block


def _is_block(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "." in value["type"]


def _rewritten(value: Any, change: Callable[[Block], Block]) -> Any:
    """:returns: A copy in which no part stands twice, as it may after YAML's anchors, with every block changed."""
    if isinstance(value, dict):
        copied = {key: _rewritten(part, change) for key, part in value.items()}
        return change(copied) if _is_block(copied) else copied
    return [_rewritten(part, change) for part in value] if isinstance(value, list | tuple) else value


def _blocks(value: Any) -> list[Block]:
    found: list[Block] = []

    def take(block: Block) -> Block:
        found.append(block)
        return block

    _rewritten(value, take)
    return found


def _generators(value: Any) -> list[Block]:
    """:returns: The models that the parts of a pipeline ask."""
    found: list[Block] = []
    for block in _blocks(value):
        generator: Any = (block.get("init_parameters") or {}).get("chat_generator")
        if _is_block(generator) and generator["type"] != _RECORDED and generator not in found:
            found.append(generator)
    return found


def _class(block: Block) -> str:
    return str(block["type"]).rpartition(".")[2]


def _is_external(retriever: Any) -> bool:
    """:returns: Whether a retriever's block is a web search, as :func:`components.retrieval_source.is_web_search`."""
    kind = str(retriever.get("type", "")).lower() if isinstance(retriever, dict) else ""
    return kind == _WEB.lower() or ".websearch." in kind or "duckduckgo" in kind


def _without_stand_in(retriever: Block) -> Block:
    if retriever["type"] != _WEB:
        return retriever
    parameters = {**retriever["init_parameters"], "index": None, "demo_stand_in": False}
    return {**retriever, "init_parameters": parameters}


def _model_name(block: Block) -> str:
    """:returns: What tells the models of a pipeline apart, the same on every machine."""
    parameters = dict(block.get("init_parameters") or {})
    if block["type"] == _CHAT_MODEL and set(parameters) <= {"role"}:
        return str(parameters.get("role") or "llm")
    return f"{block['type'].rpartition('.')[2]} {json.dumps(parameters, sort_keys=True, default=str)}"


def _is_url(llm: str | None) -> bool:
    return llm is not None and urlsplit(llm).scheme in ("http", "https") and bool(urlsplit(llm).hostname)


def _address(url: str) -> str:
    """:returns: The URL without what may be secret in it."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"


def _set(variables: Mapping[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode("utf-8", "replace")).hexdigest()[:16]
