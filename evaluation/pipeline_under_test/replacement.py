"""Put the corpora, the model and the recording of an evaluation in the place of a pipeline's parts."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

from prefrag.evaluation.pipeline_under_test.experiment import SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.pipeline_blocks import (
    CHAT_MODEL,
    ELASTICSEARCH_STORE,
    RECORDED,
    SIMULATED_READER,
    SOURCE,
    STORE,
    WEB,
    is_outside,
    is_second,
)
from prefrag.pipelines.blocks import Block, class_of, parameters_of, rewrite
from prefrag.pipelines.replacing import replace_parts

_RECORDING = "prefrag.components.recording.Recording"
_BM25 = "prefrag.components.retrievers.tantivy_bm25_retriever.TantivyBM25Retriever"
_TITLE_LINKS = "prefrag.components.retrievers.title_mention_retriever.TitleMentionRetriever"
_ELASTICSEARCH = "prefrag.components.retrievers.elasticsearch_multi_match_retriever.ElasticsearchMultiMatchRetriever"


@dataclass(frozen=True)
class Replacement:
    """What is put in the place of what.

    :param pipeline: What the YAML of the pipeline says.
    :param experiment: What of it is replaced.
    :param store: ``tantivy`` or ``elasticsearch``: where the corpus is.
    :param local: The name of the index of the preferred source; None leaves the pipeline its own.
    :param second: The name of the index of all other sources.
    :param questions: The file of the questions, for the simulated reader.
    :param format: The form of that file.
    """

    pipeline: Block
    experiment: Experiment
    store: str
    local: str | None
    second: str | None
    questions: Path | None
    format: str

    def applied(self) -> Block:
        """Put them into the pipeline.

        :returns: A changed copy of it.
        """
        return replace_parts(self.pipeline, self._change_block)

    def _change_block(self, block: Block) -> Block:
        """Put what the evaluation has for them in the place of a block's parts.

        :param block: The block, whose inner blocks are changed already.
        :returns: What takes its place.
        """
        kind, parameters = block["type"], dict(parameters_of(block))
        if kind.endswith(".StateBuilder") and self.experiment.top_k is not None:
            parameters["top_k"] = self.experiment.top_k
            parameters["max_top_k"] = max(self.experiment.top_k, parameters.get("max_top_k") or 20)
        elif kind in (STORE, ELASTICSEARCH_STORE) and self.local is not None:
            parameters |= {"index": self.local, **({"path": None} if kind == STORE else {})}
        elif kind == _BM25 and self.store == "elasticsearch":
            return self._elasticsearch()
        elif kind == _TITLE_LINKS and self.store == "elasticsearch" and parameters["document_store"]["type"] == STORE:
            parameters["document_store"] = self._elasticsearch_store()
        elif kind == SOURCE:
            parameters = self._source(parameters)
        elif kind == CHAT_MODEL:
            return self._model(block)
        statistics = parameters.get("term_statistics")
        if self.store == "elasticsearch" and isinstance(statistics, dict) and statistics["type"] == STORE:
            parameters["term_statistics"] = self._elasticsearch()
        generator = parameters.get("chat_generator")
        if self._recording and kind != RECORDED and isinstance(generator, dict) and generator["type"] != RECORDED:
            parameters["chat_generator"] = self._recorded(_model_name(generator), generator)
        return {**block, "init_parameters": parameters}

    def _source(self, parameters: Block) -> Block:
        experiment = self.experiment
        outside = is_outside(parameters)
        if outside and experiment.corpus is not None and experiment.web is None:
            # Still an external source by name, so that its passages are cited as such; its queries stay here.
            search = parameters["retriever"]
            if search["type"] == WEB:
                search = search["init_parameters"]["search"]
            stand_in = {"search": search, "index": self.second, "demo_stand_in": False}
            return {**parameters, "retriever": {"type": WEB, "init_parameters": stand_in}}
        if outside:
            if experiment.web is not None:
                parameters = {**parameters, "retriever": _without_stand_in(parameters["retriever"])}
            if self._recording:
                # A replay that finds a gap is none; what failed when it was recorded fails again and is survived.
                strict = {"strict": True} if experiment.replay is not None else {}
                return {**parameters, "recording": self._recording, **strict}
        elif self.second is not None and is_second(parameters, self.pipeline):
            return dict(rewrite(parameters, self._in_second_index))
        return parameters

    def _elasticsearch(self) -> Block:
        return {"type": _ELASTICSEARCH, "init_parameters": {"document_store": self._elasticsearch_store()}}

    def _elasticsearch_store(self) -> Block:
        from prefrag.pipelines.indexing.embedding import elasticsearch_store
        from prefrag.pipelines.indexing.stores import DEFAULT_URL, URL_VARIABLE

        store: Block = elasticsearch_store(
            os.environ.get(URL_VARIABLE) or DEFAULT_URL, self.local or "default"
        ).to_dict()
        return store

    def _in_second_index(self, block: Block) -> Block:
        if block["type"] not in (STORE, ELASTICSEARCH_STORE):
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
                "type": SIMULATED_READER,
                "init_parameters": {
                    "questions": str(self.questions),
                    "format": self.format,
                    "corpus": [str(corpus) for corpus in corpora if corpus is not None],
                    **experiment.rates,
                },
            }
        elif experiment.seed is not None:
            parameters = dict(parameters_of(block))
            parameters["generation_kwargs"] = {**(parameters.get("generation_kwargs") or {}), "seed": experiment.seed}
            block = {**block, "init_parameters": parameters}
        return self._recorded(name, block) if self._recording else block

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
        return {"type": RECORDED, "init_parameters": parameters}


def _without_stand_in(retriever: Block) -> Block:
    if retriever["type"] != WEB:
        return retriever
    parameters = {**retriever["init_parameters"], "index": None, "demo_stand_in": False}
    return {**retriever, "init_parameters": parameters}


def _model_name(block: Block) -> str:
    """Name what tells the models of a pipeline apart, the same on every machine.

    :param block: The block of a model.
    :returns: The name.
    """
    parameters = dict(parameters_of(block))
    if block["type"] == CHAT_MODEL and set(parameters) <= {"role"}:
        return str(parameters.get("role") or "llm")
    return f"{class_of(block)} {json.dumps(parameters, sort_keys=True, default=str)}"
