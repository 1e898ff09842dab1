"""The shipped YAML with its model and its sources replaced by scripts."""

from __future__ import annotations

import math
from typing import Any

import yaml

from prefrag.pipelines import load
from prefrag.pipelines.blocks import blocks, class_of
from prefrag.pipelines.loading import YAML_PIPELINES, read_block
from prefrag.pipelines.replacing import replace_parts

MODEL_JUDGE = "prefrag.components.judge.model_judge.ModelJudge"
TREE_JUDGE = "prefrag.components.judge.tree_judge.TreeJudge"
LOCAL = {
    "alpha": "Alpha was built by Beta.",
    "beta": "Beta is a yard in Gamma.",
}
WEB = {
    "alpha": "Alpha, says the web, is a boat.",
    "delta": "Delta won the prize in 1974.",
}


def search(query: str, tool: str = "Search_Engine", thought: str = "I look it up.") -> str:
    return f"Thought: {thought}\nAction: {tool}\nAction Input: {query}\n"


def answer(text: str = "1974", label: str | None = "CORRECT") -> str:
    trailer = f"\nSelf-Evaluation: {label}\nExplanation: As the passages say." if label else ""
    return f"Thought: I now know the final answer.\nFinal Answer: {text}{trailer}"


def verdict(status: bool) -> str:
    return f'{{"analysis": "Compared.", "status": "{status}"}}'


def model(*script: str, name: str = "model", **settings: Any) -> dict[str, Any]:
    parameters = {"script": list(script), "name": name, **settings}
    return {"type": "tests.fakes.ScriptedChatGenerator", "init_parameters": parameters}


def reader(readings: list[list[tuple[str, float]]]) -> dict[str, Any]:
    script = [[list(candidate) for candidate in candidates] for candidates in readings]
    return {"type": "tests.fakes.ScriptedReader", "init_parameters": {"script": script}}


def retriever(
    documents: dict[str, str], name: str, error: str | None = None, together_with: list[str] | None = None
) -> dict[str, Any]:
    parameters = {"documents": documents, "name": name, "error": error, "together_with": together_with}
    return {"type": "tests.fakes.ScriptedRetriever", "init_parameters": parameters}


def retry_policy(**settings: Any) -> dict[str, Any]:
    parameters = {"retries": 0, **settings}
    return {"type": "prefrag.components.sources.retry_policy.RetryPolicy", "init_parameters": parameters}


def judge(shipped: dict[str, Any], verdicts: tuple[str, ...]) -> dict[str, Any]:
    """Write the shipped model judge with scripted verdicts; without verdicts, trees that keep everything."""
    if not verdicts:
        return {"type": TREE_JUDGE, "init_parameters": {"cost_of_leaving": math.inf}}
    settings = shipped["init_parameters"].get("model_judge", {}).get("init_parameters", {})
    return {"type": MODEL_JUDGE, "init_parameters": {**settings, "chat_generator": model(*verdicts, name="judge")}}


def scripted(*replies: str, pipeline: str = "prefrag", **settings: Any) -> Any:
    """Load a shipped pipeline that replies from a script; the parameters are those of :func:`script`."""
    return load(pipeline, script(*replies, pipeline=pipeline, **settings))


def scripted_block(*replies: str, pipeline: str = "prefrag", **settings: Any) -> dict[str, Any]:
    """Give a shipped pipeline that replies from a script, before it is built; see :func:`script`."""
    return replace_parts(
        read_block(YAML_PIPELINES / f"{pipeline}.yaml"), script(*replies, pipeline=pipeline, **settings)
    )


def scripted_yaml(*replies: str, **settings: Any) -> str:
    """Write the YAML of a shipped pipeline that replies from a script; see :func:`script`."""
    return write_yaml(scripted_block(*replies, **settings))


def write_yaml(block: dict[str, Any]) -> str:
    # Ten times as fast as safe_dump.
    return yaml.dump(block, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)


def script(
    *replies: str,
    verdicts: tuple[str, ...] = (),
    pipeline: str = "prefrag",
    documents: dict[str, dict[str, str]] | None = None,
    errors: dict[str, str] | None = None,
    replace: dict[str, Any] | None = None,
    model_settings: dict[str, Any] | None = None,
    together: bool = False,
    readings: list[list[tuple[str, float]]] | None = None,
) -> dict[str, Any]:
    """Write the scripts that replace the model and the sources, for `load`.

    :param replies: The replies of the reasoner's model, in order.
    :param verdicts: The replies of the judge's model; without them trees keep everything.
    :param pipeline: The shipped pipeline.
    :param documents: The documents of each source.
    :param errors: The errors of the sources that fail, by name.
    :param replace: Further parts to replace.
    :param model_settings: Further settings of the reasoner's model.
    :param together: Whether a source fails that is not searched at the same time as all others.
    :param readings: What the reader finds in the place of a model, see :class:`tests.fakes.ScriptedReader`.
    """
    found = {"local": LOCAL, "web": WEB} if documents is None else documents
    components = read_block(YAML_PIPELINES / f"{pipeline}.yaml")["components"]
    parts: dict[str, Any] = {"ChatModel": model(*replies, **(model_settings or {}))}
    if readings is not None:
        parts = {"ExtractiveReader": reader(readings)}
    if any(class_of(block) == "RetrievalSource" for block in blocks(components)):
        parts |= {"RetrievalSource.fallback": None, "RetrievalSource.retry_policy": retry_policy()}
    for name, block in components.items():
        if class_of(block) == "RetrievalSource" and name == block["init_parameters"]["name"]:
            others = [other for other in found if other != name] if together else None
            parts[f"{name}.retriever"] = retriever(found.get(name, {}), name, (errors or {}).get(name), others)
    if "judge" in components:
        parts["judge.judge"] = judge(components["judge"]["init_parameters"]["judge"], verdicts)
    return parts | (replace or {})
