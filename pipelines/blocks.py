"""The blocks of a pipeline's YAML, each a class and its parameters: finding them, and changing them in a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Block = dict[str, Any]
Change = Callable[[Block], Block]


def is_block(value: Any) -> bool:
    """Check whether a part of a pipeline names a class.

    :param value: A part of a pipeline.
    :returns: Whether it is a block.
    """
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "." in value["type"]


def blocks(value: Any) -> list[Block]:
    """Find the blocks in a part of a pipeline.

    :param value: A part of a pipeline.
    :returns: The blocks themselves, the inner ones first; one that YAML repeats as often as it stands there.
    """
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    found = [block for part in parts for block in blocks(part)]
    return [*found, value] if is_block(value) else found


def rewrite(value: Any, change: Change = lambda block: block) -> Any:
    """Change blocks, the inner ones first.

    :param value: A part of a pipeline.
    :param change: Called with a copy of each block, whose inner blocks are changed already; gives what takes its place.
    :returns: A copy with every block changed, in which no part stands twice, as it may after YAML's anchors.
    """
    if isinstance(value, dict):
        copied = {key: rewrite(part, change) for key, part in value.items()}
        return change(copied) if is_block(copied) else copied
    return [rewrite(part, change) for part in value] if isinstance(value, list | tuple) else value


def parameters_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """Give the parameters of a block, which may have none.

    :param block: The block.
    :returns: Its `init_parameters`.
    """
    return block.get("init_parameters") or {}


def class_of(block: Mapping[str, Any]) -> str:
    """Give the name of a block's class.

    :param block: The block.
    :returns: The name without its module.
    """
    return str(block["type"]).rpartition(".")[2]
