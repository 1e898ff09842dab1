"""The trial of a judge: 30 states of searches with known verdicts, half of them True.

The states are made of the demo's invented passages (`tests/components/judge/trial_states.py` makes them), so no model
has seen them. They serve for nothing else.
"""

import json
from functools import cache
from math import comb
from pathlib import Path

from haystack import Document

from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.judge.judge import Judge
from prefrag.components.state.state import Action, RunSettings, Search, State, Step

TRIAL_STATES = Path(__file__).parent / "judge_trial.json"
LEAST_STATES = 30
_LEVEL = 0.05


@cache
def read_states() -> tuple[tuple[State, bool], ...]:
    """Read the states of the trial, each after its last search, with its right verdict."""
    settings = RunSettings(sources=("local", "web"), preferred="local")
    states = []
    for trial in json.loads(TRIAL_STATES.read_text(encoding="utf-8")):
        question = trial["question"]
        earlier = Step(Action.SEARCH, documents=_read_documents(trial["observed"]), observed=True)
        last_search = Search("local", question, _read_documents(trial["new"]))
        last = Step(Action.SEARCH, searches=(last_search,))
        states.append((State(question, settings, steps=(earlier, last)), trial["verdict"]))
    return tuple(states)


async def try_judge(judge: Judge, right: int = 0, of: int = 0, most: int | None = None) -> tuple[int, int]:
    """Have a judge give its verdict on the states of the trial.

    :param judge: The judge. A verdict that cannot be read counts as wrong.
    :param right: The number of right verdicts so far.
    :param of: The number of states tried so far; the trial goes on after them.
    :param most: The maximum number of states to try now; None: all that are left.
    :returns: The number of right verdicts, and of states tried, with those before.
    :raises RunError: When the judge's model fails.
    """
    left = read_states()[of:]
    for state, status in left[:most]:
        verdict, _ = await judge.judge_async(state)
        right, of = right + (verdict.parsed and verdict.status is status), of + 1
    return right, of


def is_better_than_chance(right: int, of: int) -> bool:
    """Check with a one-sided binomial test at 5%, on 30 states at least: 20 of 30 right verdicts pass."""
    if of < LEAST_STATES:
        return False
    ways_to_guess: int = 2**of
    # In so many of these ways, as many verdicts or more are right.
    as_good = sum(comb(of, number) for number in range(right, of + 1))
    return as_good <= _LEVEL * ways_to_guess


def read_trial(chat_generator: ChatGenerator) -> tuple[int, int]:
    """Return what is kept of a model's trial: the number of right verdicts, and of states tried."""
    record = getattr(chat_generator, "record", None)
    right, of = getattr(record, "verdicts", None) or (0, 0)
    return right, of


def is_trial_open(chat_generator: ChatGenerator) -> bool:
    """Check whether states are left to try, for a model of which results can be kept."""
    return hasattr(chat_generator, "keep") and read_trial(chat_generator)[1] < len(read_states())


def _read_documents(passages: list[dict[str, str]]) -> tuple[Document, ...]:
    return tuple(
        Document(id=passage["id"], content=passage["text"], meta={"title": passage["title"]}) for passage in passages
    )
