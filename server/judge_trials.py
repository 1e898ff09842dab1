"""Find out, while the server is idle, whether its models judge better than chance.

A judge decides after each search whether the documents suffice. An `AutoJudge` uses decision trees, and asks a language
model where the trees are unsure. The model is asked only if it has passed a trial. In the trial, it judges prepared
states of runs whose right verdicts are known. This takes many calls, so it is done while there are no requests.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from hayhooks.server.logger import log

from prefrag.components.judge.auto_judge import AutoJudge
from prefrag.components.judge.judge_trial import (
    is_better_than_chance,
    is_trial_open,
    read_states,
    read_trial,
    try_judge,
)
from prefrag.components.parts import walk_parts
from prefrag.components.text.one_line import one_line

# The pause between two checks whether the server is idle, in seconds. A trial that a request has interrupted goes on
# after the same pause.
_LOOK_SECONDS = 60.0
# While a model is called, the server checks for new requests at this interval, in seconds.
_NOTICE_SECONDS = 0.2
# The pause after a model has failed, in seconds.
_PAUSE_SECONDS = 600.0

# How the line in the log ends if the model has passed.
_ASKED = "it is asked where the trees are unsure."
# How the line in the log ends if the model has failed.
_NOT_ASKED = "the trees judge alone."


@asynccontextmanager
async def trying_judges(
    served: Callable[[], Mapping[str, object]], requests: Collection[object]
) -> AsyncIterator[None]:
    """Try the models of the judges in the background, whenever there are no requests.

    :param served: Returns the served pipelines by name.
    :param requests: The running requests. While this is not empty, no model is tried.
    """
    trying = asyncio.create_task(_try_all(served, requests))
    try:
        yield
    finally:
        trying.cancel()
        with suppress(asyncio.CancelledError):
            await trying


async def _try_all(served: Callable[[], Mapping[str, object]], requests: Collection[object]) -> None:
    """Try all models that have not finished their trial, again and again, until this task is cancelled."""
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            judges: list[AutoJudge] = []
            for pipeline in served().values():
                judges += [part for _, part in walk_parts(pipeline) if _is_untried(part)]
            for judge in judges:
                await _try(judge, requests)
        except Exception as error:
            log.warning("The model could not be tried as a judge: {}", one_line(str(error)))
            await asyncio.sleep(_PAUSE_SECONDS)


def _is_untried(part: object) -> bool:
    """Check whether a component is a judge whose model has not finished its trial."""
    if not isinstance(part, AutoJudge) or part.is_named or part.model_judge.call.is_absent:
        return False
    return is_trial_open(part.model_judge.chat_generator)


async def _try(judge: AutoJudge, requests: Collection[object]) -> None:
    """Let the model judge one state after the other, until a request comes or no state is left.

    The result is stored after each state.
    """
    model: Any = judge.model_judge
    while not requests and is_trial_open(model.chat_generator):
        # Try a single state at a time. Then a request that interrupts the trial costs only the present call.
        right_so_far, tried_so_far = read_trial(model.chat_generator)
        call = asyncio.create_task(try_judge(model, right_so_far, tried_so_far, most=1))
        try:
            while not call.done():
                await asyncio.wait({call}, timeout=_NOTICE_SECONDS)
                if requests:
                    return
            right, tried = call.result()
        finally:
            call.cancel()

        model.chat_generator.keep(verdicts=(right, tried))
        if tried == len(read_states()):
            outcome = _ASKED if is_better_than_chance(right, tried) else _NOT_ASKED
            log.info("The model judged {} of {} states rightly: {}", right, tried, outcome)
