"""Which dataset a question is from."""

from __future__ import annotations

import re
from pathlib import Path

HOTPOTQA = "hotpotqa"
TWO_WIKI = "2wikimultihopqa"
MUSIQUE = "musique"
BIOASQ = "bioasq"
DATASETS = (HOTPOTQA, TWO_WIKI, MUSIQUE, BIOASQ)

# HotpotQA and 2WikiMultiHopQA made their ids on few machines, which are part of them.
_QUESTION_IDS = {
    HOTPOTQA: re.compile(r"[0-9a-f]{8}554299[0-9a-f]{10}"),
    TWO_WIKI: re.compile(r"[0-9a-f]{12}11eb[0-9a-f]{16}"),
    MUSIQUE: re.compile(r"[2-4]hop\d?__\d+(_\d+)*"),
}


def dataset_name(question_id: str, path: Path) -> str:
    """Tell a dataset by the ids of its questions, or by the folders that its file is in.

    :param question_id: The id of the question.
    :param path: The file that it is in.
    :returns: One of ``DATASETS``, or nothing when it cannot be told.
    """
    for name, pattern in _QUESTION_IDS.items():
        if pattern.fullmatch(question_id):
            return name
    parts = (path.stem.lower(), *(folder.name.lower() for folder in path.resolve().parents))
    return next((name for part in parts for name in DATASETS if name in part), "")


def type_of(question_id: str) -> str:
    """Tell the type of a question of MuSiQue, which its id begins with.

    :param question_id: The id of the question.
    :returns: For example ``2hop`` or ``3hop1``; nothing for other datasets.
    """
    return question_id.split("__")[0] if _QUESTION_IDS[MUSIQUE].fullmatch(question_id) else ""
