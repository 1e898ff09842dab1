"""Find the gold (right) verdict of a judged step, and the best of the analyses that a model has sampled for the step.

The gold verdict comes from a stronger model, or from the gold passages of the question: the passages that are needed to
answer it. The best analysis is the one that is closest to the gold analysis: the stronger model's analysis, or the
sentences of gold passages.
"""

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

# The blanks between two sentences. In "It is old. The tower is new." they stand before "The".
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9\"'(])")
# The name of the prompt that asks the stronger model for the closest analysis.
CLOSEST_PROMPT = "closest_analysis"


class Labels(Protocol):
    """A source of gold verdicts. It also chooses among the sampled analyses that reach the gold verdict."""

    async def label(self, call: PreparedCall, state: State) -> Gold | None:
        """Find the gold verdict of a step.

        :param call: The call of the judge whose model is trained, with its prompt.
        :param state: The state of the run. Its last step is judged.
        :returns: The verdict. None if it cannot be found.
        """

    async def choose(self, gold: Gold, analyses: Sequence[str], state: State) -> tuple[int, str]:
        """Choose the analysis that is closest to the gold analysis.

        :param gold: The gold verdict, with the texts that analyses are compared with.
        :param analyses: The analyses of the sampled replies that have the gold verdict.
        :param state: The state of the run.
        :returns: The index of the analysis, and how it was chosen: ``model`` or ``nearness`` (by shared words).
        """


class GoldPassages:
    """Label steps by gold passages. The verdict is True if the search found a gold passage that is new to the run.

    :param questions: The questions, with the ids of their gold passages.
    :param passages: The gold passages, by their ids.
    """

    def __init__(self, questions: Iterable[Question], passages: Mapping[str, Document]):
        self._gold = {
            fold(question.question): question.supporting_ids for question in questions if question.supporting_ids
        }
        self._passages = passages

    def status(self, state: State) -> bool | None:
        """Find the gold verdict of the last step.

        :param state: The state of the run.
        :returns: The verdict. None if the question has no gold passages.
        """
        missing = self._missing(state)
        if missing is None:
            return None
        return any(document.id in missing for document in state.step.searches[-1].documents)

    async def label(self, call: PreparedCall, state: State) -> Gold | None:
        """Return the verdict, and the sentences of gold passages with which analyses are compared.

        :param call: The call of the judge, which is not used here.
        :param state: The state of the run.
        :returns: The verdict. None if the question has no gold passages.
        """
        missing = self._missing(state)
        if missing is None:
            return None

        new_ids = [document.id for document in state.step.searches[-1].documents if document.id in missing]
        # Analyses are compared with the gold passages that this search has newly found. If the search has found none,
        # they are compared with the gold passages that are still missing.
        compared_ids = new_ids or missing
        passages = [self._passages[key] for key in compared_ids if key in self._passages]
        sentences = []
        for passage in passages:
            title = passage.meta.get("title") or ""
            for sentence in _SENTENCE_END.split(passage.content or ""):
                sentences.append(f"{title} {sentence}".strip())
        # There are no sentences if all gold passages were already shown, or if their texts are not there. The analyses
        # are then compared with the question.
        references = sentences or [state.question]
        return Gold(bool(new_ids), tuple(references))

    async def choose(self, gold: Gold, analyses: Sequence[str], state: State) -> tuple[int, str]:
        """Choose the analysis that shares the most words with a single gold sentence.

        :param gold: The gold verdict, with the gold sentences.
        :param analyses: The analyses.
        :param state: The state of the run, which is not used here.
        :returns: The index of the analysis, and ``nearness``.
        """
        return find_nearest(gold.references, analyses), "nearness"

    def _missing(self, state: State) -> list[str] | None:
        """List the ids of the gold passages that the run has not shown yet. None if the question has none."""
        gold = self._gold.get(fold(state.question))
        if gold is None:
            return None
        shown = {document.id for document in state.observed}
        return [key for key in dict.fromkeys(gold) if key not in shown]


class GoldModel:
    """Label steps by a stronger model, which gets the prompt of the model to train (PrefRAG, appendix C, tables 20-23).

    :param judge: A judge that calls the stronger model.
    """

    def __init__(self, judge: ModelJudge):
        self._judge = judge

    async def label(self, call: PreparedCall, state: State) -> Gold | None:
        """Let the stronger model judge.

        :param call: The call of the judge whose model is trained. Its prompt is used.
        :param state: The state of the run, which is not used here.
        :returns: The verdict with its analysis. None if no reply of the stronger model could be read.
        """
        stronger_model = self._judge.call
        # The prompt is that of the model to train, and the parameters are those of the stronger model. So no schema is
        # sent, because not every server accepts a schema. The prompt says how to reply.
        gold_call = replace(call, generation_kwargs=stronger_model.generation_kwargs)
        verdict, _, _ = await stronger_model.send_until_read_async(gold_call, read_judgement)
        return None if verdict is None else Gold(verdict.status, (verdict.analysis,))

    async def choose(self, gold: Gold, analyses: Sequence[str], state: State) -> tuple[int, str]:
        """Let the stronger model choose (table 22), with one retry. If no reply is readable, shared words decide.

        :param gold: The gold verdict, with the stronger model's own analysis.
        :param analyses: The analyses.
        :param state: The state of the run.
        :returns: The index of the analysis, and ``model`` or ``nearness``.
        """

        def values(observations: object) -> dict[str, object]:
            """Return the variables of the prompt, which has no passages: so the observations are not used."""
            return {
                "standard": quote_text(gold.references[0]),
                "analyses": [" ".join(analysis.split()) for analysis in analyses],
            }

        choice_call = self._judge.call.prepare(state, CLOSEST_PROMPT, [], values)

        def read(text: str) -> int | None:
            """Return the index of the analysis whose number, from 1, the reply has as its "id"; None without one."""
            reply = read_object(text, "id") or {}
            number = str(reply.get("id", "")).strip()
            if not number.isdecimal() or not 1 <= int(number) <= len(analyses):
                return None
            return int(number) - 1

        place, _, _ = await self._judge.call.send_until_read_async(choice_call, read)
        if place is None:
            return find_nearest(gold.references, analyses), "nearness"
        return place, "model"


def find_nearest(references: Sequence[str], analyses: Sequence[str]) -> int:
    """Find the analysis that shares the most words with any single reference, by word F1.

    :param references: The texts to compare with, at least one.
    :param analyses: The analyses, at least one.
    :returns: The index of the analysis.
    """
    nearness = []
    for analysis in analyses:
        # The first value of `overlap` is F1.
        f1_scores = [overlap(analysis, reference)[0] for reference in references]
        nearness.append(max(f1_scores))
    return nearness.index(max(nearness))


def fold(question: str) -> str:
    """Normalise a question's case and whitespace, so that the question can be found by its text.

    For example, "Who  led It?" becomes "who led it?".

    :param question: The question.
    :returns: The normalised text.
    """
    return " ".join(question.lower().split())
