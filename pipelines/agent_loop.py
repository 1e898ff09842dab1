"""The loop of an agent, as PrefRAG and MSPR have it: from the question to the reasoner, and on to the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from haystack.components.joiners import BranchJoiner

from prefrag.components.agent.follow_up_rewriter import FollowUpRewriter
from prefrag.components.agent.reasoner import Reasoner
from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.sources.retrieval_source import RetrievalSource
from prefrag.components.state.answer_composer import AnswerComposer
from prefrag.components.state.state import State
from prefrag.components.state.state_builder import StateBuilder
from prefrag.pipelines.loading import Pipeline
from prefrag.pipelines.sampling import SAMPLING


def agent_loop(
    sources: Sequence[RetrievalSource],
    model: ChatGenerator,
    *,
    tools: Sequence[Mapping[str, Any]] | None,
    reply_format: str,
    self_evaluation: bool,
    top_k: int,
    max_steps: int,
    max_supplements: int,
) -> Any:
    """Begin the pipeline of an agent.

    ```
    start -> rewriter -> loop -> reasoner
                 forced -> finish -> answer
    ```

    The sources are in it, not yet connected. What a method adds leads from ``reasoner.state`` back to ``loop.value``,
    to ``forced.state`` when no step is left, and to ``finish.value`` with an answer.

    :param sources: The sources, the preferred one first.
    :param model: The model of the reasoner.
    :param tools: The actions that the reasoner may take; None for one search engine.
    :param reply_format: See :class:`Reasoner`.
    :param self_evaluation: Ask the model to evaluate its answer.
    :param top_k: Documents a retrieval.
    :param max_steps: Steps; the hard limit is one more.
    :param max_supplements: Supplementary retrievals.
    :returns: The pipeline.
    :raises ValueError: When the settings do not go together.
    """
    names = [source.name for source in sources]

    def reasoner(must_answer: bool) -> Reasoner:
        return Reasoner(
            model,
            reply_format=reply_format,  # type: ignore[arg-type]
            tools=[dict(tool) for tool in tools] if tools else None,
            must_answer=must_answer,
            generation_kwargs=SAMPLING,
            self_evaluation=self_evaluation,
        )

    pipeline = Pipeline(max_runs_per_component=100)
    pipeline.add_component(
        "start",
        StateBuilder(
            names,
            names[0],
            external_sources=[source.name for source in sources if source.external],
            top_k=top_k,
            max_steps=max_steps,
            max_supplements=max_supplements,
        ),
    )
    pipeline.add_component("rewriter", FollowUpRewriter(model))
    pipeline.add_component("loop", BranchJoiner(State))
    pipeline.add_component("reasoner", reasoner(must_answer=False))
    for source in sources:
        pipeline.add_component(source.name, source)
    pipeline.add_component("forced", reasoner(must_answer=True))
    pipeline.add_component("finish", BranchJoiner(State))
    pipeline.add_component("answer", AnswerComposer(names[0]))

    pipeline.connect("start.state", "rewriter.state")
    pipeline.connect("rewriter.state", "loop.value")
    pipeline.connect("loop.value", "reasoner.state")
    pipeline.connect("forced.state", "finish.value")
    pipeline.connect("finish.value", "answer.state")
    return pipeline
