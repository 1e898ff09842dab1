"""The settings of components are saved and loaded with the parts inside, and refused if they make no sense."""

import inspect
import json
import math
import pkgutil
from importlib import import_module
from typing import Any

import pytest
from haystack import component
from haystack.core.serialization import component_from_dict, component_to_dict
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.components.websearch.ddgs import DDGSWebSearch

from prefrag import components
from prefrag.components.adaptive_rag.popularity_router import PopularityRouter
from prefrag.components.adaptive_rag.question_router import QuestionRouter
from prefrag.components.adaptive_rag.tree_question_classifier import TreeQuestionClassifier
from prefrag.components.crag.corrective_evaluator import CorrectiveEvaluator
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.dr_rag.linked_stages import LinkedStages
from prefrag.components.dr_rag.open_question_query import OpenQuestionQuery
from prefrag.components.dr_rag.query_doc_concat import QueryDocConcat
from prefrag.components.dr_rag.second_stage import SecondStage
from prefrag.components.flare.look_ahead import LookAhead
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.embedded_chat_generator import EmbeddedChatGenerator
from prefrag.components.generators.recorded_chat_generator import RecordedChatGenerator
from prefrag.components.judge.auto_judge import AutoJudge
from prefrag.components.judge.cascade_judge import CascadeJudge
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.loop.follow_up_rewriter import FollowUpRewriter
from prefrag.components.loop.observation_recorder import ObservationRecorder
from prefrag.components.loop.preference_router import PreferenceRouter
from prefrag.components.loop.question_as_query import QuestionAsQuery
from prefrag.components.loop.self_reflector import SelfReflector
from prefrag.components.mspr.answer_reviewer import AnswerReviewer
from prefrag.components.mspr.observation_refiner import ObservationRefiner
from prefrag.components.mspr.preference_selector import PreferenceSelector
from prefrag.components.pair_classifier.pair_classifier import PairClassifier
from prefrag.components.pair_classifier.transformer_pair_scorer import TransformerPairScorer
from prefrag.components.pair_classifier.tree_pair_scorer import TreePairScorer
from prefrag.components.parts import walk_parts
from prefrag.components.rankers.title_match_ranker import TitleMatchRanker
from prefrag.components.reasoner.answer_format import AnswerFormat
from prefrag.components.reasoner.reasoner import Reasoner
from prefrag.components.reasoner.reply_formats import Tool
from prefrag.components.recording import Recording
from prefrag.components.retrievers.hybrid_retriever import HybridRetriever
from prefrag.components.retrievers.linked_retriever import LinkedRetriever
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.retrievers.title_mention_retriever import TitleMentionRetriever
from prefrag.components.retrievers.vector_retriever import VectorRetriever
from prefrag.components.self_rag.passage_critic import PassageCritic
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.sources.retry_policy import RetryPolicy
from prefrag.components.sources.text_source import TextSource
from prefrag.components.state.answer_composer import AnswerComposer
from prefrag.components.state.state_builder import StateBuilder
from prefrag.components.web.domain_filter import DomainFilter
from prefrag.components.web.web_gate import WebGate
from prefrag.components.web.web_retriever import WebRetriever
from tests.fakes import ScriptedChatGenerator, ScriptedRetriever
from tests.for_each import for_each

SOURCES = ["local", "archive"]
MODEL = ScriptedChatGenerator(["1974"])
TOOL = Tool("Search_Local", "Searches.", "local")
KWARGS = {"temperature": 0.0}
BY_MODEL = ModelJudge(MODEL, "self_reflector", KWARGS, "keep")
STORE = TantivyDocumentStore(index="own")
BY_TREES = TreeJudge("own.json", STORE, 0.6)
WORDS = TantivyBM25Retriever(STORE, top_k=3)
TITLES = TitleMentionRetriever(STORE, per_title=1, top_k=2)
PAIRS = TreePairScorer("own.json", STORE, "pair")
SOURCE = RetrievalSource(
    "web",
    ScriptedRetriever({"a": "A."}, "web"),
    ranker=TitleMatchRanker(top_k=7),
    external=True,
    top_k=3,
    candidates=50,
    retry_policy=RetryPolicy(2.5, retries=1, backoff=0.1, fallback=ScriptedRetriever({}, "second")),
    recording=Recording("kept.jsonl", "record"),
    gate=WebGate(200, DomainFilter(["example.org"], denied=["bad.example.org"])),
    observed_last=True,
)

# No setting has its default here, so that a lost one is noticed.
PARTS = [
    StateBuilder(SOURCES, "archive", ["local"], top_k=7, max_steps=2, max_supplements=0, max_top_k=9),
    AnswerComposer("archive", "say_so"),
    FollowUpRewriter(MODEL, "answer_once", KWARGS),
    Reasoner(
        MODEL,
        "tools",
        tools=[TOOL],
        answer_format=AnswerFormat("a year", cite=False),
        must_answer=True,
        prompt="answer_once",
        generation_kwargs=KWARGS,
        self_evaluation=False,
    ),
    PreferenceRouter(SOURCES, follow_model=True),
    PreferenceRouter(SOURCES, ask_all=True),
    PreferenceSelector(SOURCES, enabled=False),
    QuestionAsQuery(["archive"]),
    LookAhead(0.7, 0.3),
    QuestionRouter(TreeQuestionClassifier("own.json"), ["single_step", "multi_step"], {"single_step": 0.7}),
    PopularityRouter(WORDS, 3, 50),
    ObservationRecorder(merge=True),
    ObservationRefiner(MODEL, 7, False, "answer_once", KWARGS),
    SelfReflector("call", MODEL, "answer_reviewer", KWARGS),
    PassageCritic(MODEL, "adaptive", {"support": 2.0}, 2, "answer_once", KWARGS),
    AnswerReviewer(SOURCES, MODEL, "archive", False, "end", "self_reflector", KWARGS),
    CorrectiveEvaluator(BY_TREES, MODEL, "archive", 0.9, -0.9, 4, 0.1, 2, "answer_once", KWARGS),
    *(
        SourceSwitchJudge(SOURCES, judge, judge_first_step=True, switch_at="next_step", enabled=False)
        for judge in (BY_MODEL, BY_TREES, CascadeJudge(BY_TREES, BY_MODEL, 0.4, 0.6), AutoJudge(BY_MODEL, BY_TREES))
    ),
    TextSource(SOURCE),
    RetrievalSource("web", WebRetriever(DDGSWebSearch(top_k=3), index="stand-in", local_index="mydocs")),
    SecondStage(SOURCE, QueryDocConcat(["content"], max_words=None), PairClassifier(), k1=2, second_stage_depth=5),
    LinkedStages(SOURCE, SOURCE, open_question=OpenQuestionQuery(STORE, 7), first_stage_depth=3, second_stage_depth=4),
    *(
        PairClassifier(engine, "cis", 4, 0.3, "any", "all", 2)
        for engine in (PAIRS, TransformerPairScorer("models/pairs", backend="onnx", device="cpu", document_tokens=500))
    ),
    TITLES,
    LinkedRetriever(WORDS, TITLES, PAIRS, 3, 7, 4, 9, 2, 0.5),
    HybridRetriever([WORDS, TITLES], top_k=3, candidates=7, weights=[1, 2], timeout=2.5),
    VectorRetriever(STORE, "my-model", top_k=3),
    EmbeddedChatGenerator("model.gguf", 2_048, 30.0, "adapter.gguf", 2),
    RecordedChatGenerator(Recording("kept.jsonl"), "model", MODEL),
    ChatModel("judge", {"temperature": 0.2}, 30.0),
]


def same(part: Any, other: Any) -> bool:
    """Whether two parts have the same class and the same settings, including the parts inside."""
    if type(part) is not type(other):
        return False
    if isinstance(part, list):
        return len(part) == len(other) and all(map(same, part, other))
    if not hasattr(part, "to_dict") and not hasattr(part, "__haystack_input__"):
        return bool(part == other)
    settings = inspect.signature(part.__init__).parameters
    return all(same(getattr(part, name), getattr(other, name)) for name in settings)


@for_each("part", *PARTS)
def test_a_component_is_loaded_as_it_was_saved(part: Any):
    data = json.loads(json.dumps(component_to_dict(part, "part")))

    assert set(data["init_parameters"]) == set(inspect.signature(part.__init__).parameters)
    assert same(component_from_dict(type(part), data, "part"), part)


def test_every_component_is_tried():
    for module in pkgutil.walk_packages(components.__path__, f"{components.__name__}."):
        import_module(module.name)
    registered = {name for name in component.registry if name.startswith(components.__name__)}
    tried = {f"{type(part).__module__}.{type(part).__name__}" for _, part in walk_parts(PARTS)}

    # These save the parts inside in another way, which their own tests check.
    assert {name.rpartition(".")[2] for name in registered - tried} == {
        "ElasticsearchMultiMatchRetriever",
        "DenseRetriever",
    }


@for_each(
    "kind, changes, message",
    (PopularityRouter, {"threshold": -1}, "threshold is -1"),
    (PopularityRouter, {"depth": 0}, "depth is 0"),
    (PopularityRouter, {"threshold": 51}, "threshold is 51: set it to at most depth, which is 50"),
    (QuestionRouter, {"classes": []}, "`classes` is empty: name one of no_retrieval, single_step, multi_step"),
    (QuestionRouter, {"classes": ["A"]}, "no question class 'A': choose from no_retrieval, single_step, multi_step"),
    (QuestionRouter, {"least_probability": {"hard": 0.5}}, "There is no question class 'hard'"),
    (QuestionRouter, {"least_probability": {"single_step": 2}}, "of single_step is 2: set it between 0 and 1"),
    (CorrectiveEvaluator, {"judge": None}, "give a judge that scores passages"),
    (CorrectiveEvaluator, {"chat_generator": None}, "A search of 'archive' needs a model to write its query"),
    (CorrectiveEvaluator, {"upper": 1.1}, "set it to a number from -1 to 1"),
    (CorrectiveEvaluator, {"upper": -0.95}, "set lower to at most upper"),
    (CorrectiveEvaluator, {"strip_threshold": -2}, "set it to a number from -1 to 1"),
    (CorrectiveEvaluator, {"strips": 0}, "set it to a whole number of at least 1"),
    (CorrectiveEvaluator, {"strip_sentences": 0}, "set it to a whole number of at least 1"),
    (CorrectiveEvaluator, {"prompt": "nonsense"}, "No prompt 'nonsense'"),
    (VectorRetriever, {"model": " "}, "model is empty"),
    (VectorRetriever, {"top_k": 0}, "top_k"),
    (VectorRetriever, {"document_store": InMemoryDocumentStore()}, "TantivyDocumentStore"),
    (QueryDocConcat, {"parts": "title"}, "parts"),
    (QueryDocConcat, {"max_words": 0}, "max_words"),
    (LinkedStages, {"links": WORDS}, "`links` is not a RetrievalSource"),
    (LinkedStages, {"first_stage_depth": 0}, "first_stage_depth is 0"),
    (SecondStage, {"k1": 0}, "k1"),
    (SecondStage, {"second_stage_depth": 0}, "second_stage_depth"),
    (SecondStage, {"source": WORDS}, "RetrievalSource"),
    (LookAhead, {"threshold": 1.1}, "from 0 to 1"),
    (LookAhead, {"mask": -0.1}, "from 0 to 1"),
    (ChatModel, {"role": "critic"}, "role"),
    (ChatModel, {"timeout": 0}, "timeout"),
    (CascadeJudge, {"unsure_from": 0.7}, "unsure_from is 0.7: set it to at most unsure_to, which is 0.6"),
    (CascadeJudge, {"unsure_to": 1.1}, "unsure_to is 1.1: set it to a number from 0 to 1"),
    (ModelJudge, {"on_doubt": "ask"}, "set it to keep, end or switch"),
    (SourceSwitchJudge, {"sources": []}, "`sources` is empty"),
    (SourceSwitchJudge, {"judge": "model"}, "judge is 'model': set it to a judge, such as ModelJudge"),
    (SourceSwitchJudge, {"judge": None}, "judge is None"),
    (SourceSwitchJudge, {"switch_at": "once"}, "set it to this_step or next_step"),
    (SourceSwitchJudge, {"patience": -1}, "patience is -1: set it to a whole number of at least 0"),
    (SourceSwitchJudge, {"patience": True}, "patience is True"),
    (SourceSwitchJudge, {"patience": 1}, "patience has no effect with switch_at: next_step"),
    (TreeJudge, {"trees": ""}, "trees is empty"),
    (TreeJudge, {"cost_of_leaving": -1}, "cost_of_leaving is -1: set it to a number of at least 0"),
    (TreeJudge, {"cost_of_leaving": math.nan}, "cost_of_leaving is nan"),
    (PreferenceRouter, {"sources": []}, "name at least one source"),
    (PreferenceRouter, {"ask_all": True}, "contradict each other"),
    (SelfReflector, {"reflection": "maybe"}, "set it to reply, call or off"),
    (SelfReflector, {"chat_generator": None}, "needs a `chat_generator`: set one, or set reflection to reply"),
    (SelfReflector, {"supplement": "web"}, "set it to every or others"),
    (AnswerReviewer, {"supplement_source": "moon"}, r"set it to one of \['local', 'archive'\]"),
    (AnswerReviewer, {"on_doubt": "switch"}, "set it to keep or end"),
    (ObservationRefiner, {"threshold": 0}, "set it to a whole number of at least 1"),
    (ObservationRefiner, {"prompt": "nonsense"}, "No prompt 'nonsense'"),
    (PreferenceSelector, {"sources": []}, "`sources` is empty"),
    (PairClassifier, {"selection": "qdc"}, "selection"),
    (PairClassifier, {"drop": "all"}, "drop"),
    (PairClassifier, {"accept": "none"}, "accept"),
    (PairClassifier, {"engine": "oracle"}, "engine"),
    (PairClassifier, {"engine": object()}, "engine"),
    (PairClassifier, {"k": 0}, "^k is 0"),
    (PairClassifier, {"lookahead": 0}, "lookahead"),
    (PairClassifier, {"threshold": 0}, "threshold"),
    (PairClassifier, {"threshold": 1.0}, "threshold"),
    (PairClassifier, {"rank_weight": -1}, "rank_weight"),
    (TransformerPairScorer, {"backend": "tensorflow"}, "backend"),
    (TransformerPairScorer, {"document_tokens": 0}, "document_tokens"),
    (TitleMatchRanker, {"top_k": 0}, "top_k is 0"),
    (Reasoner, {"reply_format": "xml"}, "reply_format is 'xml': set it to auto, text or json"),
    (Reasoner, {"tools": [TOOL, TOOL]}, "Two tools have the same name"),
    (Reasoner, {"prompt": "nonsense"}, "No prompt 'nonsense'"),
    (HybridRetriever, {"retrievers": [WORDS]}, "at least two"),
    (HybridRetriever, {"retrievers": [WORDS, object()]}, "no `run`"),
    (HybridRetriever, {"top_k": 0}, "top_k"),
    (HybridRetriever, {"candidates": 0}, "candidates"),
    (HybridRetriever, {"timeout": 0}, "timeout"),
    (HybridRetriever, {"weights": [1]}, "weights"),
    (HybridRetriever, {"weights": [0, 0]}, "weights"),
    (LinkedRetriever, {"retriever": object()}, "`retriever` has no `run`"),
    (LinkedRetriever, {"links": object()}, "`links` has no `run`"),
    (LinkedRetriever, {"engine": object()}, "engine has no `score"),
    (LinkedRetriever, {"top_k": 0}, "top_k is 0: set it to a whole number of at least 1"),
    (LinkedRetriever, {"candidates": 0}, "candidates is 0"),
    (LinkedRetriever, {"first_stage_depth": 0}, "first_stage_depth is 0"),
    (LinkedRetriever, {"link_depth": 0}, "link_depth is 0"),
    (LinkedRetriever, {"observed_depth": -1}, "observed_depth is -1"),
    (LinkedRetriever, {"rank_weight": -0.1}, "rank_weight is -0.1"),
    (LinkedRetriever, {"rank_weight": math.nan}, "rank_weight is nan"),
    (TantivyBM25Retriever, {"top_k": 0}, "at least 1"),
    (TantivyBM25Retriever, {"top_k": -1}, "at least 1"),
    (
        TantivyBM25Retriever,
        {"document_store": InMemoryDocumentStore()},
        "must be a TantivyDocumentStore, not InMemoryDocumentStore",
    ),
    (TitleMentionRetriever, {"top_k": 0}, "top_k"),
    (TitleMentionRetriever, {"per_title": 0}, "per_title"),
    (TitleMentionRetriever, {"document_store": InMemoryDocumentStore()}, "other stores cannot look up titles"),
    (PassageCritic, {"retrieval": "sometimes"}, "set it to always or adaptive"),
    (PassageCritic, {"concurrency": 0}, "set it to a whole number of at least 1"),
    (PassageCritic, {"weights": {"beauty": 1.0}}, "give numbers for relevance, support, usefulness"),
    (PassageCritic, {"weights": {"support": math.nan}}, "give numbers for"),
    (PassageCritic, {"prompt": "nonsense"}, "No prompt 'nonsense'"),
    (RetrievalSource, {"name": ""}, "needs a `name`"),
    (RetrievalSource, {"name": "a+b"}, "joining source names"),
    (RetrievalSource, {"retriever": object()}, "retriever of source 'web' has no `run`: give a Haystack component"),
    (RetrievalSource, {"ranker": object()}, "ranker of source 'web' has no `run`"),
    (RetrievalSource, {"retry_policy": RetryPolicy(fallback="ddgs")}, "fallback of source 'web' has no `run`"),
    (RetrievalSource, {"top_k": 0}, "top_k is 0: set it to a whole number from 1 to 1000"),
    (RetrievalSource, {"candidates": 0}, "candidates is 0: set it"),
    (RetrievalSource, {"candidates": 10_000}, "candidates is 10000: set it to a whole number from 1 to 1000"),
    (RetryPolicy, {"timeout": 0}, "set it to a"),
    (RetryPolicy, {"timeout": -1.0}, "set it to a"),
    (RetryPolicy, {"retries": -1}, "set it to a"),
    (RetryPolicy, {"backoff": -0.1}, "set it to a"),
    (StateBuilder, {"sources": []}, "at least one name"),
    (StateBuilder, {"sources": ["local", "local"]}, "no name twice"),
    (StateBuilder, {"preferred": "moon"}, "preferred source 'moon' is not among"),
    (StateBuilder, {"preferred": None}, "`preferred` is not set"),
    (StateBuilder, {"external_sources": ["moon"]}, r"external_sources names \['moon'\]"),
    (StateBuilder, {"top_k": 0}, "top_k is 0: set it to a whole number from 1 to 50"),
    (StateBuilder, {"top_k": 99}, "top_k is 99: set it to a whole number from 1 to 50"),
    (StateBuilder, {"max_top_k": 10_000}, "max_top_k is 10000: set it to a whole number from 1 to 50"),
    (StateBuilder, {"max_steps": 10_000}, "max_steps is 10000: set it to a whole number from 0 to 50"),
    (StateBuilder, {"max_supplements": -1}, "max_supplements is -1: set it to a whole number from 0 to 50"),
    (StateBuilder, {"top_k": 2.5}, "top_k is 2.5"),
    (StateBuilder, {"max_steps": -1}, "max_steps is -1: set it to a whole number from 0 to 50"),
    (StateBuilder, {"max_supplements": "one"}, "max_supplements is 'one'"),
    (StateBuilder, {"prompts": "mine"}, "prompts is 'mine': set it to product, plain or a folder"),
    (StateBuilder, {"answer_type": "essay"}, "answer_type is 'essay': set it to short, yes_no or multiple_choice"),
)
def test_a_setting_that_makes_no_sense_is_refused_in_words(kind: type, changes: dict[str, Any], message: str):
    sound = next(part for _, part in walk_parts(PARTS) if type(part) is kind)
    settings = {name: getattr(sound, name) for name in inspect.signature(kind.__init__).parameters if name != "self"}

    with pytest.raises(ValueError, match=message):
        kind(**{**settings, **changes})
