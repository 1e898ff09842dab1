"""The components of the agent, its judge and its state are saved and loaded with a pipeline as they were."""

import inspect
import json
import pkgutil
from importlib import import_module
from typing import Any

from haystack import component
from haystack.core.serialization import component_from_dict, component_to_dict

from prefrag.components.adaptive_rag.popularity_router import PopularityRouter
from prefrag.components.adaptive_rag.question_router import QuestionRouter
from prefrag.components.adaptive_rag.tree_question_classifier import TreeQuestionClassifier
from prefrag.components.crag.corrective_evaluator import CorrectiveEvaluator
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.flare.look_ahead import LookAhead
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
from prefrag.components.reasoner.reasoner import AnswerFormat, Reasoner
from prefrag.components.reasoner.reply_formats import TagsFormat, Tool
from prefrag.components.retrievers.tantivy_bm25_retriever import TantivyBM25Retriever
from prefrag.components.self_rag.passage_critic import PassageCritic
from prefrag.components.state.answer_composer import AnswerComposer
from prefrag.components.state.state_builder import StateBuilder
from tests.fakes import ScriptedChatGenerator
from tests.for_each import for_each

SOURCES = ["local", "archive"]
MODEL = ScriptedChatGenerator(["1974"])
KWARGS = {"temperature": 0.0}
BY_MODEL = ModelJudge(MODEL, "self_reflector", KWARGS, "keep")
BY_TREES = TreeJudge("own.json", TantivyDocumentStore(index="own"), 0.6)

# None of the settings is its default, so that one that is lost is seen.
PARTS = [
    StateBuilder(SOURCES, "archive", ["local"], top_k=7, max_steps=2, max_supplements=0, max_top_k=9),
    AnswerComposer("archive", "say_so"),
    FollowUpRewriter(MODEL, "answer_once", KWARGS),
    Reasoner(
        MODEL,
        TagsFormat(observation="result", continue_turn=False),
        tools=[Tool("Search_Local", "Searches.", "local")],
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
    PopularityRouter(TantivyBM25Retriever(TantivyDocumentStore(index="own")), 3, 50),
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
]


def same(part: Any, other: Any) -> bool:
    """Whether two parts are of one class and have the same settings, parts inside them included."""
    if type(part) is not type(other):
        return False
    if not hasattr(part, "to_dict") and not hasattr(part, "__haystack_input__"):
        return bool(part == other)
    settings = inspect.signature(part.__init__).parameters
    return all(same(getattr(part, name), getattr(other, name)) for name in settings)


@for_each("part", *PARTS)
def test_a_component_is_loaded_as_it_was_saved(part: Any):
    data = json.loads(json.dumps(component_to_dict(part, "part")))

    assert set(data["init_parameters"]) == set(inspect.signature(part.__init__).parameters)
    assert same(component_from_dict(type(part), data, "part"), part)


def test_every_component_of_these_folders_is_tried():
    folders = [
        f"prefrag.components.{folder}"
        for folder in ("loop", "reasoner", "mspr", "crag", "self_rag", "flare", "adaptive_rag", "judge", "state")
    ]
    for folder in folders:
        for module in pkgutil.iter_modules(import_module(folder).__path__, f"{folder}."):
            import_module(module.name)
    known = {name for name in component.registry if name.rpartition(".")[0].rpartition(".")[0] in folders}

    assert {f"{type(part).__module__}.{type(part).__name__}" for part in PARTS} == known
