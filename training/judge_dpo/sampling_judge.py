"""A judge that samples training data for the judge's model while the pipeline runs."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from haystack import default_to_dict

from prefrag.components.generators.model_call import PreparedCall, is_cut_off
from prefrag.components.judge.model_judge import ModelJudge, read_judgement
from prefrag.components.state.state import State, Verdict
from prefrag.training.judge_dpo.candidates import GRID, Candidate, Gold, JudgedStep, draw, draw_seed, split_by_verdict
from prefrag.training.judge_dpo.labels import GoldPassages, Labels

# The kind of the event that records a judged step in the trace.
EVENT = "candidates"


@dataclass(eq=False)
class SamplingJudge:
    """A judge that samples nine replies to the prompt of a :class:`ModelJudge`, and returns the gold verdict.

    The samples (appendix C) become an event of the trace. With ``goes_on_with="own"``, the judge does not return the
    gold verdict, but the verdict of the first of these replies that exists, as in the authors' code:

    1. the preferred reply
    2. the first readable reply

    If there is no verdict at all, the judge returns True. The passages are then kept, and no web search follows.
    """

    judge_of_model: ModelJudge  # the judge whose model is sampled
    labels: Labels  # the source of gold verdicts
    passages: GoldPassages | None  # a second source of gold verdicts; the report says how often it agrees with `labels`
    seed: int  # the seed of the collection
    parallel_calls: int  # the maximum number of calls at the same time
    goes_on_with: str  # the verdict that is returned: `gold` or `own`
    bound: bool  # whether the server binds the sampled replies to the judge's JSON schema

    def __post_init__(self) -> None:
        self._turns = asyncio.Semaphore(self.parallel_calls)

    def to_dict(self) -> dict[str, object]:
        """Return the judge's settings, for the YAML of a pipeline that collects training data.

        They are only those of the judge that is sampled.

        :returns: The settings.
        """
        return default_to_dict(self, judge=self.judge_of_model.to_dict())

    def warm_up(self) -> None:
        """Load the model that is sampled, or connect to its server."""
        self.judge_of_model.warm_up()

    def judge(self, state: State) -> tuple[Verdict, State]:
        """Refuse to judge. Training data is collected with :meth:`judge_async`.

        :param state: The state of the run.
        :raises NotImplementedError: Always.
        """
        raise NotImplementedError("Training data is collected on an event loop: call judge_async.")

    async def judge_async(self, state: State) -> tuple[Verdict, State]:
        """Sample replies, and return the verdict to continue with.

        :param state: The state of the run. Its last step is judged.
        :returns: The verdict, and the state with the samples as an event.
        """
        call = self.judge_of_model.prepare(state)
        sample_calls = []
        for number, (temperature, top_p) in enumerate(GRID):
            seed = draw_seed(self.seed, state.question, len(state.steps), number)
            sample_calls.append(self._sample(call, temperature, top_p, seed))
        candidates = await asyncio.gather(*sample_calls)
        gold = await self.labels.label(call, state)
        by_passages = None if self.passages is None else self.passages.status(state)
        judged = JudgedStep(
            len(state.steps),
            [{"role": message.role.value, "content": message.text or ""} for message in call.messages],
            candidates,
            gold,
            by_passages=by_passages,
            chat_template_kwargs=self._template_settings(),
        )
        if gold is not None:
            judged = await self._choose(judged, candidates, gold, state)
        state = call.state.with_event(EVENT, judged=judged.to_dict())
        if self.goes_on_with == "own":
            return self._own_verdict(judged, candidates), state
        if gold is None:
            # Without a verdict, the passages are kept.
            return Verdict(True, "gold", parsed=False), state
        return Verdict(gold.status, "gold", gold.references[0]), state

    @staticmethod
    def _own_verdict(judged: JudgedStep, candidates: Sequence[Candidate]) -> Verdict:
        """Return the verdict of the preferred reply, else of the first readable reply, else True."""
        readable = [candidate for candidate in candidates if candidate.status is not None]
        preferred = [] if judged.chosen is None else [candidates[judged.chosen]]
        usable = [*preferred, *readable]
        if not usable:
            # Without a verdict, the passages are kept.
            return Verdict(True, "model", parsed=False)
        return Verdict(bool(usable[0].status), "model", usable[0].analysis)

    async def _sample(self, call: PreparedCall, temperature: float, top_p: float, seed: int) -> Candidate:
        """Sample one reply with these parameters, and read its verdict."""
        parameters = {**call.generation_kwargs, "temperature": temperature, "top_p": top_p, "seed": seed}
        if not self.bound:
            # `ModelJudge.prepare` always sets the schema.
            del parameters["response_format"]
        async with self._turns:
            message, _ = await self.judge_of_model.call.send_for_message_async(
                replace(call, generation_kwargs=parameters)
            )
        text = message.text or ""
        verdict = None if is_cut_off(message) else read_judgement(text)
        if verdict is None:
            return Candidate(temperature, top_p, seed, text, None)
        return Candidate(temperature, top_p, seed, text, verdict.status, verdict.analysis)

    async def _choose(
        self, judged: JudgedStep, candidates: Sequence[Candidate], gold: Gold, state: State
    ) -> JudgedStep:
        """Choose the reply closest to the gold analysis, and draw a reply with the other verdict (section 3.4)."""
        # The indices of the replies with the gold verdict and with the other verdict.
        right, wrong = split_by_verdict(candidates, gold.status)
        chosen = None
        chosen_by = ""
        analyses = [candidates[index].analysis for index in right]
        if len(set(analyses)) > 1:
            index_of_analysis, chosen_by = await self.labels.choose(gold, analyses, state)
            chosen = right[index_of_analysis]
        elif right:
            chosen = right[0]
            chosen_by = "only"

        rejected = None
        if wrong:
            generator = draw(self.seed, state.question, judged.step, "rejected")
            rejected = generator.choice(wrong)
        return replace(judged, chosen=chosen, chosen_by=chosen_by, rejected=rejected)

    def _template_settings(self) -> dict[str, object]:
        """Return the settings that the server passes to the model's chat template."""
        # An embedded model has no server, and so no such settings. For a server, only ChatModel has the setting
        # `thinking`, which it sends with each call.
        generator = self.judge_of_model.chat_generator
        thinking = None if self.judge_of_model.call.is_embedded else getattr(generator, "thinking", None)
        return {} if thinking is None else {"enable_thinking": thinking}
