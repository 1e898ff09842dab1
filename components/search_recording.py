"""What sources gave, kept in one file, so that a run can be repeated without them."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from haystack import Document, default_from_dict, default_to_dict

_lock = threading.Lock()


class SearchRecording:
    """A JSON-lines file of searches, keyed by source, query, number of documents and filter.

    :param path: The file; made at the first search that is recorded.
    :param mode: ``record`` asks the source and keeps what it gives; ``replay`` plays what was kept and fails for the
        rest; ``reuse`` plays what was kept and records the rest.
    :raises ValueError: For another mode, or when there is nothing to replay.
    """

    def __init__(self, path: str, mode: Literal["record", "replay", "reuse"] = "reuse"):
        if mode not in ("record", "replay", "reuse"):
            raise ValueError(f"The mode of a recording is '{mode}': set it to record, replay or reuse.")
        if mode == "replay" and not Path(path).is_file():
            raise ValueError(f"There is no recording at {path}: record one first (mode: record).")
        self.path = path
        self.mode = mode
        self._kept = {} if mode == "record" else _read(Path(path))

    def to_dict(self) -> dict[str, Any]:
        """:returns: The recording as plain values."""
        return default_to_dict(self, path=self.path, mode=self.mode)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> SearchRecording:
        """:param data: See :meth:`to_dict`. :returns: The recording."""
        return default_from_dict(cls, data)

    def play(
        self, source: str, query: str, top_k: int, filters: Mapping[str, Any] | None
    ) -> tuple[Document, ...] | None:
        """
        :param source: The name of the source.
        :param query: The query.
        :param top_k: Documents asked for.
        :param filters: The metadata filter.
        :returns: What was kept; None when the source has to be asked.
        :raises LookupError: With ``replay``, when the search was not recorded.
        """
        kept = None if self.mode == "record" else self._kept.get(_key(source, query, top_k, filters))
        if kept is None and self.mode == "replay":
            raise LookupError(f"The recording {self.path} does not hold this search of {source}: {query}")
        return kept

    def record(
        self, source: str, query: str, top_k: int, filters: Mapping[str, Any] | None, documents: Sequence[Document]
    ) -> None:
        """Keep what a source gave; the parameters are those of :meth:`play`.

        :param documents: What it gave.
        """
        key = _key(source, query, top_k, filters)
        line = json.dumps(
            {"key": key, "documents": [document.to_dict(flatten=False) for document in documents]},
            ensure_ascii=False,
            default=str,
        )
        with _lock:
            self._kept[key] = tuple(documents)
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            with Path(self.path).open("a", encoding="utf-8") as file:
                file.write(line + "\n")


def _key(source: str, query: str, top_k: int, filters: Mapping[str, Any] | None) -> str:
    return json.dumps([source, query, top_k, filters or {}], sort_keys=True, ensure_ascii=False)


def _read(path: Path) -> dict[str, tuple[Document, ...]]:
    if not path.is_file():
        return {}
    kept: dict[str, tuple[Document, ...]] = {}
    # Not splitlines: web pages hold separators (U+2028, U+0085) that JSON leaves as they are within a line.
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
            kept[entry["key"]] = tuple(Document.from_dict(document) for document in entry["documents"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"Line {number} of the recording {path} is broken: {error}. Delete the line.") from error
    return kept
