"""Ask the user at the terminal whether web search is allowed.

The user is asked when a collection is first indexed. With ``PREFRAG_WEB=ask``, the user is also asked before each query
is sent.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import typer

from prefrag.cli.console import console
from prefrag.components.text.one_line import one_line
from prefrag.errors import BadInput

if TYPE_CHECKING:
    from rich.status import Status

    from prefrag.collections.collection import Collection
    from prefrag.components.state.result import Result


def ask_web_consent(chosen: bool | None, collection: Collection) -> bool | None:
    """Find out whether questions on a collection may go to the web. Ask the user if this is not decided yet.

    :param chosen: What the options of the command say. None if they say nothing.
    :param collection: The collection.
    :returns: The choice of the options or of the user. Without a terminal, False. None if the settings or an earlier
        answer have already decided.
    """
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
    """Allow or forbid web search in this process, through the environment variable ``PREFRAG_WEB``.

    :param chosen: True allows it, and keeps ``PREFRAG_WEB=ask``. False forbids it. None changes nothing.
    :raises BadInput: If it is to be allowed, but ``PREFRAG_WEB`` forbids it.
    """
    from prefrag.components.state.web_switch import WEB_SWITCH, web_setting

    if chosen is False:
        os.environ[WEB_SWITCH] = "off"
    elif chosen and web_setting() == "off":
        raise BadInput(f"The web is closed by {WEB_SWITCH}={os.environ[WEB_SWITCH]}: unset that to open it.")
    elif chosen and web_setting() is None:
        os.environ[WEB_SWITCH] = "on"


def ask_before_sending(status: Status) -> None:
    """Let the user be asked before each query is sent, if there is a terminal.

    The web gate is the code that decides about each query to the web. It asks only if ``PREFRAG_WEB`` is ``ask``.

    :param status: The spinner of the terminal. It is stopped while the user is asked.
    """
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


def confirm_web_query(result: Result) -> str | None:
    """If a part of the message was left out of a web query, ask whether the whole message may be sent.

    :param result: The result of the run. Its trace has the query that could be sent.
    :returns: The query, if the user allows it. None if nothing was left out, if nobody can be asked, or if the user
        does not allow it.
    """
    offers = [event["offer"] for event in result.get("trace") or () if event.get("offer")]
    if not offers or not can_ask_user():
        return None
    offer: str = offers[0]
    question = f"Not all of your message was sent to the web. Search the web for this? {one_line(offer)}"
    try:
        return offer if typer.confirm(question, default=False, err=True) else None
    except typer.Abort:
        return None


def can_ask_user() -> bool:
    """Check whether a person can be asked. This is so if standard input and standard error are a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()
