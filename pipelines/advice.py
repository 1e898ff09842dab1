"""Explain what is wrong with the YAML of a pipeline, with the line and with the name that was probably meant.

Haystack reports such mistakes with long messages about its own code. The functions here find the names in these
messages and write one sentence about what to change.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from importlib import metadata
from inspect import signature
from sys import modules

import yaml

from prefrag.pipelines.blocks import Block, blocks, class_of, parameters_of

# The keys that a pipeline may have at the top of its YAML.
_KEYS = ("components", "connections", "max_runs_per_component", "metadata", "inputs", "outputs")
# The name of a component, and Haystack's reason at the end of a message. Between them, Haystack writes all settings of
# the component. Matches: "Couldn't deserialize component 'start' of class ... Original error: no such parameter".
_IN_A_COMPONENT = re.compile(r"component '(?P<name>[^']+)'.*Original error: (?P<reason>.*)", re.DOTALL)
# A parameter that a class does not have.
# Matches: "StateBuilder.__init__() got an unexpected keyword argument 'sourcs'".
_NO_SUCH_PARAMETER = re.compile(r"(?P<owner>\w+)\.__init__\(\) got an unexpected keyword argument '(?P<name>\w+)'")
# A class that cannot be imported. The first two alternatives are messages of Haystack 2, the third is of Haystack 3.
# Matches: "Component 'my.Part' not imported", "Could not import 'my.Part'".
_NO_SUCH_CLASS = re.compile(r"(?:Component '|import class '|Could not import ')(?P<type>[\w.]+)'")
# A class from a module that is not in Haystack's allowlist.
# Matches: "Refusing to deserialize a class from module 'my.part'".
_NOT_TRUSTED = re.compile(r"Refusing to deserialize a class from module '(?P<module>[\w.]+)'")
# A package that is not installed. Matches: "No module named 'torch'".
_NO_SUCH_PACKAGE = re.compile(r"No module named '(?P<module>\w+)'")


def explain_yaml(error: yaml.YAMLError, text: str) -> str:
    """Explain what is wrong with a text that is not YAML.

    :param error: The error of the parser.
    :param text: The text, after the values of environment variables were inserted.
    :returns: One sentence with the number of the line.
    """
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None)
    if mark is None or problem is None:
        return str(error)

    lines = text.splitlines()
    line = lines[mark.line] if mark.line < len(lines) else ""
    # The name of a block that YAML repeats, such as "web" in "init_parameters: *web".
    alias = re.match(r"\*(\S+?)[\],}]*(?:\s|$)", line[mark.column :])
    if "undefined alias" in problem and alias:
        name = alias[1]
        return (
            f"line {mark.line + 1} repeats the block '&{name}', and no block above has this mark: write '&{name}' "
            f"before the block that it means, or write the block out where '*{name}' stands."
        )
    return f"line {mark.line + 1}: {problem}"


def explain_keys(block: Block) -> str:
    """Explain which of the keys ``components`` and ``connections`` is missing in a pipeline.

    For example, ``explain_keys({"component": {}, "connections": []})`` returns
    ``"it has no `components`: `component` is probably meant to be that."``.

    :param block: The content of the YAML.
    :returns: One sentence, or an empty text if nothing is missing.
    """
    unknown_keys = [key for key in map(str, block) if key not in _KEYS]
    for key in ("components", "connections"):
        if key in block:
            continue
        near = get_close_matches(key, unknown_keys, 1)
        if not near:
            return f"it has no `{key}`."
        return f"it has no `{key}`: `{near[0]}` is probably meant to be that."
    return ""


def explain_error(error: Exception, block: Block, text: str, types: Iterable[str]) -> str:
    """Explain why a pipeline could not be built, and what to change.

    :param error: The error that Haystack raised.
    :param block: The pipeline.
    :param text: The YAML of the pipeline, in which the line is looked up. Empty if there is no file.
    :param types: The classes that the shipped pipelines name, with their modules.
    :returns: The reason, with the name of the component before it. The reason of Haystack itself if it is none of the
        known mistakes.
    """
    in_component = _IN_A_COMPONENT.search(str(error))
    before = f"component '{in_component['name']}': " if in_component else ""
    reason = in_component["reason"].strip() if in_component else str(error)

    parameter = _NO_SUCH_PARAMETER.search(reason)
    if parameter:
        explanation = _explain_parameter(parameter["owner"], parameter["name"], block, text)
        return f"{before}{explanation}"

    package = _NO_SUCH_PACKAGE.search(_causes(error))
    extra = _extra_with(package["module"]) if package else None
    if package and extra:
        return f'{before}the package {package["module"]} is not installed: run pip install "prefrag[{extra}]".'

    missing_class = _NO_SUCH_CLASS.search(reason)
    if missing_class:
        explanation = _explain_class(missing_class["type"], text, types)
        return f"{before}{explanation}"

    untrusted = _NOT_TRUSTED.search(reason)
    if untrusted:
        module = untrusted["module"]
        return (
            f"{before}a class of {module}{_line_of(module, text)} cannot be imported. If it is your own, put its "
            "module into the folder that PREFRAG_PIPELINES_DIR names; if it is of a package that you trust, add its "
            "name to HAYSTACK_DESERIALIZATION_ALLOWLIST."
        )
    return f"{before}{reason}"


def _explain_parameter(owner: str, name: str, block: Block, text: str) -> str:
    """Explain that a class (``owner``) has no parameter of this name, and name the nearest parameter."""
    parameters = _parameters_of_class(owner, name, block)
    near = get_close_matches(name, parameters, 1)
    if near:
        advice = f"the nearest is {near[0]}"
    else:
        all_names = ", ".join(parameters) or "none"
        advice = f"it has {all_names}"
    return f"{owner} has no parameter '{name}'{_line_of(name, text)}: {advice}."


def _parameters_of_class(owner: str, wrong_name: str, block: Block) -> list[str]:
    """List the parameters of a class that a pipeline names, with a wrong one. Empty if the class is not imported."""
    for part in blocks(block):
        if class_of(part) == owner and wrong_name in parameters_of(part):
            module, _, _ = part["type"].rpartition(".")
            kind = getattr(modules.get(module), owner, None)
            if kind is None:
                return []
            return [parameter for parameter in signature(kind.__init__).parameters if parameter != "self"]
    return []


def _explain_class(name: str, text: str, types: Iterable[str]) -> str:
    """Explain that a class cannot be imported, and name the nearest class of the shipped pipelines."""
    _, _, class_name = name.rpartition(".")
    line = _line_of(class_name, text)
    near = get_close_matches(name, sorted(types), 1, cutoff=0.8)
    if near:
        return f"there is no class {name}{line}: the nearest is {near[0]}."
    return (
        f"the class {name}{line} cannot be imported. If it is your own, put its module into the folder that "
        "PREFRAG_PIPELINES_DIR names; if it is from a package, install the package in this environment."
    )


def _line_of(word: str, text: str) -> str:
    """Write the number of the first line with a word, in parentheses. Empty if no line has the word.

    For example, ``_line_of("top_k", "top_k: 1")`` returns ``" (line 1)"``.
    """
    whole_word = re.compile(rf"\b{re.escape(word)}\b")
    for number, line in enumerate(text.splitlines(), start=1):
        if whole_word.search(line):
            return f" (line {number})"
    return ""


def _causes(error: BaseException | None) -> str:
    """Join the messages of an error and of all errors that caused it, a line each."""
    texts = []
    while error is not None:
        texts.append(str(error))
        error = error.__cause__ or error.__context__
    return "\n".join(texts)


def _extra_with(module: str) -> str | None:
    """Find the extra of this package that installs a module, such as "ray" for the module "ray"."""
    try:
        requirements = metadata.requires("prefrag") or []
    except metadata.PackageNotFoundError:
        return None
    for requirement in requirements:
        # A requirement begins with the name of its package, as in 'ray>=2.9; extra == "ray"'.
        name, *_ = re.split(r"[\s;<>=!~\[(]", requirement, maxsplit=1)
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if extra and name.replace("-", "_").lower() == module.lower():
            return extra[1]
    return None
