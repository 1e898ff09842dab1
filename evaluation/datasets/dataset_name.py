"""Find the dataset that a question comes from."""

import re
from pathlib import Path

HOTPOTQA = "hotpotqa"
TWO_WIKI = "2wikimultihopqa"
MUSIQUE = "musique"
BIOASQ = "bioasq"
DATASETS = (HOTPOTQA, TWO_WIKI, MUSIQUE, BIOASQ)

# A question id of HotpotQA contains the id of the machine that made it (always `554299`). A question id of
# 2WikiMultiHopQA is a UUID, which contains its version and roughly the year in which it was made (`11eb`).
_QUESTION_IDS = {
    HOTPOTQA: re.compile(r"[0-9a-f]{8}554299[0-9a-f]{10}"),
    TWO_WIKI: re.compile(r"[0-9a-f]{12}11eb[0-9a-f]{16}"),
    MUSIQUE: re.compile(r"[2-4]hop\d?__\d+(_\d+)*"),
}
_WORD = re.compile(r"[a-z0-9]+")
_FOLDERS = 2  # how many of the folders above a file may name its dataset


def dataset_name(question_id: str, path: Path) -> str:
    """Find a question's dataset by its id, by a word in the file's name, or by the names of the two folders above."""
    for name, pattern in _QUESTION_IDS.items():
        if pattern.fullmatch(question_id):
            return name
    # A folder's name must match as a whole, because `hotpotqa_vs_mine` may hold other questions.
    folders = [folder.name.lower() for folder in path.resolve().parents[:_FOLDERS]]
    parts = (*_WORD.findall(path.stem.lower()), *folders)
    return next((part for part in parts if part in DATASETS), "")


def type_of(question_id: str) -> str:
    """Read the type of a MuSiQue question, such as `2hop`, from its id. For other datasets, return an empty text."""
    return question_id.split("__")[0] if _QUESTION_IDS[MUSIQUE].fullmatch(question_id) else ""
