"""Results and pipelines in a form that can be compared."""

from copy import deepcopy
from functools import cache
from typing import Any

from prefrag.pipelines import load


def comparable(result: dict[str, Any]) -> dict[str, Any]:
    """Remove the times from a result."""

    def timeless(entry: dict[str, Any]) -> dict[str, Any]:
        return {key: value for key, value in entry.items() if key != "seconds"}

    told = {key: [timeless(entry) for entry in result[key]] for key in ("trace", "queries_sent_out")}
    return {**result, **told, "usage": timeless(result["usage"])}


@cache
def shipped(name: str) -> Any:
    """Load a pipeline once for all tests, which do not change it."""
    return load(name)


def graph(pipeline: Any) -> dict[str, Any]:
    """A pipeline, given or by name, in a form that does not depend on the order of its connections."""
    data = deepcopy((shipped(pipeline) if isinstance(pipeline, str) else pipeline).to_dict())
    data["connections"] = sorted((line["sender"], line["receiver"]) for line in data["connections"])
    return data


def parameters(name: str) -> dict[str, Any]:
    """The parameters of each component."""
    return {part: block["init_parameters"] for part, block in shipped(name).to_dict()["components"].items()}
