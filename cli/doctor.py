"""The command `prefrag doctor`. It prints the findings of `checks.py`."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Annotated

import typer

from prefrag.cli.console import console, print_json
from prefrag.cli.documents import CollectionOption
from prefrag.cli.kept_model import apply_chosen_model
from prefrag.components.text.one_line import one_line

if TYPE_CHECKING:
    from prefrag.cli.checks import Finding

# The sign and the style of each status. A word follows the sign, for people who cannot see the sign or its colour.
_SIGNS = {"ok": ("\u2713 ok", "green"), "note": ("! note", "yellow"), "problem": ("\u2717 problem", "bold red")}
# The width of the column with the signs, in characters. The longest sign just fits.
_WIDTH = 9


def examine_installation(
    pipeline: Annotated[
        str, typer.Option(metavar="NAME|FILE.yaml", help="The pipeline to check: a name or a YAML file.")
    ] = "prefrag",
    collection: CollectionOption = None,
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port of `prefrag serve`.")] = 1416,
    online: Annotated[
        bool, typer.Option("--online", help="Search the web once for 'weather', if web search is allowed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check the collection, model, judge, web and server: what is there, what is missing, and what to do about it.

    The exit code is 0 if `prefrag ask` will work, and otherwise the exit code that `prefrag ask` would have. If a model
    server is set, it gets two questions, and once four short tasks. They say nothing about your documents.
    """
    # Heavy modules are imported where they are used, so that --help is instant.
    import asyncio

    from prefrag.cli.checks import examine

    apply_chosen_model()
    if collection is not None:
        os.environ["PREFRAG_INDEX"] = collection
    findings = asyncio.run(examine(pipeline, port, online))
    problems = [finding for finding in findings if finding.status == "problem"]
    # `prefrag ask` would end with the first problem.
    code = problems[0].exit_code if problems else 0
    if as_json:
        listed = [
            {"part": finding.part, "status": finding.status, "text": finding.text, "advice": finding.advice}
            for finding in findings
        ]
        print_json({"works": not code, "findings": listed})
    else:
        for finding in findings:
            _print(finding)
        if code:
            typer.echo("prefrag ask will not work: see the problems above.")
        else:
            typer.echo("prefrag ask will work.")
    raise typer.Exit(code)


def _print(finding: Finding) -> None:
    """Print a finding on a single line: its sign, what was checked, what was found, and the advice."""
    from rich.text import Text

    sign, style = _SIGNS[finding.status]
    sentence = one_line(finding.text).removesuffix(".")
    text = f"{sentence}. {one_line(finding.advice)}".rstrip()
    line = Text()
    line.append(f"{sign:<{_WIDTH}} ", style)
    line.append(f"{finding.part}: ", "bold")
    line.append(text)
    console().print(line)
