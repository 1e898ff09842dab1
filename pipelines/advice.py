"""Say in words what is wrong with the YAML of a pipeline, with the line and with the name that was probably meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import metadata
from inspect import signature
from sys import modules

import yaml

from prefrag.pipelines.blocks import Block, blocks, class_of, parameters_of

_KEYS = ("components", "connections", "max_runs_per_component", "metadata", "inputs", "outputs")
# What Haystack writes before its reason is all settings of a component.
_IN_A_COMPONENT = re.compile(r"component '(?P<name>[^']+)'.*Original error: (?P<reason>.*)", re.DOTALL)
_NO_SUCH_PARAMETER = re.compile(r"(?P<owner>\w+)\.__init__\(\) got an unexpected keyword argument '(?P<name>\w+)'")
# The first two are of Haystack 2, the third is of Haystack 3.
_NO_SUCH_CLASS = re.compile(r"(?:Component '|import class '|Could not import ')(?P<type>[\w.]+)'")
_NOT_TRUSTED = re.compile(r"Refusing to deserialize a class from module '(?P<module>[\w.]+)'")
_NO_SUCH_PACKAGE = re.compile(r"No module named '(?P<module>\w+)'")


def explain_yaml(error: yaml.YAMLError, text: str) -> str:
    """Say what is wrong with a text that is not YAML.

    :param error: The error of the parser.
    :param text: The text, after the environment variables were put in.
    :returns: One sentence, with the line.
    """
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None)
    if mark is None or problem is None:
        return str(error)
    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    alias = re.match(r"\*(\S+?)[\],}]*(?:\s|$)", line[mark.column :])
    if "undefined alias" in problem and alias:
        name = alias[1]
        return (
            f"line {mark.line + 1} repeats the block '&{name}', and no block above has this mark: write '&{name}' "
            f"before the block that it means, or write the block out where '*{name}' stands."
        )
    return f"line {mark.line + 1}: {problem}"


def explain_keys(block: Block) -> str:
    """Say which part of a pipeline is missing.

    :param block: What the YAML holds.
    :returns: One sentence, or an empty text if nothing is missing.
    """
    missing = next((key for key in ("components", "connections") if key not in block), None)
    if missing is None:
        return ""
    others = [key for key in map(str, block) if key not in _KEYS]
    near = get_close_matches(missing, others, 1)
    if not near:
        return f"it has no `{missing}`."
    return f"it has no `{missing}`: `{near[0]}` is probably meant to be that."


def explain_error(error: Exception, block: Block, text: str, types: Iterable[str]) -> str:
    """Say why a pipeline could not be built, and what to change.

    :param error: What Haystack raised.
    :param block: The pipeline.
    :param text: Its YAML, to find the line. It may be empty.
    :param types: The classes that the shipped pipelines name, with their modules.
    :returns: The component with the reason.
    """
    inside = _IN_A_COMPONENT.search(str(error))
    before = f"component '{inside['name']}': " if inside else ""
    reason = inside["reason"].strip() if inside else str(error)
    match = _NO_SUCH_PARAMETER.search(reason)
    if match:
        return before + _explain_parameter(match["owner"], match["name"], block, text)
    package = _NO_SUCH_PACKAGE.search(_causes(error))
    extra = _extra_with(package["module"]) if package else None
    if package and extra:
        return f'{before}the package {package["module"]} is not installed: run pip install "prefrag[{extra}]".'
    match = _NO_SUCH_CLASS.search(reason)
    if match:
        return before + _explain_class(match["type"], text, types)
    match = _NOT_TRUSTED.search(reason)
    if match:
        line = _line_of(match["module"], text)
        return (
            f"{before}a class of {match['module']}{line} cannot be imported. If it is your own, put its module into "
            "the folder that PREFRAG_PIPELINES_DIR names; if it is of a package that you trust, add its name to "
            "HAYSTACK_DESERIALIZATION_ALLOWLIST."
        )
    return before + reason


def _explain_parameter(owner: str, name: str, block: Block, text: str) -> str:
    part = next((part for part in blocks(block) if class_of(part) == owner and name in parameters_of(part)), None)
    kind = None
    if part is not None:
        module, _, _ = part["type"].rpartition(".")
        kind = getattr(modules.get(module), owner, None)
    parameters = []
    if kind is not None:
        parameters = [parameter for parameter in signature(kind.__init__).parameters if parameter != "self"]
    near = get_close_matches(name, parameters, 1)
    advice = f"the nearest is {near[0]}" if near else f"it has {', '.join(parameters) or 'none'}"
    return f"{owner} has no parameter '{name}'{_line_of(name, text)}: {advice}."


def _explain_class(name: str, text: str, types: Iterable[str]) -> str:
    line = _line_of(name.rpartition(".")[2], text)
    near = get_close_matches(name, sorted(types), 1, cutoff=0.8)
    if near:
        return f"there is no class {name}{line}: the nearest is {near[0]}."
    return (
        f"the class {name}{line} cannot be imported. If it is your own, put its module into the folder that "
        "PREFRAG_PIPELINES_DIR names; if it is from a package, install the package in this environment."
    )


def _line_of(word: str, text: str) -> str:
    numbers = [number for number, line in enumerate(text.splitlines(), 1) if re.search(rf"\b{re.escape(word)}\b", line)]
    return f" (line {numbers[0]})" if numbers else ""


def _causes(error: BaseException | None) -> str:
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def _extra_with(module: str) -> str | None:
    """Find the extra of this package that installs a module."""
    try:
        requirements = metadata.requires("prefrag") or []
    except metadata.PackageNotFoundError:
        return None
    for requirement in requirements:
        name = re.split(r"[\s;<>=!~\[(]", requirement, maxsplit=1)[0]
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if extra and name.replace("-", "_").lower() == module.lower():
            return extra[1]
    return None
