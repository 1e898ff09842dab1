"""The shipped YAML with its model and its sources replaced by scripts."""

from __future__ import annotations

from typing import Any

import yaml

from prefrag.pipelines.loading import Pipeline, find, read

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


def retriever(
    documents: dict[str, str], name: str, error: str | None = None, together_with: list[str] | None = None
) -> dict[str, Any]:
    parameters = {"documents": documents, "name": name, "error": error, "together_with": together_with}
    return {"type": "tests.fakes.ScriptedRetriever", "init_parameters": parameters}


def judge(shipped: dict[str, Any], verdicts: tuple[str, ...], settings: dict[str, Any]) -> dict[str, Any]:
    """The model of the shipped judge with its verdicts; without verdicts trees that keep everything."""
    if not verdicts:
        return {
            "type": "prefrag.components.judge.tree_judge.TreeJudge",
            "init_parameters": {"threshold": 0.0, **settings},
        }
    by_model = shipped["init_parameters"]["model_judge"]
    parameters = {**by_model["init_parameters"], "chat_generator": model(*verdicts, name="judge"), **settings}
    return {**by_model, "init_parameters": parameters}


def scripted_yaml(
    *replies: str,
    verdicts: tuple[str, ...] = (),
    pipeline: str = "prefrag",
    documents: dict[str, dict[str, str]] | None = None,
    errors: dict[str, str] | None = None,
    changes: dict[str, dict[str, Any]] | None = None,
    model_settings: dict[str, Any] | None = None,
    together: bool = False,
) -> str:
    """The YAML of a pipeline that replies from a script.

    :param replies: What the reasoner's model says, in order.
    :param verdicts: What the judge's model says; without, trees keep everything.
    :param pipeline: The shipped pipeline.
    :param documents: The documents of each source.
    :param errors: The sources that fail, and how.
    :param changes: Settings to change, by component; those of the judge inside it under ``judge.judge``.
    :param model_settings: Further settings of the reasoner's model.
    :param together: A source fails that is not asked at the same time as all others.
    """
    data = yaml.safe_load(read(find(pipeline)))
    found = {"local": LOCAL, "web": WEB} if documents is None else documents
    for name, block in data["components"].items():
        parameters = dict(block["init_parameters"])
        if block["type"].endswith("RetrievalSource"):
            source = parameters["name"]
            others = [other for other in found if other != source] if together else None
            parameters["retriever"] = retriever(found.get(source, {}), source, (errors or {}).get(source), others)
            parameters["fallback"] = None
            parameters |= {"retries": 0, "backoff": 0.0}
        elif name == "judge":
            parameters["judge"] = judge(parameters["judge"], verdicts, (changes or {}).get("judge.judge", {}))
        elif "chat_generator" in parameters:
            parameters["chat_generator"] = model(*replies, **(model_settings or {}))
        data["components"][name] = {**block, "init_parameters": {**parameters, **(changes or {}).get(name, {})}}
    return yaml.safe_dump(data, sort_keys=False)


def scripted(*replies: str, **settings: Any) -> Any:
    """As :func:`scripted_yaml`, loaded, saved and loaded again."""
    return Pipeline.loads(Pipeline.loads(scripted_yaml(*replies, **settings)).dumps())
