"""The component that makes the question itself the query of the first step."""

from collections.abc import Sequence

from haystack import component

from prefrag.components.both_ways import as_async
from prefrag.components.state.state import Action, State, Step


@component
class QuestionAsQuery:
    """Make the question the query of the first step, as in single-step RAG. No model is called.

    Put the component before the sources in a pipeline that retrieves before any reasoning.

    Usage example:
    ```python
    from prefrag.components.loop.question_as_query import QuestionAsQuery
    from prefrag.components.state.state import RunSettings, State

    settings = RunSettings(sources=("local", "web"), preferred="local")
    state = State("Who designed the Aurora log?", settings)
    print(QuestionAsQuery().run(state)["state"].step.query)  # Who designed the Aurora log?
    ```
    """

    def __init__(self, sources: Sequence[str] | None = None):
        """Set up the component.

        :param sources: The names of the sources to search. None means all sources that the run may search.
        """
        self.sources = None if sources is None else list(sources)

    @component.output_types(state=State)
    def run(self, state: State) -> dict[str, State]:
        """Add a step that searches for the question.

        :param state: The state at the start of a run.
        :returns: ``state`` with the new step and, in its trace, an event for each source that will be searched.
        """
        state = state.with_step(Step(Action.SEARCH, query=state.question))
        for source in state.settings.sources:
            if self.sources is None or source in self.sources:
                state = state.with_event("search", source=source, query=state.query_for(source))
        return {"state": state}

    run_async = as_async(run)
