"""The audit log: a file with one line for everything that is sent from this machine to other machines.

A line is written before the sending, and also for each query that was held back. If the line cannot be written, nothing
is sent. The file is set in ``PREFRAG_AUDIT_LOG``. Each line is a JSON object.
"""

import hashlib
import json
import logging
import os
import platform
import stat
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

from prefrag.errors import PrefragError
from prefrag.file_lock import append_line
from prefrag.settings import settings

logger = logging.getLogger(__name__)

# The fields that all lines of the current context share, such as the ID of the run.
_labels: ContextVar[Mapping[str, str | None]] = ContextVar("audit_labels", default=MappingProxyType({}))


class AuditLogFailed(PrefragError):
    """Raised when the audit log cannot be written. Nothing may then be sent to another machine."""


def audit_log() -> Path | None:
    """Return the path of the audit log.

    :returns: The absolute path that is set in ``PREFRAG_AUDIT_LOG``; None if the variable is not set.
    """
    chosen = settings.audit_log
    return None if chosen is None else chosen.absolute()


def label_audit(**labels: str | None) -> None:
    """Add fields to all lines that the current context writes from now on.

    :param labels: The names and values of the fields. A context is that of the module ``contextvars``.
    """
    _labels.set({**_labels.get(), **labels})


def audit_labels() -> Mapping[str, str | None]:
    """Return the fields that all lines of the current context share.

    :returns: The fields by their names, such as ``run``, ``pipeline`` and ``key``.
    """
    return _labels.get()


def check_audit_log() -> str:
    """Check that the audit log can be written, if one is set. The file is made if it is missing.

    :returns: A warning if other users can read or change the file; "" otherwise.
    :raises AuditLogFailed: If the file cannot be written.
    """
    # An empty line writes nothing. The file is only opened, and made if it is missing.
    _append("")
    path = audit_log()
    if path is None or os.name != "posix":
        return ""

    mode = path.stat().st_mode
    # Other users can write to a device such as /dev/stderr, but a device stores nothing.
    is_device = stat.S_ISCHR(mode)
    permissions_of_others = stat.S_IRWXG | stat.S_IRWXO
    is_open_to_others = bool(stat.S_IMODE(mode) & permissions_of_others)
    if is_device or not is_open_to_others:
        return ""
    return f"Other users can read or change the audit log {path}: run chmod 600 on it."


def audit(event: str, **data: object) -> None:
    """Record that something is about to be sent to another machine. Call this function before the sending.

    Nothing happens if no audit log is set.

    :param event: ``query``, ``model_call`` or ``tracing``. For a query that was not sent, ``held_back``.
    :param data: Further fields of the line. If ``PREFRAG_AUDIT_QUERIES`` is off, the line has a hash of ``query``
        instead of its text.
    :raises AuditLogFailed: If the line cannot be written.
    """
    if audit_log() is None:
        return

    if "query" in data and not settings.audit_queries:
        query = str(data.pop("query"))
        data["query_sha256"] = hashlib.sha256(query.encode(errors="replace")).hexdigest()

    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    origin = {"time": time, "machine": platform.node(), "process": os.getpid()}
    _append(json.dumps({**origin, **_labels.get(), "event": event, **data}))


def audit_held_back(source: str, query: str, reason: str) -> None:
    """Record that a query was held back, which means that it was not sent.

    If the line cannot be written, the error is only logged, because nothing was sent.

    :param source: The name of the search that would have got the query.
    :param query: The query.
    :param reason: Why the query was held back.
    """
    try:
        audit("held_back", source=source, query=query, reason=reason)
    except AuditLogFailed as error:
        logger.error("%s", error)


def _append(line: str) -> None:
    """Append a line to the audit log, if one is set."""
    path = audit_log()
    if path is None:
        return
    try:
        # The file is opened again for each line. So a program that rotates logs can move the file away at any time.
        append_line(path, line)
    except OSError as error:
        raise AuditLogFailed(
            f"The audit log {path} cannot be written ({error.strerror}), so nothing is sent. Repair it and ask again, "
            f"or unset PREFRAG_AUDIT_LOG."
        ) from error
