"""Find the dataset that a question comes from. The official scores of an answer depend on the dataset."""

import re
from pathlib import Path

# The names of the datasets, as all other modules use them.
HOTPOTQA = "hotpotqa"
TWO_WIKI = "2wikimultihopqa"
MUSIQUE = "musique"
BIOASQ = "bioasq"
# `dataset_name` returns one of these names.
DATASETS = (HOTPOTQA, TWO_WIKI, MUSIQUE, BIOASQ)

# The form of a question id in each dataset. BioASQ is missing here.
# - HotpotQA: 24 hexadecimal digits. They contain the id of the machine that made them, which is always "554299". For
#   example, "5a8b57f25542995d1e6f1371" matches.
# - 2WikiMultiHopQA: a UUID without hyphens. It contains its version and roughly the year in which it was made ("11eb").
#   For example, "8813f87c0bdd11eba7f7acde48001122" matches.
# - MuSiQue: the number of hops and the numbers of the questions that were composed. For example, "2hop__482757_12019"
#   and "3hop1__9285_5188_23307" match.
_QUESTION_IDS = {
    HOTPOTQA: re.compile(r"[0-9a-f]{8}554299[0-9a-f]{10}"),
    TWO_WIKI: re.compile(r"[0-9a-f]{12}11eb[0-9a-f]{16}"),
    MUSIQUE: re.compile(r"[2-4]hop\d?__\d+(_\d+)*"),
}
# Matches a word of a file's name in lower case: "hotpotqa", "dev" and "500" in "hotpotqa_dev-500".
_WORD = re.compile(r"[a-z0-9]+")
# The number of folders above a file whose names may name its dataset.
_FOLDERS = 2


def dataset_name(question_id: str, path: Path) -> str:
    """Find the dataset of a question.

    The id of the question decides, if it has the form of a dataset's ids. Otherwise, a word in the name of the file
    decides. If no word does, the name of one of the two folders above the file decides. For example,
    ``dataset_name("q1", Path("bioasq-yesno.jsonl"))`` returns ``"bioasq"``.

    :param question_id: The id of the question, which may be empty.
    :param path: The file that contains the question.
    :returns: One of ``DATASETS``, or an empty text if the dataset is unknown.
    """
    for name, pattern in _QUESTION_IDS.items():
        if pattern.fullmatch(question_id):
            return name
    # The name of a folder must match as a whole, because a folder `hotpotqa_vs_mine` may contain other questions.
    folders = [folder.name.lower() for folder in path.resolve().parents[:_FOLDERS]]
    names: list[str] = [*_WORD.findall(path.stem.lower()), *folders]
    for name in names:
        if name in DATASETS:
            return name
    return ""


def type_of(question_id: str) -> str:
    """Read the type of a MuSiQue question from its id.

    For example, ``type_of("2hop__482757_12019")`` returns ``"2hop"``.

    :param question_id: The id of the question.
    :returns: The type. For other datasets, an empty text.
    """
    if not _QUESTION_IDS[MUSIQUE].fullmatch(question_id):
        return ""
    type, _, _ = question_id.partition("__")
    return type
