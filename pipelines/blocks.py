"""Find the blocks of a pipeline's YAML, each a class and its parameters, and change them in a copy."""

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
    :returns: The blocks themselves, the inner ones first; a block that YAML repeats is listed once per occurrence.
    """
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    found = [block for part in parts for block in blocks(part)]
    return [*found, value] if is_block(value) else found


def rewrite(value: Any, change: Change = lambda block: block) -> Any:
    """Copy a part of a pipeline and change its blocks, the inner ones first.

    :param value: A part of a pipeline.
    :param change: Called with a copy of each block, whose inner blocks are changed already; returns its
        replacement.
    :returns: A copy with every block changed, which shares no part, as YAML's anchors make it.
    """
    if isinstance(value, dict):
        copied = {key: rewrite(part, change) for key, part in value.items()}
        return change(copied) if is_block(copied) else copied
    return [rewrite(part, change) for part in value] if isinstance(value, list | tuple) else value


def parameters_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """Get the parameters of a block, which may have none.

    :param block: The block.
    :returns: Its `init_parameters`.
    """
    return block.get("init_parameters") or {}


def class_of(block: Mapping[str, Any]) -> str:
    """Get the name of a block's class.

    :param block: The block.
    :returns: The name without its module.
    """
    return str(block["type"]).rpartition(".")[2]
