"""Prompts that bring a text or a conversation along, with a sentence in them that must stay here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

_FOLDER = Path(__file__).parents[1] / "task_prompts"
INVENTED, CLIENTS = (yaml.safe_load((_FOLDER / f"{name}.yaml").read_text("utf-8")) for name in ("invented", "clients"))


def read_prompts() -> dict[str, tuple[list[dict[str, str]], str, list[str]]]:
    """Read the messages of each, the private sentence, said by either speaker, and those of its words that must stay."""
    prompts = {}
    for case in INVENTED["cases"] + CLIENTS["cases"]:
        private: dict[str, Any] = INVENTED["private"][case.get("language", "en")]
        text, words = private["text"], [str(word) for word in private["words"]]
        for speaker, said in {"user": (text, "Noted."), "assistant": ("When?", text)}.items():
            turns = [turn for message in case["messages"] for turn in message.items()]
            messages = [{"role": role, "content": _fill(form, text, *said)} for role, form in turns]
            last = max(number for number, (role, _) in enumerate(turns) if role == "user")
            # What comes after the question is not read.
            if any(text in each["content"] for each in messages[: last + 1]):
                prompts[f"{case['name']}, {speaker}"] = (messages, text, words)
    return prompts


def _fill(form: str, private: str, user: str, assistant: str) -> str:
    return form.replace("{private}", private).replace("{user}", user).replace("{assistant}", assistant)
