"""The first step of the methods that search with the question as it stands."""

from __future__ import annotations

from haystack import component

from components.state import Action, State, Step


@component
class QuestionAsQuery:
    """Makes the question the query of a first step, without asking a model: the retrieval of single-step RAG.

    It stands before the sources of the pipelines that do not reason before they retrieve.
    """

    @component.output_types(state=State)
    def run(self, state: State) -> dict[str, State]:
        """
        :param state: The state at the start of a run.
        :returns: ``state`` with a step that searches for its question.
        """
        return {"state": state.with_step(Step(Action.SEARCH, query=state.question))}

    @component.output_types(state=State)
    async def run_async(self, state: State) -> dict[str, State]:
        """As :meth:`run`."""
        return self.run(state)
