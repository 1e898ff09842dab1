"""The component that keeps the passages of a search or switches to another source, by a judge's verdict."""

from collections.abc import Sequence
from itertools import takewhile
from typing import Any, Literal

from haystack import component

from prefrag.components.block import check_choice, check_whole
from prefrag.components.both_ways import blocking, either
from prefrag.components.judge.judge import Judge
from prefrag.components.state.state import Action, State, Verdict


@component
class SourceSwitchJudge:
    """Keep what the preferred source found, or send the query to another source (equation 3 of PrefRAG).

    Each run gives exactly one output: ``kept``, or ``switch_<source>`` for one of the sources.

    The verdict comes from a judge: :class:`ModelJudge`, :class:`TreeJudge`, :class:`CascadeJudge` or
    :class:`AutoJudge`. The judge is not called if there is nothing to compare: at the first search, if nothing was
    found, or if there is no other source.

    With ``switch_at="next_step"`` everything is kept. The verdict on the preferred source's passages, which is MSPR's
    retrieval adjustment label (section III.C), then tells a :class:`PreferenceSelector` which source to search next.

    With ``patience``, a first False verdict does not switch: the passages are shown, and the reasoner asks the
    preferred source again in other words before a query goes to another source (not in the papers).
    """

    def __init__(
        self,
        sources: Sequence[str],
        judge: Judge,
        judge_first_step: bool = False,
        switch_at: Literal["this_step", "next_step"] = "this_step",
        enabled: bool = True,
        patience: int = 0,
    ):
        """Set up the component and its outputs.

        :param sources: The names of the sources: one ``switch_`` output each, tried in this order.
        :param judge: The judge that compares the new passages with the observed ones.
        :param judge_first_step: Judge the first search too. The authors do not, as nothing has been observed yet.
        :param switch_at: Which search a False verdict sends to another source: this step's, as in PrefRAG, or the next
            one's, as in MSPR.
        :param enabled: False keeps everything without a verdict: an ablation.
        :param patience: How many False verdicts in a row lead to another query to the preferred source; the next one
            switches.
        :raises ValueError: When the settings contradict each other.
        """
        if not sources:
            raise ValueError("`sources` is empty: name the sources to switch between.")
        if not callable(getattr(judge, "judge", None)):
            raise ValueError(f"judge is {judge!r}: give the block of a judge, such as ModelJudge or TreeJudge.")
        check_choice(("this_step", "next_step"), switch_at=switch_at)
        check_whole(0, patience=patience)
        if patience and switch_at == "next_step":
            raise ValueError("patience delays the switch of this step: set it to 0 with switch_at: next_step.")
        self.sources = list(sources)
        self.judge = judge
        self.judge_first_step = judge_first_step
        self.switch_at = switch_at
        self.enabled = enabled
        self.patience = patience
        # A verdict about the next step does not switch this one.
        switches = self.sources if switch_at == "this_step" else []
        outputs: dict[str, Any] = {f"switch_{source}": State for source in switches}
        component.set_output_types(self, **outputs, kept=State)

    def warm_up(self) -> None:
        """Prepare the judge; raises TreesMissing if it needs trees and there are none."""
        if self.enabled:
            self.judge.warm_up()

    async def run_async(self, state: State) -> dict[str, State]:
        """Judge the last search, and choose the output.

        :param state: The state after a search.
        :returns: The state under ``kept`` or ``switch_<source>``.
        :raises RunError: When the judge's model fails. The error holds the state.
        """
        if self._needs_no_verdict(state):
            return {"kept": state}
        verdict = self._verdict_at_once(state)
        if verdict is not None:
            return self._route(verdict, state)
        return self._route(*await either(self.judge.judge, self.judge.judge_async, state))

    run = blocking(run_async)

    def _needs_no_verdict(self, state: State) -> bool:
        """Check whether a verdict would change nothing, or the search has already switched."""
        step = state.step
        # After a switch, the documents are kept, whatever they are.
        if not self.enabled or step.verdict is not None:
            return True
        steers_nothing = step.action is not Action.SEARCH or step.searches[-1].source != state.settings.preferred
        return self.switch_at == "next_step" and steers_nothing

    def _verdict_at_once(self, state: State) -> Verdict | None:
        """Decide without the judge, if there is nothing to compare."""
        search = state.step.searches[-1]
        alternative = self._alternative(state)
        if alternative is None:
            return Verdict(True, "no_other_source", "No other source may be searched.")
        # If the other source gets the question, not this query, what counts is all the passages found for the question.
        if not search.documents and not (state.observed and state.takes_question(alternative)):
            return Verdict(False, "nothing_found", f"{search.source} gave no passages.")
        if not self.judge_first_step and not any(earlier.searches for earlier in state.steps[:-1]):
            return Verdict(True, "first_step", "Nothing has been observed to compare with.")
        return None

    def _alternative(self, state: State) -> str | None:
        searched = {search.source for search in state.step.searches}
        named = state.step.named_source
        allowed = [source for source in state.settings.sources if not state.is_done(source)]
        others = [source for source in self.sources if source in allowed and source not in searched]
        return named if named in others else next(iter(others), None)

    def _asks_again(self, state: State) -> bool:
        judged = [(step.verdict, step.searches) for step in reversed(state.steps[:-1]) if step.verdict is not None]
        # A step with two searches has already switched.
        in_row = takewhile(lambda one: not one[0].status and len(one[1]) == 1, judged)
        return len(list(in_row)) < self.patience

    def _route(self, verdict: Verdict, state: State) -> dict[str, State]:
        alternative = self._alternative(state)
        again = not verdict.status and alternative is not None and self._asks_again(state)
        state = state.with_last(verdict=verdict).with_event(
            "verdict",
            status=verdict.status,
            judged_by=verdict.judged_by,
            analysis=verdict.analysis,
            score=verdict.score,
            parsed=verdict.parsed,
            **({"again": True} if again else {}),
        )
        if verdict.status or alternative is None or again or self.switch_at == "next_step":
            return {"kept": state}
        query = state.query_for(alternative)
        return {f"switch_{alternative}": state.with_event("search", source=alternative, query=query)}
