"""MSPR: an agent that names its source, a preference that steers it, and a review that sends it back to the web."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from haystack.components.joiners import BranchJoiner

from prefrag.components.agent.answer_reviewer import AnswerReviewer
from prefrag.components.agent.observation_recorder import ObservationRecorder
from prefrag.components.agent.observation_refiner import ObservationRefiner
from prefrag.components.agent.preference_router import PreferenceRouter
from prefrag.components.agent.preference_selector import PreferenceSelector
from prefrag.components.generators.chat_model import ChatModel
from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.judge.auto_judge import AutoJudge
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
from prefrag.components.judge.tree_judge import TreeJudge
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.state import State
from prefrag.pipelines.agent_loop import agent_loop
from prefrag.pipelines.prefrag import local_source, term_statistics, web_source
from prefrag.pipelines.sampling import SAMPLING

TOOLS: tuple[Mapping[str, Any], ...] = (
    {
        "name": "Search_Local",
        "source": "local",
        "description": "The local documents: chosen with care and reliable, but few.",
    },
    {
        "name": "Search_Web",
        "source": "web",
        "description": "The web: holds nearly everything, but less reliable.",
    },
)


def build_mspr(
    sources: Sequence[RetrievalSource] | None = None,
    *,
    chat_generator: ChatGenerator | None = None,
    judge_generator: ChatGenerator | None = None,
    tools: Sequence[Mapping[str, Any]] = TOOLS,
    reply_format: str = "auto",
    top_k: int = 5,
    max_iterations: int = 5,
    max_supplements: int = 1,
    preference: bool = True,
    refinement: bool = True,
    refine_above: int = 1_500,
    review: bool = True,
) -> Any:
    """Wire MSPR (figure 1 and section III of its paper).

    :param sources: The sources, the preferred one first and the one of supplements second; by default the embedded
        index and the web.
    :param chat_generator: The model; by default the one of the environment.
    :param judge_generator: The model of the preference; by default the judge of the environment.
    :param tools: The actions: name, description, source.
    :param reply_format: See :class:`Reasoner`.
    :param top_k: Documents a retrieval.
    :param max_iterations: AWI, the most iterations of the agent; the last one may only answer.
    :param max_supplements: SRT, the most supplementary retrievals.
    :param preference: False is the ablation without PRS (table II).
    :param refinement: False is the ablation without ORS.
    :param refine_above: Tokens from which ORS takes a previous observation for over-long.
    :param review: False is the ablation without CAR.
    :returns: The pipeline.
    :raises ValueError: When the settings do not go together.
    """
    sources = list(sources or [local_source(), web_source()])
    names = [source.name for source in sources]
    if unknown := {str(tool["source"]) for tool in tools} ^ set(names):
        raise ValueError(f"`tools` and `sources` differ in {sorted(unknown)}: give one tool for each source.")
    model = chat_generator if chat_generator is not None else ChatModel(role="llm")

    pipeline = agent_loop(
        sources,
        model,
        tools=tools,
        reply_format=reply_format,
        self_evaluation=False,
        top_k=top_k,
        max_steps=max_iterations - 1,
        max_supplements=max_supplements,
    )
    pipeline.add_component("selector", PreferenceSelector(names, enabled=preference))
    pipeline.add_component("router", PreferenceRouter(names, follow_model=True))
    pipeline.add_component("refiner", ObservationRefiner(model, refine_above, refinement, generation_kwargs=SAMPLING))
    pipeline.add_component(
        "judge",
        SourceSwitchJudge(
            names,
            AutoJudge(
                ModelJudge(
                    judge_generator if judge_generator is not None else ChatModel(role="judge"),
                    generation_kwargs=SAMPLING,
                    on_unparsable="keep",
                ),
                TreeJudge(term_statistics=term_statistics(sources[0])),
            ),
            judge_first_step=True,
            switch_at="next_step",
            enabled=preference,
        ),
    )
    pipeline.add_component("recorder", ObservationRecorder())
    pipeline.add_component(
        "reviewer", AnswerReviewer(names, model, names[min(1, len(names) - 1)], review, generation_kwargs=SAMPLING)
    )
    pipeline.add_component("found", BranchJoiner(State))

    pipeline.connect("reasoner.state", "selector.state")
    pipeline.connect("selector.state", "router.state")
    for source in sources:
        name = source.name
        pipeline.add_component(f"to_{name}", BranchJoiner(State))
        pipeline.connect(f"router.search_{name}", f"to_{name}.value")
        pipeline.connect(f"reviewer.search_{name}", f"to_{name}.value")
        pipeline.connect(f"to_{name}.value", f"{name}.query")
        pipeline.connect(f"{name}.state", "found.value")
    pipeline.connect("found.value", "refiner.state")
    pipeline.connect("refiner.state", "judge.state")
    pipeline.connect("judge.kept", "recorder.states")
    pipeline.connect("recorder.state", "loop.value")
    pipeline.connect("router.retry", "loop.value")
    pipeline.connect("router.answered", "reviewer.state")
    pipeline.connect("reviewer.accepted", "finish.value")
    pipeline.connect("router.exhausted", "forced.state")
    return pipeline
