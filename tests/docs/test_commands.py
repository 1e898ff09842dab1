"""The documented commands exist, with their documented options."""

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from tests.docs.commands import _OPTION, command_line, problem
from tests.docs.markdown import CHECKOUT, GUIDES, fenced, spans
from tests.for_each import for_each

DOCUMENTED = [*GUIDES, *sorted((CHECKOUT / "examples").rglob("*.md")), CHECKOUT / "hayhooks" / "README.md"]


def commands(text: str) -> Iterator[list[str]]:
    """The words of each command, in fenced blocks and between backticks."""
    blocks = "".join(fenced(text)).replace("\\\n", " ").splitlines()
    for line in [*blocks, *spans(text)]:
        try:
            words = shlex.split(line.removeprefix("$ "), comments=True)
        except ValueError:
            continue
        while words and re.match(r"[A-Z_]+=", words[0]):
            words.pop(0)
        if words:
            yield words


@for_each("file", *DOCUMENTED)
def test_each_command_exists(file: Path):
    problems = {" ".join(words): problem(words) for words in commands(file.read_text(encoding="utf-8"))}

    assert {command: why for command, why in problems.items() if why} == {}


@for_each("file", *GUIDES)
def test_each_option_between_backticks_is_one_of_a_command(file: Path):
    programs = [*(CHECKOUT / "benchmarks").glob("*.py"), *(CHECKOUT / "evaluation" / "studies").glob("*.py")]
    options = {option for code in programs for option in _OPTION.findall(code.read_text(encoding="utf-8"))}
    waiting = [command_line()]
    while waiting:
        command = waiting.pop()
        options |= {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        waiting += getattr(command, "commands", {}).values()

    mentioned = {option for span in spans(file.read_text(encoding="utf-8")) for option in _OPTION.findall(span)}
    of_others = {"--no-deps", "--format", "--rm"}

    assert mentioned - options - of_others == set()


@for_each(
    "line, why",
    ("prefrag aks", "no command aks"),
    ("prefrag train trees", "no command trees"),
    (".venv/bin/prefrag ask --pipelin x", "ask has no option ['--pipelin']"),
    ("make tests", "no target {'tests'}"),
    ("python -m benchmarks.absent", "no script benchmarks/absent.py"),
    ("PREFRAG_WEB=off prefrag ask 'Who?' --pipeline x", None),
    ("make ask Q='Who?'", None),
    ("curl localhost", None),
)
def test_a_command_that_does_not_exist_is_found(line: str, why: str | None):
    (words,) = commands(f"```\n{line}  # a comment\n```\n")

    assert problem(words) == why
