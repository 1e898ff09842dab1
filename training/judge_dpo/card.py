"""Write the card of a trained judge: what it was trained on, how, and how often it judges rightly."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

_PACKAGES = ("torch", "transformers", "trl", "peft", "datasets", "accelerate")


def write_card(folder: Path, facts: dict[str, Any]) -> None:
    """Write the card, for programs and for people."""
    facts = {**facts, "versions": {name: found for name in _PACKAGES if (found := _find_version(name))}}
    (folder / "card.json").write_text(json.dumps(facts, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    kind = f"a LoRA of rank {facts['lora_rank']}" if facts["lora"] else "all weights"
    lines = [
        "# A judge of `prefrag train judge-dpo fit`",
        "",
        f"From {facts['model']}, {kind}: {facts['pairs']} pairs ({facts['canonical']} with a reply from a template), "
        f"{facts['steps']} steps of {facts['batch']}, learning rate {facts['learning_rate']:g}, "
        f"beta {facts['beta']:g}, {facts['epochs']:g} epochs, seed {facts['seed']}, loss {facts['loss']}, "
        f"{facts['seconds']} s on {facts['devices']} device(s).",
        f"The replies were sampled from {facts['sampled_from']}; gold verdicts by {facts['gold']}.",
        "",
        "| held-out steps, half True | n | right verdicts | says True | unreadable | right by likelihood | AUC |",
        "|---|---|---|---|---|---|---|",
        _row("before", facts["before"]),
        _row("after", facts["after"]),
        "",
        "Versions: " + ", ".join(f"{name} {found}" for name, found in facts["versions"].items()) + ".",
    ]
    (folder / "card.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _row(name: str, measured: dict[str, Any] | None) -> str:
    if measured is None:
        return f"| {name} | not measured | | | | | |"
    columns = ("accuracy", "says_true", "unreadable", "likelihood_accuracy", "likelihood_auc")
    shares = [measured.get(column) for column in columns]
    return f"| {name} | {measured['steps']} | " + " | ".join(
        "not measured" if one is None else f"{one:.3f}" for one in shares
    ) + " |"  # fmt: skip


def _find_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
