"""Let the user choose a model, and store the choice in the data folder."""

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

import typer

from prefrag.cli.console import console
from prefrag.cli.local_servers import find_local_servers
from prefrag.cli.web_consent import can_ask_user
from prefrag.components.text.one_line import one_line
from prefrag.errors import BadInput, Missing

# The environment variables that name the model: the address of its server and its name there, or its GGUF file, which
# is the form in which llama.cpp runs models.
BASE_URL = "PREFRAG_LLM_BASE_URL"
MODEL = "PREFRAG_LLM_MODEL"
GGUF = "PREFRAG_LLM_GGUF"
# What else belongs to the model of the environment: the key of its server, and its adapter.
API_KEY = "PREFRAG_LLM_API_KEY"
_BELONGINGS = (API_KEY, "PREFRAG_LLM_API_KEY_FILE", "PREFRAG_LLM_ADAPTER")
# The name with which the user chooses that no model answers.
NO_MODEL = "none"
# How many models the user is offered at most.
_SHOWN_MODELS = 20

ModelOption = Annotated[
    str | None,
    typer.Option(metavar="NAME|FILE.gguf", help="The model for this run (`prefrag model` lists them), or none."),
]


@dataclass(frozen=True)
class Choice:
    """A model on a server of this machine, or a GGUF file; all fields are empty if no model is wanted."""

    base_url: str = ""
    model: str = ""  # the name of the model on that server
    gguf: str = ""  # the path of the file

    @property
    def is_model(self) -> bool:
        """Whether the user has chosen a model."""
        has_server = bool(self.base_url and self.model)
        return bool(self.gguf) or has_server


@dataclass(frozen=True)
class LocalModel:
    """A model that is on this machine."""

    name: str
    place: str  # the program and the address of a server, or what is known of a file
    choice: Choice


def choice_file() -> Path:
    """Return the path of the file with the user's choice."""
    from prefrag.components.document_stores.tantivy.index_location import data_directory

    return data_directory() / "model.json"


def read_choice() -> Choice | None:
    """Read what the user has chosen; None if nobody was asked yet."""
    try:
        stored = json.loads(choice_file().read_text(encoding="utf-8"))
        choice = Choice(stored.get("base_url", ""), stored.get("model", ""), stored.get("gguf", ""))
    except (OSError, ValueError, AttributeError):
        return None
    is_valid = all(isinstance(value, str) for value in asdict(choice).values())
    return choice if is_valid else None


def apply_chosen_model(name: str | None = None) -> None:
    """Put the chosen model into the environment, unless a model is configured there.

    :param name: A model for this process alone, which goes before both: a name, the path of a GGUF file, or ``none``.
        The key and the adapter of the environment's model do not go with it.
    :raises Missing: When there is no model of that name.
    """
    if name is not None:
        choice = find_model(name)
        # The variables are emptied and not deleted, because the file .env sets those that are missing.
        for variable in (BASE_URL, MODEL, GGUF, *_BELONGINGS):
            os.environ[variable] = ""
        _apply(choice)
    elif not is_model_configured():
        stored = read_choice()
        if stored is not None:
            _apply(stored)
    _use_warm_model()


def _apply(choice: Choice) -> None:
    """Put a model into the environment. Without a model, change nothing."""
    if choice.gguf:
        os.environ[GGUF] = choice.gguf
    elif choice.is_model:
        os.environ[BASE_URL] = choice.base_url
        os.environ[MODEL] = choice.model


def _use_warm_model() -> None:
    """Call the server of `prefrag model serve` if it runs the file that this process would load."""
    from prefrag.components.generators.warm_model import find_warm_model
    from prefrag.settings import models

    llm = models["llm"]
    # An adapter is loaded together with its model, so with one the server's model is a different model.
    if not llm.gguf or llm.base_url or llm.adapter:
        return
    warm = find_warm_model()
    if warm is not None and warm.runs(llm.gguf):
        os.environ[BASE_URL] = warm.base_url
        os.environ[MODEL] = warm.name
        os.environ[API_KEY] = warm.api_key


def offer_model() -> None:
    """Ask once which model on this machine to use. Only at a terminal, and only if no model is set."""
    apply_chosen_model()
    if is_model_configured() or read_choice() is not None or not can_ask_user():
        return
    offers = list(_list_served())[:_SHOWN_MODELS]
    if not offers:
        return
    terminal = console(stderr=True)
    terminal.print("No language model is set, but these models run on this machine:", markup=False)
    for number, offer in enumerate(offers, start=1):
        terminal.print(f"  {number}  {one_line(offer.name)} ({offer.place})", markup=False)

    typed = str(typer.prompt("Which model should answer from now on? (number, or 0 for none)", default="0", err=True))
    chosen_number = int(typed) if typed.isdecimal() else -1
    if not 0 <= chosen_number <= len(offers):
        terminal.print("That is not one of the numbers, so no model is used this time.", style="yellow")
        return
    choice = offers[chosen_number - 1].choice if chosen_number else Choice()
    store_choice(choice)
    terminal.print("Change your choice with: prefrag model use NAME", markup=False, style="dim")
    apply_chosen_model()


def list_models() -> list[LocalModel]:
    """List the models on this machine: on servers at their usual ports, fetched files, and files of other programs."""
    from prefrag.cli.local_files import find_local_files
    from prefrag.components.generators.model_files import list_model_files, name_of_file, show_bytes

    fetched = list_model_files()
    models = list(_list_served())
    for file in fetched:
        licence = f", {one_line(file.licence)}" if file.licence else ""
        place = f"{show_bytes(file.bytes)}{licence}, from {one_line(file.source)}"
        models.append(LocalModel(file.name, place, Choice(gguf=str(file.path))))

    # A fetched file may also be in the folder of another program. List it once.
    fetched_paths = {os.path.realpath(file.path) for file in fetched}
    for program, path in find_local_files():
        if os.path.realpath(path) not in fetched_paths:
            size = show_bytes(path.stat().st_size)
            place = f"{size}, {program}, {one_line(str(path))}"
            models.append(LocalModel(name_of_file(path.name), place, Choice(gguf=str(path))))
    return models


def find_model(name: str) -> Choice:
    """Find a model by its name, or a GGUF file by its path.

    :param name: The name, the path, or ``none``.
    :returns: The choice that stands for it.
    :raises Missing: When there is no such model on this machine.
    :raises BadInput: When several models have the name, or the file is no GGUF file.
    """
    from prefrag.components.generators.model_files import is_gguf

    if name == NO_MODEL:
        return Choice()
    # `Path.expanduser` fails for the "~" of an unknown user, while this function leaves it as it is.
    path = Path(os.path.expanduser(name))
    if path.is_file():
        if not is_gguf(path):
            raise BadInput(f"{name} is not a GGUF file, the form in which llama.cpp runs models.")
        return Choice(gguf=str(path.absolute()))
    matching = [model for model in list_models() if model.name == name]
    if len(matching) > 1:
        places = "; ".join(model.place for model in matching)
        raise BadInput(
            f"Several models are called {name} ({places}): give the path of the file, or set {BASE_URL} and {MODEL}."
        )
    if not matching:
        raise Missing(
            f"There is no model {name} on this machine: `prefrag model` lists those that are, and `prefrag model get` "
            "fetches one."
        )
    return matching[0].choice


def store_choice(choice: Choice) -> None:
    """Store the user's choice."""
    stored = {name: value for name, value in asdict(choice).items() if value}
    choice_file().parent.mkdir(parents=True, exist_ok=True)
    choice_file().write_text(json.dumps(stored, ensure_ascii=False) + "\n", encoding="utf-8")


def is_model_configured() -> bool:
    """Check whether a model is configured in the environment."""
    from prefrag.settings import models

    return any((models["llm"].base_url, models["llm"].model, models["llm"].gguf))


def _list_served() -> Iterator[LocalModel]:
    """Yield the models of the servers that run on this machine."""
    for server in find_local_servers():
        for model in server.models:
            choice = Choice(base_url=server.base_url, model=model)
            yield LocalModel(model, f"{server.program}, {server.base_url}", choice)
