"""Find and change the blocks in the YAML of a pipeline.

A block is a mapping that describes an object: ``type`` is the path of its class, and ``init_parameters`` has the
parameters. Components are blocks, and so are the stores and models in their parameters.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from haystack.utils.base_serialization import import_class_by_name

from prefrag.components.parts import is_class

# The beginnings of paths of classes that are compared by their path alone. `is_block_of` looks for classes of other
# packages, and no class of these two packages inherits from them.
_NOT_OF_OTHERS = ("prefrag.", "haystack.")
# A block.
Block = dict[str, Any]
# A function that gets a block and returns the block that replaces it.
Change = Callable[[Block], Block]


def is_block(value: object) -> bool:
    """Check whether a value from the YAML is a block: a mapping whose ``type`` is the path of a class."""
    return isinstance(value, dict) and isinstance(value.get("type"), str) and "." in value["type"]


def blocks(value: Any) -> list[Block]:
    """List the blocks in a value from the YAML.

    For example, ``blocks({"a": {"type": "x.A", "init_parameters": {"b": {"type": "x.B"}}}})`` returns
    ``[{"type": "x.B"}, {"type": "x.A", "init_parameters": {"b": {"type": "x.B"}}}]``.

    :param value: The value.
    :returns: The blocks, inner blocks first. A block that YAML repeats is listed each time.
    """
    parts: Iterable[object] = ()
    if isinstance(value, dict):
        parts = value.values()
    elif isinstance(value, list | tuple):
        parts = value
    result: list[Block] = []
    for part in parts:
        result += blocks(part)
    if is_block(value):
        result.append(value)
    return result


def rewrite(value: object, change: Change = lambda block: block) -> Any:
    """Copy a value from the YAML and change its blocks, inner blocks first.

    :param value: The value. A block that YAML uses twice becomes two blocks in the copy.
    :param change: The function that changes a block. By default, nothing is changed.
    :returns: The changed copy.
    """
    if isinstance(value, dict):
        copied = {key: rewrite(part, change) for key, part in value.items()}
        return change(copied) if is_block(copied) else copied
    if isinstance(value, list | tuple):
        return [rewrite(part, change) for part in value]
    return value


def parameters_of(block: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of a block. The mapping is empty if it has none."""
    return block.get("init_parameters") or {}


def is_block_of(block: Mapping[str, Any], path: str) -> bool:
    """Check whether a block describes an object of a class or of its subclasses.

    :param block: The block.
    :param path: The import path of the class.
    :returns: True if the class of the block is this class or a subclass. False if it cannot be imported.
    """
    if block["type"] == path:
        return True
    if block["type"].startswith(_NOT_OF_OTHERS):
        return False
    try:
        return is_class(import_class_by_name(block["type"]), path)
    except Exception:
        # A module that cannot be imported, or is not trusted, is reported when the pipeline is built.
        return False


def class_of(block: Mapping[str, object]) -> str:
    """Return the name of the class of a block, without its module.

    For example, ``class_of({"type": "x.y.A"})`` returns ``"A"``.
    """
    _, _, name = str(block["type"]).rpartition(".")
    return name
