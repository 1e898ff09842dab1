"""The log of the service, in the format of Hayhooks or as lines of JSON.

The log never contains the text of questions. ``PREFRAG_LOG`` chooses the format.
"""

import json
import logging
import os
import re
import sys
import traceback
from typing import Any

from hayhooks.server.logger import formatter, intercept_stdlib_logging, log

from prefrag.settings import settings
from prefrag.tracing import Measured, observers

# A colour code of a terminal, such as "\x1b[32m". uvicorn's messages contain them.
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
# The fields of the line about a run, besides its labels and its seconds, by the tags of the measurement.
_FIELDS = {
    "prefrag.searches": "searches",
    "gen_ai.usage.input_tokens": "input_tokens",
    "gen_ai.usage.output_tokens": "output_tokens",
    "prefrag.status": "status",
}


def configure_log() -> None:
    """Set up the log as Hayhooks does, but leave out questions and the values of variables in tracebacks.

    The function may be called again. It then replaces what the last call has set up.
    """
    is_json = settings.log == "json"
    level = (os.environ.get("HAYHOOKS_LOG_LEVEL") or "INFO").upper()

    def strip(record: Any) -> None:
        """Remove from a record the parameters of a request, which contain the question, and colours."""
        record["extra"].pop("params", None)
        if is_json or not sys.stderr.isatty():
            record["message"] = _COLOURS.sub("", record["message"])

    log.configure(patcher=strip)
    log.remove()
    own = logging.getLogger("prefrag")
    own.handlers = []
    own.propagate = True

    if _log_run in observers:
        observers.remove(_log_run)
    if is_json:
        observers.append(_log_run)
        intercept_stdlib_logging(["prefrag"])
        own.setLevel(logging.NOTSET)
        log.add(_write_json, level=level, format="{message}")
    else:
        # The format of Hayhooks has no traceback, so append it. `diagnose=False` leaves out the values of variables.
        log.add(sys.stderr, level=level, format=lambda record: formatter(record) + "{exception}", diagnose=False)


def _write_json(message: Any) -> None:
    """Write a message of the log to standard error as a line of JSON."""
    record = message.record
    line = {
        "time": record["time"].isoformat(),
        "level": record["level"].name,
        "process": record["process"].id,
        "message": record["message"],
        **record["extra"],
    }
    error = record["exception"]
    if error is not None:
        line["traceback"] = "".join(traceback.format_exception(*error))
    sys.stderr.write(json.dumps(line, default=str) + "\n")
    sys.stderr.flush()


def _log_run(measured: Measured) -> None:
    """Log a line when a run has ended. The line has labels, numbers and, if the run failed, the type of the error."""
    if measured.name != "prefrag.run":
        return
    labels = {name: measured.labels[name] for name in ("run", "pipeline", "key") if measured.labels.get(name)}
    fields = {field: measured.tags[tag] for tag, field in _FIELDS.items() if tag in measured.tags}
    failure = {"error": measured.error} if measured.error else {}
    log.bind(**labels, seconds=round(measured.seconds, 3), **fields, **failure).info("Run ended")
