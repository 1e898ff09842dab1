"""Change a pipeline's YAML for an evaluation.

An evaluation may replace three things: the indexes that are searched, the model that answers, and whether replies are
recorded or replayed.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from prefrag.evaluation.pipeline_under_test.experiment import READER, SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.pipeline_blocks import (
    CHAT_MODEL,
    ELASTICSEARCH_STORE,
    NOISY_WEB,
    RECORDED,
    SIMULATED_READER,
    SOURCE,
    STORE,
    TEXT_EMBEDDER,
    VECTORS,
    WEB,
    is_outside,
    is_second,
)
from prefrag.pipelines.blocks import Block, class_of, parameters_of, rewrite
from prefrag.pipelines.replacing import replace_parts

# The class of a recording of replies.
_RECORDING = "prefrag.components.recording.Recording"
# The class of the retriever that searches an index on this machine by words.
_BM25 = "prefrag.components.retrievers.tantivy_bm25_retriever.TantivyBM25Retriever"
# The class of the retriever that finds documents by the titles that a text mentions.
_TITLE_LINKS = "prefrag.components.retrievers.title_mention_retriever.TitleMentionRetriever"
# The class of the retriever that searches an index in Elasticsearch by words.
_ELASTICSEARCH = "prefrag.components.retrievers.elasticsearch_multi_match_retriever.ElasticsearchMultiMatchRetriever"


@dataclass(frozen=True)
class Replacement:
    """A pipeline, and what an evaluation replaces in it."""

    # The content of the pipeline's YAML.
    pipeline: Block
    # The settings of the evaluation.
    experiment: Experiment
    # The store of the corpus: "tantivy" or "elasticsearch".
    store: str
    # The index of the preferred source. None keeps the pipeline's own indexes.
    local: str | None
    # The index of all other sources.
    second: str | None
    # The file of questions. The simulated reader and the noisy web read from it which passages are gold passages.
    questions: Path | None
    # The format of the file of questions.
    format: str
    # The description of the model, see `describe_model`.
    llm: Mapping[str, object]

    def build_block(self) -> Block:
        """Make all replacements.

        :returns: The changed content of the pipeline's YAML.
        """
        return replace_parts(self.pipeline, self._change_block)

    def _change_block(self, block: Block) -> Block:
        """Return a block of the pipeline as the evaluation needs it. Most blocks stay as they are."""
        kind = block["type"]
        if kind == CHAT_MODEL:
            return self._change_model(block)
        if kind == _BM25 and self.store == "elasticsearch":
            return self._make_elasticsearch_retriever()

        parameters = self._change_parameters(kind, dict(parameters_of(block)))
        if self.store == "elasticsearch" and _is_tantivy_store(parameters.get("term_statistics")):
            parameters["term_statistics"] = self._make_elasticsearch_retriever()
        generator = parameters.get("chat_generator")
        if kind != RECORDED and isinstance(generator, dict):
            parameters["chat_generator"] = self._record_generator(generator)
        return {**block, "init_parameters": parameters}

    def _change_parameters(self, kind: str, parameters: Block) -> Block:
        """Return the parameters of a block with the class ``kind``, as the settings of the evaluation change them."""
        experiment = self.experiment
        if kind.endswith(".StateBuilder"):
            parameters["prompts"] = experiment.prompts
            if experiment.top_k is not None:
                parameters["top_k"] = experiment.top_k
                parameters["max_top_k"] = max(experiment.top_k, parameters.get("max_top_k") or 20)
        elif kind.endswith(TEXT_EMBEDDER) and experiment.embedder is not None:
            # The prefix for queries in the YAML belongs to the model that is replaced here.
            parameters |= {"model": experiment.embedder, "prefix": ""}
        elif kind == VECTORS and experiment.embedder is not None:
            parameters["model"] = experiment.embedder
        elif kind in (STORE, ELASTICSEARCH_STORE) and self.local is not None:
            parameters["index"] = self.local
            if kind == STORE:
                parameters["path"] = None
        elif kind == _TITLE_LINKS and self.store == "elasticsearch" and _is_tantivy_store(parameters["document_store"]):
            parameters["document_store"] = self._make_elasticsearch_store()
        elif kind == SOURCE:
            return self._change_source(parameters)
        return parameters

    def _record_generator(self, generator: Block) -> Block:
        """Return a model inside the recording. Return it as it is if it is inside already, or if it is never called."""
        is_recorded = generator["type"] == RECORDED
        if self._recording is None or is_recorded or self._is_never_called(generator):
            return generator
        return self._wrap_in_recording(_model_name(generator), generator)

    def _change_source(self, parameters: Block) -> Block:
        """Return the parameters of a source as the evaluation needs them.

        A source outside this machine gets a corpus in place of the web, or keeps the real web. A second source gets the
        second index.
        """
        experiment = self.experiment
        if not is_outside(parameters):
            if self.second is not None and is_second(parameters, self.pipeline):
                return dict(rewrite(parameters, self._point_to_second_index))
            return parameters

        if experiment.corpus is not None and experiment.web is None:
            # A corpus now replaces the web, so no query leaves this machine. The source is still marked as external, so
            # that citations say so.
            search = parameters["retriever"]
            if search["type"] == WEB:
                search = search["init_parameters"]["search"]
            settings = {"search": search, "index": self.second, "demo_stand_in": False}
            stand_in = self._make_noisy({"type": WEB, "init_parameters": settings})
            return {**parameters, "retriever": stand_in}
        if experiment.web is not None:
            parameters = {**parameters, "retriever": _remove_stand_in(parameters["retriever"])}
        if self._recording is not None:
            return {**parameters, "recording": self._recording}
        return parameters

    def _make_noisy(self, web: Block) -> Block:
        """Put a web retriever into a NoisyWeb, if noise is wanted."""
        experiment = self.experiment
        if not experiment.is_web_noisy:
            return web
        corpus = str(experiment.web_corpus or experiment.corpus)
        questions = None if self.questions is None else str(self.questions)
        parameters = {
            "web": web,
            "sentences": experiment.web_sentences,
            "junk": experiment.web_junk,
            "corpus": corpus,
            "questions": questions,
            "format": self.format,
            "seed": experiment.seed or 0,
        }
        return {"type": NOISY_WEB, "init_parameters": parameters}

    def _make_elasticsearch_retriever(self) -> Block:
        """Return the block of a retriever that searches the local index in Elasticsearch."""
        return {"type": _ELASTICSEARCH, "init_parameters": {"document_store": self._make_elasticsearch_store()}}

    def _make_elasticsearch_store(self) -> Block:
        """Return the block of the local index in Elasticsearch."""
        from prefrag.collections.stores import elasticsearch_store

        store: Block = elasticsearch_store(index=self.local or "default").to_dict()
        return store

    def _point_to_second_index(self, block: Block) -> Block:
        """Return a store's block with the name of the second index. Other blocks stay as they are."""
        if block["type"] not in (STORE, ELASTICSEARCH_STORE):
            return block
        return {**block, "init_parameters": {**block["init_parameters"], "index": self.second}}

    def _change_model(self, block: Block) -> Block:
        """Return what replaces the configured model: the simulated reader, or the model with a seed or a recording."""
        experiment = self.experiment
        if self._is_never_called(block):
            return block
        name = _model_name(block)
        if experiment.replay is not None:
            return self._wrap_in_recording(name, None)
        changed = block
        if experiment.llm == SIMULATED:
            changed = self._make_simulated_reader()
        elif experiment.seed is not None:
            parameters = dict(parameters_of(block))
            arguments = parameters.get("generation_kwargs") or {}
            parameters["generation_kwargs"] = {**arguments, "seed": experiment.seed}
            changed = {**block, "init_parameters": parameters}
        return changed if self._recording is None else self._wrap_in_recording(name, changed)

    def _make_simulated_reader(self) -> Block:
        """Return the block of the simulated reader. Raise ValueError if its files are not named."""
        experiment = self.experiment
        if self.questions is None or experiment.corpus is None:
            raise ValueError("The simulated reader needs files with the gold passages: give questions and corpus.")
        corpora = [experiment.corpus, experiment.web_corpus]
        parameters = {
            "questions": str(self.questions),
            "format": self.format,
            "corpus": [str(corpus) for corpus in corpora if corpus is not None],
            "web_sentences": experiment.web_sentences,
            **asdict(experiment.policy),
        }
        return {"type": SIMULATED_READER, "init_parameters": parameters}

    def _is_never_called(self, block: Block) -> bool:
        """Check whether the pipeline never calls this model.

        If the extractive reader answers, no model is called. The exception is a judge that has a configured model of
        its own.
        """
        is_configured_judge = parameters_of(block).get("role") == "judge" and "judge" in self.llm
        return block["type"] == CHAT_MODEL and self.llm.get("kind") == READER and not is_configured_judge

    @property
    def _recording(self) -> Block | None:
        """The block of the recording. None if nothing is recorded or replayed."""
        experiment = self.experiment
        path = experiment.replay or experiment.record
        if path is None:
            return None
        # The mode "reuse" returns the recorded reply if a call is repeated while recording. So a replay gives the same
        # results.
        mode = "replay" if experiment.replay is not None else "reuse"
        return {"type": _RECORDING, "init_parameters": {"path": str(path), "mode": mode}}

    def _wrap_in_recording(self, name: str, generator: Block | None) -> Block:
        """Return a block that records the replies of a model, or replays them.

        ``name`` is the model's name in the recording.
        """
        parameters = {"recording": self._recording, "name": name, "chat_generator": generator}
        if self.experiment.replay is not None:
            # A replay calls no model, and building a model may need an API key.
            parameters["chat_generator"] = None
        return {"type": RECORDED, "init_parameters": parameters}


def _is_tantivy_store(block: object) -> bool:
    """Check whether a parameter is the block of an index on this machine."""
    return isinstance(block, dict) and block["type"] == STORE


def _remove_stand_in(retriever: Block) -> Block:
    """Return the block of a web retriever that searches the real web, without an index in its place."""
    if retriever["type"] != WEB:
        return retriever
    parameters = {**retriever["init_parameters"], "index": None, "demo_stand_in": False}
    return {**retriever, "init_parameters": parameters}


def _model_name(block: Block) -> str:
    """Return a name for a model that is unique in the pipeline and the same on every machine."""
    parameters = dict(parameters_of(block))
    has_only_role = set(parameters) <= {"role"}
    if block["type"] == CHAT_MODEL and has_only_role:
        return str(parameters.get("role") or "llm")
    return f"{class_of(block)} {json.dumps(parameters, sort_keys=True, default=str)}"
