"""Ask each question in each of its worlds, through the pipeline that `prefrag ask` runs.

A world is a copy of the index (a shadow). In the copy, the sentences of the questions are changed, for example taken
out. ``worlds.py`` lists the worlds.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from prefrag.audit_log import label_audit
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.web_consent import keep_web_consent
from prefrag.components.generators.model_server import ModelServerError
from prefrag.components.parts import read_attribute, walk_parts
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.components.reasoner.product_rules import UNREAD
from prefrag.components.state.result import Result
from prefrag.components.state.web_switch import web_setting
from prefrag.components.text.counted import counted
from prefrag.errors import PrefragError
from prefrag.evaluation.prove.held_gate import hold_queries, would_leave
from prefrag.evaluation.prove.questions import Question, make_questions
from prefrag.evaluation.prove.records import Answers, Case, WorldAnswer
from prefrag.evaluation.prove.sentences import Sentences
from prefrag.evaluation.prove.shadow import load_on, make_shadow, shadow_folder
from prefrag.evaluation.prove.verdict import judge_answer
from prefrag.evaluation.prove.worlds import AS_IS, CHANGED, DENIED, SECOND, WITHOUT, change_value, deny, edit_passages
from prefrag.evaluation.prove.written_question import QuestionWriter, check_written, is_written_about
from prefrag.file_lock import append_line
from prefrag.pipelines import Pipeline
from prefrag.private_file import make_private_folder, write_private

# Called with the number of answered questions and the number of all questions.
OnProgress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """What is to be measured.

    :param index: The folder of the index.
    :param answers: The file to which each answered question is appended.
    :param pipeline: The name of a pipeline, or a YAML file.
    :param number: The maximum number of questions.
    :param minutes: After this time, no further question is begun.
    :param seed: The seed of the choice of questions.
    :param replace: Replacements in the pipeline, as :func:`prefrag.pipelines.load` takes them.
    :param key: What must be the same for earlier answers to count, such as the version of the index and the model.
    :param writer: The model that writes questions. None means that questions are made only by the form of a sentence.
    :param other_loop: Another reply format of the model, in which the questions are asked too. Empty means none.
    """

    index: Path
    answers: Path
    pipeline: str = "prefrag"
    number: int = 200
    minutes: float = 10.0
    seed: int = 7
    replace: Mapping[str, object] = field(default_factory=dict)
    key: Mapping[str, object] = field(default_factory=dict)
    writer: QuestionWriter | None = None
    other_loop: str = ""


async def ask_all(plan: Plan, sentences: Sentences, on_progress: OnProgress | None = None) -> Answers:
    """Ask the questions that were not asked yet, until the time is up.

    :param plan: What is to be measured.
    :param sentences: The sentences of the index.
    :param on_progress: Called with the number of answered questions and the number of all questions.
    :returns: ``cases`` has a record for each answered question. ``dropped`` is the number of questions that were
        dropped for each reason. ``questions`` is the number of all questions.
    :raises PrefragError: If a run or its language model fails. Earlier answers stay in the file.
    """
    deadline = time.monotonic() + plan.minutes * 60
    # The label tells these questions in the audit log from the questions of people.
    label_audit(measured=plan.index.name)

    questions, dropped = make_questions(sentences, plan.number, plan.seed)
    changed_values = [change_value(question, sentences) for question in questions]
    names = [_name(question) for question in questions]
    answered = _read_answers(plan)
    places_to_ask = [place for place, name in enumerate(names) if name not in answered]

    if places_to_ask and time.monotonic() < deadline:
        with ExitStack() as stack:
            folder = stack.enter_context(shadow_folder())
            worlds = _make_worlds(plan, questions, changed_values, sentences, folder)
            # The pipelines have files of the shadows open, and Windows does not delete an open file. So the pipelines
            # are dropped before the folder is deleted.
            stack.callback(worlds.clear)

            for place in places_to_ask:
                if time.monotonic() >= deadline:
                    break
                # In the world with two turns, the question before this one is asked first. Before the first question of
                # all, this is the last one, as the index -1 says. A single question has no first turn.
                first_question = questions[place - 1] if len(questions) > 1 else None
                try:
                    question = await _write(plan, questions[place], sentences, worlds)
                    record = await _ask(question, first_question, changed_values[place], worlds)
                except (_Failed, ModelServerError) as error:
                    raise PrefragError(
                        f"The answers to '{questions[place].text}' failed, so they are not counted: {error} "
                        f"{counted(len(answered), 'answered question')} of {len(questions)} are kept: when this is "
                        "mended, the same command continues there."
                    ) from error
                append_line(plan.answers, json.dumps(record))
                answered[record["id"]] = record
                if on_progress is not None:
                    on_progress(len(answered), len(questions))

    cases = [answered[name] for name in names if name in answered]
    return {"cases": cases, "dropped": dict(dropped), "questions": len(questions)}


@dataclass
class _Worlds:
    """The pipelines that are asked, by the name of the world that they search.

    :param closed: For every world, the pipeline that is measured. It may not search the web.
    :param looped: For two worlds, a pipeline with the other reply format of the model. Empty if the formats are not
        compared.
    :param held_back: For two worlds, a pipeline that may search the web, but whose gate sends no query. Empty if the
        pipeline has no web, or if the web is switched off.
    """

    closed: dict[str, Pipeline] = field(default_factory=dict)
    looped: dict[str, Pipeline] = field(default_factory=dict)
    held_back: dict[str, Pipeline] = field(default_factory=dict)

    def clear(self) -> None:
        """Drop the pipelines."""
        for pipelines in (self.closed, self.looped, self.held_back):
            pipelines.clear()


class _Failed(Exception):
    """There is no answer to measure, because a run or its language model failed."""


def _name(question: Question) -> str:
    """Return the id of a question: its form, and where its answer stands."""
    return f"{question.form}:{question.sentence.passage.id}:{question.sentence.begin}:{question.at}"


def _read_answers(plan: Plan) -> dict[str, Case]:
    """Read the answers of an earlier call. If that call measured something else, its file is emptied."""
    make_private_folder(plan.answers.parent)
    key = json.dumps({**plan.key, "seed": plan.seed, "pipeline": plan.pipeline}, sort_keys=True)
    lines: list[str] = []
    if plan.answers.is_file():
        lines = plan.answers.read_text(encoding="utf-8").splitlines()
    # The first line says what was measured.
    if not lines or lines[0] != key:
        write_private(plan.answers, f"{key}\n")
        return {}

    records: dict[str, Case] = {}
    for line in lines[1:]:
        try:
            record: Case = json.loads(line)
            records[record["id"]] = record
        except (ValueError, KeyError, TypeError):
            # The last line of a call that was killed may be cut off.
            continue
    return records


def _make_worlds(
    plan: Plan, questions: list[Question], changed_values: list[str], sentences: Sentences, folder: Path
) -> _Worlds:
    """Make a shadow for each world, in which the sentences of all questions are changed together."""
    # The new texts of the sentences in each world. None leaves a sentence as it is, and an empty text takes it out.
    changed_texts: list[str | None] = []
    for question, value in zip(questions, changed_values, strict=True):
        changed_texts.append(_put(question, value) if value else None)
    texts_of_worlds: dict[str, Sequence[str | None]] = {
        AS_IS: [None] * len(questions),
        WITHOUT: [""] * len(questions),
        CHANGED: changed_texts,
        DENIED: [deny(question) or None for question in questions],
    }

    worlds = _Worlds()
    for world, texts in texts_of_worlds.items():
        written, emptied = edit_passages(questions, texts, sentences)
        make_shadow(plan.index, folder / world, written, emptied)
        worlds.closed[world] = load_on(plan.pipeline, folder / world, plan.replace)

    for world in (AS_IS, WITHOUT):
        if web_setting() != "off":
            held_back = load_on(plan.pipeline, folder / world, plan.replace)
            if hold_queries(held_back):
                # The user's consent to the web is written into the shadow only. The consent of the index stays as it
                # is.
                keep_web_consent(TantivyDocumentStore(path=str(folder / world)), True)
                worlds.held_back[world] = held_back
        if plan.other_loop:
            looped = load_on(plan.pipeline, folder / world, plan.replace)
            for reasoner in list_open_loops(looped):
                reasoner.reply_format = plan.other_loop
            worlds.looped[world] = looped
    return worlds


def list_open_loops(pipeline: object) -> list[Any]:
    """List the parts of a pipeline whose reply format depends on the model, and that work with any reply format.

    :param pipeline: A loaded pipeline.
    :returns: The parts. Empty if one of them lacks the reader that checks a small model's answers.
    """
    parts = [part for _, part in walk_parts(pipeline) if read_attribute(part, "reply_format") == "auto"]
    if any(read_attribute(part, "reader") is None for part in parts):
        return []
    return parts


def _put(question: Question, value: str) -> str:
    """Return the sentence of a question with another value in place of the answer."""
    text = question.sentence.text
    end = question.at + len(question.value)
    return f"{text[: question.at]}{value}{text[end:]}"


async def _write(plan: Plan, question: Question, sentences: Sentences, worlds: _Worlds) -> Question:
    """Have a model write the question.

    Return the question by form if there is no model, or if its question does not fit.
    """
    readers = [part for _, part in walk_parts(worlds.closed[AS_IS]) if isinstance(part, ExtractiveReader)]
    if plan.writer is None or not readers or not is_written_about(question):
        return question
    text = await plan.writer.write(question)
    checked = check_written(text, question, sentences, readers[0])
    return question if checked is None else checked


async def _ask(question: Question, first_question: Question | None, new_value: str, worlds: _Worlds) -> Case:
    """Ask a question in all of its worlds at the same time, and return the record for the file.

    ``first_question`` is the question of the first turn in the world with a second turn. ``new_value`` is the changed
    value.
    """
    asked_worlds = [AS_IS, WITHOUT]
    if new_value:
        asked_worlds.append(CHANGED)
    if deny(question):
        asked_worlds.append(DENIED)
    calls = {world: _ask_in(question.text, worlds.closed[world]) for world in asked_worlds}
    if first_question is not None:
        first_turn = [
            {"role": "user", "content": first_question.text},
            {"role": "assistant", "content": first_question.value},
        ]
        calls[SECOND] = _ask_in(question.text, worlds.closed[WITHOUT], history=first_turn)
    looped_calls = {world: _ask_in(question.text, pipeline) for world, pipeline in worlds.looped.items()}
    held_calls = {world: _ask_in(question.text, pipeline, is_held=True) for world, pipeline in worlds.held_back.items()}

    began = time.perf_counter()
    results, looped_results, held_results = await asyncio.gather(*map(_gather, (calls, looped_calls, held_calls)))
    answers = {world: _record(question, world, new_value, result) for world, result in results.items()}
    looped = {world: _record(question, world, new_value, result) for world, result in looped_results.items()}

    meta = question.sentence.passage.meta
    return {
        "id": _name(question),
        "form": question.form,
        "question": question.text,
        "written_by": "form" if question.plain else "model",
        "value": question.value,
        "changed": new_value,
        "sentence": question.sentence.text,
        "denied": deny(question),
        "title": str(meta.get("title") or ""),
        "document": question.sentence.file,
        "kind": str(meta.get("kind") or "passage"),
        "shared": round(question.shared, 3),
        "copies": len(question.copies),
        "seconds": round(time.perf_counter() - began, 2),
        "worlds": answers,
        "other_loop": looped,
        "would_leave": {world: would_leave(result) for world, result in held_results.items()},
    }


async def _gather(calls: Mapping[str, Awaitable[Result]]) -> dict[str, Result]:
    """Wait for the results of several worlds, and return them by the name of the world."""
    results = await asyncio.gather(*calls.values())
    return dict(zip(calls, results, strict=True))


async def _ask_in(
    question: str, pipeline: Pipeline, history: Sequence[Mapping[str, str]] | None = None, is_held: bool = False
) -> Result:
    """Ask a question in one world and return the result. Raise _Failed if the run or its model failed.

    ``history`` has the earlier turns. ``is_held`` says whether the gate of the pipeline only counts queries to the web.
    """
    from prefrag import pipelines

    try:
        # The web is closed even if the user allows it for the index. The questions are made of the sentences of the
        # index, which must not be sent. A gate that only counts queries sends none, so it needs no closed web.
        web = None if is_held else False
        result = await pipelines.ask_async(pipeline, question, history=history, web=web)
    except pipelines.RunFailed as error:
        raise _Failed(str(error)) from error

    messages = [str(event["message"]) for event in result["trace"] if event["kind"] == "model_failed"]
    # A reply that cannot be used is an answer of the model, and is measured. After any other failure of the model, the
    # extractive reader has answered in its place. Such an answer must not be counted, so the measurement stops.
    failure = next((message for message in messages if message != UNREAD), "")
    if failure:
        raise _Failed(failure)
    return result


def _record(question: Question, world: str, new_value: str, result: Result) -> WorldAnswer:
    """Return what is stored of one answer: its verdict, its certainty and its evidence."""
    evidence = result.get("evidence")
    sentence = ""
    if evidence:
        sentence = str(evidence[0].get("sentence") or "")
    answer = result.get("answer") or result.get("guess") or ""
    return {
        "verdict": judge_answer(question, world, new_value, result),
        "certainty": result.get("certainty"),
        "answer": answer,
        "probability": result.get("probability"),
        "evidence": sentence,
        "by": result.get("answered_by"),
    }


def count_verdicts(cases: list[Case], world: str) -> Counter[str]:
    """Count the verdicts of a world.

    :param cases: The records of the questions.
    :param world: The name of the world.
    :returns: How often each verdict occurs.
    """
    return Counter(case["worlds"][world]["verdict"] for case in cases if world in case["worlds"])
