"""Two-hop questions, and models whose reply depends on the point of the grid."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from haystack.dataclasses import ChatMessage

from prefrag.training.dataset import Dataset
from prefrag.training.judge_dpo.candidates import GRID
from tests.training.towns import write_rivers

Reply = Callable[[str, dict[str, Any]], str]


def write_dataset(folder: Path, count: int = 8) -> Dataset:
    """Write questions that each need a town and its river; two in three rivers are only on the web."""
    sources = [("local", "local" if place % 3 else "web") for place in range(count)]
    return write_rivers(folder, sources, {"id": "w", "title": "Hill", "text": "A hill in the web.", "source": "web"})


def reply(status: bool, analysis: str = "Compared.") -> str:
    return json.dumps({"analysis": analysis, "status": str(status)})


def by_point(prompt: str, parameters: dict[str, Any]) -> str:
    """The verdict is True at every other point of the grid, and each reply differs."""
    place = GRID.index((parameters["temperature"], parameters["top_p"]))
    return reply(place % 2 == 0, f"Reply {place}.")


class Model:
    """A model that records its calls.

    :param reply: Returns the reply to a prompt and its parameters; a reply that starts with ``!`` is raised instead.
    """

    model_host = "localhost"

    def __init__(self, reply: Reply = by_point, name: str = "small", thinking: bool | None = None):
        self.reply = reply
        self.model = name
        self.calls: list[dict[str, Any]] = []
        self.thinking = thinking
        self._lock = threading.Lock()

    def run(self, messages: list[ChatMessage], generation_kwargs: dict[str, Any] | None = None) -> dict[str, Any]:
        with self._lock:
            self.calls.append({"messages": messages, **(generation_kwargs or {})})
        text = self.reply(messages[-1].text or "", generation_kwargs or {})
        if text.startswith("!"):
            raise RuntimeError(text[1:])
        return {"replies": [ChatMessage.from_assistant(text, meta={"finish_reason": "stop"})]}


def read_lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
