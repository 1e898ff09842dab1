"""Let the user choose a model before the first answer, and store the choice in the data folder."""

import json
import os
from pathlib import Path

import typer

from prefrag.cli.console import console
from prefrag.cli.local_servers import LocalServer, find_local_servers
from prefrag.cli.web_consent import can_ask_user
from prefrag.components.text.one_line import one_line

BASE_URL, MODEL = "PREFRAG_LLM_BASE_URL", "PREFRAG_LLM_MODEL"
_SHOWN_MODELS = 20


def choice_file() -> Path:
    """Return the path of the file with the user's choice."""
    from prefrag.components.document_stores.tantivy.index_location import data_directory

    return data_directory() / "model.json"


def read_choice() -> tuple[str, str] | None:
    """Read the chosen base URL and model. Both are empty if the user wants no model; None if nobody was asked yet."""
    try:
        kept = json.loads(choice_file().read_text(encoding="utf-8"))
        base_url, model = kept.get("base_url", ""), kept.get("model", "")
    except (OSError, ValueError, AttributeError):
        return None
    return (base_url, model) if isinstance(base_url, str) and isinstance(model, str) else None


def apply_chosen_model() -> None:
    """Put the chosen server and model into the environment, unless a model is already configured there."""
    choice = None if is_model_configured() else read_choice()
    if choice is not None and all(choice):
        os.environ[BASE_URL], os.environ[MODEL] = choice


def offer_model() -> None:
    """Ask once which model on this machine to use. Only at a terminal, and only if no model is set."""
    apply_chosen_model()
    if is_model_configured() or read_choice() is not None or not can_ask_user():
        return
    offers = [(server, model) for server in find_local_servers() for model in server.models][:_SHOWN_MODELS]
    if not offers:
        return
    terminal = console(stderr=True)
    terminal.print("No language model is set, but these models run on this machine:", markup=False)
    for number, (server, model) in enumerate(offers, start=1):
        terminal.print(f"  {number}  {one_line(model)} ({server.program}, {server.base_url})", markup=False)
    chosen = str(typer.prompt("Which model should answer from now on? (number, or 0 for none)", default="0", err=True))
    if not chosen.isdecimal() or int(chosen) > len(offers):
        terminal.print("That is not one of the numbers, so no model is used this time.", style="yellow")
        return
    store_choice(*offers[int(chosen) - 1] if int(chosen) else (None, ""))
    terminal.print(f"Your choice is in {choice_file()}. Delete this file to be asked again.", markup=False, style="dim")
    apply_chosen_model()


def store_choice(server: LocalServer | None, model: str) -> None:
    """Store the user's choice. If ``server`` is None, the user wants no model."""
    kept = {} if server is None else {"base_url": server.base_url, "model": model}
    choice_file().parent.mkdir(parents=True, exist_ok=True)
    choice_file().write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")


def is_model_configured() -> bool:
    """Check whether a model is configured in the environment."""
    from prefrag.settings import models

    return any((models["llm"].base_url, models["llm"].model, models["llm"].gguf))
