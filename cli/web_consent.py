"""Ask the user whether web search is allowed: at the first indexing and, with PREFRAG_WEB=ask, before each query."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer

from prefrag.cli.console import console
from prefrag.components.text.one_line import one_line
from prefrag.errors import BadInput

if TYPE_CHECKING:
    from rich.status import Status

    from prefrag.collections.collection import Collection


def ask_web_consent(chosen: bool | None, collection: Collection) -> bool | None:
    """Return whether a collection may use web search: ``chosen`` or the user's answer, or None if already decided."""
    from prefrag.components.state.web_switch import web_setting

    if chosen is not None or web_setting() is not None or collection.read_consent() is not None:
        return chosen
    if can_ask_user():
        return typer.confirm(
            f"May questions go to the web when the documents of the collection '{collection.name}' do not suffice? "
            "You are shown every query that is sent",
            default=False,
            err=True,
        )
    advice = f"Open it with: prefrag index --web{collection.options}"
    console(stderr=True).print(f"The web is closed for questions on this collection. {advice}", markup=False)
    return False


def set_web(chosen: bool | None) -> None:
    """Allow or forbid web search in this process. None changes nothing, and True keeps ``PREFRAG_WEB=ask``."""
    from prefrag.components.state.web_switch import WEB_SWITCH, web_setting

    if chosen is False:
        os.environ[WEB_SWITCH] = "off"
    elif chosen and web_setting() == "off":
        raise BadInput(f"The web is closed by {WEB_SWITCH}={os.environ[WEB_SWITCH]}: unset that to open it.")
    elif chosen and web_setting() is None:
        os.environ[WEB_SWITCH] = "on"


def ask_before_sending(status: Status) -> None:
    """Let the web gate ask the user before each query is sent (``PREFRAG_WEB=ask``), if there is a terminal."""
    from prefrag.components.web.web_gate import ask_person

    def ask(source: str, query: str) -> bool:
        status.stop()
        try:
            return typer.confirm(f"Send to {source}: {one_line(query)}", default=False, err=True)
        except typer.Abort:
            return False
        finally:
            status.start()

    if can_ask_user():
        ask_person.set(ask)


def confirm_web_query(result: Mapping[str, Any]) -> str | None:
    """Ask whether the whole message may be sent, if a part of it was left out of a web query, and return it if so."""
    offer = next((event["offer"] for event in result.get("trace") or () if event.get("offer")), None)
    if offer is None or not can_ask_user():
        return None
    question = f"Not all of your message was sent to the web. Search the web for this? {one_line(offer)}"
    try:
        return offer if typer.confirm(question, default=False, err=True) else None
    except typer.Abort:
        return None


def can_ask_user() -> bool:
    """Check whether a person can be asked: whether standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()
