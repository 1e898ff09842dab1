"""Draw a pipeline as a text that many programs show as a picture."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from prefrag.pipelines.blocks import class_of

if TYPE_CHECKING:
    from haystack.core.pipeline.base import PipelineBase

# The class of components that only merge several paths.
_JOINER = "BranchJoiner"


def mermaid(pipeline: PipelineBase) -> str:
    """Draw a pipeline as a Mermaid flowchart, which GitHub, GitLab and many editors show as a picture.

    Joiners, which only merge several paths, are drawn as dots. If a component uses several outputs, each arrow shows
    the name of its output.

    :param pipeline: The Haystack pipeline.
    :returns: The text of the flowchart.
    """
    data = pipeline.to_dict()
    lines = ["flowchart TD"]
    for name, block in data["components"].items():
        class_name = class_of(block)
        if class_name == _JOINER:
            lines.append(f"    {_node_id(name)}((.))")
        else:
            lines.append(f'    {_node_id(name)}["<b>{name}</b><br>{class_name}"]')

    edges = [(_split_end(line["sender"]), _split_end(line["receiver"])) for line in data["connections"]]
    # How many of its outputs each component uses.
    used_outputs = {output for output, _ in edges}
    numbers_of_outputs = Counter(sender for sender, _ in used_outputs)
    for (sender, socket), (receiver, _) in edges:
        label = f"|{socket}|" if numbers_of_outputs[sender] > 1 else ""
        lines.append(f"    {_node_id(sender)} -->{label} {_node_id(receiver)}")
    return "\n".join(lines)


def _split_end(end: str) -> tuple[str, str]:
    """Split an end of a connection into the component and its socket.

    For example, ``_split_end("start.state")`` returns ``("start", "state")``.
    """
    name, socket = end.split(".", 1)
    return name, socket


def _node_id(name: str) -> str:
    """Return the name of a component's node in the flowchart."""
    # The prefix avoids the keywords of Mermaid, such as "end".
    return f"n_{name}"
