"""Whether the commands in a document exist."""

import re
from functools import cache
from typing import Any

import typer.main

from prefrag.cli.main import app
from tests.docs.markdown import CHECKOUT

_OPTION = re.compile(r"--[a-z][a-z-]*")


@cache
def command_line() -> Any:
    """The command `prefrag`, which takes some time to build."""
    return typer.main.get_command(app)


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
    options = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    unknown = {option for word in arguments for option in _OPTION.findall(word) if word.startswith("--")} - options
    return f"{command.name} has no option {sorted(unknown)}" if unknown else None
