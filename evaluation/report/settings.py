"""What runs must share so that their methods can be compared, and what they differ in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from prefrag.evaluation.report.measures import DASH
from prefrag.evaluation.report.runs import Run


@dataclass(frozen=True)
class Setting:
    """Everything that a table holds fixed while methods and datasets vary.

    :param model: The model in words.
    :param judge_error: The error rate of a simulated judge, 0 to 1.
    :param top_k: Documents a retrieval.
    :param retriever: The kind of retriever.
    :param known: What is not said again in :attr:`text`.
    """

    model: str
    judge_error: float | None
    top_k: int | None
    retriever: str | None
    known: frozenset[str] = field(default=frozenset(), compare=False)

    @classmethod
    def of(cls, run: Run) -> Setting:
        """:returns: The setting of a run."""
        return cls(run.model, run.judge_error, run.top_k, run.retriever)

    @property
    def parts(self) -> list[str]:
        """:returns: The setting in words, one for each thing held fixed."""
        error, k = self.judge_error, self.top_k
        parts = (self.model, error is not None and f"judge error {error:g}", k and f"k {k}", self.retriever)
        return [str(part) for part in parts if part]

    @property
    def text(self) -> str:
        """:returns: What sets it apart from other settings, in words; all of it where nothing does."""
        return ", ".join([part for part in self.parts if part not in self.known] or self.parts)

    def holds(self, run: Run) -> bool:
        """:returns: Whether a run has this setting; what a run has not, such as top-k without retrieval, agrees."""
        return self.model == run.model and all(
            own in (None, held)
            for own, held in (
                (run.judge_error, self.judge_error),
                (run.top_k, self.top_k),
                (run.retriever, self.retriever),
            )
        )


def by_setting(runs: Sequence[Run]) -> dict[Setting, list[Run]]:
    """Sort runs by their setting.

    :param runs: Runs.
    :returns: The runs of each setting, the one with most runs first. A run that has no judge, no top-k or no retriever
        is with the largest setting that it agrees with. So are methods that were all run with one top-k of their own
        alone, as DR-RAG's k is another number than PrefRAG's.
    """
    groups: dict[Setting, list[Run]] = {}
    for run in runs:
        groups.setdefault(Setting.of(run), []).append(run)
    largest_first = sorted(groups, key=lambda setting: -len(groups[setting]))
    found: dict[Setting, list[Run]] = {}
    for run in runs:
        own = Setting.of(run)
        larger = largest_first[: largest_first.index(own)]
        with_others = [setting for setting in largest_first if setting != own and setting.holds(run)]
        if all(_has_one_top_k(other, runs) for other in groups[own]):
            with_others += [setting for setting in larger if replace(setting, top_k=run.top_k).holds(run)]
        found.setdefault(with_others[0] if with_others else own, []).append(run)
    shared = frozenset.intersection(*(frozenset(setting.parts) for setting in found))
    several = {f"k {run.top_k}" for run in runs if run.top_k is not None}
    if len(several) > 1:
        # Methods with a top-k of their own are among them.
        shared -= several
    return {
        replace(setting, known=shared): found[setting] for setting in sorted(found, key=lambda one: -len(found[one]))
    }


def _has_one_top_k(run: Run, runs: Sequence[Run]) -> bool:
    return len({other.top_k for other in runs if other.method == run.method}) == 1


def differing(run: Run, other: Run) -> tuple[str, ...]:
    """
    :param run: A run.
    :param other: Another one.
    :returns: The things in which they differ, in words.
    """
    found = {
        "method": run.family != other.family,
        "model": run.model != other.model,
        # A real model's is not known; a method without a judge has none.
        "judge error": run.simulated != other.simulated
        or (None not in (run.judge_error, other.judge_error) and run.judge_error != other.judge_error),
        "top-k": None not in (run.top_k, other.top_k) and run.top_k != other.top_k,
        "retriever": None not in (run.retriever, other.retriever) and run.retriever != other.retriever,
        "corpus": _differ(run.passages[0], other.passages[0]),
        "web": _differ(run.passages[1], other.passages[1]),
        "store": _differ(run.config.get("store"), other.config.get("store")),
        "pipeline file": run.method == other.method
        and _differ(run.config.get("pipeline_sha256"), other.config.get("pipeline_sha256")),
        "split of the corpus": DASH not in (run.corpus, other.corpus) and run.corpus != other.corpus,
    }
    return tuple(name for name, differs in found.items() if differs)


def _differ(one: object, another: object) -> bool:
    """:returns: Whether both are known and are not the same."""
    return bool(one and another) and one != another
