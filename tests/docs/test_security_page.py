"""SECURITY.md names the tests that hold its promises, and each of them exists."""

import ast
import re

from tests.server_process import CHECKOUT

TEXT = (CHECKOUT / "SECURITY.md").read_text(encoding="utf-8")
NAMES = re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", TEXT)
TABLE = TEXT.partition("## What was tried\n")[2].partition("\n## ")[0]


def defined_in(file: str) -> set[str]:
    """Collect the names of the tests in a file, as pytest writes them."""
    names = set()
    for node in ast.parse((CHECKOUT / file).read_text(encoding="utf-8")).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        names |= {owner + part.name for part in inside if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
    return names


def test_each_test_that_is_named_exists():
    assert len(NAMES) > 20
    assert [f"{file}::{name}" for file, name in NAMES if name not in defined_in(file)] == []


def test_each_promise_has_a_row_with_its_tests():
    promised = TEXT.partition("## What is promised\n")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in TABLE.splitlines() if line.startswith("| ")][1:]
    held = {row[0].removeprefix("| "): row[-1] for row in rows}

    promises = re.findall(r"^\*\*(.+?)\.\*\*", promised, re.MULTILINE)

    assert len(promises) > 8
    assert [promise for promise in promises if "`tests/" not in held.get(promise, "")] == []
