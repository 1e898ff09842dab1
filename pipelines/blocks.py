"""Find and change the blocks of a pipeline's YAML. A block is a mapping with a class (``type``) and its parameters."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from haystack.utils.base_serialization import import_class_by_name

from prefrag.components.parts import is_class

# No class of these packages inherits from another package's that is looked for here.
_NOT_OF_OTHERS = ("prefrag.", "haystack.")
Block = dict[str, Any]
Change = Callable[[Block], Block]


def is_block(value: object) -> bool:
    """Check whether a value from the YAML is a block: a mapping whose ``type`` names a class."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "." in value["type"]


def blocks(value: Any) -> list[Block]:
    """List the blocks in a value from the YAML, inner blocks first. A block that YAML repeats is listed each time."""
    parts: Iterable[Any] = ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    found_blocks = [block for part in parts for block in blocks(part)]
    if is_block(value):
        found_blocks.append(value)
    return found_blocks


def rewrite(value: object, change: Change = lambda block: block) -> Any:
    """Copy a value from the YAML and change its blocks, inner blocks first. A block used twice becomes two blocks."""
    if isinstance(value, dict):
        copied = {key: rewrite(part, change) for key, part in value.items()}
        return change(copied) if is_block(copied) else copied
    if isinstance(value, list | tuple):
        return [rewrite(part, change) for part in value]
    return value


def parameters_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a block, or an empty mapping."""
    return block.get("init_parameters") or {}


def is_block_of(block: Mapping[str, Any], path: str) -> bool:
    """Check whether a block describes an object of the class with this path, or of a subclass."""
    if block["type"] == path or block["type"].startswith(_NOT_OF_OTHERS):
        return bool(block["type"] == path)
    try:
        return is_class(import_class_by_name(block["type"]), path)
    except Exception:
        # A module that cannot be imported, or is not trusted, is reported when the pipeline is built.
        return False


def class_of(block: Mapping[str, Any]) -> str:
    """Return the name of a block's class, without its module."""
    return str(block["type"]).rpartition(".")[2]
