"""Replace components and parameters of a pipeline before it is built.

The replacements are made in the content of the YAML, and not in built objects. Objects that the caller passes are
written as YAML first.
"""

import copy
import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from haystack.core import serialization
from haystack.core.component import Component
from haystack.core.errors import DeserializationError

from prefrag.pipelines.blocks import Block, Change, blocks, class_of, is_block, parameters_of, rewrite


def replace_parts(pipeline: Block, replace: Mapping[str, object] | Change) -> Block:
    """Replace components and parameters of a pipeline.

    :param pipeline: The content of the YAML.
    :param replace: The new values by their paths, as :func:`prefrag.pipelines.load` describes them. Or a function that
        changes each block.
    :returns: A changed copy of the pipeline.
    :raises ValueError: When a key matches nothing, or a value cannot be written as YAML.
    """
    if not isinstance(replace, Mapping):
        changed: Block = rewrite(pipeline, replace)
        return changed

    # A block that YAML anchors use in several places stays one block in the deep copy.
    changed = copy.deepcopy(pipeline)
    names = list(changed["components"])

    def exactness(key: str) -> tuple[int, int]:
        # The most specific key comes last and wins. Classes come first, then components in the order of the YAML. Each
        # of them comes before its parameters.
        first, *rest = key.split(".")
        position = names.index(first) if first in names else -1
        return position, len(rest)

    for key in sorted(replace, key=exactness):
        first, *path = key.split(".")
        value = _as_yaml(replace[key], key)
        if not path and not is_block(value):
            raise ValueError(
                f"'{key}' in `replace` is a whole component: give an object or its type and parameters, not {value!r}."
            )
        for block in _find_blocks(changed, first, key):
            # The block itself and its parameters are changed in place, so that their repetitions change, too.
            if not path:
                block.clear()
                block.update(copy.deepcopy(value))
                continue
            new_block = _set_value(block, path, value, key)
            if block.get("init_parameters"):
                block["init_parameters"].update(new_block["init_parameters"])
            else:
                block.update(new_block)
    return changed


def _find_blocks(pipeline: Block, name: str, key: str) -> list[Block]:
    """Find the blocks that the first word of a key names: a component, or all objects of a class.

    If other components repeat the parameters of the component, their blocks are found, too.
    """
    components = pipeline["components"]
    all_blocks = blocks(components)
    if name not in components:
        blocks_of_class = [block for block in all_blocks if class_of(block) == name]
        if blocks_of_class:
            return blocks_of_class
        classes = {class_of(block) for block in all_blocks}
        shown_classes = _join_names(sorted(classes))
        raise ValueError(
            f"'{key}' in `replace` names neither a component nor a class of the pipeline: the components are "
            f"{_join_names(components)}, the classes {shown_classes}."
        )

    component = components[name]
    parameters = component.get("init_parameters")
    if not parameters:
        return [component]
    # The first component that has these parameters is their owner. Others repeat them.
    names_with_these = [other for other, block in components.items() if block.get("init_parameters") is parameters]
    if names_with_these[0] == name:
        return [block for block in all_blocks if block is component or block.get("init_parameters") is parameters]
    # The component repeats the parameters of another one. They are copied, because the key names only this component.
    components[name] = {**component, "init_parameters": dict(parameters)}
    return [components[name]]


def _set_value(holder: Any, path: Sequence[str], value: object, key: str) -> Any:
    """Return a copy of a block, mapping or list with a new value at a path. ``key`` is the whole key, for messages.

    For example, ``_set_value({"a": [1, 2]}, ["a", "1"], 3, "x")`` returns ``{"a": [1, 3]}``.
    """
    if not path:
        return value
    name, *rest = path
    if is_block(holder):
        parameters = parameters_of(holder)
        if name not in parameters:
            names = _parameter_names(holder)
            if names is not None and name not in names:
                raise ValueError(
                    f"'{key}' in `replace`: {class_of(holder)} has no parameter '{name}'; it has {_join_names(names)}."
                )
        new_parameter = _set_value(parameters.get(name), rest, value, key)
        return {**holder, "init_parameters": {**parameters, name: new_parameter}}

    if isinstance(holder, dict):
        new_part = _set_value(holder.get(name), rest, value, key)
        return {**holder, name: new_part}

    if isinstance(holder, list):
        if not name.isdigit() or int(name) >= len(holder):
            raise ValueError(f"'{key}' in `replace`: '{name}' is not valid in a list of {len(holder)}: count from 0.")
        number = int(name)
        new_list = list(holder)
        new_list[number] = _set_value(holder[number], rest, value, key)
        return new_list
    raise ValueError(f"'{key}' in `replace`: there is no '{name}' in {holder!r}, which has no parts.")


def _parameter_names(block: Block) -> list[str] | None:
    """List the parameters that the class of a block takes. Return None if it takes any, or cannot be imported."""
    try:
        # The signature of `__init__` is read, because the class itself has the signature of its metaclass.
        signature = inspect.signature(serialization.import_class_by_name(block["type"]).__init__)
    except (ImportError, DeserializationError, TypeError, ValueError):
        return None
    _, *parameters = signature.parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        # The class takes parameters of any name.
        return None
    return [parameter.name for parameter in parameters]


def _as_yaml(value: object, key: str) -> Any:
    """Write a value as YAML can contain it. Components become blocks. ``key`` is the key of the value, for messages."""
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

    # Haystack 3 builds only classes of trusted modules. The module of an existing object is trusted, because the caller
    # imported it.
    allow = getattr(serialization, "allow_deserialization_module", None)
    if allow:
        for inner in blocks(block):
            module, _, _ = inner["type"].rpartition(".")
            allow(module)
    return block


def _join_names(names: Iterable[str]) -> str:
    """Join names with commas, or return "none"."""
    return ", ".join(names) or "none"
