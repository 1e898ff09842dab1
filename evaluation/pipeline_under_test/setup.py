"""Set up a pipeline for an evaluation.

:class:`Setup` does this in steps:

1. It reads the pipeline's YAML.
2. It makes the indexes of the corpus, if an index is missing.
3. It chooses the model, and opens the recording.
4. It replaces parts of the YAML, see :class:`Replacement`.
"""

import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from prefrag.collections.collection import Collection
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.index_location import INDEX_VARIABLE
from prefrag.components.recording import Entry, NotRecorded, Recording
from prefrag.components.state.web_switch import WEB_SWITCH
from prefrag.evaluation.pipeline_under_test import description
from prefrag.evaluation.pipeline_under_test.experiment import READER, SIMULATED, Experiment
from prefrag.evaluation.pipeline_under_test.part_files import digest_prompts, part_files
from prefrag.evaluation.pipeline_under_test.pipeline_blocks import (
    ELASTICSEARCH_STORE,
    VECTORS,
    digest,
    searched_collections,
    start_of,
)
from prefrag.evaluation.pipeline_under_test.replacement import Replacement
from prefrag.evaluation.pipeline_under_test.variants import read_pipeline
from prefrag.evaluation.question import Question
from prefrag.pipelines.blocks import Block, blocks
from prefrag.pipelines.loading import Pipeline, build

logger = logging.getLogger(__name__)


class Setup:
    """A pipeline that is ready to be evaluated, and its description for `config.json`.

    :param pipeline: The name of a pipeline or variant, a YAML file, or a loaded pipeline.
    :param experiment: The settings of the evaluation.
    :param questions: The file of questions. The simulated reader and the noisy web need it.
    :param format: The format of the file of questions. "auto" means that it is detected.
    """

    def __init__(self, pipeline: Any, experiment: Experiment, questions: Path | None = None, format: str = "auto"):
        self.experiment = experiment
        self.name = _find_name(pipeline)
        # A loaded pipeline is run unchanged if no setting of the experiment differs from its default.
        replaces = any(getattr(experiment, field.name) != field.default for field in fields(Experiment))
        self._loaded = None if replaces or isinstance(pipeline, str | Path) else pipeline

        block = read_pipeline(pipeline, experiment.changes)
        self._digest = digest(block)
        self._files = part_files(block)
        self.sources: list[str] = list(start_of(block).get("sources") or [])
        self.split = self._decide_split()

        self.store = experiment.store or "tantivy"
        if any(part["type"] == ELASTICSEARCH_STORE for part in blocks(block)):
            self.store = "elasticsearch"
        self.local, self.second = self._make_indexes()
        self.embedders = self._embed_passages(block)

        self.llm = description.describe_model(block, experiment, self.name)
        self._prepare_recording()
        replacement = Replacement(
            pipeline=block,
            experiment=experiment,
            store=self.store,
            local=self.local,
            second=self.second,
            questions=questions,
            format=format,
            llm=self.llm,
        )
        self.block = replacement.build_block() if self._loaded is None else block

    def __getstate__(self) -> dict[str, object]:
        """Return the object's state for a worker process. A loaded pipeline cannot be sent there."""
        if self._loaded is not None:
            raise ValueError("Worker processes cannot use a loaded pipeline: give its name or its YAML file.")
        return vars(self)

    @property
    def config(self) -> dict[str, object]:
        """The description of the pipeline in `config.json`."""
        experiment = self.experiment
        used_settings = description.varies_with(self.block, self.llm, self._prompts)

        # Settings of the simulated reader that this pipeline does not use become None here. The recording still has
        # them, because other pipelines may use it.
        llm = dict(self.llm)
        for name in ("source_choice", "source_error", "second_try", "queries"):
            if name in llm and name not in used_settings:
                llm[name] = None

        noise: dict[str, object] = {}
        for name in ("web_sentences", "web_junk"):
            noise[name] = getattr(experiment, name) if name in used_settings else None
        return {
            "pipeline": self.name,
            "set": list(experiment.changes),
            "pipeline_sha256": self._digest,
            "files": self._files,
            "sources": self.sources,
            "corpus": None if experiment.corpus is None else str(experiment.corpus),
            "web": description.describe_web(self.block, experiment),
            "split": self.split,
            "indexes": [self.local, self.second],
            "top_k": start_of(self.block).get("top_k"),
            "prompts": self._prompts,
            "prompts_sha256": digest_prompts(self._prompts),
            "store": self.store,
            "retriever": description.describe_retriever(self.block),
            "embedder": ", ".join(self.embedders) or None,
            "llm": llm,
            **noise,
            "judged": description.has_model_judge(self.block, self.llm, self._prompts),
            "environment": description.describe_environment(experiment, self.llm),
            "simulated": self.llm.get("kind") == SIMULATED,
            "replayed": None if experiment.replay is None else str(experiment.replay),
        }

    @property
    def _prompts(self) -> str:
        """The prompts of the pipeline: "plain", "product" or a folder."""
        return str(start_of(self.block).get("prompts", "product"))

    def gold_missing(self, questions: Sequence[Question]) -> dict[str, int] | None:
        """Count the gold passages that are in no index, and the questions that need these passages.

        A warning is logged if any gold passage is missing.

        :param questions: The questions of the run.
        :returns: The two numbers, with the keys ``questions`` and ``passages``. None if there is nothing to compare: no
            corpus is searched, the real web is searched too, or the questions have no gold passages.
        :raises ValueError: If all gold passages are missing.
        """
        experiment = self.experiment
        gold_ids: set[str] = set()
        for question in questions:
            gold_ids.update(question.supporting_ids)
        searches_only_corpus = experiment.corpus is not None and experiment.web is None
        if not searches_only_corpus or not self.sources or not gold_ids:
            return None

        from prefrag.evaluation.corpora import absent_passages

        collections = searched_collections(self.block)
        # An index of the corpus that the YAML does not name is a tantivy index.
        names = {self.local, self.second} - {collection.name for collection in collections}
        unnamed = [LocalCollection(name) for name in names if name]

        absent = absent_passages(gold_ids, [*collections, *unnamed])
        corpora = " or ".join(str(corpus) for corpus in (experiment.corpus, experiment.web_corpus) if corpus)
        if absent == gold_ids:
            raise ValueError(
                f"None of the {len(gold_ids)} gold passages is in {corpora}: give the corpus that fits the questions."
            )

        affected = sum(not absent.isdisjoint(question.supporting_ids) for question in questions)
        if absent:
            logger.warning(
                "%s of %s gold passages are not in %s and cannot be found. %s of %s questions need such a passage.",
                len(absent),
                len(gold_ids),
                corpora,
                affected,
                len(questions),
            )
        return {"questions": affected, "passages": len(absent)}

    def build(self) -> Pipeline:
        """Build the pipeline and warm it up. Call this method inside ``with setup.environment():``.

        :returns: The pipeline.
        """
        pipeline = self._loaded
        if pipeline is None:
            pipeline = build(self.block, self.name)
        pipeline.warm_up()
        return pipeline

    @contextmanager
    def environment(self) -> Iterator[None]:
        """Set the environment variables that the model and the sources read. At the end, restore the old values."""
        experiment = self.experiment
        changes: dict[str, str | None] = {}
        # A run with the extractive reader records no model calls. So its replay has to use the reader too.
        is_read_again = experiment.replay is not None and self.llm.get("kind") == READER
        if experiment.llm == READER or experiment.gguf is not None or is_read_again:
            changes |= dict.fromkeys(("PREFRAG_LLM_BASE_URL", "PREFRAG_JUDGE_BASE_URL", "PREFRAG_JUDGE_GGUF"))
            changes["PREFRAG_LLM_GGUF"] = None if experiment.gguf is None else str(experiment.gguf)
        elif experiment.server is not None:
            changes["PREFRAG_LLM_BASE_URL"] = experiment.server
        if experiment.model is not None:
            changes["PREFRAG_LLM_MODEL"] = experiment.model
        if experiment.corpus is not None:
            changes |= {INDEX_VARIABLE: self.local, "PREFRAG_WEB_INDEX": None}

        if experiment.replay is not None or experiment.corpus is not None or experiment.web is not None:
            # The switch closes the web. A recording or a corpus in place of the web would then not be searched either.
            # But these send no query out. So the switch is opened here. The real web is searched only if the user has
            # set `web`.
            changes[WEB_SWITCH] = "on"

        before = {name: os.environ.get(name) for name in changes}
        _set_variables(changes)
        try:
            yield
        finally:
            _set_variables(before)

    def _decide_split(self) -> bool | None:
        """Decide whether the corpus is divided between the sources. None if there is no corpus or no source."""
        experiment = self.experiment
        if experiment.corpus is None or not self.sources:
            return None
        if experiment.split is not None:
            return experiment.split
        return len(self.sources) > 1 and experiment.web_corpus is None and experiment.web is None

    def _make_indexes(self) -> tuple[str | None, str | None]:
        """Make the indexes of the corpus and return their names: the local index and the second index."""
        experiment = self.experiment
        if experiment.corpus is None:
            return None, None
        from rich.console import Console

        from prefrag.collections.opening import KINDS
        from prefrag.evaluation.corpora import ensure_indexes
        from prefrag.indexing.report import indexing_bar

        with indexing_bar(Console(stderr=True)) as on_progress:
            # The index in place of the web is always in tantivy, even if the local sources use another store.
            kinds: list[type[Collection]] = [LocalCollection, KINDS[self.store]]
            for kind in dict.fromkeys(kinds):
                indexes = ensure_indexes(
                    experiment.corpus,
                    split=bool(self.split),
                    kind=kind,
                    web_corpus=experiment.web_corpus,
                    on_progress=on_progress,
                )
        return indexes.local, indexes.web or indexes.local

    def _embed_passages(self, block: Block) -> list[str]:
        """Compute the vectors of all passages, if the pipeline searches by meaning.

        Return the names of the embedding models.
        """
        models = sorted({part["init_parameters"]["model"] for part in blocks(block) if part["type"] == VECTORS})
        # The experiment may name one model, which then replaces all models of the pipeline.
        if models and self.experiment.embedder is not None:
            models = [self.experiment.embedder]
        if self.local is not None and models and self.store == "tantivy":
            from prefrag.collections.embedding import embed_index

            for model in models:
                embed_index(LocalCollection(self.local), model=model)
        return models

    def _prepare_recording(self) -> None:
        """Write the description of the model to the recording, or read it from the recording that is replayed."""
        experiment = self.experiment
        if experiment.replay is not None:
            if not experiment.replay.is_file():
                raise FileNotFoundError(f"There is no recording {experiment.replay}: make one with `record`.")
            try:
                entry = Recording(str(experiment.replay), "replay").play("model", "of the evaluation")
            except NotRecorded as error:
                raise ValueError(f"{experiment.replay} records no evaluation: give a file made by `record`.") from error
            self.llm = {}
            if entry is not None and entry.facts:
                self.llm = dict(entry.facts)
        elif experiment.record is not None:
            recording = Recording(str(experiment.record))
            entry = recording.record(Entry(facts=self.llm), "model", "of the evaluation")
            if entry.facts != self.llm:
                raise ValueError(
                    f"{experiment.record} holds replies of another model: record to another file. The model was "
                    f"{json.dumps(entry.facts)} and is now {json.dumps(self.llm)}."
                )


def _find_name(pipeline: object) -> str:
    """Return the name of a pipeline: its own name or file, or the name in the metadata of a loaded pipeline."""
    if isinstance(pipeline, str | Path):
        return str(pipeline)
    metadata = getattr(pipeline, "metadata", None) or {}
    return str(metadata.get("name") or "pipeline")


def _set_variables(variables: Mapping[str, str | None]) -> None:
    """Set environment variables. A variable whose value is None is removed."""
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
