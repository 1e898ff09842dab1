"""Find the dataset of a question."""

import re
from pathlib import Path

HOTPOTQA = "hotpotqa"
TWO_WIKI = "2wikimultihopqa"
MUSIQUE = "musique"
BIOASQ = "bioasq"
DATASETS = (HOTPOTQA, TWO_WIKI, MUSIQUE, BIOASQ)

# The ids of HotpotQA and 2WikiMultiHopQA contain the ids of the few machines that made them.
_QUESTION_IDS = {
    HOTPOTQA: re.compile(r"[0-9a-f]{8}554299[0-9a-f]{10}"),
    TWO_WIKI: re.compile(r"[0-9a-f]{12}11eb[0-9a-f]{16}"),
    MUSIQUE: re.compile(r"[2-4]hop\d?__\d+(_\d+)*"),
}
_WORD = re.compile(r"[a-z0-9]+")
_FOLDERS = 2


def dataset_name(question_id: str, path: Path) -> str:
    """Find a dataset by the id of a question, a word of its file's name, or the names of the nearest folders."""
    for name, pattern in _QUESTION_IDS.items():
        if pattern.fullmatch(question_id):
            return name
    # Compare the whole name of a folder, because `hotpotqa_vs_mine` may hold other questions.
    folders = [folder.name.lower() for folder in path.resolve().parents[:_FOLDERS]]
    parts = (*_WORD.findall(path.stem.lower()), *folders)
    return next((part for part in parts if part in DATASETS), "")


def type_of(question_id: str) -> str:
    """Read the type of a question of MuSiQue from the beginning of its id."""
    return question_id.split("__")[0] if _QUESTION_IDS[MUSIQUE].fullmatch(question_id) else ""
