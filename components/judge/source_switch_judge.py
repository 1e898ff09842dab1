"""The judge: were the preferred source's passages worth keeping?"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

from haystack import component, default_from_dict, default_to_dict

from prefrag.components.generators.json_reply import object_schema, read_boolean, read_object, response_format
from prefrag.components.generators.model_call import ChatGenerator, ModelCall, Prepared, passages
from prefrag.components.judge.switch_classifier import SwitchClassifier
from prefrag.components.prompts.render_prompt import prompt_path
from prefrag.components.state.state import Action, State, Verdict
from prefrag.components.text.term_statistics import TermStatistics, uncovered_share_covered

Judge = Literal["auto", "model", "coverage", "classifier", "cascade"]
JUDGES = ("auto", "model", "coverage", "classifier", "cascade")
_SCHEMA = object_schema(analysis={"type": "string", "maxLength": 600}, status={"enum": ["True", "False"]})


@component
class SourceSwitchJudge:
    """Keeps what the preferred source found, or sends the query on to another source (equation 3 of PrefRAG).

    Outputs, of which one is given a run: ``kept``, or ``switch_<source>`` for one of the sources.

    With ``judge="model"`` a language model compares the new passages with the observed ones, as in the paper. With
    ``judge="coverage"`` the passages are kept when the best of them covers at least ``coverage_threshold`` of what the
    observed ones leave uncovered of the question. With ``judge="classifier"`` small trees estimate how likely one of
    the passages is new and needed, in milliseconds: for models too small to judge, or too slow. With
    ``judge="cascade"`` the trees decide where they are sure, and the model where they are not.

    With ``switch_at="next_step"`` everything is kept, and the verdict on what the preferred source found steers the
    search after it, through a :class:`PreferenceSelector`: the retrieval adjustment
    label of MSPR (section III.C).
    """

    def __init__(
        self,
        sources: Sequence[str],
        chat_generator: ChatGenerator | None = None,
        term_statistics: TermStatistics | None = None,
        judge: Judge = "auto",
        coverage_threshold: float = 0.22,
        classifier: SwitchClassifier | None = None,
        classifier_threshold: float = 0.5,
        unsure_from: float = 0.2,
        unsure_to: float = 0.8,
        judge_first_step: bool = False,
        on_unparsable: Literal["switch", "keep"] = "switch",
        prompt: str = "source_switch_judge",
        generation_kwargs: dict[str, Any] | None = None,
        switch_at: Literal["this_step", "next_step"] = "this_step",
        enabled: bool = True,
    ):
        """
        :param sources: The names of the sources: one ``switch_`` output each, tried in this order.
        :param chat_generator: The model that judges; needed for ``model`` and ``cascade``.
        :param term_statistics: Gives ``coverage`` and ``classifier`` the analysis and the frequencies of words: the
            embedded store, or the Elasticsearch retriever; without one all words of four letters and more weigh the
            same.
        :param judge: ``model``, ``coverage``, ``classifier``, ``cascade``, or ``auto``: the model, but the classifier
            for the embedded one, which judges at chance, and where there is no model.
        :param coverage_threshold: The share, 0 to 1, from which coverage keeps.
        :param classifier: The trees; by default those that are shipped.
        :param classifier_threshold: The probability, 0 to 1, from which the classifier keeps.
        :param unsure_from: The probability above which ``cascade`` asks the model.
        :param unsure_to: The probability from which it does not any more.
        :param judge_first_step: Judge the first retrieval too. The authors do not, as nothing has been observed yet.
        :param on_unparsable: What happens when the model's verdict cannot be read.
        :param prompt: A prompt file.
        :param generation_kwargs: OpenAI-style parameters; by default temperature 0.1, top_p 0.9.
        :param switch_at: Which search a False verdict sends to another source: this step's, as in PrefRAG, or the next
            one's, as in MSPR.
        :param enabled: False keeps everything without a verdict: an ablation.
        :raises ValueError: When the settings do not go together.
        """
        if not sources:
            raise ValueError("`sources` is empty: name the sources between which to switch.")
        if judge not in JUDGES:
            raise ValueError(f"judge is '{judge}': set it to one of {', '.join(JUDGES)}.")
        if judge in ("model", "cascade") and chat_generator is None:
            raise ValueError(f"judge: {judge} needs a `chat_generator`; or set judge to classifier.")
        for name, threshold in (
            ("coverage_threshold", coverage_threshold),
            ("classifier_threshold", classifier_threshold),
        ):
            if not 0 <= threshold <= 1:
                raise ValueError(f"{name} is {threshold}: set it between 0 and 1.")
        if not 0 <= unsure_from <= unsure_to <= 1:
            raise ValueError(f"unsure_from is {unsure_from} and unsure_to {unsure_to}: set 0 <= from <= to <= 1.")
        if on_unparsable not in ("switch", "keep"):
            raise ValueError(f"on_unparsable is '{on_unparsable}': set it to switch or keep.")
        if switch_at not in ("this_step", "next_step"):
            raise ValueError(f"switch_at is '{switch_at}': set it to this_step or next_step.")
        prompt_path(prompt)
        self.sources = list(sources)
        self.chat_generator = chat_generator
        self.term_statistics = term_statistics
        self.judge = judge
        self.coverage_threshold = coverage_threshold
        self.classifier = classifier
        self.classifier_threshold = classifier_threshold
        self.unsure_from = unsure_from
        self.unsure_to = unsure_to
        self.judge_first_step = judge_first_step
        self.on_unparsable = on_unparsable
        self.prompt = prompt
        self.generation_kwargs = generation_kwargs
        self.switch_at = switch_at
        self.enabled = enabled
        self._trees = classifier if classifier is not None else SwitchClassifier()
        self._call = ModelCall("judge", chat_generator, generation_kwargs) if chat_generator is not None else None
        # What only steers the next step has nowhere to switch to now.
        switches = self.sources if switch_at == "this_step" else []
        outputs: dict[str, Any] = {f"switch_{source}": State for source in switches}
        component.set_output_types(self, **outputs, kept=State)

    def to_dict(self) -> dict[str, Any]:
        """:returns: The component as plain values."""
        return default_to_dict(
            self,
            sources=self.sources,
            chat_generator=self.chat_generator,
            term_statistics=self.term_statistics,
            judge=self.judge,
            coverage_threshold=self.coverage_threshold,
            classifier=self.classifier,
            classifier_threshold=self.classifier_threshold,
            unsure_from=self.unsure_from,
            unsure_to=self.unsure_to,
            judge_first_step=self.judge_first_step,
            on_unparsable=self.on_unparsable,
            prompt=self.prompt,
            generation_kwargs=self.generation_kwargs,
            switch_at=self.switch_at,
            enabled=self.enabled,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SourceSwitchJudge:
        """:param data: See :meth:`to_dict`. :returns: The component."""
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """
        Load or connect what judges.

        :raises TreesMissing: When the classifier judges and has no trees.
        """
        if not self.enabled:
            return
        if self._judge() in ("classifier", "cascade"):
            self._trees.warm_up()
        if self._call is not None and self._judge() in ("model", "cascade"):
            self._call.warm_up()

    def run(self, state: State) -> dict[str, State]:
        """
        :param state: The state after a retrieval.
        :returns: The state under ``kept`` or ``switch_<source>``.
        :raises RunError: When the model fails; it holds the state.
        """
        if self._passes(state):
            return {"kept": state}
        verdict = self._at_once(state)
        if verdict is None and self._judge() != "model":
            verdict = self._computed(state)
        if verdict is None or self._is_unsure(verdict):
            text, state = self._asked().send(self._prepare(state))
            verdict = self._read(text, state, verdict)
        return self._route(verdict, state)

    async def run_async(self, state: State) -> dict[str, State]:
        """As :meth:`run`, without blocking the event loop."""
        if self._passes(state):
            return {"kept": state}
        verdict = self._at_once(state)
        if verdict is None and self._judge() != "model":
            # The statistics may be a server's.
            verdict = await asyncio.to_thread(self._computed, state)
        if verdict is None or self._is_unsure(verdict):
            text, state = await self._asked().send_async(self._prepare(state))
            verdict = self._read(text, state, verdict)
        return self._route(verdict, state)

    def _judge(self) -> Judge:
        if self.judge != "auto":
            return self.judge
        return "classifier" if self._call is None or self._call.is_embedded else "model"

    def _asked(self) -> ModelCall:
        if self._call is None:
            raise ValueError(f"judge: {self.judge} needs a `chat_generator`; or set judge to classifier.")
        return self._call

    def _passes(self, state: State) -> bool:
        """:returns: Whether nothing would come of a verdict."""
        if not self.enabled:
            return True
        step = state.step
        steers_nothing = step.action is not Action.SEARCH or step.searches[-1].source != state.settings.preferred
        return self.switch_at == "next_step" and steers_nothing

    def _alternative(self, state: State) -> str | None:
        """:returns: The source to switch to: the one the model named, else the first other one that is allowed."""
        searched = {search.source for search in state.step.searches}
        named = state.step.named_source
        others = [source for source in self.sources if source in state.settings.sources and source not in searched]
        return named if named in others else next(iter(others), None)

    def _at_once(self, state: State) -> Verdict | None:
        """:returns: The verdict that needs no comparison of passages, or None."""
        step = state.step
        if step.verdict is not None:
            return step.verdict
        search = step.searches[-1]
        if self._alternative(state) is None:
            return Verdict(True, "no_other_source", "No other source may be searched.")
        if not search.documents:
            return Verdict(False, "nothing_found", f"{search.source} gave no passages.")
        if not self.judge_first_step and not any(earlier.searches for earlier in state.steps[:-1]):
            return Verdict(True, "first_step", "Nothing has been observed to compare with.")
        return None

    def _computed(self, state: State) -> Verdict:
        return self._covered(state) if self._judge() == "coverage" else self._classified(state)

    def _classified(self, state: State) -> Verdict:
        search = state.step.searches[-1]
        earlier = sum(step.action is Action.SEARCH and bool(step.searches) for step in state.steps[:-1])
        probability = self._trees.probability(
            state.question, search.query, search.documents, state.observed, earlier, self.term_statistics
        )
        return Verdict(
            probability >= self.classifier_threshold,
            "classifier",
            f"A passage that is new and needed is among them with a probability of {probability:.0%} "
            f"(kept from {self.classifier_threshold:.0%}).",
            score=round(probability, 4),
        )

    def _is_unsure(self, verdict: Verdict) -> bool:
        """:returns: Whether the model has to be asked all the same."""
        if self.judge != "cascade" or verdict.judged_by != "classifier" or verdict.score is None:
            return False
        return self.unsure_from < verdict.score < self.unsure_to

    def _covered(self, state: State) -> Verdict:
        new = state.step.searches[-1].documents
        share = uncovered_share_covered(state.question, state.observed, new, self.term_statistics)
        return Verdict(
            share >= self.coverage_threshold,
            "coverage",
            f"The best new passage covers {share:.0%} of what was still open in the question "
            f"(kept from {self.coverage_threshold:.0%}).",
            score=round(share, 4),
        )

    def _prepare(self, state: State) -> Prepared:
        earlier = [step.shown for step in state.steps[:-1]]

        def values(observations: Any) -> dict[str, Any]:
            observed = [document for documents in observations[:-1] for document in documents]
            return {
                "question": state.question,
                "observed": passages(observed) if observed else "",
                "new": passages(observations[-1]),
            }

        return self._asked().prepare(
            state,
            self.prompt,
            [*earlier, state.step.searches[-1].documents],
            values,
            response_format=response_format("verdict", _SCHEMA),
        )

    def _read(self, text: str, state: State, computed: Verdict | None = None) -> Verdict:
        verdict = self._verdict(text, state)
        # What the classifier was unsure of says why the model was asked.
        return verdict if computed is None else replace(verdict, score=computed.score)

    def _verdict(self, text: str, state: State) -> Verdict:
        values = read_object(text) or {}
        analysis = str(values.get("analysis") or "")
        status = read_boolean(values.get("status")) if "status" in values else read_boolean(text)
        if status is not None:
            return Verdict(status, "model", analysis)
        return Verdict(self.on_unparsable == "keep", "model", analysis or text.strip()[:300], parsed=False)

    def _route(self, verdict: Verdict, state: State) -> dict[str, State]:
        if state.step.verdict is not None:
            # The documents of the switch have arrived: they stand, whatever they are.
            return {"kept": state}
        state = state.with_last(verdict=verdict).with_event(
            "verdict",
            status=verdict.status,
            judged_by=verdict.judged_by,
            analysis=verdict.analysis,
            score=verdict.score,
            parsed=verdict.parsed,
        )
        alternative = self._alternative(state)
        if verdict.status or alternative is None or self.switch_at == "next_step":
            return {"kept": state}
        return {f"switch_{alternative}": state.with_event("search", source=alternative, query=state.query)}
