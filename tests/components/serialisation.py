"""Write components as the YAML of a pipeline does, and read them again."""

import json
from typing import Any

from haystack.core.serialization import component_from_dict, component_to_dict


def serialised(component: Any) -> dict[str, Any]:
    """The component as plain values, by its own `to_dict` or Haystack's."""
    data: dict[str, Any] = component_to_dict(component, "component")
    return data


def rebuilt(component: Any) -> Any:
    """The component rebuilt from values that YAML can hold; it must serialise to the same values."""
    data = serialised(component)
    again = component_from_dict(type(component), json.loads(json.dumps(data)), "component")
    assert serialised(again) == data
    return again
