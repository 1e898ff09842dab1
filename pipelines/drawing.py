"""Draw a picture of a pipeline, from its YAML."""

from __future__ import annotations

from collections import Counter
from typing import Any

_JOINER = "BranchJoiner"


def mermaid(pipeline: Any) -> str:
    """Draw a pipeline as a Mermaid flowchart, which GitHub, GitLab and many editors show as a picture.

    Joiners, which only bring several ways together, are dots; an arrow carries the name of its output where the
    component has several.

    :param pipeline: A loaded pipeline.
    :returns: The text of the flowchart.
    """
    data = pipeline.to_dict()
    types = {name: block["type"].rsplit(".", 1)[-1] for name, block in data["components"].items()}
    edges = [(_split(line["sender"]), _split(line["receiver"])) for line in data["connections"]]
    outputs = Counter(sender for sender, _ in {(sender, socket) for (sender, socket), _ in edges})
    lines = ["flowchart TD"]
    for name, type_ in types.items():
        shape = f"{_id(name)}((.))" if type_ == _JOINER else f'{_id(name)}["<b>{name}</b><br>{type_}"]'
        lines.append(f"    {shape}")
    for (sender, socket), (receiver, _) in edges:
        label = f"|{socket}|" if outputs[sender] > 1 else ""
        lines.append(f"    {_id(sender)} -->{label} {_id(receiver)}")
    return "\n".join(lines)


def _split(end: str) -> tuple[str, str]:
    name, socket = end.split(".", 1)
    return name, socket


def _id(name: str) -> str:
    # "end" and a few others are words of the language itself.
    return f"n_{name}"
