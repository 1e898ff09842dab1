"""A pipeline without retrieval. Its model knows the answers, fails if the script says so, and may hang."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import ChatMessage

from prefrag.evaluation.question import Question
from prefrag.pipelines.loading import find, read_block
from prefrag.pipelines.replacing import replace_parts
from tests.fakes import CALLS
from tests.pipelines.scripted import answer, write_yaml

HANG_AFTER = "PREFRAG_TEST_HANG_AFTER"


@component
class AnsweringChatGenerator:
    """Answers the question in the prompt.

    :param answers: The answer to each question.
    :param failures: How often the call for a question fails before it is answered.
    """

    context_window = 8_192
    model_host = "localhost"

    def __init__(self, answers: Mapping[str, str], failures: Mapping[str, int] | None = None):
        self.answers = dict(answers)
        self.failures = dict(failures or {})

    def to_dict(self) -> dict[str, Any]:
        return default_to_dict(self, answers=self.answers, failures=self.failures)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> AnsweringChatGenerator:
        return default_from_dict(cls, data)

    @component.output_types(replies=list[ChatMessage])
    def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
        question = next(text for text in self.answers if text in (messages[-1].text or ""))
        CALLS.setdefault("questions", []).append(question)
        CALLS.setdefault("prompts", []).append(messages[-1].text or "")
        if CALLS["questions"].count(question) <= self.failures.get(question, 0):
            raise ConnectionError("the server is down")
        meta = {"usage": {"prompt_tokens": 10, "completion_tokens": 2}}
        return {"replies": [ChatMessage.from_assistant(answer(self.answers[question], label=None), meta=meta)]}

    @component.output_types(replies=list[ChatMessage])
    async def run_async(
        self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        CALLS.setdefault("running", []).append(1)
        CALLS.setdefault("at once", []).append(len(CALLS["running"]))
        if (after := os.environ.get(HANG_AFTER)) and len(CALLS.get("questions", [])) >= int(after):
            print("hanging", flush=True)
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        # No call ends before this many were running at the same time.
        async with asyncio.timeout(20):
            while max(CALLS["at once"]) < CALLS.get("together", 0):
                await asyncio.sleep(0)
        CALLS["running"].pop()
        return self.run(messages, generation_kwargs)


def questions(count: int) -> list[Question]:
    """:returns: Questions whose answer is their number in words that no other question has."""
    return [
        Question(
            f"q{number}", f"What is kept in box {number:03}?", (f"thing {number:03}",), type="box", dataset="boxes"
        )
        for number in range(count)
    ]


def questions_file(path: Path, items: Sequence[Question]) -> Path:
    """Write questions to a file in the project's own form."""
    lines = [
        {"id": question.id, "question": question.question, "answers": list(question.answers), "type": question.type}
        for question in items
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def pipeline(
    folder: Path, items: Sequence[Question], failures: Mapping[str, int] | None = None, wrong: Sequence[str] = ()
) -> Path:
    """Write the pipeline.

    :param failures: How often each question fails, by its id.
    :param wrong: The ids of the questions that are answered wrongly.
    :returns: The YAML file.
    """
    answers = {
        question.question: "something else" if question.id in wrong else question.answers[0] for question in items
    }
    by_question = {question.question: (failures or {}).get(question.id, 0) for question in items}
    block = replace_parts(read_block(find("no_retrieval")), {"ChatModel": AnsweringChatGenerator(answers, by_question)})
    file = folder / "boxes.yaml"
    file.write_text(write_yaml(block), encoding="utf-8")
    return file
