"""Find the blocks of a pipeline's YAML, each a class and its parameters, and change them in a copy."""

from collections.abc import Callable, Mapping
from typing import Any

Block = dict[str, Any]
Change = Callable[[Block], Block]


def is_block(value: Any) -> bool:
    """Check whether a part of a pipeline names a class."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "." in value["type"]


def blocks(value: Any) -> list[Block]:
    """Find the blocks in a part of a pipeline, the inner ones first; one that YAML repeats is listed each time."""
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    found = [block for part in parts for block in blocks(part)]
    return [*found, value] if is_block(value) else found


def rewrite(value: Any, change: Change = lambda block: block) -> Any:
    """Copy a part of a pipeline and change its blocks, the inner ones first; blocks shared by anchors become copies."""
    if isinstance(value, dict):
        copied = {key: rewrite(part, change) for key, part in value.items()}
        return change(copied) if is_block(copied) else copied
    return [rewrite(part, change) for part in value] if isinstance(value, list | tuple) else value


def parameters_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """Get the parameters of a block, which may have none."""
    return block.get("init_parameters") or {}


def class_of(block: Mapping[str, Any]) -> str:
    """Get the name of a block's class."""
    return str(block["type"]).rpartition(".")[2]
