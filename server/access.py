"""What the sender of a request may do."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass


@dataclass(frozen=True)
class Access:
    """What a key allows; without keys, what a caller on this machine may do.

    :param key: The name of the key, which is no secret; empty where the service has no keys.
    :param collections: The collections that may be searched; None for all that the administrator serves.
    :param writes: Whether documents may be added to them and deleted.
    :param web: Whether questions may go to the web, where the server and the collection allow it, too.
    :param deploys: Whether pipelines may be deployed, where the administrator opens those routes: they run any code.
    """

    key: str = ""
    collections: frozenset[str] | None = None
    writes: bool = False
    web: bool = True
    deploys: bool = False


ANYONE = Access(deploys=True)
# Set for each request before anything else reads it. Whatever a request starts inherits it.
current_access: ContextVar[Access] = ContextVar("current_access", default=ANYONE)
