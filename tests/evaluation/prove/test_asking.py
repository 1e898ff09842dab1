"""The questions are asked in all worlds through the real pipeline, can be resumed, and a fault makes the figure worse."""

import asyncio
import gc
import json
import shutil
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from prefrag.audit_log import audit
from prefrag.collections.local_collection import LocalCollection
from prefrag.components.document_stores.tantivy.document_store import TantivyDocumentStore
from prefrag.components.document_stores.tantivy.index_location import resolve_index
from prefrag.components.reader import extractive_reader
from prefrag.components.reader.extractive_reader import ExtractiveReader
from prefrag.errors import PrefragError
from prefrag.evaluation.prove import asking, shadow
from prefrag.evaluation.prove.asking import Plan, ask_all, count_verdicts
from prefrag.evaluation.prove.figures import Bound, bound
from prefrag.evaluation.prove.held_gate import WOULD_LEAVE
from prefrag.evaluation.prove.sentences import Sentences
from prefrag.evaluation.prove.shadow import load_on, make_shadow, shadows_folder
from prefrag.evaluation.prove.written_question import QuestionWriter
from tests.components.generators.fake_model_server import FakeModelServer, completion
from tests.evaluation.prove.folder import passages
from tests.indexes import index_of


@pytest.fixture
def plan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plan]:
    monkeypatch.setenv("PREFRAG_DATA_DIR", str(tmp_path / "data"))
    index_of(passages(), tmp_path / "index")
    yield Plan(tmp_path / "index", tmp_path / "answers.jsonl", number=2, minutes=5.0)
    assert not list(shadows_folder().glob("prove-*"))


def ask(plan: Plan, *sentences: Sentences) -> dict[str, Any]:
    return asyncio.run(ask_all(plan, *sentences or [Sentences(passages())]))


def test_questions_are_asked_in_every_world_and_answers_follow(plan: Plan):
    asked = ask(plan)

    assert len(asked["cases"]) == 2
    assert all({"as it is", "without", "changed", "second turn"} <= set(case["worlds"]) for case in asked["cases"])
    assert count_verdicts(asked["cases"], "as it is")["wrong"] == 0
    assert {case["worlds"]["without"]["verdict"] for case in asked["cases"]} == {"withheld"}


class TestTheWeb:
    @pytest.fixture
    def whole(self, plan: Plan) -> Plan:
        return replace(plan, number=6)

    def test_queries_would_leave_and_are_told_from_those_of_people(self, whole: Plan, monkeypatch: pytest.MonkeyPatch):
        """They would leave for what the folder no longer says."""

        log = whole.answers.with_name("audit.jsonl")
        monkeypatch.setenv("PREFRAG_AUDIT_LOG", str(log))
        leaving = [case["would_leave"] for case in ask(whole)["cases"]]
        audit("query", source="web", query="What does a person ask?")
        *measured, asked = map(json.loads, log.read_text().splitlines())

        assert sum(left["without"] for left in leaving) > sum(left["as it is"] for left in leaving)
        assert TantivyDocumentStore(path=str(whole.index)).read_web_consent() is None
        assert len(measured) == sum(sum(left.values()) for left in leaving) > 0
        assert {(line["event"], line["reason"]) for line in measured} == {("held_back", WOULD_LEAVE)}
        assert {line["measured"] for line in measured} == {"index"}, "the index of which a copy was searched"
        assert "measured" not in asked

    def test_a_judge_that_always_keeps_asks_the_web_nothing(self, whole: Plan):
        keeps = replace(whole, replace={"SourceSwitchJudge.enabled": False})

        assert not any(any(case["would_leave"].values()) for case in ask(keeps)["cases"])

    def test_where_the_web_is_off_nothing_would_leave(self, plan: Plan, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setenv("PREFRAG_WEB", "off")

        assert not any(any(case["would_leave"].values()) for case in ask(plan)["cases"])


def test_no_pipeline_is_left_when_the_shadows_are_deleted(plan: Plan, monkeypatch: pytest.MonkeyPatch):
    made: list[weakref.ref[Any]] = []
    left: list[bool] = []

    def load(*arguments: Any) -> Any:
        pipeline = load_on(*arguments)
        made.append(weakref.ref(pipeline))
        return pipeline

    def delete(folder: Path, **options: Any) -> None:
        # A thread that has just ended its work may hold the last reference for a moment more.
        end = time.monotonic() + 5
        while any(reference() is not None for reference in made) and time.monotonic() < end:
            gc.collect()
            threading.Event().wait(0.01)
        left.extend(reference() is not None for reference in made)
        rmtree(folder, **options)

    rmtree = shutil.rmtree
    monkeypatch.setattr(asking, "load_on", load)
    monkeypatch.setattr(shadow.shutil, "rmtree", delete)
    ask(plan)

    assert left == [False] * 6


def test_a_second_call_asks_only_what_is_missing(plan: Plan, monkeypatch: pytest.MonkeyPatch):
    asked = ask(plan)["cases"]
    lines = plan.answers.read_text().splitlines()
    plan.answers.write_text("\n".join([*lines[:2], lines[2][:20]]))
    again = ask(plan)["cases"]

    assert [case["worlds"] for case in again] == [case["worlds"] for case in asked]
    assert [json.loads(line)["id"] for line in plan.answers.read_text().splitlines()[3:]] == [asked[1]["id"]]


def test_the_time_is_up_before_a_question_is_begun(plan: Plan):
    late = Plan(plan.index, plan.answers, number=2, minutes=0.0)

    assert ask(late)["cases"] == []


def test_another_index_or_model_begins_anew(plan: Plan):
    ask(replace(plan, number=1))
    other = Plan(plan.index, plan.answers, number=1, minutes=0.0, key={"answerer": "other"})

    assert ask(other)["cases"] == []


def test_a_model_that_always_says_yes_is_bounded_by_nothing(plan: Plan, monkeypatch: pytest.MonkeyPatch):
    model = FakeModelServer()
    model.answers = [(200, completion("Thought: I know.\nFinal Answer: Yes"))]
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", model.url)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "yes")
    cases = ask(plan)["cases"]
    model.close()

    assert len(model.requests) >= 10
    assert (bound(cases).documents, bound(cases).most) == (0, 1.0)


def test_a_model_writes_questions_and_answers_in_both_loops(plan: Plan, monkeypatch: pytest.MonkeyPatch):
    asked: list[str] = []

    def reply(request: dict[str, Any]) -> str:
        text = str(request["messages"][-1]["content"])
        if "Write the short question" not in text:
            return "Thought: I know.\nFinal Answer: Yes"
        asked.append(text)
        return "When was Merrow Bridge finished?"

    model = FakeModelServer()
    model.answers = [(200, reply)]
    monkeypatch.setenv("PREFRAG_LLM_BASE_URL", model.url)
    monkeypatch.setenv("PREFRAG_LLM_MODEL", "yes")
    cases = ask(replace(plan, number=6, writer=QuestionWriter(), other_loop="steps"))["cases"]
    model.close()

    assert len(asked) == 6
    assert [case["question"] for case in cases if case["written_by"] == "model"] == ["When was Merrow Bridge finished?"]
    assert all(case["other_loop"].keys() == {"as it is", "without"} for case in cases)


class TestAModelThatFails:
    @pytest.fixture
    def model(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeModelServer]:
        model = FakeModelServer()
        monkeypatch.setenv("PREFRAG_LLM_BASE_URL", model.url)
        monkeypatch.setenv("PREFRAG_LLM_MODEL", "yes")
        yield model
        model.close()

    def test_the_answers_of_its_stand_in_are_not_counted(self, plan: Plan, model: FakeModelServer):
        model.answers = [(401, {"error": {"message": "The key is wrong."}})]
        with pytest.raises(PrefragError, match=r"failed, so they are not counted.*0 answered questions of 2 are kept"):
            ask(plan)

        assert len(plan.answers.read_text().splitlines()) == 1

    def test_what_was_answered_before_is_kept(self, plan: Plan, model: FakeModelServer):
        model.answers = [(200, completion("Thought: I know.\nFinal Answer: Yes"))]

        def fail(done: int, of: int) -> None:
            model.answers = [(401, {"error": {"message": "The key is wrong."}})]

        with pytest.raises(PrefragError, match="1 answered question of 2"):
            asyncio.run(ask_all(plan, Sentences(passages()), fail))
        model.answers = [(200, completion("Thought: I know.\nFinal Answer: Yes"))]

        assert len(ask(plan)["cases"]) == 2

    def test_replies_that_cannot_be_used_are_measured(self, plan: Plan, model: FakeModelServer):
        model.answers = [(200, completion(""))]

        assert len(ask(plan)["cases"]) == 2


@pytest.mark.slow
class TestAFaultMakesTheFigureWorse:
    """On the demo, with the shipped reader. A worse share of wrong documents lies above the bound of the sound one."""

    @pytest.fixture(scope="class")
    def demo(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PREFRAG_DATA_DIR", str(tmp_path_factory.mktemp("data")))
            patch.setenv("PREFRAG_INDEX", "demo")
            yield resolve_index("demo")

    @pytest.fixture(scope="class")
    def sentences(self, demo: Path) -> Sentences:
        return Sentences(LocalCollection("demo").passages().all())

    @pytest.fixture(scope="class")
    def sound(self, demo: Path, sentences: Sentences, tmp_path_factory: pytest.TempPathFactory) -> Bound:
        return self.measure(demo, sentences, tmp_path_factory.mktemp("sound"))

    @staticmethod
    def measure(index: Path, sentences: Sentences, folder: Path, **replace: Any) -> Bound:
        plan = Plan(index, folder / "answers.jsonl", number=14, minutes=20.0, replace=replace)
        return bound(ask(plan, sentences)["cases"])

    @staticmethod
    def is_worse(faulty: Bound, sound: Bound) -> bool:
        return faulty.documents > 0 and faulty.wrong / faulty.documents > sound.most

    def test_a_threshold_of_half(self, demo: Path, sentences: Sentences, sound: Bound, tmp_path: Path):
        halved = {"ExtractiveReader.threshold": ExtractiveReader().threshold / 2}

        assert self.is_worse(self.measure(demo, sentences, tmp_path, **halved), sound)

    def test_no_gate_by_form(
        self, demo: Path, sentences: Sentences, sound: Bound, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        monkeypatch.setattr(extractive_reader, "find_doubt", lambda *_: "")
        # What was read with the gate is cached.
        extractive_reader._read.cache_clear()
        extractive_reader._read_spans.cache_clear()

        assert self.is_worse(self.measure(demo, sentences, tmp_path), sound)

    def test_passages_of_a_twin_folder(self, demo: Path, sentences: Sentences, sound: Bound, tmp_path: Path):
        twins = []
        for passage in TantivyDocumentStore(path=str(demo)).filter_documents():
            content = (passage.content or "").translate(str.maketrans("123456789", "234567891"))
            twins.append(type(passage)(id=passage.id, content=content, meta=passage.meta))
        make_shadow(demo, tmp_path / "twin", twins)

        assert self.is_worse(self.measure(tmp_path / "twin", sentences, tmp_path), sound)
