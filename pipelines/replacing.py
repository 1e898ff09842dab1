"""Replace components and parameters of a pipeline before it is built."""

import copy
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from haystack.core import serialization
from haystack.core.component import Component
from haystack.core.errors import DeserializationError

from prefrag.pipelines.blocks import Block, Change, blocks, class_of, is_block, parameters_of, rewrite


def replace_parts(pipeline: Block, replace: Mapping[str, Any] | Change) -> Block:
    """Replace components and parameters of a pipeline.

    The keys of a mapping are paths into the YAML; see :func:`prefrag.pipelines.load`.
    """
    if not isinstance(replace, Mapping):
        changed: Block = rewrite(pipeline, replace)
        return changed
    # A block (a mapping with a class) that YAML anchors use in several places stays one block in the deep copy.
    changed = copy.deepcopy(pipeline)
    names = list(changed["components"])

    def exactness(key: str) -> tuple[int, int]:
        first, *rest = key.split(".")
        # The most specific key comes last and wins: classes, then components in YAML order, each before its parameters.
        return names.index(first) if first in names else -1, len(rest)

    for key in sorted(replace, key=exactness):
        first, *path = key.split(".")
        value = _as_yaml(replace[key], key)
        if not path and not is_block(value):
            raise ValueError(
                f"'{key}' in `replace` is a whole component: give an object or its type and parameters, not {value!r}."
            )
        for block in _find_blocks(changed, first, key):
            # Change the block itself, so that its repetitions change too.
            if not path:
                block.clear()
                block.update(copy.deepcopy(value))
            elif parameters := block.get("init_parameters"):
                parameters.update(_set_value(block, path, value, key)["init_parameters"])
            else:
                block.update(_set_value(block, path, value, key))
    return changed


def _find_blocks(pipeline: Block, name: str, key: str) -> list[Block]:
    """Find the blocks that the first word of a key names."""
    components, everywhere = pipeline["components"], blocks(pipeline["components"])
    if name not in components:
        matches = [block for block in everywhere if class_of(block) == name]
        if matches:
            return matches
        classes = {class_of(block) for block in everywhere}
        raise ValueError(
            f"'{key}' in `replace` names neither a component nor a class of the pipeline: the components are "
            f"{_join_names(components)}, the classes {_join_names(sorted(classes))}."
        )
    block = components[name]
    parameters = block.get("init_parameters")
    if not parameters:
        return [block]
    owner = next(other for other, component in components.items() if component.get("init_parameters") is parameters)
    if owner == name:
        return [other for other in everywhere if other is block or other.get("init_parameters") is parameters]
    # The component repeats the parameters of another. Copy them, because the key names only this component.
    components[name] = {**block, "init_parameters": dict(parameters)}
    return [components[name]]


def _set_value(holder: Any, path: Sequence[str], value: Any, key: str) -> Any:
    name, *rest = path
    if is_block(holder):
        parameters = parameters_of(holder)
        names = parameters.keys() if name in parameters else _parameter_names(holder)
        if names is not None and name not in names:
            raise ValueError(
                f"'{key}' in `replace`: {class_of(holder)} has no parameter '{name}'; it has {_join_names(names)}."
            )
        inner = _set_value(parameters.get(name), rest, value, key) if rest else value
        return {**holder, "init_parameters": {**parameters, name: inner}}
    if isinstance(holder, dict):
        return {**holder, name: _set_value(holder.get(name), rest, value, key) if rest else value}
    if isinstance(holder, list):
        if not name.isdigit() or int(name) >= len(holder):
            raise ValueError(f"'{key}' in `replace`: '{name}' is not valid in a list of {len(holder)}: count from 0.")
        number = int(name)
        inner = _set_value(holder[number], rest, value, key) if rest else value
        return [*holder[:number], inner, *holder[number + 1 :]]
    raise ValueError(f"'{key}' in `replace`: there is no '{name}' in {holder!r}, which has no parts.")


def _parameter_names(block: Block) -> list[str] | None:
    try:
        # Inspect `__init__`, because the class itself has the signature of its metaclass.
        signature = inspect.signature(serialization.import_class_by_name(block["type"]).__init__)
    except (ImportError, DeserializationError, TypeError, ValueError):
        return None
    _, *parameters = signature.parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        # It takes any name.
        return None
    return [parameter.name for parameter in parameters]


def _as_yaml(value: object, key: str) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_as_yaml(part, key) for part in value]
    if isinstance(value, dict):
        return {str(name): _as_yaml(part, key) for name, part in value.items()}
    can_be_written = hasattr(value, "to_dict") or isinstance(value, Component)
    if isinstance(value, type) or not can_be_written:
        raise ValueError(
            f"'{key}' in `replace` cannot be written as YAML: {value!r} is neither a plain value nor a component, and "
            "has no `to_dict`."
        )
    try:
        block = serialization.component_to_dict(value, key)
    except Exception as error:
        raise ValueError(f"'{key}' in `replace` cannot be written as YAML: {error}") from error
    # Haystack 3 builds only classes of trusted modules. The module of an existing object is trusted: the caller
    # imported it.
    allow = getattr(serialization, "allow_deserialization_module", None)
    if allow:
        for inner in blocks(block):
            allow(inner["type"].rpartition(".")[0])
    return block


def _join_names(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"
