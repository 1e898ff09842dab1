"""The fenced blocks of a Markdown file."""

from __future__ import annotations

import re
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_FENCED = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def fenced(file: Path, language: str = "") -> list[str]:
    """The texts of the blocks in a language; those without one are commands."""
    matches = _FENCED.finditer(file.read_text(encoding="utf-8"))
    return [match["text"] for match in matches if match["language"] == language]


def commands(file: Path) -> list[str]:
    """The commands, one a line, those that go on behind a backslash joined."""
    lines = "".join(fenced(file)).replace("\\\n", " ").splitlines()
    return [line for line in lines if line.strip()]
