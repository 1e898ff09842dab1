"""Write the card of something trained: what it was trained on, and how."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

CARD = "card.json"


def write_card(folder: Path, facts: dict[str, Any], lines: Iterable[str]) -> None:
    """Write the card, for programs and for people."""
    facts = {**facts, "bytes": {file.name: file.stat().st_size for file in sorted(folder.iterdir()) if file.is_file()}}
    (folder / CARD).write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "card.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
