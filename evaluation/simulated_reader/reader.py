"""The simulated reader as a chat generator."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haystack import component, default_to_dict
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool

from prefrag.components.generators.model_host import THIS_MACHINE
from prefrag.components.generators.token_budget import estimate_tokens
from prefrag.components.state.state import Label
from prefrag.evaluation.simulated_reader import replies
from prefrag.evaluation.simulated_reader.gold import (
    GoldQuestion,
    Shown,
    fold_words,
    load_gold,
    read_numbered,
    read_titles,
)
from prefrag.evaluation.simulated_reader.policy import draw, is_right, keywords, queries, wrong_answer
from prefrag.evaluation.simulated_reader.prompts import Call, read_call

CONTEXT_WINDOW = 131_072


@component
class SimulatedReader:
    """A chat generator that answers from the gold passages of a benchmark instead of a language model.

    It takes the model's place behind every prompt of the pipelines, so that what is measured is their retrieval policy
    alone. It knows which passages a question needs, and uses that in three ways only. It asks for what is missing, and
    names no title and no answer that does not stand in the question or in a passage that it has been shown. It answers
    rightly exactly when all gold passages have been shown, one for a yes-or-no question, and otherwise so that no
    metric gives a point. As judge or reviewer it states the truth. Answers, verdicts and labels can be made
    worse: ``distraction``, ``judge_error``, ``reflection_error``.

    A passage has been shown where its whole text stands below its title: the live web, or passages cut in parts, never
    show one. A passage of which CRAG has dropped a part has been shown where one of its strips is left. CRAG's
    evaluator has the best score for a gold passage and for each strip of one, and the lowest for all others; the query
    that it is asked for has the words of the question.

    It searches until nothing is missing or the prompt's limit ("at most N times") is reached, and answers then, as the
    papers' agents do; a prompt without a limit is searched for until there is nothing left to ask. Where actions name
    sources, each query goes to the first one offered and, when that brought nothing missing, to the next. It gives no
    citations and never answers PARTIALLY CORRECT.

    Every decision is drawn from the seed and the question, a verdict or a label also from what has been shown, so that
    runs side by side, in whatever order, and different methods in the same situation all see the same luck. For the
    answer there is one draw a question: it is spoiled from a certain number of irrelevant passages on, the same one for
    every method, and asking again or showing more never repairs it.

    ```python
    from prefrag.evaluation.simulated_reader import SimulatedReader

    reader = SimulatedReader(questions="dev.jsonl", corpus="corpus.jsonl", judge_error=0.1)
    ```
    """

    model_host = THIS_MACHINE

    def __init__(
        self,
        questions: str | Sequence[str],
        corpus: str | Sequence[str],
        judge_error: float = 0.0,
        reflection_error: float = 0.0,
        distraction: float = 0.0,
        seed: int = 0,
        context_window: int = CONTEXT_WINDOW,
        latency: float = 0.0,
        format: str = "auto",
    ):
        """Check the settings; the files are read when the reader warms up.

        :param questions: The file of the questions, or several.
        :param corpus: The file of the passages, or several, for all sources together.
        :param judge_error: The chance, 0 to 1, that a verdict on new passages, or the score of one, is the wrong one.
        :param reflection_error: The chance, 0 to 1, that the label of an answer is the wrong one.
        :param distraction: The chance, 0 to 1, that one irrelevant passage shown spoils a right answer: with so many of
            them it stays right with the chance (1 - distraction) to the power of their number.
        :param seed: Of all draws.
        :param context_window: Tokens that a prompt may have; large, so that nothing is cut.
        :param latency: Seconds that every reply takes.
        :param format: The form of the questions, see :func:`prefrag.evaluation.datasets.load_questions`.
        :raises ValueError: For a number out of its range, or no file.
        """
        rates = {"judge_error": judge_error, "reflection_error": reflection_error, "distraction": distraction}
        for name, rate in rates.items():
            if not 0 <= rate <= 1:
                raise ValueError(f"{name} is {rate}: set it between 0 and 1.")
        if context_window < 1 or latency < 0:
            raise ValueError(
                f"context_window is {context_window} and latency {latency}: set them above 0, and to 0 or more."
            )
        self.questions = _list_paths(questions)
        self.corpus = _list_paths(corpus)
        if not self.questions or not self.corpus:
            raise ValueError("`questions` and `corpus` each need a file: the reader must know the gold passages.")
        self.judge_error = judge_error
        self.reflection_error = reflection_error
        self.distraction = distraction
        self.seed = seed
        self.context_window = context_window
        self.latency = latency
        self.format = format

    def to_dict(self) -> dict[str, Any]:
        """Return the component as plain values."""
        return default_to_dict(
            self,
            questions=self.questions,
            corpus=self.corpus,
            judge_error=self.judge_error,
            reflection_error=self.reflection_error,
            distraction=self.distraction,
            seed=self.seed,
            context_window=self.context_window,
            latency=self.latency,
            format=self.format,
        )

    def warm_up(self) -> None:
        """Read the files, if no other instance has.

        :raises FileNotFoundError: When one is absent.
        :raises ValueError: When one cannot be read, or the corpus is that of other questions.
        """
        self._gold()

    @component.output_types(replies=list[ChatMessage])
    def run(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Reply as the gold passages allow.

        :param messages: The conversation, as the components of the pipelines write it.
        :param generation_kwargs: Parameters by their OpenAI names, which determine the expected reply.
        :param tools: The tools that may be called.
        :returns: ``replies``, one message; its ``meta`` has ``usage`` as estimated, ``model`` and ``simulated``.
        :raises ValueError: When the prompt has an unknown question, or is of no pipeline.
        """
        if self.latency:
            time.sleep(self.latency)
        return {"replies": [self._reply(messages, generation_kwargs, tools)]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self,
        messages: list[ChatMessage],
        generation_kwargs: dict[str, Any] | None = None,
        tools: list[Tool] | None = None,
    ) -> dict[str, list[ChatMessage]]:
        """Reply as :meth:`run` does, without blocking the event loop for the latency."""
        if self.latency:
            await asyncio.sleep(self.latency)
        return {"replies": [self._reply(messages, generation_kwargs, tools)]}

    def _gold(self) -> Mapping[str, GoldQuestion]:
        return load_gold(self.questions, self.corpus, self.format)

    def _reply(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None, tools: list[Tool] | None
    ) -> ChatMessage:
        known = self._gold()
        call = read_call(messages, generation_kwargs, tools, known)
        gold = known[call.question]
        shown = gold.find_shown(call.text)
        match call.kind:
            case "verdict":
                reply = replies.verdict(self._verdict(call, gold, shown))
            case "reflection":
                reply = replies.reflection(self._label(gold, shown, call.answer))
            case "review":
                reply = replies.review(self._label(gold, shown, call.answer))
            case "question":
                reply = replies.question(call.question)
            case "relevance":
                reply = replies.relevance(self._relevance(call, gold))
            case "keywords":
                reply = replies.keywords(keywords(call.question) or call.question)
            case "summary":
                reply = replies.summary(_write_summary(gold, shown))
            case _:
                reply = self._step(call, gold, shown)
        prompt = sum(estimate_tokens("\n".join(_list_texts(message))) for message in messages)
        written = estimate_tokens("\n".join(_list_texts(reply)))
        usage = {"prompt_tokens": prompt, "completion_tokens": written, "total_tokens": prompt + written}
        finish = "tool_calls" if reply.tool_calls else "stop"
        meta = {"model": "simulated", "simulated": True, "finish_reason": finish, "usage": usage}
        return ChatMessage.from_assistant(reply.text, tool_calls=reply.tool_calls, meta=meta)

    def _step(self, call: Call, gold: GoldQuestion, shown: Shown) -> ChatMessage:
        used_up = call.most is not None and len(call.searches) >= call.most
        done = call.may_answer and (used_up or gold.is_enough(shown))
        chosen = None if done or not call.may_search else _choose_query(call, gold, shown)
        if chosen is not None:
            return replies.search(call, *chosen)
        text = self._answer(gold, shown)
        return replies.answer(call, text, self._label(gold, shown, text))

    def _answer(self, gold: GoldQuestion, shown: Shown) -> str:
        # A question of a dataset without answers has none to give.
        enough = bool(gold.question.answers) and gold.is_enough(shown)
        clear = (1 - self.distraction) ** shown.irrelevant
        if enough and draw(self.seed, gold.question.id, "answer") < clear:
            return gold.question.answers[0]
        return wrong_answer(gold.question, self.seed)

    def _label(self, gold: GoldQuestion, shown: Shown, answer: str) -> Label:
        right = is_right(gold.question, answer)
        situation = ("label", right, sorted(shown.gold), shown.irrelevant)
        if draw(self.seed, gold.question.id, *situation) < self.reflection_error:
            right = not right
        return Label.CORRECT if right else Label.INCORRECT

    def _verdict(self, call: Call, gold: GoldQuestion, shown: Shown) -> bool:
        status = bool(gold.find_shown(call.new).gold.keys() - shown.gold.keys())
        # The draws of the published figures have the name of the source that is judged behind each title.
        titles = sorted(f"{title} (local)" for title in read_titles(call.new))
        wrong = draw(self.seed, gold.question.id, "verdict", sorted(shown.gold), titles) < self.judge_error
        return status != wrong

    def _relevance(self, call: Call, gold: GoldQuestion) -> dict[str, bool]:
        scores = {}
        for number, title, text in read_numbered(call.text):
            wrong = draw(self.seed, gold.question.id, "relevance", title, text) < self.judge_error
            scores[number] = gold.is_part(title, text) != wrong
        return scores


def _choose_query(call: Call, gold: GoldQuestion, shown: Shown) -> tuple[str, str] | None:
    """Return the first action and query that were not tried yet; None when there is no new query."""
    tried = {(tool, fold_words(query)) for tool, query in call.searches}
    possible = list(queries(gold, shown.gold, call.transcript))
    if call.choices:
        wanted = {fold_words(query) for query in possible}
        possible = sorted(call.choices, key=lambda choice: fold_words(choice) not in wanted)
    return next(
        ((tool, query) for query in possible for tool in call.tools if (tool, fold_words(query)) not in tried), None
    )


def _write_summary(gold: GoldQuestion, shown: Shown) -> str:
    """Return the shown gold passages, each followed by its number."""
    marks = {passage: f" [{mark}]" if mark else "" for passage, mark in shown.gold.items()}
    kept = [passage for passage in gold.passages if passage.id in marks]
    return "\n\n".join(f"{passage.title}\n{passage.text}{marks[passage.id]}" for passage in kept)


def _list_paths(files: str | Sequence[str]) -> list[str]:
    return [files] if isinstance(files, str | Path) else [str(file) for file in files]


def _list_texts(message: ChatMessage) -> list[str]:
    """Return all texts of a message that a model reads or writes."""
    calls = [f"{call.tool_name} {json.dumps(call.arguments, ensure_ascii=False)}" for call in message.tool_calls]
    results = [str(result.result) for result in message.tool_call_results]
    return [*message.texts, *calls, *results]
