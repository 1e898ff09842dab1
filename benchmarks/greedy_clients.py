"""Measure how well a server answers one API key while other keys send as many never-ending questions as they can."""

from __future__ import annotations

import asyncio
import statistics
import threading
import time
from collections import Counter
from itertools import count
from pathlib import Path
from typing import Any

import httpx

from benchmarks.served import Reply, Server, serve

QUESTIONS = 330
ASKED = 10
_SETTLE_SECONDS = 20.0
# Only questions of the greedy keys contain this text. The model never answers them.
_HANGS = "Q-9"


def _reply(reply: Reply) -> None:
    (reply.hang if _HANGS in str(reply.request_body["messages"]) else reply.complete)()


def starve(data: Path, greedy: int, environment: dict[str, str]) -> list[str]:
    """Ask with one key while the greedy keys have as many questions running as they can. Return what went wrong."""
    model = Server()
    model.fault = _reply
    threading.Thread(target=model.serve_forever, daemon=True).start()
    keys = ["other", *(f"greedy-{number}" for number in range(greedy))]
    own = {"PREFRAG_LLM_BASE_URL": f"http://127.0.0.1:{model.server_port}/v1", "PREFRAG_API_KEYS": ",".join(keys)}
    try:
        with serve(
            data, "prefrag", **{**environment, **own, "PREFRAG_RUN_SECONDS": "600", "PREFRAG_LLM_SECONDS": "600"}
        ) as url:
            return asyncio.run(_measure(f"{url}/prefrag/run", keys))
    finally:
        model.shutdown()
        model.server_close()


async def _measure(url: str, keys: list[str]) -> list[str]:
    numbers = count(100_000)
    async with httpx.AsyncClient(timeout=120, limits=httpx.Limits(max_connections=None)) as http:

        def ask(key: str, number: int) -> Any:
            headers = {"Authorization": f"Bearer {key}"}
            return http.post(url, json={"question": f"Where was Q-{number} born?"}, headers=headers)

        async def ask_in_turn() -> tuple[list[float], Counter[int]]:
            took, statuses = [], Counter[int]()
            for _ in range(ASKED):
                began = time.monotonic()
                statuses[(await ask(keys[0], next(numbers))).status_code] += 1
                took.append(time.monotonic() - began)
            return took, statuses

        usual, _ = await ask_in_turn()
        hanging = [asyncio.create_task(ask(key, 900_000 + n)) for n in range(QUESTIONS) for key in keys[1:]]
        await asyncio.sleep(_SETTLE_SECONDS)
        refused = Counter(task.result().status_code for task in hanging if task.done() and not task.exception())
        took, statuses = await ask_in_turn()
        for task in hanging:
            task.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)
    alone = f"{statistics.median(usual):.2f} s and {max(usual):.2f} s"
    print(
        f"{len(keys) - 1} greedy keys with {QUESTIONS} hanging questions each, refused {dict(refused)}; the other key: "
        f"{dict(statuses)}, {statistics.median(took):.2f} s (median), {max(took):.2f} s (longest); "
        f"alone {alone}",
        flush=True,
    )
    return [] if statuses == {200: ASKED} else [f"The other key got the statuses {dict(statuses)}."]
