"""Make pairs of a preferred and a rejected reply, and balance them.

The pairs are written in TRL's conversational preference format. To balance them means to draw pairs so that both
verdicts occur in a given ratio.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from prefrag.training.judge_dpo.candidates import Candidate, JudgedStep, draw

# The next four are the reasons why a step has no pair.

# The verdict of the stronger model (the gold verdict) could not be read.
NO_GOLD = "no gold verdict"
# No reply of the model to train could be read.
UNREADABLE = "no readable reply"
# No reply has the gold verdict.
NO_POSITIVE = "no positive"
# No reply has the other verdict.
NO_NEGATIVE = "no negative"

# For each verdict, the analysis of a reply that is written from a template.
_TEMPLATE = {
    True: "The new passages state a detail that was missing and that helps to answer the question.",
    False: "The new passages are off the topic or repeat what is known: they state nothing new that helps.",
}


@dataclass(frozen=True)
class SampledStep:
    """A judged step, with the run that it comes from."""

    dataset: str  # the name of the question's dataset
    question_id: str
    question: str
    top_k: int  # the number of documents per retrieval
    judged: JudgedStep  # the step with its replies and its gold verdict


class Row(TypedDict, total=False):
    """A line of the dataset: a pair, or a step that is held out, which has no ``chosen`` and no ``rejected``."""

    # The messages of the prompt, each with its role and content.
    prompt: list[Mapping[str, str]]
    chat_template_kwargs: dict[str, object]
    chosen: list[dict[str, str]]
    rejected: list[dict[str, str]]
    # The gold verdict: "True" or "False".
    status: str
    # "chosen" or "rejected" if that reply was written from a template.
    canonical: str | None
    # The other fields are not used for training.
    dataset: str
    question_id: str
    question: str
    step: int
    top_k: int
    chosen_point: dict[str, float] | None
    chosen_by: str
    rejected_point: dict[str, float] | None
    replies: list[dict[str, object]]
    gold_references: list[str]
    models: dict[str, str]
    seed: int


@dataclass(frozen=True)
class Pair:
    """A step with a preferred and a rejected reply."""

    sampled: SampledStep  # the step
    chosen: str  # the reply with the gold verdict
    rejected: str  # the reply with the other verdict
    status: bool  # the gold verdict
    canonical: str | None = None  # `chosen` or `rejected` if that reply was written from a template, else None

    def to_record(self, models: Mapping[str, str], seed: int) -> Row:
        """Return the pair as a line of the dataset.

        :param models: The names of the sampled model (``small``) and of the source of gold verdicts (``gold``).
        :param seed: The seed of the collection.
        :returns: The line, as plain JSON values.
        """
        return {
            **describe(self.sampled, models, seed),
            "canonical": self.canonical,
            "chosen": [{"role": "assistant", "content": self.chosen}],
            "rejected": [{"role": "assistant", "content": self.rejected}],
        }


def describe(sampled: SampledStep, models: Mapping[str, str], seed: int) -> Row:
    """Return a step as a line of the dataset, without the fields `chosen` and `rejected`.

    :param sampled: The step.
    :param models: The names of the model that was sampled (``small``) and of the source of gold verdicts (``gold``).
    :param seed: The seed of the collection.
    :returns: The line, as plain JSON values.
    """
    judged = sampled.judged
    template_arguments: Row = {}
    if judged.chat_template_kwargs:
        template_arguments["chat_template_kwargs"] = dict(judged.chat_template_kwargs)
    # A step without a gold verdict is written with the verdict False.
    status = False
    references: list[str] = []
    if judged.gold is not None:
        status = judged.gold.status
        references = list(judged.gold.references)
    return {
        "prompt": list(judged.prompt),
        **template_arguments,
        "status": str(status),
        "dataset": sampled.dataset,
        "question_id": sampled.question_id,
        "question": sampled.question,
        "step": judged.step,
        "top_k": sampled.top_k,
        "chosen_point": _sampling_parameters(judged.candidates, judged.chosen),
        "chosen_by": judged.chosen_by,
        "rejected_point": _sampling_parameters(judged.candidates, judged.rejected),
        "replies": [_describe_reply(reply) for reply in judged.candidates],
        "gold_references": references,
        "models": dict(models),
        "seed": seed,
    }


def _describe_reply(reply: Candidate) -> dict[str, object]:
    """Return a reply as plain JSON values. Its verdict becomes the text "True" or "False"."""
    return {
        "temperature": reply.temperature,
        "top_p": reply.top_p,
        "seed": reply.seed,
        "text": reply.text,
        "status": None if reply.status is None else str(reply.status),
    }


def make_pair(sampled: SampledStep, canonical: bool) -> Pair | str:
    """Make a pair of replies.

    :param sampled: The step.
    :param canonical: If True and only one of the two replies was sampled, the other is written from a template.
    :returns: The pair, or the reason why there is no pair.
    """
    judged = sampled.judged
    if judged.gold is None:
        return NO_GOLD

    chosen = None if judged.chosen is None else judged.candidates[judged.chosen].text
    rejected = None if judged.rejected is None else judged.candidates[judged.rejected].text
    status = judged.gold.status
    if chosen is not None and rejected is not None:
        return Pair(sampled, chosen, rejected, status)
    if chosen is None and rejected is None:
        return UNREADABLE
    if not canonical:
        return NO_POSITIVE if chosen is None else NO_NEGATIVE
    if chosen is None:
        return Pair(sampled, canonical_reply(status), str(rejected), status, "chosen")
    return Pair(sampled, chosen, canonical_reply(not status), status, "rejected")


def canonical_reply(status: bool) -> str:
    """Write a reply for a verdict from a template.

    :param status: The verdict.
    :returns: The reply, as a JSON object with an analysis and the status.
    """
    return json.dumps({"analysis": _TEMPLATE[status], "status": str(status)})


def drop_repeated(steps: Iterable[SampledStep]) -> list[SampledStep]:
    """Drop repeated steps.

    :param steps: The steps.
    :returns: The steps, without those that have the same prompt as an earlier step, or the same question and number.
    """
    distinct: list[SampledStep] = []
    seen: set[object] = set()
    for step in steps:
        keys = {(step.dataset, step.question_id, step.judged.step), json.dumps(list(step.judged.prompt))}
        if seen.isdisjoint(keys):
            distinct.append(step)
        seen |= keys
    return distinct


def balance(pairs: Sequence[Pair], most_true: int, most_false: int, seed: int) -> list[Pair]:
    """Draw pairs of both gold verdicts, evenly from all iterations (the steps of a run), as in appendix C of PrefRAG.

    If one verdict has too few pairs, fewer pairs of the other verdict are drawn, so that the ratio stays the same. For
    example, with the limits 3000 and 1000, but only 500 pairs of the verdict False, 1500 pairs of True are drawn.

    :param pairs: All pairs.
    :param most_true: The maximum number of pairs with the gold verdict True.
    :param most_false: The maximum number of pairs with the gold verdict False.
    :param seed: The seed of the draw.
    :returns: The drawn pairs, in random order.
    """
    wanted = {True: most_true, False: most_false}
    counts = Counter(pair.status for pair in pairs)
    shares = [counts[status] / most for status, most in wanted.items() if most]
    # The verdict that has the smallest share of its maximum decides the share of both.
    share = min([1.0, *shares])
    sample: list[Pair] = []
    for status, most in wanted.items():
        own = [pair for pair in pairs if pair.status is status]
        sample += _draw_evenly(own, round(share * most), seed)
    generator = draw(seed, "order")
    generator.shuffle(sample)
    return sample


def _draw_evenly(pairs: Sequence[Pair], count: int, seed: int) -> list[Pair]:
    """Draw up to ``count`` pairs, evenly from all iterations."""
    by_step: dict[int, list[Pair]] = {}
    for pair in pairs:
        by_step.setdefault(pair.sampled.judged.step, []).append(pair)
    for step, pairs_of_step in by_step.items():
        generator = draw(seed, "iteration", step)
        generator.shuffle(pairs_of_step)

    drawn: list[Pair] = []
    # The iterations take turns, because steps of later iterations are rare and would otherwise hardly be drawn.
    while len(drawn) < count and any(by_step.values()):
        for step in sorted(by_step):
            if by_step[step] and len(drawn) < count:
                drawn.append(by_step[step].pop())
    return drawn


def balance_held_out(steps: Sequence[SampledStep], most: int, seed: int) -> list[SampledStep]:
    """Draw as many held-out steps with the gold verdict True as with False. Steps without a pair are used too.

    :param steps: The held-out steps.
    :param most: The maximum number of steps to draw.
    :param seed: The seed of the draw.
    :returns: The drawn steps, in random order.
    """
    # `balance` draws pairs, so each step is wrapped in a pair without replies.
    stand_ins = []
    for step in steps:
        if step.judged.gold is not None:
            stand_ins.append(Pair(step, chosen="", rejected="", status=step.judged.gold.status))
    balanced = balance(stand_ins, most_true=most // 2, most_false=most // 2, seed=seed)
    return [pair.sampled for pair in balanced]


def _sampling_parameters(candidates: Sequence[Candidate], place: int | None) -> dict[str, float] | None:
    """Return the parameters with which the candidate number ``place`` was sampled. None without such a candidate."""
    if place is None:
        return None
    return {"temperature": candidates[place].temperature, "top_p": candidates[place].top_p}
