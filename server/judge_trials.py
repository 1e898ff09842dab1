"""Find out, while the server is idle, whether its models judge better than chance."""

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

_LOOK_SECONDS = 60.0  # between two checks whether the server is idle, and after a request has interrupted a trial
_NOTICE_SECONDS = 0.2  # until a new request interrupts a trial
_PAUSE_SECONDS = 600.0  # after a model has failed

_ASKED, _NOT_ASKED = "it is asked where the trees are unsure.", "the trees judge alone."


@asynccontextmanager
async def trying_judges(served: Callable[[], Mapping[str, Any]], requests: Collection[Any]) -> AsyncIterator[None]:
    """Try the models of the served pipelines' judges in the background, whenever there are no requests."""
    trying = asyncio.create_task(_try_all(served, requests))
    try:
        yield
    finally:
        trying.cancel()
        with suppress(asyncio.CancelledError):
            await trying


async def _try_all(served: Callable[[], Mapping[str, Any]], requests: Collection[Any]) -> None:
    while True:
        await asyncio.sleep(_LOOK_SECONDS)
        try:
            judges = [part for pipeline in served().values() for _, part in walk_parts(pipeline) if _is_untried(part)]
            for judge in judges:
                await _try(judge, requests)
        except Exception as error:
            log.warning("The model could not be tried as a judge: {}", one_line(str(error)))
            await asyncio.sleep(_PAUSE_SECONDS)


def _is_untried(part: Any) -> bool:
    if not isinstance(part, AutoJudge) or part.is_named or part.model_judge.call.is_absent:
        return False
    return is_trial_open(part.model_judge.chat_generator)


async def _try(judge: AutoJudge, requests: Collection[Any]) -> None:
    """Try state after state, and keep each result, until a request comes or none is left."""
    model: Any = judge.model_judge
    while not requests and is_trial_open(model.chat_generator):
        # A single state at a time, so that a request costs the trial no more than the call that it interrupts.
        call = asyncio.create_task(try_judge(model, *read_trial(model.chat_generator), most=1))
        try:
            while not call.done():
                await asyncio.wait({call}, timeout=_NOTICE_SECONDS)
                if requests:
                    return
            right, of = call.result()
        finally:
            call.cancel()
        model.chat_generator.keep(verdicts=(right, of))
        if of == len(read_states()):
            passed = is_better_than_chance(right, of)
            log.info("The model judged {} of {} states rightly: {}", right, of, _ASKED if passed else _NOT_ASKED)
