"""Load shipped pipelines whose model and sources reply from scripts."""

import json
import math
import os
from pathlib import Path
from typing import Any

import yaml

from prefrag import pipelines
from prefrag.components.parts import walk_parts
from prefrag.pipelines.blocks import blocks, class_of, parameters_of, rewrite
from prefrag.pipelines.loading import YAML_PIPELINES, build, read_block
from prefrag.pipelines.replacing import replace_parts

MODEL_JUDGE = "prefrag.components.judge.model_judge.ModelJudge"
TREE_JUDGE = "prefrag.components.judge.tree_judge.TreeJudge"
LOCAL = {"alpha": "Alpha was built by Beta.", "beta": "Beta is a yard in Gamma."}
WEB = {"alpha": "Alpha, says the web, is a boat.", "delta": "Delta won the prize in 1974."}


QUESTION = "In which year did the yard that built alpha win the prize?"


async def run(pipeline: Any, question: str = QUESTION, **options: Any) -> dict[str, Any]:
    return await pipelines.ask_async(pipeline, question, **options)


def kinds(result: dict[str, Any]) -> list[str]:
    return [event["kind"] for event in result["trace"]]


def events(result: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    return [event for event in result["trace"] if event["kind"] == kind]


def sent(result: dict[str, Any]) -> list[str]:
    return [query["query"] for query in result["queries_sent_out"]]


def local(query: str) -> str:
    return search(query, tool="Search_Local")


def web(query: str) -> str:
    return search(query, tool="Search_Web")


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
    """The shipped model judge with scripted verdicts; without verdicts, trees that keep everything."""
    if not verdicts:
        return {"type": TREE_JUDGE, "init_parameters": {"cost_of_leaving": math.inf}}
    settings = shipped["init_parameters"].get("model_judge", {}).get("init_parameters", {})
    return {"type": MODEL_JUDGE, "init_parameters": {**settings, "chat_generator": model(*verdicts, name="judge")}}


def scripted(*replies: str, pipeline: str = "prefrag", **settings: Any) -> Any:
    """Load a shipped pipeline that replies from a script; the parameters are those of :func:`script`."""
    block = scripted_block(*replies, pipeline=pipeline, **settings)
    return lent.lend(block, pipeline) if lent else build(block, pipeline)


def scripted_block(*replies: str, pipeline: str = "prefrag", **settings: Any) -> dict[str, Any]:
    """The YAML block of a shipped pipeline that replies from a script; see :func:`script`."""
    shipped = read_block(YAML_PIPELINES / f"{pipeline}.yaml")
    return replace_parts(shipped, _parts(shipped["components"], *replies, **settings))


class Lent:
    """Pipelines that tests share, because building one takes longer than asking it. A pipeline is lent with its fakes
    set to the script of the test. A test never gets the same one twice, and one that a test changes is not lent again.
    """

    def __init__(self) -> None:
        self.free: dict[str, list[Any]] = {}
        self.taken: list[tuple[str, Any, list[set[str]]]] = []

    def lend(self, block: dict[str, Any], name: str) -> Any:
        scripts: dict[str, dict[str, Any]] = {}

        def take_script(part: dict[str, Any]) -> dict[str, Any]:
            parameters = parameters_of(part)
            if not part["type"].startswith("tests.") or not _SCRIPTED & parameters.keys():
                return part
            fake = f"{class_of(part)} {parameters.get('name')}"
            script = {key: value for key, value in parameters.items() if key in _SCRIPTED}
            if scripts.setdefault(fake, script) != script:
                return part
            return {"type": part["type"], "fake": fake, **{k: v for k, v in parameters.items() if k not in _SCRIPTED}}

        bare = rewrite(block, take_script)
        surroundings = {key: value for key, value in os.environ.items() if key.startswith("PREFRAG_")}
        has_data = Path(surroundings.pop("PREFRAG_DATA_DIR")).exists()
        key = json.dumps([name, bare, surroundings, has_data], sort_keys=True, default=str)
        free = self.free.setdefault(key, [])
        pipeline = free.pop() if free and not has_data else build(block, name)
        for part in _changeable(pipeline):
            for attribute, value in scripts.get(f"{type(part).__name__} {getattr(part, 'name', None)}", {}).items():
                setattr(part, attribute, value)
        self.taken.append((key, pipeline, _attributes(pipeline)))
        return pipeline

    def take_back(self) -> None:
        for key, pipeline, before in self.taken:
            if _attributes(pipeline) == before:
                self.free[key].append(pipeline)
        self.taken.clear()


# The settings of a fake that make up its script; see `tests/fakes.py`.
_SCRIPTED = {"script", "documents", "error", "together_with"}
# Only set for the tests of this folder, because others deploy and change pipelines.
lent: Lent | None = None


def _changeable(pipeline: Any) -> list[Any]:
    """List the components, and the fakes inside them."""
    if not hasattr(pipeline, "changeable"):
        fakes = [part for _, part in walk_parts(pipeline) if type(part).__module__.startswith("tests.")]
        pipeline.changeable = [*(part for _, part in pipeline.walk()), *fakes]
    return list(pipeline.changeable)


def _attributes(pipeline: Any) -> list[set[str]]:
    return [{*pipeline.graph.nodes}, *({n for n in vars(part) if n[0] != "_"} for part in _changeable(pipeline))]


def scripted_yaml(*replies: str, **settings: Any) -> str:
    """Write the YAML of a shipped pipeline that replies from a script; see :func:`script`."""
    return write_yaml(scripted_block(*replies, **settings))


def write_yaml(block: dict[str, Any]) -> str:
    # This is ten times as fast as safe_dump.
    return yaml.dump(block, Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False)


def script(*replies: str, pipeline: str = "prefrag", **settings: Any) -> dict[str, Any]:
    """Write the scripts that replace the model and the sources, for `load`.

    :param replies: The replies of the reasoner's model, in order.
    :param pipeline: The shipped pipeline.
    :param settings: Those of :func:`_parts`.
    """
    return _parts(read_block(YAML_PIPELINES / f"{pipeline}.yaml")["components"], *replies, **settings)


def _parts(
    components: dict[str, Any],
    *replies: str,
    verdicts: tuple[str, ...] = (),
    documents: dict[str, dict[str, str]] | None = None,
    errors: dict[str, str] | None = None,
    replace: dict[str, Any] | None = None,
    model_settings: dict[str, Any] | None = None,
    together: bool = False,
    readings: list[list[tuple[str, float]]] | None = None,
    checked: bool = False,
) -> dict[str, Any]:
    """Write the scripts that replace the model and the sources.

    :param components: The components of the shipped pipeline.
    :param replies: The replies of the reasoner's model, in order.
    :param verdicts: The replies of the judge's model; if there are none, trees keep everything.
    :param documents: The documents of each source.
    :param errors: The errors of the sources that fail, by name.
    :param replace: Further parts to replace.
    :param model_settings: Further settings of the reasoner's model.
    :param together: Whether a source fails unless it is searched at the same time as all others.
    :param checked: Whether the rules of the product apply to the model's steps, as in the shipped pipelines.
    :param readings: What a reader finds, in place of a model; see :class:`tests.fakes.ScriptedReader`.
    """
    answers = {"local": LOCAL, "web": WEB} if documents is None else documents
    parts: dict[str, Any] = {"ChatModel": model(*replies, **(model_settings or {}))}
    if readings is not None:
        parts = {"ExtractiveReader": reader(readings)}
    elif not checked and any(class_of(block) == "Reasoner" for block in components.values()):
        # Without a reader, the model takes every step itself, and its answers are not checked: most scripts make up both.
        parts |= {"start.first_query": "model", "Reasoner.reader": None}
    if any(class_of(block) == "RetrievalSource" for block in blocks(components)):
        parts["RetrievalSource.retry_policy"] = retry_policy()
    for name, block in components.items():
        if class_of(block) == "RetrievalSource" and name == block["init_parameters"]["name"]:
            others = [other for other in answers if other != name] if together else None
            parts[f"{name}.retriever"] = retriever(answers.get(name, {}), name, (errors or {}).get(name), others)
    if "judge" in components:
        parts["judge.judge"] = judge(components["judge"]["init_parameters"]["judge"], verdicts)
        if "sufficiency" in components["judge"]["init_parameters"]:
            # The scripts say when a run leaves; whether passages of three words belong together says nothing.
            parts["judge.sufficiency"] = None
    if "evaluator" in components and readings is None:
        # A scripted model has passed no trial, so the shipped judge would not ask it.
        asked = components["evaluator"]["init_parameters"]["judge"]["init_parameters"]["model_judge"]
        settings = {**asked["init_parameters"], "chat_generator": parts["ChatModel"]}
        parts["CorrectiveEvaluator.judge"] = {"type": MODEL_JUDGE, "init_parameters": settings}
    return parts | (replace or {})
