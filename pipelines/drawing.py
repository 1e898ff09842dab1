"""Draw a pipeline as a text that many programs show as a picture."""

from collections import Counter
from typing import Any

# The class of components that only merge several paths.
_JOINER = "BranchJoiner"


def mermaid(pipeline: Any) -> str:
    """Draw a pipeline as a Mermaid flowchart, which GitHub, GitLab and many editors show as a picture.

    Joiners, which only merge several paths, are drawn as dots. If a component uses several outputs, each arrow shows
    the name of its output.

    :param pipeline: The Haystack pipeline.
    :returns: The text of the flowchart.
    """
    data = pipeline.to_dict()
    types = {name: block["type"].rsplit(".", 1)[-1] for name, block in data["components"].items()}
    edges = [(_split_end(line["sender"]), _split_end(line["receiver"])) for line in data["connections"]]
    used_outputs = {output for output, _ in edges}
    outputs = Counter(sender for sender, _ in used_outputs)

    lines = ["flowchart TD"]
    for name, type_ in types.items():
        shape = f"{_node_id(name)}((.))" if type_ == _JOINER else f'{_node_id(name)}["<b>{name}</b><br>{type_}"]'
        lines.append(f"    {shape}")
    for (sender, socket), (receiver, _) in edges:
        label = f"|{socket}|" if outputs[sender] > 1 else ""
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
