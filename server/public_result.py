"""Remove from results what clients must not see: server addresses, folders, secrets and names of models.

Results contain errors of other programs. Their texts may have the address of a server, the path of a file, or a
password. The person who sits at the machine may see more than other clients.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import TypeVar
from urllib.parse import urlsplit

from haystack.core.pipeline.base import PipelineBase

from prefrag.components.state.events import EventData, SentQuery, TraceEvent
from prefrag.components.state.result import FoundDocument, Result
from prefrag.components.text.addresses import without_userinfo
from prefrag.pipelines.sent_to_models import hide_model_hosts
from prefrag.server.access.keys import current_access
from prefrag.settings import models, read_secrets

# What stands in a text in place of something that was removed.
WITHHELD = "(withheld)"
# A web address, such as "http://db.example.org:9200/index".
_URL = re.compile(r"\b[a-z]{2,10}://(?:[^\s'\"<>()\[\],;]|\[[\w:.%]+\])+", re.IGNORECASE)
# An IPv4 address, with or without a port, such as "10.0.0.7" or "10.0.0.7:9200". "1.2.3" and "1.2.3.4.5" do not match.
_IP_ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?(?![\d.]*\d)")
# An IPv6 address, such as "2001:db8::7", "[fe80::1]:9200" and "::1". The time "12:30:45" does not match.
_IPV6_ADDRESS = re.compile(
    r"(?<![\w:.])\[?(?=[a-f:]*\d)(?:(?:[\da-f]{1,4}:){7}[\da-f]{1,4}"
    r"|(?:[\da-f]{1,4}(?::[\da-f]{1,4})*)?::(?:[\da-f]{1,4}(?::[\da-f]{1,4})*)?)(?:\]:\d+|\])?(?![\w:])",
    re.IGNORECASE,
)
# A path with at least one folder, such as "/home/ada/report.pdf" or "~/report/a.pdf". Group 1 is the last name.
# Below the first folder, the name of a folder may have up to eight words, as in "/home/ada lovelace/report.pdf". Its
# first word has no dot, comma or colon, so "/data/a.pdf: HTTP/1.1" ends with the name of the file.
_PATH = re.compile(
    r"(?<![\w/.:~])~?/(?:[^\s/'\"]+/)+(?:[^\s/'\":,.]+(?: [^\s/'\":,]+){1,7}/(?:[^\s/'\"]+/)*)*([^\s/'\"]*)"
)
# The folders of a path on Windows. In "C:\my files\report.pdf", this is "C:\my files\".
#
# - The path begins with a drive, as in "C:\", or with a server, as in "\\server\".
# - Folders follow. Before a backslash, their names may have spaces. Before a slash, they may not.
#
# Several backslashes may stand in a row, because Python doubles the backslashes of a path that it quotes.
_WINDOWS_PATH = re.compile(
    r"""(?:(?<![A-Za-z\d])[A-Za-z]:[\\/]+|(?<!\\)\\{2,}[^\s\\/:*?"<>|]+\\+)"""
    r"""(?:[^\\/:*?"<>|\r\n]+(?<!\s)\\+|[^\s\\/:*?"<>|]+/)*"""
)
# An event of the trace, or only its details.
AnyEvent = TypeVar("AnyEvent", EventData, TraceEvent)


class Installation:
    """Removes from replies what clients must not see: secrets, names of models, and addresses of servers.

    :param pipeline: The pipeline that makes the results. Its settings and the environment name the servers.
    """

    def __init__(self, pipeline: PipelineBase):
        self.pipeline = pipeline
        parts: dict[str, object] = {}
        # Users' own components may fail here, because they cannot be serialised. The pipeline is served all the same.
        with suppress(Exception):
            parts = pipeline.to_dict()
        variables = {name: value for name, value in os.environ.items() if name.startswith("PREFRAG_")}
        hosts = set()
        for text in _texts([parts, variables]):
            host = _host(text)
            if host:
                hosts.add(host)
        # The name of a model is empty if it is not set.
        model_names = {models["llm"].model, models["judge"].model} - {""}
        secrets = set(read_secrets())
        self._secrets = _any_of(secrets)
        self._names = _any_of(hosts | model_names | secrets)

    def withhold(self, text: str) -> str:
        """Remove from an error message what clients must not see.

        If the person at this machine has sent the request, names of servers and models stay in the message.

        :param text: The error message.
        """
        if current_access.get().is_owner:
            return hide_folders(self._secrets.sub(WITHHELD, without_userinfo(text)))
        return hide_folders(self._names.sub(WITHHELD, _hide_hosts(text)))

    def publish(self, result: Result) -> Result:
        """Remove from a result what clients must not see.

        :param result: The result of a run.
        :returns: A changed copy.
        """
        public = hide_model_hosts(result)
        if "errors" in public:
            public["errors"] = [self.withhold(error) for error in public["errors"]]
        if "trace" in public:
            public["trace"] = [self.publish_event(event) for event in public["trace"]]
        if "queries_sent_out" in public:
            public["queries_sent_out"] = [self._publish_attempt(attempt) for attempt in public["queries_sent_out"]]
        if "documents" in public:
            public["documents"] = [_name_file(document) for document in public["documents"]]
        return public

    def publish_event(self, event: AnyEvent) -> AnyEvent:
        """Remove from an event of the trace what clients must not see.

        :param event: The event, or only its details. Attempts of a search that are part of it are changed too.
        :returns: A changed copy.
        """
        public = event.copy()
        error = event.get("error")
        if isinstance(error, str):
            public["error"] = self.withhold(error)
        message = event.get("message")
        if isinstance(message, str):
            public["message"] = self.withhold(message)
        attempts = event.get("attempts")
        if attempts:
            public["attempts"] = [self._publish_attempt(attempt) for attempt in attempts]
        return public

    def _publish_attempt(self, attempt: SentQuery) -> SentQuery:
        """Remove from an attempt to search what clients must not see."""
        public = attempt.copy()
        error = attempt.get("error")
        if isinstance(error, str):
            public["error"] = self.withhold(error)
        return public


def _any_of(names: set[str]) -> re.Pattern[str]:
    """Make a pattern that matches each of the names as a whole word, with or without a port behind it."""
    longest_first = sorted(names, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    if not pattern:
        # This pattern matches nothing.
        return re.compile(r"(?!)")
    return re.compile(rf"(?<![\w.-])(?:{pattern})(?::\d+)?(?![\w-])")


def hide_addresses(text: str) -> str:
    """Remove the addresses of servers from a text, and shorten each path to its last name.

    For example, ``hide_addresses("http://db:9200 has no /data/index/a")`` returns ``"(withheld) has no a"``.

    :param text: The text.
    """
    return hide_folders(_hide_hosts(text))


def _hide_hosts(text: str) -> str:
    for address in (_URL, _IP_ADDRESS, _IPV6_ADDRESS):
        text = address.sub(WITHHELD, text)
    return text


def hide_folders(text: str) -> str:
    """Shorten each path in a text to its last name.

    For example, ``hide_folders("/home/ada/a.pdf is damaged")`` returns ``"a.pdf is damaged"``.

    :param text: The text.
    """
    without_windows_paths = _WINDOWS_PATH.sub("", text)
    return _PATH.sub(r"\1", without_windows_paths)


def _name_file(document: FoundDocument) -> FoundDocument:
    """Leave only the name of a document's file, without its folder."""
    if not document.get("file"):
        return document.copy()
    return {**document, "file": PurePath(str(document["file"])).name}


def _texts(values: object) -> Iterator[str]:
    """Yield all texts in a value of nested lists, tuples and dictionaries. Keys of dictionaries are not included."""
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
    """Return the host of a web address. For example, ``"http://db:9200"`` gives ``"db"``. None for any other text."""
    if "://" not in value:
        return None
    try:
        return urlsplit(value).hostname
    except ValueError:
        return None
