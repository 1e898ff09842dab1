"""The component that selects the source of the next search.

In MSPR, the model names a source for each search, and this component may choose another source.
"""

from collections.abc import Sequence

from haystack import component

from prefrag.components.both_ways import as_async
from prefrag.components.state.state import Action, State


@component
class PreferenceSelector:
    """Select the source of a search, after the reasoner's model has named one (MSPR calls this PRS, section III.C).

    The first search goes to the preferred source. If a :class:`SourceSwitchJudge` with ``switch_at="next_step"`` gives
    a search the verdict False, the next search goes to another source. In every other case the model chooses. If the
    run is not allowed to search the source that the model chose, the preferred source is searched.

    Usage example:
    ```python
    from prefrag.components.mspr.preference_selector import PreferenceSelector
    from prefrag.components.state.state import Action, RunSettings, State, Step

    settings = RunSettings(sources=("local", "web"), preferred="local")
    state = State("Who designed the Aurora log?", settings).with_step(Step(Action.SEARCH, named_source="web"))
    print(PreferenceSelector(sources=["local", "web"]).run(state=state)["state"].step.named_source)
    ```
    """

    def __init__(self, sources: Sequence[str], enabled: bool = True):
        """Set up the component.

        :param sources: The names of the sources, in the order in which they are tried after a False verdict.
        :param enabled: False leaves every choice among the allowed sources to the model, as in the ablation without PRS
            (table II).
        :raises ValueError: When there is no source.
        """
        if not sources:
            raise ValueError("`sources` is empty: name at least one source.")
        self.sources = list(sources)
        self.enabled = enabled

    @component.output_types(state=State)
    def run(self, state: State) -> dict[str, State]:
        """Select the source of the search in the last step.

        :param state: The state after a reply.
        :returns: ``state``. If its last step is a search, ``named_source`` of this step is now the source to search.
        """
        if state.step.action is not Action.SEARCH:
            return {"state": state}
        named = state.step.named_source
        source, reason = self._select(state)
        if source == named:
            return {"state": state}
        state = state.with_last(named_source=source)
        return {"state": state.with_event("steered", source=source, named=named, reason=reason)}

    run_async = as_async(run)

    def _select(self, state: State) -> tuple[str, str]:
        """Choose the source, and give the reason as one word for the trace."""
        settings = state.settings
        named = state.step.named_source
        # The last earlier step that searched.
        last = next((step for step in reversed(state.steps[:-1]) if step.searches), None)
        if self.enabled and last is None:
            return settings.preferred, "first_search"

        verdict = last.verdict if last is not None else None
        is_false = verdict is not None and not verdict.status
        if self.enabled and is_false:
            allowed = [name for name in settings.sources if name != settings.preferred and not state.is_done(name)]
            others = [name for name in self.sources if name in allowed]
            if named in others:
                return named, "verdict"
            if others:
                return others[0], "verdict"

        if named is None or named not in settings.sources:
            return settings.preferred, "not_allowed"
        return named, "named"
