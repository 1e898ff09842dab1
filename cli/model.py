"""`prefrag model`: which models are on this machine, which of them answers, and how to fetch one."""

from __future__ import annotations

import importlib.util
import os
import shlex
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from prefrag.cli.console import console
from prefrag.cli.kept_model import (
    Choice,
    apply_chosen_model,
    find_model,
    is_model_configured,
    list_models,
    read_choice,
    store_choice,
)
from prefrag.cli.web_consent import can_ask_user
from prefrag.components.text.one_line import one_line
from prefrag.errors import BadInput, Missing

# Heavy modules are imported where they are used, so that --help is instant.
if TYPE_CHECKING:
    from prefrag.components.generators.model_download import Stated
    from prefrag.components.generators.model_files import ModelFile
    from prefrag.components.generators.model_source import Source

_IS_WINDOWS = sys.platform == "win32"
# By how much a file may be larger than the list of offered models says, before the user is asked again.
_TOLERANCE = 1.05
# The time limit for asking a model server about its model, in seconds.
_FACT_SECONDS = 2.0
# The limit of each of the four calls that try a model. On one busy core, a small model took over a minute for one.
_TRIAL_SECONDS = 180.0

YesOption = Annotated[bool, typer.Option("--yes", "-y", help="Download without asking, for scripts.")]


def list_all() -> None:
    """List the models on this machine, and what each was found able to do: on servers, fetched, of other programs."""
    from prefrag.components.generators.warm_model import find_warm_model

    models = list_models()
    chosen = read_choice()
    for model in models:
        sign = "*" if model.choice == chosen else " "
        typer.echo(f"{sign} {one_line(model.name)}  ({model.place}): {_ability(model.choice)}")
    warm = find_warm_model()
    if warm is not None:
        typer.echo(f"{one_line(warm.name)} is kept loaded, at {warm.base_url}: {one_line(warm.gguf)}")
    elif not models:
        typer.echo("No model is on this machine, at the usual ports and in the usual folders of other programs.")
    if any(model.choice == chosen for model in models):
        typer.echo("* answers from now on.")
    elif chosen is None or not chosen.is_model:
        typer.echo("No model is chosen, so you get sentences from your documents.")
    else:
        typer.echo(f"The chosen model ({one_line(chosen.gguf or chosen.base_url)}) is not there now.")
    _print_override()
    typer.echo("Choose one with: prefrag model use NAME. Fetch one with: prefrag model get")


def get(
    what: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A name, hf:REPOSITORY/FILE.gguf, an address or a path.")
    ] = None,
    yes: YesOption = False,
) -> None:
    """Fetch a model as one file, after you agree. Without NAME, list a few open models that fit this machine.

    What has arrived is compared with the hash that the hub states. A download that breaks off goes on with the same
    command. HF_ENDPOINT, HF_TOKEN and HTTPS_PROXY are obeyed.
    """
    from prefrag.components.generators import model_download, model_files, model_source

    if what is None:
        what = _choose_offer()
        if what is None:
            return

    # A file on this machine is only listed. `Path.expanduser` is not used, because it fails for the "~" of an unknown
    # user, while `os.path.expanduser` leaves it as it is.
    path = Path(os.path.expanduser(what))
    if path.is_file():
        model = model_files.add_local_file(path)
        typer.echo(f"{model.name} stays where it is: {model.path}.")
        _use_first(model)
        return

    source = model_source.read_source(what)
    fetched_file = model_files.find_model_file(source.name)
    if fetched_file is not None and fetched_file.source == str(source):
        typer.echo(f"{source.name} is there already.")
        _use_first(fetched_file)
        return
    model_files.refuse_taken_name(source.name, str(source))

    # Ask the user before anything is sent to the hub. If the hub then states something else, ask again.
    size = "" if source.expected_bytes is None else f", about {model_files.show_bytes(source.expected_bytes)}"
    licence = f", licence {source.licence}" if source.licence else ""
    if not _agrees(f"Download {source}{size}{licence} from {source.host}", yes):
        return
    stated = model_download.ask_source(source)
    if _is_news(source, stated):
        typer.echo(f"{source.name} has {_describe(stated)}.")
        if not _agrees("Download it", yes):
            return

    model = _fetch(source, stated)
    compared = "its SHA-256 is the one that the hub states" if model.is_hash_stated else "no hash is stated for it"
    typer.echo(f"{model.name} is fetched: {_describe(stated)}; {compared}.")
    _use_first(model)


def use(
    name: Annotated[str, typer.Argument(help="A name that `prefrag model` lists, a GGUF file, or `none`.")],
) -> None:
    """Let a model answer from now on, in `ask`, `chat`, `serve` and `prefrag FOLDER`; `none` for no model."""
    choice = find_model(name)
    if choice.gguf:
        _check_file(name, Path(choice.gguf))
    store_choice(choice)
    if not choice.is_model:
        typer.echo("No model answers from now on: you get sentences from your documents.")
    elif choice.gguf:
        typer.echo(f"{name} answers from now on. It runs in prefrag itself, so what it reads stays on this machine.")
    else:
        typer.echo(f"{name} answers from now on. What it reads goes to the server at {choice.base_url}.")
    _print_override()
    if choice.is_model:
        _try(name)


def serve(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="A model in a file; without it, the chosen one.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port on this machine; 0 for any.")] = 1417,
) -> None:
    """Keep the model of a file loaded until Ctrl-C, so that each `prefrag ask` answers without loading it.

    `ask`, `chat`, `serve` and `prefrag FOLDER` find it by themselves. Other users of this machine cannot use it.
    """
    from prefrag.components.generators import embedded_chat_generator
    from prefrag.components.generators.warm_model import keep_warm
    from prefrag.settings import models

    choice = read_choice() if name is None else find_model(name)
    if choice is None or not choice.gguf:
        raise BadInput(
            "Only a model in a file can be loaded here: name one that `prefrag model` lists, or choose it with "
            "`prefrag model use NAME`. The program that serves another model keeps it loaded itself."
        )
    file = Path(choice.gguf)
    shown = name or file.stem
    _check_file(shown, file)
    window = models["llm"].context or embedded_chat_generator.CONTEXT_WINDOW
    # `kill` ends the server like Ctrl-C, so that the model is freed in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt), keep_warm(file, port, window, models["llm"].threads) as model:
        typer.echo(f"{one_line(shown)} is loaded, at {model.base_url}. It stays so until you press Ctrl-C.")
        if choice == read_choice():
            typer.echo("`prefrag ask`, `chat` and `serve` use it meanwhile.")
        else:
            typer.echo(
                f"To ask it: prefrag ask --model {shlex.quote(shown)}, or prefrag model use {shlex.quote(shown)}"
            )
        _try(str(file))
        _wait_for_interrupt()
    typer.echo("The model is no longer loaded.")


def _wait_for_interrupt() -> None:
    """Wait until Ctrl-C raises KeyboardInterrupt."""
    threading.Event().wait()


def remove(name: Annotated[str, typer.Argument(help="The name of a fetched model.")]) -> None:
    """Delete a fetched model. A file that was not fetched, but named by its path, stays where it is."""
    from prefrag.components.generators import model_files

    model = model_files.remove_model_file(name)
    if model is None:
        typer.echo(f"What had arrived of {name} is deleted.")
        return
    if model_files.is_own(model):
        typer.echo(f"{name} is deleted, {model_files.show_bytes(model.bytes)}.")
    else:
        typer.echo(f"{model.path} stays.")
    if read_choice() == Choice(gguf=str(model.path)):
        store_choice(Choice())
        typer.echo("It was the chosen one, so no model answers from now on.")


def _choose_offer() -> str | None:
    """List the offered models, and let the user choose one. None if nobody can be asked, or none is wanted."""
    from prefrag.components.generators import model_files

    free = model_files.free_memory()
    offers = model_files.read_offers()
    typer.echo("Open models, each in one file. What one can do on this machine is tried when it is used:")
    for number, offer in enumerate(offers, start=1):
        size = f"about {model_files.show_bytes(offer.bytes)}"
        needed = model_files.needed_memory(offer.bytes)
        memory = f"needs about {model_files.show_bytes(needed)} of memory"
        if free is not None and needed > free:
            memory += f" - too large: {model_files.show_bytes(free)} are free"
        typer.echo(f"  {number}  {offer.name}: {offer.good_for}")
        typer.echo(f"     hf:{offer.repository}/{offer.file}, {size}, licence {offer.licence}, {memory}")
    if not can_ask_user():
        typer.echo("Fetch one with: prefrag model get NAME --yes")
        return None
    typed = str(typer.prompt("Which one? (number, or 0 for none)", default="0", err=True))
    number = int(typed) if typed.isdecimal() else 0
    if not 1 <= number <= len(offers):
        typer.echo("Nothing was downloaded.")
        return None
    return offers[number - 1].name


def _agrees(question: str, yes: bool) -> bool:
    """Ask whether the user agrees to a download. ``yes`` says that the command line has agreed already."""
    if yes:
        return True
    if not can_ask_user():
        raise BadInput("Where nobody can be asked, a download needs --yes. Nothing was downloaded.")
    if typer.confirm(question, default=False, err=True):
        return True
    typer.echo("Nothing was downloaded.")
    return False


def _fetch(source: Source, stated: Stated) -> ModelFile:
    """Download a model, and show the progress."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    from prefrag.components.generators.model_download import download

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(source.name, total=stated.bytes)

        def show(arrived: int, total: int | None) -> None:
            bar.update(task, completed=arrived, total=total)

        return download(source, stated, show)


def _is_news(source: Source, stated: Stated) -> bool:
    """Check whether the hub states a larger file, or another licence, than the user has agreed to.

    The user has not agreed to a size that was not known.
    """
    if stated.licence and stated.licence != source.licence:
        return True
    if source.expected_bytes is None or stated.bytes is None:
        return True
    return stated.bytes > source.expected_bytes * _TOLERANCE


def _describe(stated: Stated) -> str:
    """Write the size and the licence that the hub states."""
    from prefrag.components.generators.model_files import show_bytes

    size = "a size that is not stated" if stated.bytes is None else show_bytes(stated.bytes)
    licence = f"licence {stated.licence}" if stated.licence else "no licence is stated"
    return f"{size}, {licence}"


def _use_first(model: ModelFile) -> None:
    """Use a model that was just fetched if the user has none yet; else say how to use it."""
    choice = read_choice()
    has_chosen = choice is not None and choice.is_model
    if is_model_configured() or has_chosen:
        typer.echo(f"Use it with: prefrag model use {model.name}")
    else:
        use(model.name)


def _check_file(name: str, file: Path) -> None:
    """Check that llama.cpp is installed, and that the model fits into the memory."""
    from prefrag.components.generators.model_files import check_memory

    if importlib.util.find_spec("xllamacpp") is None:
        raise Missing(f"A GGUF file needs llama.cpp. Type: {install_command()} - then: prefrag model use {name}")
    check_memory(file)


def install_command() -> str:
    """Return the command that installs llama.cpp beside this program; it is only shown."""
    # On Windows, no shell knows single quotes around a program.
    python = subprocess.list2cmdline([sys.executable]) if _IS_WINDOWS else shlex.quote(sys.executable)
    # Each environment of pipx has this file. Like the environments of `uv tool`, it has no pip of its own.
    if Path(sys.prefix, "pipx_metadata.json").exists():
        return "pipx inject prefrag xllamacpp"
    if importlib.util.find_spec("pip") is None:
        return f"uv pip install --python {python} xllamacpp"
    return f'{python} -m pip install "prefrag[llama]"'


def _print_override() -> None:
    """Say if the environment names a model, because then the user's choice has no effect."""
    if is_model_configured():
        typer.echo("The environment names a model (PREFRAG_LLM_...), and that goes before what you choose here.")


def _ability(choice: Choice) -> str:
    """Say what a model was found able to do, when it was tried."""
    from prefrag.components.generators.context_window import read_facts
    from prefrag.components.generators.model_record import find_record_of_file
    from prefrag.components.generators.model_server import ModelServer

    if choice.gguf:
        record = find_record_of_file(choice.gguf)
    else:
        server = ModelServer(
            choice.base_url, choice.model, api_key="", prefix="PREFRAG_LLM_", timeout=_FACT_SECONDS, max_retries=0
        )
        read_facts(server)
        record = server.record
    return record.reason or "not tried yet"


def _try(name: str) -> None:
    """Try a model that was never tried, with four short tasks over invented passages."""
    import asyncio

    from prefrag.components.generators.ability_probe import AbilityProbe
    from prefrag.components.generators.chat_model import ChatModel

    apply_chosen_model(name)
    model = ChatModel()
    if not model.is_format_guessed:
        typer.echo(f"It needs no trial: {model.format_reason}.")
        return
    with suppress(KeyboardInterrupt), console(stderr=True).status("Trying what it can do (Ctrl-C skips this) ..."):
        try:
            # Load the model first, because loading a file may take as long as a whole call is allowed to take.
            model.warm_up()
            probe = AbilityProbe(model, _TRIAL_SECONDS)
            ability = asyncio.run(probe.try_async())
            typer.echo(f"What it can do: {ability}.")
        except Exception as error:
            typer.echo(f"It could not be tried: {one_line(str(error))}")
