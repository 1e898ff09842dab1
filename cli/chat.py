"""The command `prefrag chat`: a conversation in the terminal.

A line is a question or, if it begins with a slash, a command such as ``/web off``. Earlier questions and answers are
passed on with each question, so that a question may refer to them.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import typer

from prefrag.cli import ask
from prefrag.cli.console import console
from prefrag.cli.documents import CollectionOption
from prefrag.cli.errors import ANSWERED, find_exit_code, print_error
from prefrag.cli.kept_model import ModelOption, offer_model
from prefrag.cli.web_consent import can_ask_user, confirm_web_query, set_web
from prefrag.errors import BadInput

# Heavy modules are imported where they are used, so that --help is instant.
if TYPE_CHECKING:
    from prefrag.pipelines import Pipeline

# What the command /help prints.
_HELP = """\
/sources         show which sources are searched. /sources NAME [NAME ...] chooses some, /sources all chooses all
/web on|off      allow or forbid web search for the next questions
/new             begin a new conversation
/quit            end the conversation, like Ctrl-D. Ctrl-C stops only the running question"""


def chat(
    pipeline: ask.PipelineOption = "prefrag",
    collection: CollectionOption = None,
    sources: ask.SourcesOption = None,
    preferred: ask.PreferredOption = None,
    top_k: ask.NumberOption = None,
    max_steps: ask.NumberOption = None,
    folders: ask.FoldersOption = None,
    kinds: ask.KindsOption = None,
    since: ask.DateOption = None,
    until: ask.DateOption = None,
    filters: ask.FiltersOption = None,
    deadline: ask.DeadlineOption = None,
    web: ask.WebOption = None,
    model: ModelOption = None,
    quiet: ask.QuietOption = False,
) -> None:
    """Answer questions in a conversation. A question may refer to earlier answers. /help lists the commands.

    Without a terminal, each line of standard input is a question. The first question that fails sets the exit code.
    """
    options = ask.read_options(
        sources=sources,
        preferred=preferred,
        top_k=top_k,
        max_steps=max_steps,
        folders=folders,
        kinds=kinds,
        since=since,
        until=until,
        filters=filters,
    )
    # `set_up` applies --web or --no-web to this variable. A later command /web replaces that option.
    web_of_user = os.environ.get("PREFRAG_WEB")
    ask.set_up(pipeline, collection, deadline, web, model)
    if not quiet and model is None:
        offer_model()
    conversation = Conversation(ask.load(pipeline), options, web_of_user, quiet)
    if can_ask_user():
        _greet(conversation.pipeline)
    for line in _read_lines():
        if not conversation.take(line):
            break
    conversation.end()


class Conversation:
    """A conversation in the terminal.

    :param pipeline: The pipeline that answers. Its indexes are open.
    :param options: The options of each run. The command ``/sources`` changes them.
    :param web_of_user: The value that the user's environment has set for ``PREFRAG_WEB``. None if it has set none. The
        options of the command do not count. The command ``/web`` starts from this value.
    :param quiet: Whether to print only the answers.
    """

    def __init__(self, pipeline: Pipeline, options: dict[str, Any], web_of_user: str | None, quiet: bool):
        self.pipeline = pipeline
        self._options = options
        self._web_of_user = web_of_user
        self._quiet = quiet
        self._history: list[dict[str, str]] = []
        import asyncio

        self._runner = asyncio.Runner()
        # The exit code of the first question that failed.
        self._exit_code = ANSWERED
        # Whether a question was interrupted. A model may still work on it in a thread.
        self._interrupted = False

    def take(self, line: str) -> bool:
        """Answer a question, or run a command such as ``/new``.

        :param line: What the user has typed. An empty line does nothing.
        :returns: False if the command ends the conversation. Otherwise True, even if the question failed.
        """
        if line in ("/quit", "/exit"):
            return False
        try:
            if line.startswith("/"):
                self._obey(*line[1:].split())
            elif line:
                self._answer(line)
        except KeyboardInterrupt:
            self._interrupted = True
            console(stderr=True).print("\nStopped. The conversation goes on without this question.", style="yellow")
        except Exception as error:
            print_error(error)
            self._exit_code = self._exit_code or find_exit_code(error)
        return True

    def end(self) -> None:
        """End the conversation and the process.

        :raises typer.Exit: Always, with the exit code. If a question was interrupted, the process ends at once instead.
        """
        code = ANSWERED if can_ask_user() else self._exit_code
        if self._interrupted:
            sys.stdout.flush()
            # A normal exit would wait for the thread in which a model still works on an interrupted question.
            os._exit(code)
        self._runner.close()
        raise typer.Exit(code)

    def _answer(self, question: str, web_query: str | None = None) -> None:
        """Answer a question and add it to the history. If the user allows a further web query, answer again with it."""
        from prefrag.cli.run_printer import RunPrinter
        from prefrag.pipelines.references import NOT_ANSWERED

        printer = RunPrinter(console(), self._quiet)
        if not can_ask_user():
            # Print the question, because there was no prompt that shows it.
            printer.print_question(question, without_model=False)

        options = {**self._options, "history": self._history or None, "web_query": web_query}
        began = time.monotonic()
        is_first = not self._history
        result, failure = self._runner.run(ask.run(self.pipeline, question, options, printer))
        message = None if failure is None else str(failure)
        printer.print_result(result, trace=False, failure=message)
        ask.check_result(result, failure)

        # Ask the user for a web query only once, and not again about the answer with that query.
        if web_query is None:
            allowed_query = confirm_web_query(result)
            if allowed_query:
                self._answer(question, allowed_query)
                return

        self._history += [
            {"role": "user", "content": question},
            {"role": "assistant", "content": result["answer"] or result["asked_back"] or NOT_ANSWERED},
        ]
        if is_first and not self._quiet:
            # Find out once what the model can do. The time of the first answer shows whether the model is fast enough.
            seconds = time.monotonic() - began
            ask.try_models_once(self.pipeline, result, seconds)

    def _obey(self, command: str = "help", *words: str) -> None:
        """Run a command. A slash alone means ``/help``."""
        if command == "new":
            self._history.clear()
            typer.echo("A new conversation.")
        elif command == "sources":
            self._choose_sources(words)
        elif command == "web" and words == ("on",):
            self._set_web(True)
            typer.echo("The web is open.")
        elif command == "web" and words == ("off",):
            self._set_web(False)
            typer.echo("The web is closed.")
        elif command == "help":
            typer.echo(_HELP)
        else:
            typed = " ".join([command, *words])
            raise BadInput(f"There is no command /{typed}: /help lists the commands.")

    def _set_web(self, is_allowed: bool) -> None:
        """Allow or forbid web search for the next questions. An earlier ``/web`` or option has no effect any more."""
        # `set_web` does not allow the web if the variable forbids it. So set the variable back to the user's own value.
        if self._web_of_user is None:
            os.environ.pop("PREFRAG_WEB", None)
        else:
            os.environ["PREFRAG_WEB"] = self._web_of_user
        set_web(is_allowed)

    def _choose_sources(self, words: tuple[str, ...]) -> None:
        """Choose the sources to search, and print which are searched. Without words, only print."""
        start: Any = self.pipeline.get_component("start")
        unknown = [word for word in words if word not in (*start.sources, "all")]
        if unknown:
            raise BadInput(f"There is no source {unknown[0]}: the sources are {', '.join(start.sources)}.")
        if words:
            self._options["sources"] = None if "all" in words else list(words)
        chosen = self._options.get("sources") or start.sources
        for name in start.sources:
            is_external = name in start.external_sources
            shown_name = f"{name} (external)" if is_external else name
            if name not in chosen:
                typer.echo(f"{shown_name}: left out")
            elif is_external:
                typer.echo(f"{shown_name}: searched, if it is allowed")
            else:
                typer.echo(f"{shown_name}: searched")


def _greet(pipeline: Pipeline) -> None:
    """Print what the user has to know at the beginning."""
    terminal = console(stderr=True)
    if ask.is_extractive(pipeline):
        terminal.print("No language model is set, so a small extractive reader looks for the answers.")
    terminal.print("Ask a question. /help lists the commands, Ctrl-D quits.", style="dim")


def _read_lines() -> Iterator[str]:
    """Read input line by line. At a terminal, show a prompt and keep a history."""
    if not can_ask_user():
        yield from (line.strip() for line in sys.stdin)
        return
    with suppress(ImportError):
        # The import gives the prompt a history and line editing. Windows does not have the module.
        import readline  # noqa: F401
    while True:
        try:
            yield input("\n> ").strip()
        except KeyboardInterrupt:
            typer.echo("\nCtrl-D ends.", err=True)
        except EOFError:
            typer.echo("", err=True)
            return
