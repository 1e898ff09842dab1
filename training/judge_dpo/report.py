"""Report on a collection of pairs.

The report says how much was sampled, how often the replies agree with the gold (right) verdicts, and what was dropped.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from prefrag.training.judge_dpo.candidates import GRID, split_by_verdict
from prefrag.training.judge_dpo.pairs import Pair, SampledStep


@dataclass(frozen=True)
class Collected:
    """The results of a collection."""

    questions: int  # the number of questions that were run, with those that failed
    failed: int  # the number of questions whose run failed; a repeated command runs them again
    repeated_questions: int  # the number of questions left out because another question has the same text
    steps: Sequence[SampledStep]  # the judged steps, without repeated steps
    repeated_steps: int  # the number of repeated steps that were left out, see `drop_repeated`
    dropped: Mapping[str, int]  # for each reason why a step has no pair, the number of such steps
    pairs: Sequence[Pair]  # all pairs, before they are balanced
    balanced: Sequence[Pair]  # the balanced pairs, which make up the dataset
    held_out: Sequence[SampledStep]  # the held-out steps, balanced


def write_report(collected: Collected, most_true: int, most_false: int) -> dict[str, object]:
    """Count the results of a collection, for `report.json`.

    :param collected: The results.
    :param most_true: The maximum number of pairs with the gold verdict True.
    :param most_false: The maximum number of pairs with the gold verdict False.
    :returns: The report, as plain JSON values.
    """
    labelled = [step for step in collected.steps if step.judged.gold is not None]
    by_passages = []
    for step in labelled:
        judged = step.judged
        if judged.gold is not None and judged.by_passages is not None:
            by_passages.append(judged.by_passages == judged.gold.status)
    majorities = [right for right in map(_majority_agrees, labelled) if right is not None]
    by_point = []
    for temperature, top_p in GRID:
        share = _agreement(labelled, (temperature, top_p))
        by_point.append({"temperature": temperature, "top_p": top_p, "agreement": share})
    replies = [reply for step in collected.steps for reply in step.judged.candidates]

    return {
        "questions": collected.questions,
        "questions_failed": collected.failed,
        "questions_repeated": collected.repeated_questions,
        "judged_steps": len(collected.steps),
        "judged_steps_by_iteration": _count(step.judged.step for step in collected.steps),
        "steps_repeated": collected.repeated_steps,
        "gold_verdicts": _count(step.judged.gold.status for step in labelled if step.judged.gold is not None),
        "replies": len(replies),
        "replies_unreadable": sum(reply.status is None for reply in replies),
        "agreement": {
            "of_readable_replies": _agreement(labelled),
            "of_majorities": _mean(majorities),
            "by_point": by_point,
            "of_gold_with_passages": _mean(by_passages),
        },
        "dropped": dict(collected.dropped),
        "pairs": _count_pairs(collected.pairs),
        "kept": _count_pairs(collected.balanced),
        "warnings": _warn_of_dropped_pairs(collected, {True: most_true, False: most_false}),
        "chosen_by": _count(pair.sampled.judged.chosen_by or "template" for pair in collected.balanced),
        "held_out": len(collected.held_out),
    }


def print_report(report: Mapping[str, Any]) -> str:
    """Write the report as text.

    :param report: The report, from :func:`write_report`.
    :returns: The text, in several lines.
    """
    agreement = report["agreement"]
    balanced = report["kept"]
    steps = ", ".join(f"step {step}: {count}" for step, count in report["judged_steps_by_iteration"].items())
    in_steps = f" ({steps})" if steps else ""
    lines = [
        f"{report['questions']} questions ({report['questions_failed']} failed), {report['judged_steps']} judged steps"
        f"{in_steps}, gold verdicts {_as_words(report['gold_verdicts'])}",
        f"{report['replies']} replies, {report['replies_unreadable']} of them unreadable; "
        f"{_percent(agreement['of_readable_replies'])} of the readable replies agree with the gold verdict; in "
        f"{_percent(agreement['of_majorities'])} of the steps with a majority of replies, the majority agrees with it",
        f"steps without a pair: {_as_words(report['dropped'])}; pairs: {report['pairs']['total']}, of which "
        f"{balanced['total']} kept ({_as_words(balanced['by_status'])}; by iteration "
        f"{_as_words(balanced['by_iteration'])}; {balanced['canonical']} with a reply from a template)",
        f"held-out steps: {report['held_out']}, half of them with the gold verdict True",
    ]
    of_passages = agreement["of_gold_with_passages"]
    if of_passages is not None:
        lines.insert(2, f"gold verdicts that agree with the gold passages: {_percent(of_passages)}")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in report["warnings"])])


def _warn_of_dropped_pairs(collected: Collected, most: Mapping[bool, int]) -> list[str]:
    """For each verdict, warn if fewer than half of the wanted pairs are kept because the other verdict is rare."""
    made = Counter(pair.status for pair in collected.pairs)
    balanced = Counter(pair.status for pair in collected.balanced)
    warnings = []
    for status in (True, False):
        if 2 * balanced[status] < min(made[status], most[status]):
            warnings.append(
                f"of {made[status]} pairs with the verdict {status}, only {balanced[status]} are kept, because only "
                f"{made[not status]} have the verdict {not status} and the ratio of True to False must be {most[True]} "
                f"to {most[False]} (the default is the paper's ratio). To keep all {made[True]} + {made[False]} pairs, "
                f"repeat the command with --set most_true={made[True]} --set most_false={made[False]}. No reply is "
                "sampled again."
            )
    return warnings


def _count_pairs(pairs: Sequence[Pair]) -> dict[str, object]:
    """Count pairs: in all, by verdict, by iteration, and those with a reply from a template."""
    steps = _count(pair.sampled.judged.step for pair in pairs)
    from_templates = sum(pair.canonical is not None for pair in pairs)
    return {
        "total": len(pairs),
        "by_status": _count(pair.status for pair in pairs),
        "by_iteration": steps,
        "canonical": from_templates,
    }


def _agreement(steps: Sequence[SampledStep], point: tuple[float, float] | None = None) -> float | None:
    """Return the share of readable replies that have the gold verdict.

    With ``point``, a temperature and a top-p, only the replies that were sampled with these parameters count.
    """
    agrees = []
    for step in steps:
        gold = step.judged.gold
        if gold is None:
            continue
        for reply in step.judged.candidates:
            is_at_point = point in (None, (reply.temperature, reply.top_p))
            if reply.status is not None and is_at_point:
                agrees.append(reply.status is gold.status)
    return _mean(agrees)


def _majority_agrees(sampled: SampledStep) -> bool | None:
    """Check whether most replies to a step have the gold verdict. None if there is no majority or no gold verdict."""
    gold = sampled.judged.gold
    if gold is None:
        return None
    right, wrong = split_by_verdict(sampled.judged.candidates, gold.status)
    return None if len(right) == len(wrong) else len(right) > len(wrong)


def _count(values: Iterable[object]) -> dict[str, int]:
    """Count how often each value occurs: ``_count([True, False, True])`` returns ``{"False": 1, "True": 2}``."""
    counts = Counter(values)
    return {str(value): counts[value] for value in sorted(counts, key=str)}


def _mean(values: Sequence[bool]) -> float | None:
    """Return the share of true values. None if there are no values."""
    return round(sum(values) / len(values), 4) if values else None


def _percent(share: float | None) -> str:
    """Write a share as a percentage: 0.5 becomes "50.0%"."""
    return "an unknown share" if share is None else f"{share:.1%}"


def _as_words(counts: Mapping[str, int]) -> str:
    """Write counts as text: ``{"True": 2, "False": 1}`` becomes "True 2, False 1"."""
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "none"
