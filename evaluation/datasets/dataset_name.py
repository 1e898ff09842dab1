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
_WORD = re.compile(r"[a-z0-9]+")
_FOLDERS = 2


def dataset_name(question_id: str, path: Path) -> str:
    """Tell a dataset by the ids of its questions, by a word of its file's name, or by the names of the nearest folders.

    :param question_id: The id of the question.
    :param path: The file that it is in.
    :returns: One of ``DATASETS``, or nothing when nothing says it.
    """
    for name, pattern in _QUESTION_IDS.items():
        if pattern.fullmatch(question_id):
            return name
    # The whole name of a folder: `hotpotqa_vs_mine` may hold one's own questions.
    folders = [folder.name.lower() for folder in path.resolve().parents[:_FOLDERS]]
    parts = (*_WORD.findall(path.stem.lower()), *folders)
    return next((part for part in parts if part in DATASETS), "")


def type_of(question_id: str) -> str:
    """Tell the type of a question of MuSiQue, which its id begins with.

    :param question_id: The id of the question.
    :returns: For example ``2hop`` or ``3hop1``; nothing for other datasets.
    """
    return question_id.split("__")[0] if _QUESTION_IDS[MUSIQUE].fullmatch(question_id) else ""
