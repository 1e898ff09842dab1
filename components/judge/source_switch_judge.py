"""The component that asks a judge whether to keep the passages of a search or to switch to another source.

It stands behind the search of the preferred source, for example the user's own documents. A verdict of True keeps the
passages that were found there. A verdict of False sends the query to another source, for example the web.

The component gets its verdict in three steps:

1. Some verdicts are clear without a judge, for example when the search found nothing.
2. Otherwise the judge gives the verdict.
3. Code can overrule a verdict of code by an estimate whether all that was found in this run suffices.
"""

from collections.abc import Sequence
from typing import Literal

from haystack import component

from prefrag.components.block import check_choice, check_whole_number
from prefrag.components.both_ways import as_blocking, call_matching
from prefrag.components.judge.judge import Judge
from prefrag.components.judge.pair_sufficiency import PairSufficiency
from prefrag.components.state.state import Action, State, Verdict, identity

# The values of `Verdict.judged_by` that the estimate of what suffices can overrule: the boosted trees, the words of the
# question, and a search that brought nothing new. These see only a part of what was found so far. A model's verdict
# is never overruled.
_OVERRULED = ("classifier", "words", "nothing_new")
# The number of passages of each search that this estimate takes into account. The best passages are taken.
_OF_A_SEARCH = 5


@component
class SourceSwitchJudge:
    """Keep what the preferred source found, or send the query to another source (equation 3 of PrefRAG).

    Each call has exactly one output: ``kept``, or ``switch_<source>`` with the name of the other source.

    The verdict comes from a judge: :class:`ModelJudge`, :class:`TreeJudge`, :class:`CascadeJudge` or
    :class:`AutoJudge`. The judge is not called in four cases:

    - at the first search: the verdict is True;
    - after a search that found nothing: the verdict is False;
    - when there is no other source: the verdict is True;
    - when the model has been shown every passage before: the verdict is False by equation 3. This case needs
      ``prompts: product``.

    If the other source finds nothing or fails, the query goes to the next source.

    With ``switch_at="next_step"``, all passages are kept. The verdict decides only which source a
    :class:`PreferenceSelector` searches next. MSPR calls this verdict the retrieval adjustment label (section III.C).

    With ``sufficiency`` and ``prompts: product``, an estimate can overrule a verdict of code. Such a verdict comes from
    the trees, from the words of the question, or from the rule for passages that were all shown before. The estimate
    says whether what the preferred source has found in this run suffices. If it suffices, a False of code does not
    switch. If it does not suffice, a True that comes from the words of the question switches. This is not in the
    papers.

    With ``patience=1``, the first False verdict does not switch. The model sees the passages and can search the
    preferred source again with a different query. A second False verdict in a row switches. This is not in the papers.

    Usage example:
    ```python
    from prefrag.components.judge.source_switch_judge import SourceSwitchJudge
    from prefrag.components.judge.tree_judge import TreeJudge
    from prefrag.components.state.state import Action, RunSettings, Search, State, Step

    settings = RunSettings(sources=("local", "web"), preferred="local")
    nothing_found = Step(Action.SEARCH, query="Heiberg's son", searches=(Search("local", "Heiberg's son"),))
    state = State("Who married Heiberg's son?", settings, steps=(nothing_found,))

    judge = SourceSwitchJudge(["local", "web"], TreeJudge())
    print(list(judge.run(state)))  # ['switch_web']
    ```
    """

    def __init__(
        self,
        sources: Sequence[str],
        judge: Judge,
        judge_first_step: bool = False,
        switch_at: Literal["this_step", "next_step"] = "this_step",
        enabled: bool = True,
        patience: int = 0,
        judge_repeated: bool = False,
        sufficiency: PairSufficiency | None = None,
    ):
        """Set up the component and its outputs.

        :param sources: The names of the sources, in the order in which they are tried. Each has a ``switch_`` output.
        :param judge: The judge that compares the new passages with the passages observed before.
        :param judge_first_step: Judge the first search, too. The authors do not judge it, because there are no earlier
            passages.
        :param switch_at: ``this_step``: a False verdict sends the query to another source, as in PrefRAG.
            ``next_step``: only the next step's query goes to another source, as in MSPR.
        :param enabled: False keeps all passages without asking the judge, which serves for ablation studies.
        :param patience: The number of False verdicts in a row that do not switch. Only the next False verdict switches.
        :param judge_repeated: With the prompts ``product``, ask the judge also about passages that were all shown
            before. With other prompts, the judge is always asked about them.
        :param sufficiency: Estimates whether what was found suffices. With None, no verdict is overruled.
        :raises ValueError: When the settings contradict each other.
        """
        if not sources:
            raise ValueError("`sources` is empty: name the sources to switch between.")
        if not callable(getattr(judge, "judge", None)):
            raise ValueError(f"judge is {judge!r}: set it to a judge, such as ModelJudge or TreeJudge.")
        check_choice(("this_step", "next_step"), switch_at=switch_at)
        check_whole_number(0, patience=patience)
        if patience and switch_at == "next_step":
            raise ValueError("patience has no effect with switch_at: next_step. Set patience to 0.")

        self.sources = list(sources)
        self.judge = judge
        self.judge_first_step = judge_first_step
        self.switch_at = switch_at
        self.enabled = enabled
        self.patience = patience
        self.judge_repeated = judge_repeated
        self.sufficiency = sufficiency

        # With `next_step`, a verdict never switches the source of this step, so the `switch_` outputs are left out.
        switches = self.sources if switch_at == "this_step" else []
        outputs: dict[str, type[State]] = {f"switch_{source}": State for source in switches}
        component.set_output_types(self, **outputs, kept=State)

    def warm_up(self) -> None:
        """Prepare the judge and the estimate of what suffices.

        :raises Missing: When a file of trees or of the reader is missing.
        """
        if self.enabled:
            self.judge.warm_up()
            if self.sufficiency is not None:
                self.sufficiency.warm_up()

    async def run_async(self, state: State) -> dict[str, State]:
        """Judge the last search, and choose the output.

        :param state: The state after a search.
        :returns: The state under ``kept`` or ``switch_<source>``.
        :raises RunError: When the judge's model fails. The error holds the state.
        """
        # If this step has switched to a source that found nothing or failed, the verdict stands for the next source.
        has_switched_in_vain = state.step.verdict is not None and not state.step.searches[-1].documents
        alternative = self._alternative(state)
        if has_switched_in_vain and alternative is not None:
            return self._switch(state, alternative)
        if self._needs_no_verdict(state):
            return {"kept": state}

        verdict = self._verdict_without_judge(state)
        if verdict is not None:
            return self._route(await self._weigh(verdict, state), state)

        judged, state = await call_matching(self.judge.judge, self.judge.judge_async, state)
        return self._route(await self._weigh(judged, state), state)

    run = as_blocking(run_async)

    def _needs_no_verdict(self, state: State) -> bool:
        """Check whether no verdict is needed: it would change nothing, or this step has already switched."""
        step = state.step
        # After a switch, the documents of the other source are kept without another verdict.
        if not self.enabled or step.verdict is not None:
            return True
        # With `next_step`, only a verdict on the preferred source decides which source the next step searches.
        steers_nothing = step.action is not Action.SEARCH or step.searches[-1].source != state.settings.preferred
        return self.switch_at == "next_step" and steers_nothing

    def _verdict_without_judge(self, state: State) -> Verdict | None:
        """Return the verdict if it is clear without the judge, else None."""
        search = state.step.searches[-1]
        alternative = self._alternative(state)
        if alternative is None:
            return Verdict(True, "no_other_source", "No other source may be searched.")

        # A source may get the user's question as typed, not a new query. Then the judge decides even if this search
        # found nothing, because earlier passages may already answer the question.
        judge_decides_anyway = bool(state.observed) and state.takes_question(alternative)
        if not search.documents and not judge_decides_anyway:
            return Verdict(False, "nothing_found", f"The source {search.source} found no passages.")

        is_first = not any(earlier.searches for earlier in state.steps[:-1])
        if is_first and not self.judge_first_step:
            return Verdict(True, "first_step", "There are no earlier passages to compare with.")

        if self._brings_nothing_new(state) and not state.takes_question(alternative):
            return Verdict(False, "nothing_new", f"Every passage of {search.source} had been shown before.")
        return None

    def _brings_nothing_new(self, state: State) -> bool:
        """Check whether every passage of the last search was shown before, and whether this settles the verdict."""
        # With the prompts of measurements, and for MSPR (`next_step`), the judge decides in this case, too.
        if state.settings.prompts != "product" or self.switch_at == "next_step" or self.judge_repeated:
            return False
        shown = {identity(document) for document in state.observed}
        return all(identity(document) in shown for document in state.step.searches[-1].documents)

    async def _weigh(self, verdict: Verdict, state: State) -> Verdict:
        """Overrule a verdict of code if the estimate says so, and return the verdict that counts.

        The estimate is the probability that what the preferred source has found in this run suffices.
        """
        sufficiency = self.sufficiency
        if sufficiency is None or not self._may_be_overruled(verdict, state):
            return verdict

        # The passages of the newest search come first, because the estimate compares a limited number of passages.
        passages = {identity(document): document for document in state.attached}
        for search in reversed(state.searches):
            if search.source == state.settings.preferred:
                passages |= {identity(document): document for document in search.documents[:_OF_A_SEARCH]}
        score = await call_matching(
            sufficiency.estimate, sufficiency.estimate_async, state.question, list(passages.values())
        )

        analysis = f"What was found here so far suffices with a probability of {score:.0%}"
        threshold = sufficiency.threshold
        if any(step.certainty == "not_found" for step in state.steps):
            analysis = f"The model has not found the answer here. {analysis}"
            threshold = max(threshold, sufficiency.threshold_after_not_found)
        if score >= threshold:
            return Verdict(True, "sufficient", f"{analysis}, so it stays here.", score=round(score, 4))
        if verdict.judged_by == "words":
            return Verdict(False, "insufficient", f"{analysis}.", score=round(score, 4))
        return verdict

    def _may_be_overruled(self, verdict: Verdict, state: State) -> bool:
        """Check whether the estimate may overrule a verdict.

        It may overrule a verdict that code gave on a search of the preferred source, in a run with the prompts for
        users.
        """
        settings = state.settings
        source = state.step.searches[-1].source
        if settings.prompts != "product" or self.switch_at == "next_step":
            return False
        if source != settings.preferred or source in settings.external:
            return False

        if verdict.status:
            # A True of the words says that what was found suffices, and the estimate can deny that. A True of the trees
            # only says that the last search helped.
            return verdict.judged_by == "words"
        return verdict.judged_by in _OVERRULED

    def _alternative(self, state: State) -> str | None:
        """Return the source to switch to; None if no source is left.

        The source that the step names is preferred to the first of the others.
        """
        # Sources that this step has searched already, or that may not be searched again, are left out.
        searched = {search.source for search in state.step.searches}
        named = state.step.named_source
        allowed = [source for source in state.settings.sources if not state.is_done(source)]
        others = [source for source in self.sources if source in allowed and source not in searched]
        if named in others:
            return named
        return others[0] if others else None

    def _has_patience(self, state: State) -> bool:
        """Check whether fewer False verdicts in a row than ``patience`` were tolerated right before this step."""
        tolerated = 0
        judged_steps = [step for step in state.steps[:-1] if step.verdict is not None]
        for step in reversed(judged_steps):
            is_false = step.verdict is not None and not step.verdict.status
            # A step with two searches has switched the source, so its False verdict was not tolerated.
            if not is_false or len(step.searches) != 1:
                break
            tolerated += 1
        return tolerated < self.patience

    def _route(self, verdict: Verdict, state: State) -> dict[str, State]:
        """Record a verdict in the state and the trace, and return the state under the output that the verdict means."""
        alternative = self._alternative(state)
        # A False verdict may be tolerated, so that the preferred source can be searched again.
        would_switch = not verdict.status and alternative is not None
        again = would_switch and self._has_patience(state)
        details = {
            "status": verdict.status,
            "judged_by": verdict.judged_by,
            "analysis": verdict.analysis,
            "score": verdict.score,
            "parsed": verdict.parsed,
        }
        if again:
            details["again"] = True
        state = state.with_last(verdict=verdict).with_event("verdict", **details)

        is_kept = verdict.status or again or self.switch_at == "next_step"
        if is_kept or alternative is None:
            return {"kept": state}
        return self._switch(state, alternative)

    def _switch(self, state: State, alternative: str) -> dict[str, State]:
        """Record the search of another source in the trace, and return the state under the output of that source."""
        state = state.with_event("search", source=alternative, query=state.query_for(alternative))
        return {f"switch_{alternative}": state}
