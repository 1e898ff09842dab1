"""Count how often the rules that rewrite follow-up questions are right.

``python -m benchmarks.follow_ups CANARD.json`` reads CANARD (https://sites.google.com/view/qanta/projects/canard): a
list of objects, or one object per line. Each has ``History`` (the title of the page, its section, then questions and
answers in turn), ``Question`` and ``Rewrite``.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path
from typing import Any

from prefrag.components.loop.follow_up_rules import _names, find_reference, rewrite_by_rules


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def read(path: Path) -> list[dict[str, Any]]:
    """Read the questions from a JSON list, as published, or from JSON Lines."""
    text = path.read_text(encoding="utf-8")
    folded = []
    for row in _read_rows(text):
        folded.append({key.casefold(): value for key, value in row.items()})
    return folded


def _read_rows(text: str) -> list[dict[str, Any]]:
    if text.startswith("["):
        return list(json.loads(text))
    return [json.loads(line) for line in text.splitlines()]


def main(path: str, half: str = "reported") -> None:
    """Count over one half of the pages, ``tuned`` or ``reported``. A hash of the title divides the pages."""
    count: Counter[str] = Counter()
    for row in read(Path(path)):
        title, _, *said = row["history"]
        if (sha256(title.encode()).digest()[0] % 2 == 0) != (half == "tuned"):
            continue
        question, meant = row["question"], row["rewrite"]
        # A question about the page is put before the history, because a user would begin with it.
        turns = [(f"What about {title}?", ""), *zip(said[::2], said[1::2], strict=False)]
        missing = {word for name in _names(f"- {meant}") for word in _words(name)} - _words(question)
        seen, written = find_reference(question), rewrite_by_rules(question, turns)
        count["questions"] += 1
        count["need a name"] += bool(missing)
        count["need a name, seen"] += bool(missing and seen)
        same = _words(question) == _words(meant)
        count["need nothing"] += same
        count["need nothing, left alone"] += same and written == question
        if seen and written is None:
            count["asked back"] += 1
        elif seen and written:
            count["rewritten"] += 1
            right = bool(missing & _words(written))
            count["rewritten, with a name of the reference"] += right
            if not right and "--show" in sys.argv:
                print(turns[-2:], "|", question, "->", written, "| meant:", meant)
    print(json.dumps(count, indent=2))


if __name__ == "__main__":
    main(*sys.argv[1:3])
