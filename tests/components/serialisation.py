"""Components as the YAML of a pipeline keeps them."""

import json
from typing import Any

from haystack.core.serialization import component_from_dict, component_to_dict


def serialised(component: Any) -> dict[str, Any]:
    """Whether it has a `to_dict` of its own or Haystack derives it."""
    data: dict[str, Any] = component_to_dict(component, "component")
    return data


def rebuilt(component: Any) -> Any:
    """The component once more, from values that YAML can hold; it serialises as the first one does."""
    data = serialised(component)
    again = component_from_dict(type(component), json.loads(json.dumps(data)), "component")
    assert serialised(again) == data
    return again
