"""The trial of a judge, which shows whether a language model judges better than chance.

The trial has 30 states of searches with known verdicts, half of them True. A state holds a question, the passages of an
earlier search and the passages of a new search. ``prefrag serve`` gives the states to a model's judge while the server
is idle. :class:`AutoJudge` asks a model only after the model has passed the trial.

The passages come from the demo and are invented, so no model has seen them. They are used for nothing else.
`tests/components/judge/trial_states.py` makes the file of states.
"""

import json
from functools import cache
from math import comb
from pathlib import Path

from haystack import Document

from prefrag.components.generators.model_call import ChatGenerator
from prefrag.components.judge.judge import Judge
from prefrag.components.state.state import Action, RunSettings, Search, State, Step

# The file of the states.
TRIAL_STATES = Path(__file__).parent / "judge_trial.json"
# A model can pass only after it has judged at least this many states.
LEAST_STATES = 30
# The significance level of the test. A model passes if guessing would do as well with at most this probability.
_LEVEL = 0.05


@cache
def read_states() -> tuple[tuple[State, bool], ...]:
    """Read the states of the trial.

    :returns: For each state, the state after its last search and the right verdict.
    """
    settings = RunSettings(sources=("local", "web"), preferred="local")
    states = []
    for trial in json.loads(TRIAL_STATES.read_text(encoding="utf-8")):
        question = trial["question"]
        earlier = Step(Action.SEARCH, documents=_read_documents(trial["observed"]), observed=True)
        last_search = Search("local", question, _read_documents(trial["new"]))
        last = Step(Action.SEARCH, searches=(last_search,))
        state = State(question, settings, steps=(earlier, last))
        states.append((state, trial["verdict"]))
    return tuple(states)


async def try_judge(judge: Judge, right: int = 0, of: int = 0, most: int | None = None) -> tuple[int, int]:
    """Let a judge give its verdict on the states of the trial.

    :param judge: The judge. A verdict that cannot be read counts as wrong.
    :param right: The number of right verdicts in earlier calls.
    :param of: The number of states tried in earlier calls. The trial continues with the next state.
    :param most: The maximum number of states to try in this call. None means all states that are left.
    :returns: The number of right verdicts and the number of states tried, earlier calls included.
    :raises RunError: When the judge's model fails.
    """
    untried_states = read_states()[of:]
    for state, status in untried_states[:most]:
        verdict, _ = await judge.judge_async(state)
        if verdict.parsed and verdict.status is status:
            right += 1
        of += 1
    return right, of


def is_better_than_chance(right: int, of: int) -> bool:
    """Check whether a judge was right more often than guessing explains.

    The check is a one-sided binomial test at the level of 5%. For example, 20 right verdicts of 30 pass, and 19 do not.

    :param right: The number of right verdicts.
    :param of: The number of states tried. With fewer than 30 states, no judge passes.
    :returns: Whether the judge passes.
    """
    if of < LEAST_STATES:
        return False
    ways_to_guess: int = 2**of
    # The number of these ways in which at least `right` verdicts are right.
    as_good = sum(comb(of, number) for number in range(right, of + 1))
    return as_good <= _LEVEL * ways_to_guess


def read_trial(chat_generator: ChatGenerator) -> tuple[int, int]:
    """Read the stored results of a model's trial.

    :param chat_generator: The model.
    :returns: The number of right verdicts and the number of states tried. Both are 0 if nothing is stored.
    """
    record = getattr(chat_generator, "record", None)
    right, of = getattr(record, "verdicts", None) or (0, 0)
    return right, of


def is_trial_open(chat_generator: ChatGenerator) -> bool:
    """Check whether a model's trial is unfinished.

    :param chat_generator: The model.
    :returns: True if states are left to try. False for a model whose results cannot be stored.
    """
    if not hasattr(chat_generator, "keep"):
        return False
    _, tried = read_trial(chat_generator)
    return tried < len(read_states())


def _read_documents(passages: list[dict[str, str]]) -> tuple[Document, ...]:
    """Make documents of passages with the keys ``id``, ``title`` and ``text``."""
    return tuple(
        Document(id=passage["id"], content=passage["text"], meta={"title": passage["title"]}) for passage in passages
    )
