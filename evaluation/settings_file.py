"""Read the settings of a command from a YAML file and from NAME=VALUE options. An option overrides the file."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from prefrag.errors import BadInput, Missing

T = TypeVar("T")


def split_changes(changes: Iterable[str]) -> tuple[list[str], tuple[str, ...]]:
    """Separate the settings of the command from those of the pipeline.

    A setting of the pipeline has a dot in its name, or an @ before its value. For example, ``split_changes(["seed=3",
    "start.max_steps=5"])`` returns ``(["seed=3"], ("start.max_steps=5",))``.

    :param changes: The settings, each as NAME=VALUE.
    :returns: The settings of the command, and those of the pipeline.
    """
    own_changes = []
    pipeline_changes = []
    for text in changes:
        name, _, value = text.partition("=")
        if "." in name or value.startswith("@"):
            pipeline_changes.append(text)
        else:
            own_changes.append(text)
    return own_changes, tuple(pipeline_changes)


def read_fields(kind: type[Any], file: Path | None, single: Iterable[str] = ()) -> dict[str, Any]:
    """Read values for the fields of a dataclass.

    :param kind: The dataclass.
    :param file: A YAML file with values. None means that there is no file.
    :param single: Single values, each as NAME=VALUE. They override those of the file.
    :returns: The values by the name of the field. They are not checked yet.
    :raises Missing: If there is no such file.
    :raises BadInput: If the file or a value is not YAML, or if a name is no field. The message then names the nearest
        field.
    """
    values: dict[str, object] = {}
    if file is not None:
        if not file.is_file():
            raise Missing(f"There is no file {file}: give a YAML file of settings.")
        values = _read_yaml(file.read_text(encoding="utf-8"), str(file)) or {}
        if not isinstance(values, dict):
            raise BadInput(f"{file} is not a list of settings: write one 'name: value' per line.")
    for text in single:
        name, equals, value = text.partition("=")
        if not equals:
            raise BadInput(f"'{text}' sets nothing: write NAME=VALUE.")
        values[name] = _read_yaml(value, f"'{text}'")

    names = [field.name for field in fields(kind)]
    for name in values:
        if name not in names:
            nearest = get_close_matches(str(name), names, n=1, cutoff=0) or names
            raise BadInput(f"There is no setting '{name}': the nearest is {nearest[0]}.")
    return values


def make_settings(kind: type[T], values: Mapping[str, object]) -> T:
    """Make an object of a dataclass. The values are checked and converted to the types of the fields.

    :param kind: The dataclass.
    :param values: The values by the name of the field.
    :returns: The object.
    :raises BadInput: If a value is invalid.
    """
    try:
        return TypeAdapter(kind).validate_python(dict(values))
    except ValidationError as error:
        first_error = error.errors()[0]
        # The place of an error begins with the name of the field.
        name = ".".join(map(str, first_error["loc"][:1]))
        message = f"{name} is {first_error['input']!r}: {first_error['msg']}."
        # An error that the dataclass itself has raised has a message of its own.
        reason = first_error.get("ctx", {}).get("error")
        raise BadInput(str(reason or message)) from error


def write_settings(settings: Any) -> str:
    """Write the settings that differ from their defaults.

    :param settings: An object of a dataclass.
    :returns: The settings as YAML.
    """
    changed_values = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        if value != field.default:
            changed_values[field.name] = _plain(value)
    return yaml.safe_dump(changed_values, sort_keys=False, allow_unicode=True)


def _plain(value: object) -> object:
    """Return a value as YAML can write it: a path as a text, and a tuple as a list."""
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    return value


def _read_yaml(text: str, where: str) -> Any:
    """Read YAML, or raise BadInput that says where the text is from."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInput(f"{where} is not YAML: {error}") from error
