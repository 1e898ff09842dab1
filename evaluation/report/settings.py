"""The settings that compared runs must share, and those in which they differ."""

from __future__ import annotations

from dataclasses import dataclass, field

from prefrag.evaluation.report.measures import DASH
from prefrag.evaluation.report.runs import Run


@dataclass(frozen=True)
class Setting:
    """The settings that a table keeps fixed while methods and datasets vary.

    :param model: The model in words.
    :param judge_error: The error rate of a simulated judge, 0 to 1.
    :param top_k: Documents per retrieval.
    :param retriever: The kind of retriever.
    :param known: The parts that :attr:`text` leaves out.
    """

    model: str
    judge_error: float | None
    top_k: int | None
    retriever: str | None
    known: frozenset[str] = field(default=frozenset(), compare=False)

    @classmethod
    def of(cls, run: Run) -> Setting:
        """Return the setting of a run."""
        return cls(run.model, run.judge_error, run.top_k, run.retriever)

    @property
    def parts(self) -> list[str]:
        """The setting in words, one for each thing held fixed."""
        error, k = self.judge_error, self.top_k
        parts = (self.model, error is not None and f"judge error {error:g}", k and f"k {k}", self.retriever)
        return [str(part) for part in parts if part]

    @property
    def text(self) -> str:
        """The parts that differ from other settings, in words; all parts where none differ."""
        return ", ".join([part for part in self.parts if part not in self.known] or self.parts)

    def holds(self, run: Run) -> bool:
        """Check whether a run has this setting; a value that a run lacks, such as top-k, agrees."""
        return self.model == run.model and all(
            own in (None, held)
            for own, held in (
                (run.judge_error, self.judge_error),
                (run.top_k, self.top_k),
                (run.retriever, self.retriever),
            )
        )


def list_differences(run: Run, other: Run) -> tuple[str, ...]:
    """List the settings in which two runs differ.

    :param run: A run.
    :param other: Another one.
    :returns: Their names in words.
    """
    found = {
        "method": run.family != other.family,
        "model": run.model != other.model,
        # The error of a real model is unknown, and a method without a judge has none.
        "judge error": run.simulated != other.simulated
        or (None not in (run.judge_error, other.judge_error) and run.judge_error != other.judge_error),
        "top-k": None not in (run.top_k, other.top_k) and run.top_k != other.top_k,
        "retriever": None not in (run.retriever, other.retriever) and run.retriever != other.retriever,
        "embedding model": _differ(run.config.get("embedder"), other.config.get("embedder")),
        "corpus": _differ(run.passages[0], other.passages[0]),
        "web": _differ(run.passages[1], other.passages[1]),
        "store": _differ(run.config.get("store"), other.config.get("store")),
        "prompts": _differ(run.config.get("prompts"), other.config.get("prompts")),
        "pipeline file": run.method == other.method
        and _differ(run.config.get("pipeline_sha256"), other.config.get("pipeline_sha256")),
        "split of the corpus": DASH not in (run.corpus, other.corpus) and run.corpus != other.corpus,
    }
    return tuple(name for name, differs in found.items() if differs)


def _differ(one: object, another: object) -> bool:
    """Check whether both values are known and differ."""
    return bool(one and another) and one != another
