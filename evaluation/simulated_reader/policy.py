"""The policy of the simulated reader: its settings, its random draws and its wrong answers."""

import string
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal, get_args

from prefrag.evaluation.question import Question
from prefrag.evaluation.simulated_reader.gold import YesNo, fold_words

SourceChoice = Literal["drawn", "first", "last", "oracle"]
SecondTry = Literal["source", "query"]
Queries = Literal["dataset", "alike"]

_RATES = (
    "judge_error",
    "reflection_error",
    "stopping_error",
    "source_error",
    "distraction",
    "answer_error",
    "memory",
)
_CHOICES = {"source_choice": SourceChoice, "second_try": SecondTry, "yes_no": YesNo, "queries": Queries}
# How `prefrag evaluate` describes each choice.
_WORDS = {
    "source_choice": {
        "drawn": "if a step names its source, the reader picks a source at random",
        "first": "if a step names its source, the reader tries the first source first",
        "last": "if a step names its source, the reader tries the last source first",
        "oracle": "if a step names its source, the reader names the source that holds the passage it looks for",
    },
    "second_try": {"query": "after a search that found nothing useful, the reader tries a new query first"},
    "yes_no": {
        "one": "one gold passage is enough for yes or no",
        "half": "half of the gold passages, at most five, are enough for yes or no",
        "all": "yes or no needs all gold passages",
    },
    "queries": {
        "dataset": "queries from the sub-questions, facts or titles of the dataset",
        "alike": "the same kind of queries on every dataset",
    },
}
_MORE_LETTERS = range(0x4E00, 0xA000)  # Chinese characters
_ANSWER_LETTERS = 9  # the number of letters in a wrong answer


@dataclass(frozen=True)
class PolicySettings:
    """How the simulated reader decides, and how often it is wrong. docs/evaluation.md explains each setting."""

    judge_error: float = 0.0
    reflection_error: float = 0.0
    stopping_error: float = 0.0
    source_error: float = 0.0
    distraction: float = 0.0
    answer_error: float = 0.0
    memory: float = 0.0
    source_choice: SourceChoice = "drawn"
    second_try: SecondTry = "source"
    yes_no: YesNo = "one"
    queries: Queries = "dataset"

    def __post_init__(self) -> None:
        for name in _RATES:
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} is {getattr(self, name)}: set it between 0 and 1.")
        for name, choice in _CHOICES.items():
            if getattr(self, name) not in get_args(choice):
                raise ValueError(f"{name} is '{getattr(self, name)}': set it to {' or '.join(get_args(choice))}.")


@dataclass(frozen=True)
class Policy(PolicySettings):
    """All settings of the simulated reader in one run, including the seed."""

    seed: int = 0  # the seed of all draws


def describe_policy(settings: Mapping[str, Any]) -> str:
    """Describe the policy of a run in words."""
    choices = [words[settings[name]] for name, words in _WORDS.items() if settings.get(name) in words]
    rates = [f"{name.replace('_', ' ')} {settings[name]:g}" for name in _RATES if settings.get(name)]
    return "; ".join([*choices, *rates, f"seed {settings.get('seed') or 0}"])


def draw(seed: int, *situation: object) -> float:
    """Draw a number from 0 to 1 that depends only on the seed and the situation, not on the order of calls."""
    digest = blake2b(repr((seed, *situation)).encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**64


def wrong_answer(question: Question, seed: int) -> str:
    """Make an answer that scores 0 in every metric."""
    answers = {answer.strip().lower() for answer in question.answers}
    if question.is_yes_no and len(answers) == 1:
        return "no" if answers == {"yes"} else "yes"
    both = "".join(unicodedata.normalize(form, " ".join(question.answers)) for form in ("NFC", "NFKD"))
    used = set(both + both.lower() + both.upper() + both.casefold())
    latin = [letter for letter in string.ascii_lowercase if letter not in used]
    # A long list of aliases may contain every Latin letter.
    letters = latin or list(islice((letter for letter in map(chr, _MORE_LETTERS) if letter not in used), 9))
    places = (draw(seed, question.id, "letter", number) for number in range(_ANSWER_LETTERS))
    return "".join(letters[int(place * len(letters))] for place in places)


def is_right(question: Question, answer: str) -> bool:
    """Check whether an answer contains a gold answer. An answer to a yes/no question must not contain both words."""
    words = fold_words(answer)
    if question.is_yes_no and " yes " in words and " no " in words:
        return False
    # A gold answer without letters or digits has no words to search for.
    names = [fold_words(right) for right in question.answers if fold_words(right).strip()]
    return answer.strip() in question.answers or any(name in words for name in names)
