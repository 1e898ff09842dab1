"""Models are tried as judges while no request is there."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from prefrag.components.judge.auto_judge import AutoJudge
from prefrag.components.judge.judge_trial import read_trial
from prefrag.components.judge.model_judge import ModelJudge
from prefrag.server import judge_trials
from prefrag.server.judge_trials import trying_judges
from tests.components.judge.judges import FixedTrees
from tests.fakes import ScriptedChatGenerator


class Kept(ScriptedChatGenerator):
    """A model that keeps its trial, and does what a test says at each call."""

    record = SimpleNamespace(verdicts=None)
    at_call: Any = None

    def keep(self, verdicts: tuple[int, int]) -> None:
        self.record = SimpleNamespace(verdicts=verdicts)
        if self.at_call is not None:
            self.at_call()


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judge_trials, "_LOOK_SECONDS", 0.0)
    monkeypatch.setattr(judge_trials, "_NOTICE_SECONDS", 0.001)


async def tried(model: Any, requests: list[str], until: Any) -> tuple[int, int]:
    judge = AutoJudge(ModelJudge(model), FixedTrees(0.5))
    async with trying_judges(lambda: {"prefrag": judge}, requests), asyncio.timeout(30):
        while not until():
            await asyncio.sleep(0)
    return read_trial(model)


async def test_a_trial_runs_to_its_end_and_survives():
    model = Kept(['{"status": "True"}'])

    assert await tried(model, [], lambda: read_trial(model)[1] == 30) == (15, 30)


async def test_a_request_stops_it_and_it_goes_on_afterwards():
    model, requests, looks = Kept(['{"status": "True"}']), list[str](), iter(range(1_000))
    model.at_call = lambda: requests.append("a question") if read_trial(model)[1] == 4 else None

    assert await tried(model, requests, lambda: bool(requests) and next(looks) > 50) == (2, 4)

    requests.clear()
    model.at_call = None
    assert await tried(model, requests, lambda: read_trial(model)[1] == 30) == (15, 30)


async def test_nothing_is_tried_without_a_place_or_for_a_named_judge():
    """A place for the result."""

    named, looks = Kept(['{"status": "True"}']), iter(range(1_000))
    named.is_named_for_judging = True  # type: ignore[attr-defined]

    for model in (ScriptedChatGenerator(['{"status": "True"}']), named):
        assert await tried(model, [], lambda: next(looks) % 50 == 49) == (0, 0)
