"""The documented commands exist, with their documented options."""

import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import typer.main

from prefrag.cli.main import app
from tests.docs.markdown import CHECKOUT, GUIDES, fenced, spans
from tests.for_each import for_each

DOCUMENTED = [*GUIDES, *sorted((CHECKOUT / "examples").rglob("*.md")), CHECKOUT / "hayhooks" / "README.md"]
_OPTION = re.compile(r"--[a-z][a-z-]*")


@cache
def command_line() -> Any:
    """The command `prefrag`, which takes some time to build."""
    return typer.main.get_command(app)


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


def problem(words: list[str]) -> str | None:
    """Why one of our commands does not exist; None if it exists, or is not ours."""
    program, *arguments = words
    name = program.rpartition("/")[2]
    if name == "prefrag":
        return _problem_of_prefrag(arguments)
    if name == "make" and arguments:
        targets = re.findall(r"^([a-z0-9-]+):", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
        unknown = {word for word in arguments if "=" not in word} - set(targets)
        return f"no target {unknown}" if unknown else None
    if name == "python" and arguments:
        module = (
            arguments[1].removeprefix("prefrag.").replace(".", "/") + ".py"
            if arguments[0] == "-m" and arguments[1:]
            else arguments[0]
        )
        return None if (CHECKOUT / module).exists() else f"no script {module}"
    return None


def _problem_of_prefrag(arguments: list[str]) -> str | None:
    command = command_line()
    while arguments and hasattr(command, "commands"):
        # Between backticks, a command may lack its subcommand.
        if arguments[0].startswith("-") or arguments[0] == "...":
            break
        is_folder = arguments[0].startswith(("~/", "./"))
        child = command.commands.get("FOLDER" if is_folder else arguments[0])
        if child is None:
            return f"no command {arguments[0]}"
        command, arguments = child, arguments[1:]
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = {option for word in arguments for option in _OPTION.findall(word) if word.startswith("--")} - known
    return f"{command.name} has no option {sorted(unknown)}" if unknown else None


@for_each("file", *DOCUMENTED)
def test_each_command_exists(file: Path):
    found = {" ".join(words): problem(words) for words in commands(file.read_text(encoding="utf-8"))}

    assert {command: why for command, why in found.items() if why} == {}


@for_each("file", *GUIDES)
def test_each_option_between_backticks_is_one_of_a_command(file: Path):
    programs = [*(CHECKOUT / "benchmarks").glob("*.py"), *(CHECKOUT / "evaluation" / "studies").glob("*.py")]
    known = {option for code in programs for option in _OPTION.findall(code.read_text(encoding="utf-8"))}
    waiting = [command_line()]
    while waiting:
        command = waiting.pop()
        known |= {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        waiting += getattr(command, "commands", {}).values()

    mentioned = {option for span in spans(file.read_text(encoding="utf-8")) for option in _OPTION.findall(span)}
    of_others = {"--no-deps", "--format", "--rm"}

    assert mentioned - known - of_others == set()


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
