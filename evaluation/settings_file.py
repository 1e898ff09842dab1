"""Read a command's settings from a YAML file and from NAME=VALUE options that override it."""

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
    """Separate the command's settings from the pipeline's, which have a dot in the name or an @ before the value."""
    own = []
    of_pipeline = []
    for text in changes:
        name, _, value = text.partition("=")
        if "." in name or value.startswith("@"):
            of_pipeline.append(text)
        else:
            own.append(text)
    return own, tuple(of_pipeline)


def read_fields(kind: type[Any], file: Path | None, single: Iterable[str] = ()) -> dict[str, Any]:
    """Read values for the fields of the dataclass ``kind`` from a file and from NAME=VALUE texts, which override it."""
    values: dict[str, Any] = {}
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
            nearest = get_close_matches(str(name), names, 1, cutoff=0) or names
            raise BadInput(f"There is no setting '{name}': the nearest is {nearest[0]}.")
    return values


def make_settings(kind: type[T], values: Mapping[str, object]) -> T:
    """Make an object of the dataclass ``kind``, checking and converting the values of its fields."""
    try:
        return TypeAdapter(kind).validate_python(dict(values))
    except ValidationError as error:
        first = error.errors()[0]
        reason = first.get("ctx", {}).get("error")
        name = ".".join(map(str, first["loc"][:1]))
        raise BadInput(str(reason or f"{name} is {first['input']!r}: {first['msg']}.")) from error


def write_settings(settings: Any) -> str:
    """Return the settings that differ from their defaults, as YAML."""
    changed = {
        field.name: _plain(getattr(settings, field.name))
        for field in fields(settings)
        if getattr(settings, field.name) != field.default
    }
    return yaml.safe_dump(changed, sort_keys=False, allow_unicode=True)


def _plain(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    return list(value) if isinstance(value, tuple) else value


def _read_yaml(text: str, where: str) -> Any:
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise BadInput(f"{where} is not YAML: {error}") from error
