"""The component that decides where a step goes next: to a source, to the end, or back to the model.

A step is a reply of the model. It stands after the Reasoner, which reads the reply, and before the sources.
"""

from collections.abc import Sequence
from dataclasses import replace

from haystack import component

from prefrag.components.block import check_whole_number
from prefrag.components.both_ways import as_async
from prefrag.components.state.state import Action, State


@component
class PreferenceRouter:
    """Route each step by its action, and limit the number of steps (section 3.2 and appendix B.3 of PrefRAG).

    Each call has exactly one output:

    - ``search_<source>`` for a search, or ``search_all`` if ``ask_all`` is set;
    - ``answered`` for an answer;
    - ``retry`` for an unreadable reply or an unknown action;
    - ``exhausted`` if no step is left or the model wants no further search. The model must then answer.

    Usage example:
    ```python
    from prefrag.components.loop.preference_router import PreferenceRouter
    from prefrag.components.state.state import Action, RunSettings, State, Step

    settings = RunSettings(sources=("local", "web"), preferred="local")
    state = State("Who designed the Aurora log?", settings).with_step(Step(Action.SEARCH, query="Aurora log"))

    router = PreferenceRouter(sources=["local", "web"])
    print(list(router.run(state)))  # ['search_local']
    ```
    """

    def __init__(
        self,
        sources: Sequence[str],
        follow_model: bool = False,
        ask_all: bool = False,
        run_last_search: bool = False,
        replies_per_supplement: int = 1,
    ):
        """Set up the component.

        :param sources: The names of the sources. Each has an output ``search_<source>``.
        :param follow_model: Search the source that the model names, even if it is not the preferred source. This is the
            ablation without preference-driven retrieval (table 2).
        :param ask_all: Send each search to every source at the same time (ReAct-Mix, table 1).
        :param run_last_search: Run a search that the last allowed reply requests, and force the answer after it, as the
            code of PrefRAG's authors does. With False, this search is not run, and the answer is forced at once.
        :param replies_per_supplement: How many further replies a run gets for each search after an answer that was not
            accepted. In the authors' code, the number is 2.
        :raises ValueError: When there is no source, both ``follow_model`` and ``ask_all`` are true, or
            ``replies_per_supplement`` is less than 1.
        """
        if not sources:
            raise ValueError("`sources` is empty: name at least one source.")
        if follow_model and ask_all:
            raise ValueError("follow_model and ask_all contradict each other: set only one of them to true.")
        check_whole_number(1, replies_per_supplement=replies_per_supplement)
        self.sources = list(sources)
        self.follow_model = follow_model
        self.ask_all = ask_all
        self.run_last_search = run_last_search
        self.replies_per_supplement = replies_per_supplement
        names = ["all"] if ask_all else self.sources
        outputs: dict[str, type[State]] = {f"search_{name}": State for name in names}
        component.set_output_types(self, **outputs, answered=State, retry=State, exhausted=State)

    def run(self, state: State) -> dict[str, State]:
        """Choose the output for the last step.

        :param state: The state after a reply.
        :returns: The state under one of the outputs.
        """
        step = state.step
        if step.action is Action.ANSWER:
            return {"answered": state}
        if step.action is Action.NONE:
            return {"exhausted": state.with_event("no_further_search", replies=state.replies)}

        # Each further search after an answer that was not accepted allows the model further replies.
        further_replies = self.replies_per_supplement * state.supplements
        most_replies = state.settings.max_steps + 1 + further_replies
        if state.replies >= most_replies:
            is_last_search = self.run_last_search and step.action is Action.SEARCH and not state.last_search
            if not is_last_search:
                return {"exhausted": state.with_event("exhausted", replies=state.replies)}
            state = replace(state, last_search=True)

        if step.action is Action.SEARCH:
            return self._search(state)
        return {"retry": self._ask_to_correct(state)}

    run_async = as_async(run)

    def _search(self, state: State) -> dict[str, State]:
        """Choose the output for a search, and record the search in the trace."""
        step = state.step
        settings = state.settings
        if self.ask_all:
            for source in settings.sources:
                if not state.is_done(source):
                    state = state.with_event("search", source=source, query=state.query_for(source))
            return {"search_all": state}

        source = settings.preferred
        if self.follow_model and step.named_source is not None:
            source = step.named_source
        if source not in settings.sources:
            note = f"{step.tool} may not be used for this question. Use another tool or answer."
            noted = state.with_last(observed=True, note=note)
            return {"retry": noted.with_event("unknown_action", tool=step.tool)}
        return {f"search_{source}": state.with_event("search", source=source, query=state.query_for(source))}

    def _ask_to_correct(self, state: State) -> State:
        """Add a note to the transcript that asks the model to correct its last reply."""
        step = state.step
        state = state.with_event(step.action.value, tool=step.tool)
        if step.action is Action.UNKNOWN_ACTION:
            note = f"There is no action '{step.tool}'. Use exactly the tool named in the instructions, or answer."
        elif step.cut_at is not None:
            tokens = f" at {step.cut_at} tokens" if step.cut_at else ""
            note = f"The reply was cut off{tokens} before it was finished. Reply again, and more briefly."
        else:
            note = "The reply could not be read. Name an action and its input, or give the final answer, as laid out."
        return state.with_last(observed=True, note=note)
