"""The audit log: one line before anything leaves this machine, and one line for each query that was not sent."""

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
from typing import Any

from prefrag.errors import PrefragError
from prefrag.file_lock import append_line
from prefrag.settings import settings

logger = logging.getLogger(__name__)

# The fields that all lines of the current context share.
_labels: ContextVar[Mapping[str, str | None]] = ContextVar("audit_labels", default=MappingProxyType({}))


class AuditLogFailed(PrefragError):
    """The error when the audit log cannot be written. Nothing may then leave this machine."""


def audit_log() -> Path | None:
    """Return the file that is set in ``PREFRAG_AUDIT_LOG``, or None if the variable is not set."""
    chosen = settings.audit_log
    return None if chosen is None else chosen.absolute()


def label_audit(**labels: str | None) -> None:
    """Add fields to all lines that the current context (see ``contextvars``) writes from now on."""
    _labels.set({**_labels.get(), **labels})


def audit_labels() -> Mapping[str, str | None]:
    """Return the fields that all lines of the current context share, such as ``run``, ``pipeline`` and ``key``."""
    return _labels.get()


def check_audit_log() -> str:
    """Check that an audit log can be written, if one is set. Return a warning if other users can read or change it."""
    # An empty line writes nothing: the file is only opened, and made if it is missing.
    _append("")
    path = audit_log()
    if path is None or os.name != "posix":
        return ""
    mode = path.stat().st_mode
    # A device such as /dev/stderr is open to others, but keeps nothing.
    is_device = stat.S_ISCHR(mode)
    is_open_to_others = stat.S_IMODE(mode) & (stat.S_IRWXG | stat.S_IRWXO)
    if is_device or not is_open_to_others:
        return ""
    return f"Other users can read or change the audit log {path}: run chmod 600 on it."


def audit(event: str, **data: Any) -> None:
    """Record that something is about to leave this machine. Call this function before sending.

    ``event`` is ``query``, ``model_call`` or ``tracing``; for :func:`audit_held_back`, it is ``held_back``. If
    ``PREFRAG_AUDIT_QUERIES`` is off, queries are hashed. Raises :class:`AuditLogFailed` when the line cannot be
    written.
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
    """Record that a query was not sent. If this fails, only log the error, because nothing has left this machine."""
    try:
        audit("held_back", source=source, query=query, reason=reason)
    except AuditLogFailed as error:
        logger.error("%s", error)


def _append(line: str) -> None:
    path = audit_log()
    if path is None:
        return
    try:
        # The file is opened again for each line, so that a program that rotates logs can move it away at any time.
        append_line(path, line)
    except OSError as error:
        raise AuditLogFailed(
            f"The audit log {path} cannot be written ({error.strerror}), so nothing is sent. Repair it and ask again, "
            f"or unset PREFRAG_AUDIT_LOG."
        ) from error
