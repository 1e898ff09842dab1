"""The model server that the user chose at the first question, stored in the data folder."""

import json
import os
from pathlib import Path

import typer

from prefrag.cli.console import console
from prefrag.cli.local_servers import LocalServer, find_local_servers
from prefrag.cli.web_consent import is_terminal
from prefrag.components.text.one_line import one_line

BASE_URL, MODEL = "PREFRAG_LLM_BASE_URL", "PREFRAG_LLM_MODEL"
_SHOWN_MODELS = 20


def kept_file() -> Path:
    """Return the path of the file with the user's choice."""
    from prefrag.components.document_stores.tantivy.index_location import data_directory

    return data_directory() / "model.json"


def read_choice() -> tuple[str, str] | None:
    """Read the chosen base URL and model. Both are empty if the user wants no model; None if nobody was asked yet."""
    try:
        kept = json.loads(kept_file().read_text(encoding="utf-8"))
        base_url, model = kept.get("base_url", ""), kept.get("model", "")
    except (OSError, ValueError, AttributeError):
        return None
    return (base_url, model) if isinstance(base_url, str) and isinstance(model, str) else None


def use_kept_model() -> None:
    """Put the chosen server and model into the environment, unless a model is already configured there."""
    choice = None if names_model() else read_choice()
    if choice is not None and all(choice):
        os.environ[BASE_URL], os.environ[MODEL] = choice


def offer_model() -> None:
    """Ask once which model on this machine to use. Only at a terminal, and only if no model is set."""
    use_kept_model()
    if names_model() or read_choice() is not None or not is_terminal():
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
    keep_model(*offers[int(chosen) - 1] if int(chosen) else (None, ""))
    terminal.print(f"Your choice is in {kept_file()}. Delete this file to be asked again.", markup=False, style="dim")
    use_kept_model()


def keep_model(server: LocalServer | None, model: str) -> None:
    """Store the user's choice. If ``server`` is None, the user wants no model."""
    kept = {} if server is None else {"base_url": server.base_url, "model": model}
    kept_file().parent.mkdir(parents=True, exist_ok=True)
    kept_file().write_text(json.dumps(kept, ensure_ascii=False) + "\n", encoding="utf-8")


def names_model() -> bool:
    """Check whether a model is configured in the environment."""
    from prefrag.components.settings import models

    return any((models["llm"].base_url, models["llm"].model, models["llm"].gguf))
