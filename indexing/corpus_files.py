"""Open a corpus: lines of JSON, or a JSON list of passages."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import BinaryIO

from prefrag.components.text.passage_record import PassageError

CORPUS_SUFFIX = ".jsonl"
LIST_SUFFIX = ".json"
# Larger ones are for JSONL, which is read line by line.
MOST_LIST_BYTES = 50_000_000
_BEGINNING_BYTES = 1_000_000
_LIST_OF_OBJECTS = re.compile(r"\s*\[\s*(?=\{)")


def is_corpus(path: Path) -> bool:
    """Check whether a file is a corpus: JSONL by its name, JSON where it is a list that begins with a passage."""
    suffix = path.suffix.lower()
    if suffix != LIST_SUFFIX:
        return suffix == CORPUS_SUFFIX
    try:
        with path.open("rb") as stream:
            beginning = stream.read(_BEGINNING_BYTES).decode("utf-8-sig", "ignore")
        if (opening := _LIST_OF_OBJECTS.match(beginning)) is None:
            return False
        first, _ = json.JSONDecoder().raw_decode(beginning, opening.end())
    except (OSError, ValueError, RecursionError):
        return False
    return {"id", "text"} <= first.keys()


def open_corpus(path: Path) -> BinaryIO:
    """Open a corpus as JSONL."""
    if path.suffix.lower() != LIST_SUFFIX:
        return path.open("rb")
    if (size := path.stat().st_size) > MOST_LIST_BYTES:
        raise PassageError(
            f"it has {size / 10**6:.0f} MB, and a list of passages up to {MOST_LIST_BYTES // 10**6} MB is read: make "
            f"it a {CORPUS_SUFFIX} file, a passage a line"
        )
    try:
        passages = json.loads(path.read_bytes().decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise PassageError(f"it is not JSON ({error})") from error
    if not isinstance(passages, list):
        raise PassageError("it is no list of passages any more")
    return io.BytesIO("".join(f"{json.dumps(passage)}\n" for passage in passages).encode("ascii"))
