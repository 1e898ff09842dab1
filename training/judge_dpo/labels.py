"""Find the gold (right) verdict of a judged step, and the sampled analysis that is closest to the gold analysis."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from haystack import Document

from prefrag.components.generators.json_reply import read_object
from prefrag.components.generators.model_call import PreparedCall
from prefrag.components.judge.model_judge import ModelJudge, read_judgement
from prefrag.components.prompts.quotation import quote_text
from prefrag.components.state.state import State
from prefrag.evaluation.metrics.answers import overlap
from prefrag.evaluation.question import Question
from prefrag.training.judge_dpo.candidates import Gold

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
CLOSEST_PROMPT = "closest_analysis"


class Labels(Protocol):
    """A source of gold verdicts. It also chooses among the sampled analyses that reach the gold verdict."""

    async def label(self, call: PreparedCall, state: State) -> Gold | None:
        """Return the gold verdict, or None if it cannot be found."""

    async def choose(self, gold: Gold, analyses: Sequence[str], state: State) -> tuple[int, str]:
        """Return the index of the analysis closest to the gold one, and how it was chosen: `model` or `nearness`."""


class GoldPassages:
    """Label steps by gold passages: the verdict is True if the search found a gold passage new to the run."""

    def __init__(self, questions: Iterable[Question], passages: Mapping[str, Document]):
        self._gold = {
            fold(question.question): question.supporting_ids for question in questions if question.supporting_ids
        }
        self._passages = passages

    def status(self, state: State) -> bool | None:
        """Return the verdict, or None if the question has no gold passages."""
        missing = self._missing(state)
        if missing is None:
            return None
        return any(document.id in missing for document in state.step.searches[-1].documents)

    async def label(self, call: PreparedCall, state: State) -> Gold | None:
        """Return the verdict, and the sentences of gold passages with which analyses are compared."""
        missing = self._missing(state)
        if missing is None:
            return None
        new_ids = [document.id for document in state.step.searches[-1].documents if document.id in missing]
        # Compare with the gold passages that this search newly found. If it found none, compare with the missing ones.
        passages = [self._passages[key] for key in new_ids or missing if key in self._passages]
        sentences = []
        for passage in passages:
            title = passage.meta.get("title") or ""
            for sentence in _SENTENCE_END.split(passage.content or ""):
                sentences.append(f"{title} {sentence}".strip())
        # If all gold passages were already shown, the analyses are compared with the question instead.
        references = sentences or [state.question]
        return Gold(bool(new_ids), tuple(references))

    async def choose(self, gold: Gold, analyses: Sequence[str], state: State) -> tuple[int, str]:
        """Choose the analysis that shares the most words with a single gold sentence."""
        return find_nearest(gold.references, analyses), "nearness"

    def _missing(self, state: State) -> list[str] | None:
        gold = self._gold.get(fold(state.question))
        if gold is None:
            return None
        shown = {document.id for document in state.observed}
        return [key for key in dict.fromkeys(gold) if key not in shown]


class GoldModel:
    """Label steps by a stronger model. It gets the prompt of the model to train (PrefRAG, appendix C, tables 20-23)."""

    def __init__(self, judge: ModelJudge):
        self._judge = judge

    async def label(self, call: PreparedCall, state: State) -> Gold | None:
        """Let the stronger model judge."""
        own = self._judge.call
        # No schema is sent, because not every server accepts a schema. The prompt says how to reply.
        verdict, _, _ = await own.send_until_read_async(
            replace(call, generation_kwargs=own.generation_kwargs), read_judgement
        )
        return None if verdict is None else Gold(verdict.status, (verdict.analysis,))

    async def choose(self, gold: Gold, analyses: Sequence[str], state: State) -> tuple[int, str]:
        """Let the stronger model choose (table 22), with one retry. If no reply is readable, shared words decide."""

        def values(observations: object) -> dict[str, object]:
            return {
                "standard": quote_text(gold.references[0]),
                "analyses": [" ".join(analysis.split()) for analysis in analyses],
            }

        call = self._judge.call.prepare(state, CLOSEST_PROMPT, [], values)

        def read(text: str) -> int | None:
            reply = read_object(text, "id") or {}
            number = str(reply.get("id", "")).strip()
            if not number.isdecimal() or not 1 <= int(number) <= len(analyses):
                return None
            return int(number) - 1

        place, _, _ = await self._judge.call.send_until_read_async(call, read)
        if place is None:
            return find_nearest(gold.references, analyses), "nearness"
        return place, "model"


def find_nearest(references: Sequence[str], analyses: Sequence[str]) -> int:
    """Return the index of the analysis with the highest word F1 against any single reference."""
    nearness = []
    for analysis in analyses:
        nearness.append(max(overlap(analysis, reference)[0] for reference in references))
    return nearness.index(max(nearness))


def fold(question: str) -> str:
    """Normalise a question's case and whitespace, so that it can be looked up by its text."""
    return " ".join(question.lower().split())
