"""The `prefrag` command line: the tree of its commands, and `prefrag pipelines`.

The commands themselves are functions in the other modules. Here they get their names and their groups.
"""

import os
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from prefrag.cli.ask import ask
from prefrag.cli.chat import chat
from prefrag.cli.doctor import examine_installation
from prefrag.cli.documents import (
    delete_documents,
    drop_collection,
    index_documents,
    list_collections,
    list_documents,
    prune_documents,
)
from prefrag.cli.errors import EXIT_CODES, report_errors
from prefrag.cli.feedback import export_feedback, list_feedback
from prefrag.cli.folder import follow_folder
from prefrag.cli.keys import add, list_keys, revoke
from prefrag.cli.mcp import serve_tools
from prefrag.cli.model import get, list_all, remove, use
from prefrag.cli.model import serve as serve_model
from prefrag.cli.prove import prove_folder
from prefrag.cli.serve import serve
from prefrag.evaluation.commands import evaluate, report
from prefrag.training.commands import judge, pairs, questions, reader, sufficiency
from prefrag.training.judge_dpo.commands import data, fit, measure
from prefrag.version import find_version


def list_pipelines(
    draw: Annotated[
        str | None, typer.Option(help="Print this pipeline (a name or a YAML file) as a Mermaid flowchart.")
    ] = None,
) -> None:
    """List the names of the pipelines, or draw one."""
    # Heavy modules are imported where they are used, so that --help is instant.
    from prefrag.pipelines.drawing import mermaid
    from prefrag.pipelines.loading import load, names

    if draw is None:
        typer.echo("\n".join(names()))
    else:
        typer.echo(mermaid(load(draw)))


class _Command(TyperCommand):
    """A command whose options without a text have that of the option of a run with this name."""

    def get_params(self, ctx: Any) -> Any:
        """Return the parameters of the command.

        :param ctx: The context of the command line.
        """
        parameters = super().get_params(ctx)
        options = [parameter for parameter in parameters if isinstance(parameter, TyperOption)]
        without_text = [option for option in options if option.help is None]
        if without_text:
            # This imports Pydantic, so it is done for the command that was called alone.
            from prefrag.components.state.run_options import RunOptions

            for option in without_text:
                option.help = RunOptions.model_fields[option.name].description
        return parameters


class _CommandOrFolder(TyperGroup):
    """Lets users write `prefrag ~/Documents` for `prefrag FOLDER ~/Documents`.

    The first word is taken for a folder if it is no command and looks like a path, or exists.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command for the words of the command line. Put `FOLDER` before a path.

        :param ctx: The context of the command line.
        :param args: The words.
        """
        word = args[0]
        is_path = os.path.exists(word) or word.startswith(("~", ".")) or os.path.basename(word) != word
        if is_path and self.get_command(ctx, word) is None:
            args = ["FOLDER", *args]
        return super().resolve_command(ctx, args)


def _make_group(name: str, description: str, commands: dict[str, Callable[..., None]]) -> typer.Typer:
    """Make a group of commands. Each command reports its errors on a single line and ends with their exit code."""
    group = typer.Typer(
        name=name,
        cls=_CommandOrFolder if name == "prefrag" else TyperGroup,
        help=description,
        epilog=EXIT_CODES,
        no_args_is_help=name != "model",
        add_completion=name == "prefrag",
        pretty_exceptions_enable=False,
    )
    for command_name, command in commands.items():
        group.command(command_name, cls=_Command, epilog=EXIT_CODES)(report_errors()(command))
    return group


documents = _make_group(
    "documents",
    "List and delete the documents of a collection.",
    {"list": list_documents, "delete": delete_documents, "prune": prune_documents},
)
feedback = _make_group(
    "feedback",
    "List the feedback of users on answers, and export it as questions.",
    {"list": list_feedback, "export": export_feedback},
)
collections = _make_group(
    "collections", "List the collections, and drop one.", {"list": list_collections, "drop": drop_collection}
)
model = _make_group(
    "model",
    "List the models on this machine, fetch one, and choose which answers. Without a command: list.",
    {"list": list_all, "get": get, "use": use, "serve": serve_model, "remove": remove},
)
keys = _make_group(
    "keys", "Make, list and revoke the keys of the service.", {"add": add, "list": list_keys, "revoke": revoke}
)
train = _make_group(
    "train",
    "Train the small classifiers and the extractive reader on questions with gold passages.",
    {"pairs": pairs, "judge": judge, "sufficiency": sufficiency, "reader": reader, "questions": questions},
)
judge_dpo = _make_group(
    "judge-dpo",
    "Train the language model that judges, by direct preference optimisation (PrefRAG paper, sections 3.4 and 3.5).",
    {"data": data, "fit": fit, "measure": measure},
)
train.add_typer(judge_dpo)
app = _make_group(
    "prefrag",
    "Answers multi-hop questions from your own documents first, and from the web when a judge says so.",
    {
        "FOLDER": follow_folder,
        "ask": ask,
        "chat": chat,
        "index": index_documents,
        "pipelines": list_pipelines,
        "serve": serve,
        "mcp": serve_tools,
        "doctor": examine_installation,
        "prove": prove_folder,
        "evaluate": evaluate,
        "report": report,
    },
)


def _print_version(wanted: bool) -> None:
    """Print the version and exit, if the option was given."""
    if wanted:
        typer.echo(f"prefrag {find_version()}")
        raise typer.Exit


@app.callback()
def _take_options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Answers multi-hop questions from your own documents first, and from the web when a judge says so."""


@model.callback(invoke_without_command=True)
def _list_models(context: typer.Context) -> None:
    """List the models on this machine, fetch one, and choose which answers. Without a command: list."""
    if context.invoked_subcommand is None:
        report_errors()(list_all)()


app.add_typer(documents)
app.add_typer(feedback)
app.add_typer(collections)
# Collections were called indexes in earlier versions. The old name of the group still works.
app.add_typer(collections, name="indexes", hidden=True)
app.add_typer(keys)
app.add_typer(model)
app.add_typer(train)


def main() -> None:
    """Run the command line.

    The files that it writes contain documents and questions. So only the user who runs it may read them.
    """
    os.umask(0o077)
    app()


if __name__ == "__main__":
    main()
