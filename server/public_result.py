"""Remove from results what clients must not see: server addresses, folders, secrets and names of models."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

from prefrag.components.text.addresses import without_userinfo
from prefrag.pipelines.sent_to_models import hide_model_hosts
from prefrag.server.access.keys import current_access
from prefrag.settings import models, read_secrets

WITHHELD = "(withheld)"
_URL = re.compile(r"\b[a-z]{2,10}://[^\s'\"<>()\[\],;]+", re.IGNORECASE)
_IP_ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\d.]*\d)")
_PATH = re.compile(r"(?<![\w/.:~])~?/(?:[^\s/'\"]+/)+([^\s/'\"]*)")
# On Windows, folder names may have spaces, and Python doubles the backslashes of a path that it quotes.
# Such a path begins with a drive, as in C:\, or with a server, as in \\server\.
_WINDOWS_PATH = re.compile(
    r"""(?:(?<![A-Za-z\d])[A-Za-z]:[\\/]+|(?<!\\)\\{2,}[^\s\\/:*?"<>|]+\\+)"""
    r"""(?:[^\\/:*?"<>|\r\n]+(?<!\s)\\+|[^\s\\/:*?"<>|]+/)*"""
)
_PARTS_OF_ERRORS = ("error", "message")


class Installation:
    """Removes from replies what clients must not see: secrets, model names, and addresses of a pipeline's servers."""

    def __init__(self, pipeline: Any):
        self.pipeline = pipeline
        parts: dict[str, Any] = {}
        # Users' own components may fail here because they cannot be serialised. The pipeline is served all the same.
        with suppress(Exception):
            parts = pipeline.to_dict()
        variables = {name: value for name, value in os.environ.items() if name.startswith("PREFRAG_")}
        names = set(filter(None, map(_host, _texts([parts, variables]))))
        secrets = set(read_secrets())
        self._secrets = _any_of(secrets)
        self._names = _any_of(names | secrets | {models["llm"].model, models["judge"].model} - {""})

    def withhold(self, text: str) -> str:
        """Remove from an error message what clients must not see. The owner sees the servers and models in it."""
        if current_access.get().is_owner:
            return hide_folders(self._secrets.sub(WITHHELD, without_userinfo(text)))
        return hide_folders(self._names.sub(WITHHELD, _hide_hosts(text)))

    def publish(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Remove from a result what clients must not see."""
        public = hide_model_hosts(result)
        if "errors" in public:
            public["errors"] = [self.withhold(error) for error in public["errors"]]
        for name in {"trace", "queries_sent_out"} & public.keys():
            public[name] = [self.publish_event(event) for event in public[name]]
        if "documents" in public:
            public["documents"] = [_name_file(document) for document in public["documents"]]
        return public

    def publish_event(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Remove from an event of the trace what clients must not see."""
        errors = {key: self.withhold(event[key]) for key in _PARTS_OF_ERRORS if isinstance(event.get(key), str)}
        attempts = [self.publish_event(attempt) for attempt in event.get("attempts") or ()]
        public = {**event, **errors}
        if attempts:
            public["attempts"] = attempts
        return public


def _any_of(names: set[str]) -> re.Pattern[str]:
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    if not pattern:
        # This matches nothing.
        return re.compile(r"(?!)")
    return re.compile(rf"(?<![\w.-])(?:{pattern})(?::\d+)?(?![\w-])")


def hide_addresses(text: str) -> str:
    """Remove the addresses of servers from a text, and shorten each path to its last name."""
    return hide_folders(_hide_hosts(text))


def _hide_hosts(text: str) -> str:
    return _IP_ADDRESS.sub(WITHHELD, _URL.sub(WITHHELD, text))


def hide_folders(text: str) -> str:
    """Shorten each path in a text to its last name."""
    return _PATH.sub(r"\1", _WINDOWS_PATH.sub("", text))


def _name_file(document: Mapping[str, Any]) -> dict[str, Any]:
    """Leave only the name of a document's file, without its folder."""
    if not document.get("file"):
        return dict(document)
    return {**document, "file": PurePath(str(document["file"])).name}


def _texts(values: object) -> Iterator[str]:
    waiting = [values]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list | tuple):
            waiting.extend(value)


def _host(value: str) -> str | None:
    if "://" not in value:
        return None
    try:
        return urlsplit(value).hostname
    except ValueError:
        return None
