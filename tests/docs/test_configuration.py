"""The documentation lists the variables of the environment that the code reads, and no others."""

from __future__ import annotations

import ast
import re
from functools import cache

from tests.docs.markdown import CHECKOUT, GUIDES

CODE = ("cli", "components", "evaluation", "indexing", "pipelines", "server", "training", "hayhooks")
_VARIABLE = re.compile(r"PREFRAG_[A-Z]+(?:_[A-Z]+)*")
# The model's settings are read under the prefix of its role.
_SUFFIX = re.compile(r'_variable\("([A-Z_]+)"\)|_prefix \+ "([A-Z_]+)"')


@cache
def variables_of_the_code() -> set[str]:
    found: set[str] = set()
    for file in (file for folder in CODE for file in (CHECKOUT / folder).rglob("*.py")):
        code = file.read_text(encoding="utf-8")
        texts = {node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)}
        words = {text for text in texts if isinstance(text, str)}
        found |= {word for word in words if _VARIABLE.fullmatch(word)}
        prefixes = [word for word in words if word.startswith("PREFRAG_") and _VARIABLE.fullmatch(word[:-1])]
        suffixes = {"".join(match) for match in _SUFFIX.findall(code)}
        found |= {prefix + suffix for prefix in prefixes if prefix.endswith("_") for suffix in suffixes}
    for file in (CHECKOUT / "yaml_pipelines").glob("*.yaml"):
        found |= set(re.findall(r"\$\{(PREFRAG_\w+)", file.read_text(encoding="utf-8")))
    return found


def test_each_variable_is_listed_and_none_other():
    text = (CHECKOUT / "docs" / "configuration.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`(PREFRAG_[A-Z_]+)`", "".join(re.findall(r"^\|([^|]*)\|", text, re.MULTILINE))))

    assert listed == variables_of_the_code()


def test_the_guides_name_no_other_variable():
    known = variables_of_the_code() | {
        "PREFRAG_TEST_ELASTICSEARCH_URL",
        "PREFRAG_TEST_IMAGE",
        "PREFRAG_TEST_OPEN_WEBUI",
    }
    named = {name for file in GUIDES for name in _VARIABLE.findall(file.read_text(encoding="utf-8"))}

    assert named - known <= {"PREFRAG_LLM", "PREFRAG_JUDGE"}


def test_the_variables_of_a_role_are_found_too():
    assert {"PREFRAG_LLM_API_KEY", "PREFRAG_JUDGE_CONTEXT", "PREFRAG_DEBUG"} <= variables_of_the_code()
