"""SECURITY.md names behind each sentence of a promise the tests that hold it, and each of them exists."""

import ast
import re
from functools import cache

from tests.server_process import CHECKOUT

TEXT = (CHECKOUT / "SECURITY.md").read_text(encoding="utf-8")
NOTES = dict(re.findall(r"^\[\^([a-z-]+)\]: (.+)$", TEXT, re.MULTILINE))
PROMISED = TEXT.partition("## What is promised\n\n")[2].partition("\n## ")[0].partition("\n\n")[2]


@cache
def defined_in(file: str) -> set[str]:
    """Collect the names of the tests in a file, as pytest writes them."""
    names = set()
    for node in ast.parse((CHECKOUT / file).read_text(encoding="utf-8")).body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        owner = f"{node.name}::" if isinstance(node, ast.ClassDef) else ""
        names |= {owner + part.name for part in inside if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
    return names


def sentences_without_a_mark(text: str) -> list[str]:
    """List the sentences of paragraphs and points behind which no mark of a footnote stands."""
    parts = [
        re.sub(r"^(?:- )?(?:\*\*.+?\*\*)?|\"[^\"]*\"", "", line) for line in text.splitlines() if not line.endswith(":")
    ]
    ends = (re.split(r"(?<=[.?!])(?=\s+[^\sa-z])|(?<=\])(?=\s+[^\sa-z(])", part) for part in parts)
    return [sentence for part in ends for sentence in part if sentence.strip() and not sentence.endswith("]")]


def test_each_sentence_of_a_promise_has_its_tests():
    assert len(re.findall(r"\[\^[a-z-]+\](?= |$)", PROMISED, re.MULTILINE)) > 70
    assert sentences_without_a_mark(PROMISED) == []


def test_a_sentence_without_tests_is_found():
    assert sentences_without_a_mark("- It is so.[^a] It is not. It is.[^b]\n**Title.** Or so.") == [
        " It is not.",
        " Or so.",
    ]


def test_each_test_that_is_named_exists():
    marks = set(re.findall(r"\[\^([a-z-]+)\](?!:)", TEXT))
    tests = {mark: re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", note) for mark, note in NOTES.items()}

    assert marks == set(NOTES)
    assert [mark for mark, named in tests.items() if not named] == []
    missing = [(file, name) for named in tests.values() for file, name in named if name not in defined_in(file)]
    assert missing == []
